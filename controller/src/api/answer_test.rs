//! Answers without an end: how much of them is read.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use futures::{StreamExt, stream};
use http::{Request, Response};
use http_body_util::StreamBody;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::Frame;
use kube::Client;
use kube::client::Body;
use serde_json::Value;

use super::answer::{LARGEST_BODY, LONGEST_LINE};
use super::pages::Pages;
use super::{ApiServer, List, RequestError, Resource};

const PIECE: usize = 1 << 20;

type Answer = BoxBody<Bytes, Infallible>;

/// A server that answers by a function of the query; it counts pieces of endless answers and
/// requests.
fn server(
    answer: impl Fn(&str, &Arc<AtomicUsize>) -> Answer + Clone + Send + 'static,
) -> (ApiServer, Arc<AtomicUsize>) {
    let count = Arc::new(AtomicUsize::new(0));
    let counted = count.clone();
    let service = tower::service_fn(move |request: Request<Body>| {
        let body = answer(request.uri().query().unwrap_or_default(), &counted);
        async move { Ok::<_, Infallible>(Response::new(body)) }
    });
    (ApiServer::new(Client::new(service, "default")), count)
}

/// Pieces without a line's end.
fn endless(count: &Arc<AtomicUsize>) -> Answer {
    let count = count.clone();
    let pieces = stream::repeat_with(move || {
        count.fetch_add(1, Ordering::Relaxed);
        Ok(Frame::data(Bytes::from(vec![b' '; PIECE])))
    });
    BodyExt::boxed(StreamBody::new(pieces.map(|piece: Result<_, Infallible>| piece)))
}

fn json(text: &'static str) -> Answer {
    BodyExt::boxed(Full::from(text))
}

#[tokio::test]
async fn an_endless_line_of_a_watch_is_an_error_that_names_it() {
    let (api, pieces) = server(|_, count| endless(count));
    let events = api.watch::<Value>(Resource::Pods, "1").await.unwrap();
    let error = std::pin::pin!(events).next().await.unwrap().unwrap_err();
    assert!(error.message().starts_with("the answer to WATCH pods has more than 32 MiB"), "{}", error.message());
    assert!(error.is_answer(), "the watch backs off and lists again");
    assert!(pieces.load(Ordering::Relaxed) <= LONGEST_LINE / PIECE + 2);
}

#[tokio::test]
async fn an_endless_list_and_an_endless_answer_are_errors_that_name_them() {
    let (api, pieces) = server(|_, count| endless(count));
    let error = Pages::new(Resource::Pods).read::<Value>(&api).await.unwrap_err();
    assert!(error.message().starts_with("the answer to LIST pods has more than 32 MiB"), "{}", error.message());
    // 500, 125, 31, 7 and 1 objects.
    assert!(pieces.load(Ordering::Relaxed) <= 5 * (LARGEST_BODY / PIECE + 2));
    let error = api.get(Resource::Pods, "ns", "a").await.unwrap_err();
    assert!(matches!(error, RequestError::TooLarge { .. }), "{error:?}");
}

#[tokio::test]
async fn a_page_that_is_too_large_is_read_again_with_fewer_objects() {
    let (api, _) = server(|query, count| match query.contains("limit=31&") || query.ends_with("limit=31") {
        true => json(r#"{"metadata": {"resourceVersion": "7", "continue": ""}, "items": [1, 2]}"#),
        false => endless(count),
    });
    let list: List<u32> = Pages::new(Resource::ConfigMaps).read(&api).await.unwrap();
    assert_eq!((list.items, list.metadata.resource_version.as_str()), (vec![1, 2], "7"));
}

#[tokio::test]
async fn a_list_that_always_goes_on_ends_in_an_error_that_names_it() {
    let (api, requests) = server(|_, count| {
        count.fetch_add(1, Ordering::Relaxed);
        json(r#"{"metadata": {"resourceVersion": "7", "continue": "more"}, "items": []}"#)
    });
    let mut pages = Pages::new(Resource::Pods);
    let error = loop {
        if let Err(error) = pages.read::<Value>(&api).await {
            break error;
        }
    };
    assert!(error.message().starts_with("the answer to LIST pods has more than 2000 pages"), "{}", error.message());
    assert_eq!(requests.load(Ordering::Relaxed), 2000);
}

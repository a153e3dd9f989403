//! Limits on endless responses.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use futures::{StreamExt, stream};
use http::{Request, Response};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::Frame;
use kube::Client;
use kube::client::Body;
use serde_json::Value;

use super::pager::ListPager;
use super::response::{MAX_BODY_BYTES, MAX_LINE_BYTES};
use super::{ApiServer, ListPage, RequestError, Resource};

const PIECE: usize = 1 << 20;

type Answer = BoxBody<Bytes, Infallible>;

/// A server that answers by a function of the query. The counter counts requests and the pieces of
/// endless responses.
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

/// A body without end and without line breaks.
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
async fn endless_watch_line_is_an_error_naming_the_request() {
    let (api, pieces) = server(|_, count| endless(count));
    let events = api.watch::<Value>(Resource::Pods, "1").await.unwrap();
    let error = std::pin::pin!(events).next().await.unwrap().unwrap_err();
    assert!(error.message().starts_with("the answer to WATCH pods has more than 32 MiB"), "{}", error.message());
    assert!(error.is_answer(), "the watch backs off and lists again");
    assert!(pieces.load(Ordering::Relaxed) <= MAX_LINE_BYTES / PIECE + 2);
}

#[tokio::test]
async fn endless_list_and_object_are_errors_naming_the_request() {
    let (api, pieces) = server(|_, count| endless(count));
    let error = ListPager::new(Resource::Pods).next_page::<Value>(&api).await.unwrap_err();
    assert!(error.message().starts_with("the answer to LIST pods has more than 32 MiB"), "{}", error.message());
    // The page sizes tried: 500, 125, 31, 7 and 1.
    assert!(pieces.load(Ordering::Relaxed) <= 5 * (MAX_BODY_BYTES / PIECE + 2));
    let error = api.get(Resource::Pods, "ns", "a").await.unwrap_err();
    assert!(matches!(error, RequestError::TooLarge { .. }), "{error:?}");
}

#[tokio::test]
async fn oversized_page_is_read_again_with_fewer_objects() {
    let (api, _) = server(|query, count| match query.contains("limit=31&") || query.ends_with("limit=31") {
        true => json(r#"{"metadata": {"resourceVersion": "7", "continue": ""}, "items": [1, 2]}"#),
        false => endless(count),
    });
    let list: ListPage<u32> = ListPager::new(Resource::ConfigMaps).next_page(&api).await.unwrap();
    assert_eq!((list.items, list.metadata.resource_version.as_str()), (vec![1, 2], "7"));
}

#[tokio::test]
async fn list_without_a_last_page_is_an_error_naming_the_request() {
    let (api, requests) = server(|_, count| {
        count.fetch_add(1, Ordering::Relaxed);
        json(r#"{"metadata": {"resourceVersion": "7", "continue": "more"}, "items": []}"#)
    });
    let mut pages = ListPager::new(Resource::Pods);
    let error = loop {
        if let Err(error) = pages.next_page::<Value>(&api).await {
            break error;
        }
    };
    assert!(error.message().starts_with("the answer to LIST pods has more than 2000 pages"), "{}", error.message());
    assert_eq!(requests.load(Ordering::Relaxed), 2000);
}

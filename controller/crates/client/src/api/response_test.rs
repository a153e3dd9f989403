//! Limits on endless responses, and waits that the server asks for.

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
use rstest::rstest;
use serde_json::Value;

use super::pager::ListPager;
use super::response::{MAX_BODY_BYTES, MAX_LINE_BYTES};
use super::{ApiServer, ListPage, RequestError, Resource};
use crate::clock;

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

/// A server that gives the first requests this answer, and later ones an empty list; and how many
/// requests there were.
fn busy_server(refused: usize, code: u16, retry_after: Option<&'static str>) -> (ApiServer, Arc<AtomicUsize>) {
    let count = Arc::new(AtomicUsize::new(0));
    let counted = count.clone();
    let service = tower::service_fn(move |_: Request<Body>| {
        let answer = if counted.fetch_add(1, Ordering::Relaxed) < refused {
            let refusal = Response::builder().status(code);
            let refusal = retry_after.into_iter().fold(refusal, |refusal, text| refusal.header("Retry-After", text));
            refusal.body(json("not now"))
        } else {
            Response::builder().body(json(r#"{"metadata": {"resourceVersion": "7", "continue": ""}, "items": []}"#))
        };
        async move { Ok::<_, Infallible>(answer.unwrap()) }
    });
    (ApiServer::new(Client::new(service, "default")), count)
}

/// client-go: `checkWait` and `IsNextRetry`.
#[rstest]
#[case::too_many_requests(3, 429, Some("2"), 4, 6)]
#[case::unavailable(1, 503, Some("1"), 2, 1)]
#[case::at_once(10, 500, Some("0"), 11, 0)]
#[case::without_a_time(1, 429, None, 1, 0)]
#[case::with_a_date(1, 503, Some("Wed, 21 Oct 2026 07:28:00 GMT"), 1, 0)]
#[case::other_refusals(1, 409, Some("1"), 1, 0)]
#[case::too_often(11, 429, Some("1"), 11, 10)]
#[tokio::test(start_paused = true)]
async fn refused_request_is_sent_again_when_the_server_says_so(
    #[case] refused: usize,
    #[case] code: u16,
    #[case] retry_after: Option<&'static str>,
    #[case] requests: usize,
    #[case] seconds: u64,
) {
    for is_list in [false, true] {
        let (api, count) = busy_server(refused, code, retry_after);
        let start = clock::instant();
        let result = if is_list {
            ListPager::new(Resource::Pods).next_page::<Value>(&api).await.map(drop)
        } else {
            api.create(Resource::Events, "ns", &Value::default()).await.map(drop)
        };
        assert_eq!(count.load(Ordering::Relaxed), requests);
        assert_eq!((clock::instant() - start).as_secs(), seconds);
        match result {
            Ok(()) => assert!(requests > refused),
            Err(error) => assert_eq!((error.message().as_str(), requests <= refused), ("not now", true)),
        }
    }
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

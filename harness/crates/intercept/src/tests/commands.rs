//! Commands, tested over sockets.

use super::*;
use crate::{InterceptPoint, Pattern, RefusalKind, RequestAction, RequestCommand, WatchAction, WatchCommand};

const UPDATE: &str = "/apis/apps/v1/namespaces/ns/replicasets/web-1";
const WATCH: &str = "/apis/apps/v1/replicasets?watch=true";

fn on(resource: &str) -> Pattern {
    let (namespace, resource) = ("ns".to_owned(), resource.to_owned());
    Pattern { namespace, resource, subresources: vec![String::new()], verbs: Vec::new(), name: None }
}

pub(super) fn command(action: RequestAction) -> RequestCommand {
    RequestCommand { on: on("replicasets"), nth: 1, once: true, action }
}

fn watching(nth: u32, action: WatchAction) -> WatchCommand {
    WatchCommand { namespace: "ns".to_owned(), resource: "replicasets".to_owned(), nth, action }
}

fn update(interceptor: &Interceptor, path: &str) -> Request<Full<Bytes>> {
    put(&format!("{}{path}", interceptor.url()))
}

pub(super) fn put(url: &str) -> Request<Full<Bytes>> {
    let body = Bytes::from_static(br#"{"spec":{"replicas":4}}"#);
    Request::put(url).body(body.into()).unwrap()
}

/// An event of an object, in an encoding.
fn event(form: Form, namespace: &str, name: &str) -> Bytes {
    form.event("MODIFIED", &json!({"namespace": namespace, "name": name}))
}

#[rstest]
#[case(Version::HTTP_11)]
#[case(Version::HTTP_2)]
#[tokio::test]
async fn held_watch_withholds_events_of_its_namespace_only(
    #[case] version: Version,
    #[values(Form::Json, Form::Protobuf)] form: Form,
) {
    let mut server = Server::start().await;
    let interceptor = Interceptor::start(&server.access).unwrap();
    let client = client(&interceptor, version);
    let mut body = soon(client.request(form.watch(&interceptor, WATCH))).await.unwrap().into_body();
    let events = server.watch().await;
    events.send(event(form, "ns", "before")).await.unwrap();
    assert_eq!(frame(&mut body).await.unwrap(), event(form, "ns", "before"));

    let hold = interceptor.control().arm_watch(watching(1, WatchAction::Hold)).unwrap();
    let probe = event(form, "probe", "c");
    // A frame need not be an event.
    let (half, other_half) = probe.split_at(20);
    for bytes in [event(form, "ns", "one"), event(form, "ns", "two"), Bytes::copy_from_slice(half)] {
        events.send(bytes).await.unwrap();
    }
    events.send(Bytes::copy_from_slice(other_half)).await.unwrap();
    assert_eq!(frame(&mut body).await.unwrap(), probe);
    assert_eq!(interceptor.control().held_count("ns"), 2);

    drop(hold);
    assert_eq!(frame(&mut body).await.unwrap(), event(form, "ns", "one"));
    assert_eq!(frame(&mut body).await.unwrap(), event(form, "ns", "two"));
    assert_eq!(interceptor.control().held_count("ns"), 0);
    events.send(event(form, "ns", "after")).await.unwrap();
    assert_eq!(frame(&mut body).await.unwrap(), event(form, "ns", "after"));
}

#[rstest]
#[case(Version::HTTP_11)]
#[case(Version::HTTP_2)]
#[tokio::test]
async fn watch_that_continues_after_a_hold_must_relist(#[case] version: Version) {
    let mut server = Server::start().await;
    let interceptor = Interceptor::start(&server.access).unwrap();
    let hold = interceptor.control().arm_watch(watching(1, WatchAction::Hold)).unwrap();
    let client = client(&interceptor, version);
    let request = get(&interceptor, "/apis/apps/v1/replicasets?watch=true&resourceVersion=7");
    let asking = tokio::spawn(client.request(request));
    let mut list = tokio::spawn(client.request(get(&interceptor, "/apis/apps/v1/replicasets")));
    // A connection may take longer than any pause: requests that arrive after the hold pass.
    arrived(&interceptor, 2).await;
    assert!(tokio::time::timeout(Duration::from_millis(100), &mut list).await.is_err(), "a list of a held kind waits");
    drop(hold);
    assert_eq!(soon(asking).await.unwrap().unwrap().status(), StatusCode::GONE);
    server.watch().await;
    assert_eq!(soon(list).await.unwrap().unwrap().status(), StatusCode::OK);
}

/// A watch that ends while its events are withheld may have received later events of other
/// namespaces: continuing after those would miss the withheld ones, even after the hold.
#[rstest]
#[case(Version::HTTP_11)]
#[case(Version::HTTP_2)]
#[tokio::test]
async fn watch_that_ended_during_a_hold_cannot_continue(
    #[case] version: Version,
    #[values(Form::Json, Form::Protobuf)] form: Form,
) {
    let mut server = Server::start().await;
    let interceptor = Interceptor::start(&server.access).unwrap();
    let client = client(&interceptor, version);
    let mut body = soon(client.request(form.watch(&interceptor, WATCH))).await.unwrap().into_body();
    let events = server.watch().await;
    let hold = interceptor.control().arm_watch(watching(1, WatchAction::Hold)).unwrap();
    events.send(event(form, "ns", "kept")).await.unwrap();
    events.send(event(form, "probe", "c")).await.unwrap();
    assert_eq!(frame(&mut body).await.unwrap(), event(form, "probe", "c"));
    assert_eq!(interceptor.control().held_count("ns"), 1);
    drop(body);
    soon(events.closed()).await;
    drop(hold);

    let on = "/apis/apps/v1/replicasets?watch=true&resourceVersion=7";
    assert_eq!(soon(client.request(form.watch(&interceptor, on))).await.unwrap().status(), StatusCode::GONE);
    assert_eq!(
        soon(client.request(form.watch(&interceptor, on))).await.unwrap().status(),
        StatusCode::OK,
        "once is enough"
    );
    server.watch().await;
}

#[tokio::test]
async fn hold_knows_whether_a_request_waits_for_its_end() {
    let server = Server::start().await;
    let interceptor = Interceptor::start(&server.access).unwrap();
    let client = client(&interceptor, Version::HTTP_2);
    let hold = interceptor.control().arm_watch(watching(1, WatchAction::Hold)).unwrap();
    assert!(!hold.has_held_request());
    let waiting = client.request(Form::Json.watch(&interceptor, WATCH));
    tokio::time::timeout(Duration::from_millis(100), waiting).await.unwrap_err();
    assert!(hold.has_held_request() && !hold.has_held_list());
    let waiting = client.request(get(&interceptor, "/apis/apps/v1/replicasets"));
    tokio::time::timeout(Duration::from_millis(100), waiting).await.unwrap_err();
    assert!(hold.has_held_list());
}

#[rstest]
#[tokio::test]
async fn events_lag_repeat_and_expire(#[values(Form::Json, Form::Protobuf)] form: Form) {
    let mut server = Server::start().await;
    let interceptor = Interceptor::start(&server.access).unwrap();
    let client = client(&interceptor, Version::HTTP_2);
    let mut body = soon(client.request(form.watch(&interceptor, WATCH))).await.unwrap().into_body();
    let events = server.watch().await;

    let lag = Duration::from_secs(2);
    let lagging = interceptor.control().arm_watch(watching(1, WatchAction::Lag(lag))).unwrap();
    let since = clock::instant();
    // In one frame: between two frames a busy machine may let more time pass than the lag.
    let both = [event(form, "ns", "late"), event(form, "probe", "c")].concat();
    events.send(both.into()).await.unwrap();
    assert_eq!(frame(&mut body).await.unwrap(), event(form, "probe", "c"));
    assert_eq!(frame(&mut body).await.unwrap(), event(form, "ns", "late"));
    assert!(since.elapsed() >= lag);
    drop(lagging);

    let twice = interceptor.control().arm_watch(watching(2, WatchAction::Repeat)).unwrap();
    for name in ["one", "two", "three"] {
        events.send(event(form, "ns", name)).await.unwrap();
    }
    for name in ["one", "two", "two", "three"] {
        assert_eq!(frame(&mut body).await.unwrap(), event(form, "ns", name));
    }
    drop(twice);

    let _last = interceptor.control().arm_watch(watching(1, WatchAction::Expire)).unwrap();
    events.send(event(form, "ns", "last")).await.unwrap();
    assert_eq!(frame(&mut body).await.unwrap(), event(form, "ns", "last"));
    let (kind, status) = form.take(&mut frame(&mut body).await.unwrap().to_vec()).unwrap();
    assert_eq!((kind.as_str(), &status["kind"], &status["code"]), ("ERROR", &"Status".into(), &410.into()));
    assert!(soon(body.collect()).await.unwrap().to_bytes().is_empty(), "an end is an end");
    let later = || ["ns", "probe"].map(|namespace| interceptor.control().may_reopen_watch(namespace));
    assert_eq!(later(), [true, false]);
    soon(client.request(form.watch(&interceptor, WATCH))).await.unwrap();
    assert_eq!(later(), [false, false], "it has opened one again");
}

#[rstest]
#[case(Version::HTTP_11)]
#[case(Version::HTTP_2)]
#[tokio::test]
async fn held_request_has_its_body_and_waits(#[case] version: Version) {
    let mut server = Server::start().await;
    let interceptor = Interceptor::start(&server.access).unwrap();
    let mut armed = interceptor.control().arm(command(RequestAction::Hold(InterceptPoint::Before)));
    let asking = tokio::spawn(client(&interceptor, version).request(update(&interceptor, UPDATE)));
    let intercepted = soon(armed.next()).await;
    assert_eq!(
        (intercepted.route.name.as_str(), intercepted.point(), intercepted.status),
        ("web-1", InterceptPoint::Before, None)
    );
    assert_eq!(intercepted.body, r#"{"spec":{"replicas":4}}"#);
    assert_eq!(interceptor.log().pending("ns"), 1);
    assert!(server.watches.try_recv().is_err(), "the server has not seen it");
    intercepted.pass();
    server.watch().await;
    assert_eq!(soon(asking).await.unwrap().unwrap().status(), StatusCode::OK);
}

#[rstest]
#[case(Version::HTTP_11)]
#[case(Version::HTTP_2)]
#[tokio::test]
async fn answer_is_lost_after_the_server_has_acted(#[case] version: Version) {
    let mut server = Server::start().await;
    let interceptor = Interceptor::start(&server.access).unwrap();
    let client = client(&interceptor, version);
    let mut armed = interceptor.control().arm(command(RequestAction::Drop));
    assert!(soon(client.request(update(&interceptor, UPDATE))).await.is_err());
    server.watch().await;
    assert_eq!(soon(armed.next()).await.status, Some(200));
    assert_eq!(
        soon(client.request(update(&interceptor, UPDATE))).await.unwrap().status(),
        StatusCode::OK,
        "once is once"
    );
    server.watch().await;
    assert_eq!(interceptor.log().drain().iter().map(|request| request.status).collect::<Vec<_>>()[0], Some(200));

    drop(armed);
    let mut killed = interceptor.control().arm(command(RequestAction::Hold(InterceptPoint::After)));
    let asking = tokio::spawn(client.request(update(&interceptor, UPDATE)));
    soon(killed.next()).await.cut();
    assert!(soon(asking).await.unwrap().is_err());
}

#[tokio::test]
async fn cut_connection_ends_its_watches() {
    let mut server = Server::start().await;
    let interceptor = Interceptor::start(&server.access).unwrap();
    let client = client(&interceptor, Version::HTTP_2);
    let mut body = soon(client.request(get(&interceptor, WATCH))).await.unwrap().into_body();
    let _events = server.watch().await;
    let _armed = interceptor.control().arm(command(RequestAction::Cut(InterceptPoint::Before)));
    assert!(soon(client.request(update(&interceptor, UPDATE))).await.is_err());
    assert!(soon(body.frame()).await.unwrap().is_err());
    assert!(server.watches.try_recv().is_err(), "the server has not seen the request");
}

#[rstest]
#[case(Version::HTTP_11)]
#[case(Version::HTTP_2)]
#[tokio::test]
async fn refusal_has_server_format_and_probe_is_never_refused(#[case] version: Version) {
    let mut server = Server::start().await;
    let interceptor = Interceptor::start(&server.access).unwrap();
    let client = client(&interceptor, version);
    let always = RequestCommand { once: false, ..command(RequestAction::Refuse(RefusalKind::TooMany)) };
    let mut armed = interceptor.control().arm(always);
    let response = soon(client.request(update(&interceptor, UPDATE))).await.unwrap();
    assert_eq!(
        (response.status(), &response.headers()["retry-after"]),
        (StatusCode::TOO_MANY_REQUESTS, &"1".parse().unwrap())
    );
    let status: Value = serde_json::from_slice(&response.collect().await.unwrap().to_bytes()).unwrap();
    assert_eq!((&status["kind"], &status["reason"]), (&"Status".into(), &"TooManyRequests".into()));
    assert_eq!(soon(armed.next()).await.route.name, "web-1");
    assert!(!interceptor.log().may_retry("probe"));
    let probe = "/apis/apps/v1/namespaces/probe/replicasets/web-1";
    assert_eq!(soon(client.request(update(&interceptor, probe))).await.unwrap().status(), StatusCode::OK);
    server.watch().await;
}

#[tokio::test]
async fn delayed_request_arrives() {
    let mut server = Server::start().await;
    let interceptor = Interceptor::start(&server.access).unwrap();
    let since = clock::instant();
    let _armed = interceptor.control().arm(command(RequestAction::Delay(Duration::from_millis(60))));
    let response = soon(client(&interceptor, Version::HTTP_2).request(update(&interceptor, UPDATE))).await.unwrap();
    server.watch().await;
    assert_eq!(response.status(), StatusCode::OK);
    assert!(since.elapsed() >= Duration::from_millis(60));
}

/// The watch ends after its third event, and the next list is from before the last two events.
#[rstest]
#[tokio::test]
async fn list_is_answered_at_the_old_version(#[values(Form::Json, Form::Protobuf)] form: Form) {
    let mut server = Server::start().await;
    let interceptor = Interceptor::start(&server.access).unwrap();
    let control = interceptor.control();
    let client = client(&interceptor, Version::HTTP_2);
    let mut body = soon(client.request(form.watch(&interceptor, WATCH))).await.unwrap().into_body();
    let events = server.watch().await;
    let armed = control.arm_watch(watching(3, WatchAction::Old(2))).unwrap();
    for version in [12, 15, 20] {
        let metadata = json!({"namespace": "ns", "resourceVersion": version.to_string()});
        assert_eq!((control.list_version("replicasets"), armed.has_matched()), (None, false));
        events.send(form.event("MODIFIED", &metadata)).await.unwrap();
        frame(&mut body).await.unwrap();
    }
    assert!(armed.has_matched());
    assert_eq!((control.list_version("replicasets"), control.list_version("pods")), (Some(14), None));
    assert!(!armed.has_refused_watch());
    // A watch with initial events cannot begin in the past: its client lists instead.
    let with_initial_events = "/apis/apps/v1/replicasets?watch=true&sendInitialEvents=true";
    assert_eq!(
        soon(client.request(form.watch(&interceptor, with_initial_events))).await.unwrap().status(),
        StatusCode::UNPROCESSABLE_ENTITY
    );
    assert!(armed.has_refused_watch());
    soon(client.request(get(&interceptor, "/apis/apps/v1/replicasets?limit=500"))).await.unwrap();
    server.watch().await;
    assert!(!armed.has_refused_watch());
    assert_eq!(control.list_version("replicasets"), None, "one list is old");
    drop(armed);
}

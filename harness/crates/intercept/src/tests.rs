//! The interceptor between a test client and a test server, in both versions of HTTP and both
//! encodings of a watch.

mod commands;
mod forms;
mod overhead;
mod uploads;

use std::convert::Infallible;
use std::future::pending;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use futures::stream::{self, BoxStream, StreamExt};
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Bytes, Frame, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode, Version};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use kube_apiserver_sim::protobuf;
use lockstep_cluster::testing::{ProxyProtocol, TestProxy};
use lockstep_cluster::{Authority, ClusterAccess, Credential};
use lockstep_support::clock;
use rstest::rstest;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::mpsc::{Sender, UnboundedReceiver, UnboundedSender, channel, unbounded_channel};
use tokio::task::{JoinHandle, JoinSet};
use tokio_rustls::TlsAcceptor;

use super::server::{client_config, server_config};
use super::{Interceptor, Verb};

/// Time limit for what usually takes milliseconds, on a busy machine.
const SOON: Duration = Duration::from_secs(60);

type Frames = BoxStream<'static, Result<Frame<Bytes>, std::io::Error>>;

/// A server that gives the test a sender for each watch, and otherwise echoes headers.
struct Server {
    access: ClusterAccess,
    /// Receives a sender for each opened watch; the sender closes when the interceptor closes the
    /// watch.
    watches: UnboundedReceiver<Sender<Bytes>>,
    task: JoinHandle<()>,
}

impl Server {
    async fn start() -> Self {
        let authority = Authority::new("test", "2026-11-21T00:00:00Z".parse().unwrap()).unwrap();
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let access = ClusterAccess {
            server: format!("https://{}", listener.local_addr().unwrap()),
            server_name: None,
            ca_pem: authority.pem(),
            proxy: None,
            admin: Credential::Token("admin".to_owned()),
            subject_token: "subject".to_owned(),
        };
        let tls = TlsAcceptor::from(Arc::new(server_config(&authority).unwrap()));
        let (opened, watches) = unbounded_channel();
        let task = tokio::spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((socket, _)) = listener.accept().await {
                let (tls, opened) = (tls.clone(), opened.clone());
                socket.set_nodelay(true).unwrap();
                connections.spawn(async move {
                    let stream = tls.accept(socket).await.unwrap();
                    let service = service_fn(move |request| answer(request, opened.clone()));
                    let _ =
                        auto::Builder::new(TokioExecutor::new()).serve_connection(TokioIo::new(stream), service).await;
                });
            }
        });
        Self { access, watches, task }
    }

    async fn watch(&mut self) -> Sender<Bytes> {
        tokio::time::timeout(SOON, self.watches.recv()).await.unwrap().unwrap()
    }
}

async fn answer(
    request: Request<Incoming>,
    opened: UnboundedSender<Sender<Bytes>>,
) -> Result<Response<StreamBody<Frames>>, Infallible> {
    let (sender, receiver) = channel(1);
    match request.uri().path() {
        "/never" => {
            // Dropped when the request is cancelled.
            opened.send(sender).unwrap();
            let _held = receiver;
            pending().await
        }
        path if path.ends_with("/echo") => {
            let mut said: Vec<String> =
                request.headers().iter().map(|(name, value)| format!("{name}: {}", value.to_str().unwrap())).collect();
            said.push(String::from_utf8_lossy(&request.collect().await.unwrap().to_bytes()).into_owned());
            let text = Bytes::from(said.join("\n"));
            let body = stream::iter([Ok(Frame::data(text))]).boxed();
            let mut response = Response::new(StreamBody::new(body));
            // The interceptor must not decode it, whatever it claims.
            response.headers_mut().insert("content-encoding", "gzip".parse().unwrap());
            Ok(response)
        }
        _ => {
            let accepted = request.headers().get("accept").cloned();
            opened.send(sender).unwrap();
            let frames = stream::unfold(receiver, async |mut receiver| Some((receiver.recv().await?, receiver)));
            let mut response = Response::new(StreamBody::new(frames.map(|bytes| Ok(Frame::data(bytes))).boxed()));
            let kind = accepted.unwrap_or_else(|| "application/json".parse().unwrap());
            response.headers_mut().insert("content-type", kind);
            Ok(response)
        }
    }
}

fn client(interceptor: &Interceptor, version: Version) -> Client<HttpsConnector<HttpConnector>, Full<Bytes>> {
    client_to(&interceptor.access(), version)
}

fn client_to(access: &ClusterAccess, version: Version) -> Client<HttpsConnector<HttpConnector>, Full<Bytes>> {
    // In HTTP/2 head and body are two small writes, and the second must not wait for the
    // acknowledgement of the first, which takes 40 ms.
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    let tls = HttpsConnectorBuilder::new().with_tls_config(client_config(access).unwrap()).https_only();
    let connector = match version {
        Version::HTTP_2 => tls.enable_http2().wrap_connector(tcp),
        _ => tls.enable_http1().wrap_connector(tcp),
    };
    Client::builder(TokioExecutor::new()).http2_only(version == Version::HTTP_2).build(connector)
}

fn get(interceptor: &Interceptor, path: &str) -> Request<Full<Bytes>> {
    let body = Full::default();
    Request::get(format!("{}{path}", interceptor.url())).header("authorization", "Bearer subject").body(body).unwrap()
}

/// The encoding of a watch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Json,
    /// The encoding in which client-go's typed clients read built-in kinds.
    Protobuf,
}

impl Form {
    /// The request of a watch in this encoding.
    fn watch(self, interceptor: &Interceptor, path: &str) -> Request<Full<Bytes>> {
        let mut request = get(interceptor, path);
        let accept = if self == Self::Json { "application/json" } else { protobuf::WATCH_MEDIA_TYPE };
        request.headers_mut().insert("accept", accept.parse().unwrap());
        request
    }

    /// An event of a watch.
    fn event(self, kind: &str, metadata: &Value) -> Bytes {
        let object = json!({"kind": "ReplicaSet", "apiVersion": "apps/v1", "metadata": metadata});
        match self {
            Self::Json => format!("{}\n", json!({"type": kind, "object": object})).into(),
            Self::Protobuf => {
                let object = protobuf::encode(&object).unwrap();
                protobuf::WireEvent { kind: kind.to_owned(), object }.frame().into()
            }
        }
    }

    /// Takes the first event from the received bytes; returns its type and its object.
    fn take(self, rest: &mut Vec<u8>) -> Option<(String, Value)> {
        if self == Self::Protobuf {
            let event = protobuf::WireEvent::take(rest).unwrap()?;
            return Some((event.kind, protobuf::decode(&event.object).unwrap()));
        }
        let end = rest.iter().position(|byte| *byte == b'\n')?;
        let line: Vec<u8> = rest.drain(..=end).collect();
        let mut event: Value = serde_json::from_slice(&line).unwrap();
        Some((event["type"].as_str().unwrap().to_owned(), event["object"].take()))
    }
}

async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(SOON, future).await.expect("in time")
}

/// Waits until this many requests have arrived at the interceptor, answered or not.
async fn arrived(interceptor: &Interceptor, requests: u64) {
    soon(async {
        while interceptor.log().arrivals() < requests {
            clock::pause(Duration::from_millis(1)).await;
        }
    })
    .await;
}

async fn frame(body: &mut Incoming) -> Option<Bytes> {
    soon(body.frame()).await.map(|frame| frame.unwrap().into_data().unwrap())
}

#[rstest]
#[case(Version::HTTP_11)]
#[case(Version::HTTP_2)]
#[tokio::test]
async fn requests_and_answers_pass_unchanged(#[case] version: Version) {
    let server = Server::start().await;
    let interceptor = Interceptor::start(&server.access).unwrap();
    let mut request = get(&interceptor, "/apis/apps/v1/namespaces/a/deployments/web/echo?dryRun=All");
    *request.method_mut() = hyper::Method::PUT;
    *request.body_mut() = Bytes::from_static(b"k8s\0protobuf").into();
    if version == Version::HTTP_11 {
        request.headers_mut().insert("connection", "keep-alive, x-hop".parse().unwrap());
        request.headers_mut().insert("x-hop", "1".parse().unwrap());
    }
    let response = soon(client(&interceptor, version).request(request)).await.unwrap();
    assert_eq!(response.version(), version);
    assert_eq!(response.status(), StatusCode::OK);
    assert_eq!(response.headers()["content-encoding"], "gzip");
    let text = String::from_utf8(response.collect().await.unwrap().to_bytes().to_vec()).unwrap();
    assert!(text.contains("authorization: Bearer subject") && text.ends_with("k8s\0protobuf"), "{text}");
    assert!(!text.contains("x-hop") && !text.contains("connection:"), "{text}");
    assert_eq!(soon(interceptor.log().wait_for_more_than(0)).await, 1);
    let seen = interceptor.log().drain().remove(0);
    assert_eq!((seen.verb, seen.status, seen.subresource.as_str()), (Verb::Update, Some(200), "echo"));
}

#[rstest]
#[case(Version::HTTP_11)]
#[case(Version::HTTP_2)]
#[tokio::test]
async fn frames_are_forwarded_at_once_and_watch_is_logged_when_it_begins(#[case] version: Version) {
    let mut server = Server::start().await;
    let interceptor = Interceptor::start(&server.access).unwrap();
    let mut body = soon(client(&interceptor, version).request(get(&interceptor, "/api/v1/pods?watch=true")))
        .await
        .unwrap()
        .into_body();
    soon(interceptor.log().wait_for_more_than(0)).await;
    assert_eq!(interceptor.log().drain().remove(0).verb, Verb::Watch);
    let events = server.watch().await;
    for text in ["one", "two", "three"] {
        events.send(Bytes::from(text)).await.unwrap();
        assert_eq!(frame(&mut body).await.unwrap(), text);
    }
    drop(events);
    assert!(soon(body.collect()).await.unwrap().to_bytes().is_empty(), "an end is an end");
}

#[rstest]
#[case(Version::HTTP_11, "/api/v1/pods?watch=true")]
#[case(Version::HTTP_2, "/api/v1/pods?watch=true")]
#[case(Version::HTTP_11, "/never")]
#[case(Version::HTTP_2, "/never")]
#[tokio::test]
async fn client_disconnect_cancels_its_request(#[case] version: Version, #[case] path: &str) {
    let mut server = Server::start().await;
    let interceptor = Interceptor::start(&server.access).unwrap();
    let client = client(&interceptor, version);
    let request = get(&interceptor, path);
    let asking = tokio::spawn(async move { client.request(request).await.unwrap().into_body().collect().await });
    let events = server.watch().await;
    if path != "/never" {
        // The answer has begun.
        soon(interceptor.log().wait_for_more_than(0)).await;
    }
    assert!(!events.is_closed());
    asking.abort();
    soon(events.closed()).await;
    if path == "/never" {
        soon(interceptor.log().wait_for_more_than(0)).await;
        assert_eq!(interceptor.log().drain().remove(0).status, None);
    }
}

#[rstest]
#[case(Version::HTTP_11)]
#[case(Version::HTTP_2)]
#[tokio::test]
async fn server_disconnect_ends_watch_and_later_requests_get_502(#[case] version: Version) {
    let mut server = Server::start().await;
    let interceptor = Interceptor::start(&server.access).unwrap();
    let client = client(&interceptor, version);
    let mut body = soon(client.request(get(&interceptor, "/api/v1/pods?watch=true"))).await.unwrap().into_body();
    let events = server.watch().await;
    events.send(Bytes::from_static(b"one")).await.unwrap();
    assert!(frame(&mut body).await.is_some());
    server.task.abort();
    assert!(soon(body.frame()).await.unwrap().is_err(), "a cut watch must not look like a finished one");

    let response = soon(client.request(get(&interceptor, "/api/v1/pods/p"))).await.unwrap();
    assert_eq!(response.status(), StatusCode::BAD_GATEWAY);
    assert_eq!(response.headers()["content-type"], "application/json");
    let status: Value = serde_json::from_slice(&response.collect().await.unwrap().to_bytes()).unwrap();
    assert_eq!((&status["kind"], &status["code"]), (&"Status".into(), &502.into()));
    assert!(status["message"].as_str().unwrap().contains("refused"), "{status}");
}

#[rstest]
#[case(Version::HTTP_11)]
#[case(Version::HTTP_2)]
#[tokio::test]
async fn an_unread_watch_does_not_block_other_requests(#[case] version: Version) {
    let mut server = Server::start().await;
    let interceptor = Interceptor::start(&server.access).unwrap();
    let (reader, idler) = (client(&interceptor, version), client(&interceptor, version));
    let _unread = soon(idler.request(get(&interceptor, "/api/v1/pods?watch=true"))).await.unwrap();
    let events = server.watch().await;
    // More than a window of the default size holds.
    let pouring = tokio::spawn(async move {
        for _ in 0..512 {
            if events.send(Bytes::from(vec![b'x'; 64 << 10])).await.is_err() {
                break;
            }
        }
    });
    clock::pause(Duration::from_millis(200)).await;
    let response = soon(reader.request(get(&interceptor, "/echo"))).await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    pouring.abort();
}

#[tokio::test]
async fn dropping_the_interceptor_ends_pending_requests() {
    let mut server = Server::start().await;
    let interceptor = Interceptor::start(&server.access).unwrap();
    let client = client(&interceptor, Version::HTTP_2);
    let mut body = soon(client.request(get(&interceptor, "/api/v1/pods?watch=true"))).await.unwrap().into_body();
    let events = server.watch().await;
    drop(interceptor);
    soon(events.closed()).await;
    assert!(soon(body.frame()).await.unwrap().is_err());
}

/// The request does not reach the server, which has no such path.
#[tokio::test(start_paused = true)]
async fn webhook_message_is_accepted_and_logged() {
    let interceptor = Interceptor::in_process(kube_apiserver_sim::ApiServer::builder().build());
    let reader = interceptor.log().reader("ns");
    let request = Request::post(super::WEBHOOK).body("restarted".as_bytes().to_vec()).unwrap();
    let answer = interceptor.client().unwrap().send(request.map(kube::client::Body::from)).await.unwrap();
    assert_eq!(answer.status(), 200);
    drop(answer);
    let logged = reader.drain();
    let seen = logged.iter().map(|it| (it.verb, it.resource.as_str(), it.status, it.message.as_deref()));
    assert_eq!(seen.collect::<Vec<_>>(), [(Verb::Create, "webhook", Some(200), Some("restarted"))]);
}

/// The server of a kubeconfig is behind a proxy.
#[rstest]
#[case::connect(ProxyProtocol::Connect, "http")]
#[case::socks(ProxyProtocol::Socks(None), "socks5")]
#[tokio::test]
async fn reaches_its_server_through_a_proxy(#[case] form: ProxyProtocol, #[case] scheme: &str) {
    let server = Server::start().await;
    let proxy = TestProxy::start(form).await;
    let through = format!("{scheme}://{}", proxy.address).parse().unwrap();
    let access = ClusterAccess { proxy: Some(through), ..server.access.clone() };
    let interceptor = Interceptor::start(&access).unwrap();
    let answer = soon(client(&interceptor, Version::HTTP_2).request(get(&interceptor, "/api"))).await.unwrap();
    assert_eq!(answer.status(), 200);
    assert_eq!(proxy.requests().len(), 1);
}

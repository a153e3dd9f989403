//! The server as a tower service under a client: requests in this process, no sockets, and the async runtime's own time.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use futures::future::BoxFuture;
use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Bytes, Frame};
use hyper::header::{ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue};
use hyper::{Request, Response, StatusCode};
use jiff::Timestamp;
use tokio::time::Sleep;

use super::server::{Answer, Call, JSON, Server};
use super::transcript::Transcript;
use super::watch::{BEGINS, Order};
use super::weather::Weather;
use crate::clock;
use crate::news::{Listener, News};

/// A cluster in this process. Clones are the same one.
#[derive(Clone)]
pub struct Sim {
    shared: Arc<Shared>,
}

struct Shared {
    server: Mutex<Server>,
    tidying: Tidying,
    weather: Mutex<Weather>,
    transcript: Mutex<Transcript>,
    /// Told of the writes.
    news: News,
}

/// When the cluster's own controllers do what is due.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tidying {
    Never,
    /// In the write that makes it due.
    AtOnce,
    /// Garbage and namespaces' content, one step after the other, a while later: [`Sim::keep_tidy`].
    Later,
}

/// Between two steps of the cluster's own controllers in real time. A real garbage collector learns from a watch that an owner is gone;
/// by then the other watches know it too.
const STEP: Duration = Duration::from_millis(5);

impl Sim {
    /// A new cluster, empty but for its namespaces. The same seed gives the same names, uids and delays; with seed 0 nothing is delayed.
    pub fn new(seed: u64) -> Self {
        let sim = Self::with(seed, Tidying::AtOnce);
        sim.tidy();
        sim
    }

    /// A new cluster whose own controllers need [`Sim::keep_tidy`], as they take their time.
    pub fn in_real_time(seed: u64) -> Self {
        let sim = Self::with(seed, Tidying::Later);
        sim.tidy();
        sim
    }

    /// The API server of one alone: nobody collects garbage, empties namespaces or counts quotas.
    pub fn server_alone(seed: u64) -> Self {
        Self::with(seed, Tidying::Never)
    }

    fn with(seed: u64, tidying: Tidying) -> Self {
        let shared = Shared {
            server: Mutex::new(Server::new(seed, clock::now())),
            tidying,
            weather: Mutex::new(Weather::new(seed)),
            transcript: Mutex::default(),
            news: News::default(),
        };
        Self { shared: Arc::new(shared) }
    }

    /// A client of it.
    pub fn client(&self) -> kube::Client {
        let sim = self.clone();
        let service = tower::service_fn(move |request: Request<kube::client::Body>| {
            let sim = sim.clone();
            async move { sim.call(request).await }
        });
        kube::Client::new(service, "default")
    }

    /// What it was asked that it does not know; nothing that followed from that can be believed.
    pub fn beyond(&self) -> Vec<String> {
        self.server().beyond.clone()
    }

    /// Let every object that is created in a namespace from now on carry at least this creation time. The server's times have a
    /// resolution of one second; so a case need not wait for the next one to tell two ReplicaSets apart.
    pub fn not_before(&self, namespace: &str, time: Timestamp) {
        self.server().not_before.insert(namespace.to_owned(), time);
    }

    /// Forget what was before a version, as a real server does once enough has happened: watches from there are refused.
    pub fn forget(&self, version: u64) {
        self.server().store.forget(version);
    }

    /// Keep a line for each request from now on.
    pub fn transcribe(&self) {
        locked(&self.shared.transcript).begin();
    }

    /// The lines so far: when, what, and of bodies the fingerprints.
    pub fn transcript(&self) -> Vec<String> {
        locked(&self.shared.transcript).lines()
    }

    /// Answer one request.
    ///
    /// # Errors
    /// Never.
    pub async fn call<B>(&self, request: Request<B>) -> Result<Response<Reply>, Infallible>
    where
        B: Body,
        B::Error: std::fmt::Debug,
    {
        let (parts, body) = request.into_parts();
        let body = body.collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
        let header = |name: HeaderName| {
            parts.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned()
        };
        let call = Call {
            path: parts.uri.path().to_owned(),
            query: query(parts.uri.query().unwrap_or_default()),
            content_type: header(CONTENT_TYPE),
            accept: header(ACCEPT),
            method: parts.method,
            body,
        };
        // A request takes its time, so that what it comes to is known to watches before its answer arrives, as it mostly is.
        let (there, back) = self.ways();
        clock::pause(there).await;
        let now = clock::now();
        let (answer, wrote) = {
            let mut server = self.server();
            let before = server.store.version();
            let answer = server.answer(&call, now);
            (answer, server.store.version() != before)
        };
        match &answer {
            Answer::Whole { code, body, .. } => self.note(&call, now, *code, body),
            Answer::Watch(_) => self.note(&call, now, BEGINS, &Bytes::new()),
        }
        if wrote {
            match self.shared.tidying {
                Tidying::Never => {}
                Tidying::AtOnce => self.tidy(),
                Tidying::Later => self.server().tidy_at_once(),
            }
            self.shared.news.tell();
        }
        clock::pause(back).await;
        Ok(self.reply(answer))
    }

    fn ways(&self) -> (Duration, Duration) {
        let mut weather = locked(&self.shared.weather);
        (weather.way(), weather.way())
    }

    fn note(&self, call: &Call, now: Timestamp, code: StatusCode, body: &Bytes) {
        locked(&self.shared.transcript).note(call, now.as_microsecond(), code, body);
    }

    /// Let the cluster's own controllers do what becomes due from this call on, for as long as the future is polled.
    pub fn keep_tidy(self) -> impl Future<Output = ()> {
        let mut news = self.shared.news.listen();
        async move {
            loop {
                news.changed().await;
                self.quiet_for_a_step().await;
                while self.tidy_once() {
                    self.quiet_for_a_step().await;
                }
            }
        }
    }

    /// Wait until nobody has written for a step, or for ten of them: each watch has had that long to deliver the last write.
    async fn quiet_for_a_step(&self) {
        for _ in 0..10 {
            let written = self.shared.news.count();
            clock::pause(STEP).await;
            if self.shared.news.count() == written {
                return;
            }
        }
    }

    fn tidy_once(&self) -> bool {
        let did = self.server().tidy(clock::now());
        if did {
            self.shared.news.tell();
        }
        did
    }

    /// Let the cluster's own controllers do what is due.
    fn tidy(&self) {
        let now = clock::now();
        let mut server = self.server();
        while server.tidy(now) {}
    }

    fn reply(&self, answer: Answer) -> Response<Reply> {
        let (code, body, warnings, form) = match answer {
            Answer::Whole { code, body, warnings, form } => (code, Reply::Whole(Full::new(body)), warnings, form),
            Answer::Watch(order) => (BEGINS, Reply::Watch(Box::new(self.open(order))), Vec::new(), JSON),
        };
        let mut response = Response::new(body);
        *response.status_mut() = code;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(form));
        for warning in warnings {
            if let Ok(value) = HeaderValue::from_str(&format!("299 - {warning:?}")) {
                headers.append(hyper::header::WARNING, value);
            }
        }
        response
    }

    fn open(&self, mut order: Order) -> Watch {
        let ends = order.timeout.map(|seconds| Box::pin(clock::sleep(Duration::from_secs(seconds))));
        let waiting = std::mem::take(&mut order.first).into();
        let woken = wait(self.shared.news.listen());
        Watch { sim: self.clone(), order, waiting, ends, late: None, woken }
    }

    fn server(&self) -> MutexGuard<'_, Server> {
        locked(&self.shared.server)
    }
}

/// No code panics while it holds such a lock, so what is behind it is whole.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl std::fmt::Debug for Sim {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sim").finish_non_exhaustive()
    }
}

/// An answer's body.
#[derive(Debug)]
pub enum Reply {
    /// All of it at once.
    Whole(Full<Bytes>),
    /// Events as they come.
    Watch(Box<Watch>),
}

/// A watch that is open.
pub struct Watch {
    sim: Sim,
    order: Order,
    waiting: std::collections::VecDeque<Bytes>,
    ends: Option<Pin<Box<Sleep>>>,
    /// What is new is on its way.
    late: Option<Pin<Box<Sleep>>>,
    woken: BoxFuture<'static, Listener>,
}

impl Body for Reply {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match self.get_mut() {
            Self::Whole(body) => Pin::new(body).poll_frame(cx),
            Self::Watch(watch) => watch.poll(cx).map(|event| event.map(|event| Ok(Frame::data(event)))),
        }
    }
}

impl Watch {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        loop {
            if let Some(event) = self.waiting.pop_front() {
                return Poll::Ready(Some(event));
            }
            if self.order.gone {
                return Poll::Ready(None);
            }
            if let Some(ends) = &mut self.ends
                && ends.as_mut().poll(cx).is_ready()
            {
                if !(self.order.bookmarks && self.order.kind.has_bookmarks()) {
                    return Poll::Ready(None);
                }
                // A last word on how far it got, then the end.
                self.order.gone = true;
                return Poll::Ready(Some(self.order.bookmark(false)));
            }
            if let Some(late) = &mut self.late {
                match late.as_mut().poll(cx) {
                    Poll::Ready(()) => self.late = None,
                    Poll::Pending => return Poll::Pending,
                }
            }
            let news = self.sim.server().news(&mut self.order);
            if !news.is_empty() {
                self.waiting.extend(news);
                continue;
            }
            match self.woken.as_mut().poll(cx) {
                Poll::Ready(listener) => {
                    self.woken = wait(listener);
                    self.late = locked(&self.sim.shared.weather).lag().map(|lag| Box::pin(clock::sleep(lag)));
                }
                Poll::Pending => return Poll::Pending,
            }
        }
    }
}

impl std::fmt::Debug for Watch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Watch").field("order", &self.order).finish_non_exhaustive()
    }
}

fn wait(mut news: Listener) -> BoxFuture<'static, Listener> {
    Box::pin(async move {
        news.changed().await;
        news
    })
}

/// The parameters, decoded.
fn query(text: &str) -> BTreeMap<String, String> {
    let mut parameters: BTreeMap<String, String> = BTreeMap::new();
    for pair in text.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        // The first counts, but of a list, which is kept line by line.
        match parameters.get_mut(&decode(name)) {
            Some(all) if name == "dryRun" => *all += &format!("\n{}", decode(value)),
            Some(_) => {}
            None => {
                parameters.insert(decode(name), decode(value));
            }
        }
    }
    parameters
}

fn decode(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let hex = text.get(at + 1..at + 3).and_then(|pair| u8::from_str_radix(pair, 16).ok());
        match (byte, hex) {
            (b'%', Some(value)) => {
                decoded.push(value);
                at += 2;
            }
            (b'+', _) => decoded.push(b' '),
            _ => decoded.push(byte),
        }
        at += 1;
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

//! One request: its body is read, the server acts, and a panic is answered for.

use std::convert::Infallible;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::time::Duration;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use http::{Request, Response, StatusCode};
use http_body::Body;
use http_body_util::BodyExt;

use crate::builder::Controllers;
use crate::call::{LONGEST_BODY, NOT_UTF8, read as call, refusal};
use crate::clock;
use crate::response::ResponseBody;
use crate::route::Undecodable;
use crate::server::Answer;
use crate::service::ApiServer;
use crate::watch::BEGINS;

/// Upstream: `WithPanicRecovery`.
const PANICKED: &str = "This request caused apiserver to panic. Look in the logs.\n";

impl ApiServer {
    /// Answers one request. The answer of a watch is a body that does not end before the watch.
    /// The request's body is one that cannot break off: of one that does, the caller decides what
    /// becomes of the request. [`ApiServer::on_request`] does not apply.
    pub async fn handle<B: Body<Error = Infallible>>(&self, request: Request<B>) -> Response<ResponseBody> {
        let Ok(request) = whole(request).await;
        // The answer takes time too, so watches mostly deliver a write before its answer arrives.
        let (there, back) = self.trips();
        clock::sleep(there).await;
        self.await_version(&request).await;
        let answer = self.act(request);
        clock::sleep(back).await;
        self.reply(answer)
    }

    /// Waits a while for a version of the future that a read asks for.
    pub(crate) async fn await_version(&self, request: &Request<Bytes>) {
        /// Upstream: `blockTimeout` of the watch cache.
        const PATIENCE: Duration = Duration::from_secs(3);
        if !request.uri().query().is_some_and(|query| query.contains("resourceVersion")) {
            return;
        }
        let Ok(call) = call(request.clone(), self.managed) else { return };
        let mut written = self.shared.written.listen();
        let reached = async {
            while self.server().awaited(&call).is_some() {
                written.changed().await;
            }
        };
        clock::within(PATIENCE, reached).await;
    }

    /// Does what a request asks, at once. A panic is an error of this server: the request is
    /// answered as upstream answers it, and recorded as one that is not supported.
    pub(crate) fn act(&self, request: Request<Bytes>) -> Answer {
        let name = format!("{} {}", request.method(), request.uri().path());
        self.catch(&name, || self.try_act(request))
    }

    /// An answer, that to a panic included. The locks that are held meanwhile are not poisoned for
    /// the next request (`locked`).
    fn catch(&self, name: &str, act: impl FnOnce() -> Answer) -> Answer {
        catch_unwind(AssertUnwindSafe(act)).unwrap_or_else(|_| {
            let mut server = self.server();
            server.unsupported.push(format!("{name}: the server panicked; see its standard error"));
            // The request may have been a dry run; the next one is not.
            server.dry = false;
            Answer::Whole {
                code: StatusCode::INTERNAL_SERVER_ERROR,
                body: PANICKED.into(),
                warnings: Vec::new(),
                form: "text/plain; charset=utf-8",
            }
        })
    }

    fn try_act(&self, request: Request<Bytes>) -> Answer {
        let now = self.now();
        let call = match call(request, self.managed) {
            Ok(call) => call,
            Err(why) => {
                if why == Undecodable::NotUtf8 {
                    self.server().unsupported.push(NOT_UTF8.to_owned());
                }
                return refusal(why);
            }
        };
        let (answer, before, wrote) = {
            let mut server = self.server();
            let before = server.store.version();
            // The time may have come for quotas to be counted.
            while self.shared.controllers != Controllers::Off && server.recount_quota(now) {}
            let answer = server.answer(&call, now);
            (answer, before, server.store.version() != before)
        };
        match &answer {
            Answer::Whole { code, body, .. } => self.note(&call, now, *code, body),
            Answer::Watch(_) => self.note(&call, now, BEGINS, &Bytes::new()),
        }
        if wrote {
            self.wrote(before);
        }
        answer
    }
}

/// A request with its body. Of a body that is too long, no more is read than shows that it is.
///
/// # Errors
/// When the body breaks off.
pub(crate) async fn whole<B: Body>(request: Request<B>) -> Result<Request<Bytes>, B::Error> {
    let (parts, body) = request.into_parts();
    let mut body = pin!(body);
    let mut read = BytesMut::new();
    while let Some(frame) = body.frame().await {
        if let Ok(data) = frame?.into_data() {
            read.put(data.take(LONGEST_BODY + 1 - read.len()));
        }
        if read.len() > LONGEST_BODY {
            break;
        }
    }
    Ok(Request::from_parts(parts, read.freeze()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn answers_after_a_panic_under_the_lock() {
        let server = ApiServer::new();
        let panics = || -> Answer {
            let mut locked = server.server();
            locked.dry = true;
            panic!("a test's");
        };
        let answer = server.reply(server.catch("PUT /a", panics));
        assert_eq!(answer.status(), StatusCode::INTERNAL_SERVER_ERROR);
        assert_eq!(answer.into_body().collect().await.unwrap().to_bytes(), PANICKED);
        assert_eq!(server.unsupported(), ["PUT /a: the server panicked; see its standard error"]);
        let map = Request::post("/api/v1/namespaces/default/configmaps");
        let map = map.header("content-type", "application/json").body(r#"{"metadata":{"name":"a"}}"#.to_owned());
        assert_eq!(server.handle(map.unwrap()).await.status(), StatusCode::CREATED);
        assert_eq!(server.stored("configmaps").unwrap().list("default").len(), 1, "this was no dry run");
    }
}

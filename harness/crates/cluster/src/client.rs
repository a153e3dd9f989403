//! Builds the clients for servers, with any kind of credentials and through any proxy.
//!
//! A client does not retry, because a retry would hide a fault from the case that injects it, and
//! sets no time limit on a silent watch. It limits the size of the responses: a server, or a proxy
//! before it, could send an endless body. A watch does not end, but each event is one object on one
//! line, and etcd stores at most 1.5 MiB of an object by default.

use std::path::PathBuf;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use http_body_util::Limited;
use hyper::body::{Body as HttpBody, Bytes, Frame, Incoming, SizeHint};
use hyper::header::{AUTHORIZATION, HeaderValue};
use hyper::{Request, Response, Uri};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use kube::client::{Body, ClientBuilder, ConfigExt};
use rustls::pki_types::CertificateDer;
use tower::{BoxError, ServiceBuilder};

use crate::dialer::{Dialer, basic_auth};
use crate::error_chain::{chain_once, without_output};
use crate::proxy::ForwardProxy;

/// The credentials of a request, besides certificates and plugins.
#[derive(Clone, Default)]
pub(crate) struct Authorization {
    /// A bearer token.
    pub(crate) token: Option<String>,
    /// A file with a token, which is read for each request because it may be replaced. `token` is
    /// used if the file cannot be read.
    pub(crate) token_file: Option<PathBuf>,
    /// User name and password.
    pub(crate) basic: Option<(String, String)>,
}

impl Authorization {
    fn header(&self) -> Option<HeaderValue> {
        if let Some((name, password)) = &self.basic {
            return basic_auth(name, password);
        }
        let text = self.token_file.as_ref().and_then(|file| std::fs::read_to_string(file).ok());
        let of_file = text.map(|text| text.trim().to_owned()).filter(|token| !token.is_empty());
        let token = of_file.or_else(|| self.token.clone())?;
        let mut value = HeaderValue::try_from(format!("Bearer {token}")).ok()?;
        value.set_sensitive(true);
        Some(value)
    }
}

/// Builds a client from this configuration, with these credentials, through this proxy. `proxy_url`
/// and the timeouts of the configuration are not used. Needs a tokio runtime.
///
/// # Errors
/// The error in the configuration, or why a credential plugin failed.
pub(crate) fn build_client(
    config: &kube::Config,
    authorization: Authorization,
    proxy: Option<&ForwardProxy>,
    limit: Duration,
) -> Result<kube::Client, String> {
    let failed = |error: kube::Error| chain_once(&error);
    let authorities: Vec<CertificateDer<'_>> =
        config.root_cert.iter().flatten().map(|bytes| CertificateDer::from(bytes.as_slice())).collect();
    let dial = Dialer::new(proxy, &authorities, limit)?;
    let connector = config.rustls_https_connector_with_connector(dial).map_err(failed)?;
    let http: Client<_, Body> = Client::builder(TokioExecutor::new()).build(connector);
    // Keep using the last token if its file disappears.
    let last: Arc<Mutex<Option<HeaderValue>>> = Arc::default();
    let authorize = move |mut request: Request<Body>| {
        let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
        *last = authorization.header().or_else(|| last.take());
        if let Some(header) = &*last {
            request.headers_mut().insert(AUTHORIZATION, header.clone());
        }
        request
    };
    let limited = tower::service_fn(move |request: Request<Body>| {
        let (is_watch, answer) = (is_watch(request.uri()), http.request(request));
        async move {
            Ok(answer.await?.map(|body| LimitedBody::new(body, is_watch))) as Result<Response<LimitedBody>, BoxError>
        }
    });
    let service = ServiceBuilder::new()
        .map_err(without_output)
        .layer(config.base_uri_layer())
        .option_layer(config.auth_layer().map_err(failed)?)
        .layer(config.extra_headers_layer().map_err(failed)?)
        .map_request(authorize)
        .service(limited);
    Ok(ClientBuilder::new(service, config.default_namespace.clone()).build())
}

/// The maximum size of one watch event, in bytes.
const MAX_EVENT_BYTES: usize = 16 << 20;
/// The maximum size of any other response, in bytes. The largest is a page of 500 objects of a
/// list.
const MAX_RESPONSE_BYTES: usize = 128 << 20;
/// The maximum number of pages of a list; the largest clusters have fewer objects.
pub const MAX_PAGES: usize = 1_000;

/// Why a response is not read completely.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ResponseTooLarge {
    /// An event of a watch is too long.
    #[error("an event of a watch is longer than {} MiB, so it is not read", MAX_EVENT_BYTES >> 20)]
    Event,
    /// Another response is too long.
    #[error("the answer is longer than {} MiB, so it is not read", MAX_RESPONSE_BYTES >> 20)]
    LimitedBody,
    /// A list has too many pages.
    #[error("the list has more than {MAX_PAGES} pages, so it is not read to its end")]
    Pages,
}

impl ResponseTooLarge {
    /// Finds this error among the causes of a failed request.
    pub fn find(error: &kube::Error) -> Option<Self> {
        let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
        while let Some(error) = cause {
            if let Some(found) = error.downcast_ref() {
                return Some(*found);
            }
            // `source()` of an I/O error skips the error that it wraps, so look at that first.
            let wrapped = error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
            cause = wrapped.map(|wrapped| wrapped as &(dyn std::error::Error + 'static)).or_else(|| error.source());
        }
        None
    }
}

/// Whether a request opens a watch.
fn is_watch(uri: &Uri) -> bool {
    uri.query().is_some_and(|query| query.split('&').any(|part| matches!(part, "watch=true" | "watch=1" | "watch=")))
}

/// A response body that fails at its limit.
#[derive(Debug)]
enum LimitedBody<B = Incoming> {
    /// A watch, and the length so far of its unfinished event.
    Watch(B, usize),
    /// Any other response.
    Other(Limited<B>),
}

impl<B> LimitedBody<B> {
    pub(crate) fn new(body: B, is_watch: bool) -> Self {
        if is_watch { Self::Watch(body, 0) } else { Self::Other(Limited::new(body, MAX_RESPONSE_BYTES)) }
    }
}

impl<B> HttpBody for LimitedBody<B>
where
    B: HttpBody<Data = Bytes> + Unpin,
    B::Error: Into<BoxError>,
{
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let frame = match self.get_mut() {
            Self::Watch(body, length) => {
                let frame = std::task::ready!(Pin::new(body).poll_frame(context)).map(|frame| {
                    let frame = frame.map_err(Into::into)?;
                    *length = unfinished_line_length(*length, frame.data_ref().map_or(&[], |data| data))
                        .ok_or(ResponseTooLarge::Event)?;
                    Ok(frame)
                });
                return Poll::Ready(frame);
            }
            Self::Other(body) => std::task::ready!(Pin::new(body).poll_frame(context)),
        };
        Poll::Ready(frame.map(|frame| {
            frame.map_err(|error| match error.downcast::<http_body_util::LengthLimitError>() {
                Ok(_) => ResponseTooLarge::LimitedBody.into(),
                Err(error) => error,
            })
        }))
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Watch(body, _) => body.is_end_stream(),
            Self::Other(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Watch(body, _) => body.size_hint(),
            Self::Other(body) => body.size_hint(),
        }
    }
}

/// The length of the unfinished line after these bytes; `None` if a line is too long.
fn unfinished_line_length(before: usize, data: &[u8]) -> Option<usize> {
    let mut length = before;
    for (number, line) in data.split(|byte| *byte == b'\n').enumerate() {
        length = if number == 0 { length + line.len() } else { line.len() };
        if length > MAX_EVENT_BYTES {
            return None;
        }
    }
    Some(length)
}

#[cfg(test)]
mod tests {
    use http_body_util::{BodyExt, StreamBody};
    use rstest::rstest;

    use super::*;

    const CHUNK: &[u8] = &[b' '; 1 << 20];

    /// Reads this many chunks: the number of bytes read, and the error if reading stopped.
    async fn read_chunks(chunk: &'static [u8], chunks: usize, is_watch: bool) -> (usize, Option<ResponseTooLarge>) {
        let frames = (0..chunks).map(move |_| Ok::<_, BoxError>(Frame::data(Bytes::from_static(chunk))));
        let mut answer = LimitedBody::new(StreamBody::new(futures::stream::iter(frames)), is_watch);
        let mut bytes = 0;
        while let Some(frame) = answer.frame().await {
            match frame {
                Ok(frame) => bytes += frame.data_ref().map_or(0, Bytes::len),
                Err(error) => return (bytes, error.downcast_ref().copied()),
            }
        }
        (bytes, None)
    }

    #[rstest]
    #[case::endless_event(CHUNK, true, MAX_EVENT_BYTES, Some(ResponseTooLarge::Event))]
    #[case::many_events(b"{}\n{}", true, 500 * 5, None)]
    #[case::endless_list(CHUNK, false, MAX_RESPONSE_BYTES, Some(ResponseTooLarge::LimitedBody))]
    #[case::list(b"{}\n{}", false, 500 * 5, None)]
    #[tokio::test]
    async fn stops_reading_endless_responses(
        #[case] chunk: &'static [u8],
        #[case] is_watch: bool,
        #[case] bytes: usize,
        #[case] why: Option<ResponseTooLarge>,
    ) {
        assert_eq!(read_chunks(chunk, 500, is_watch).await, (bytes, why));
    }

    #[test]
    fn finds_limit_in_client_error() {
        let error = kube::Error::ReadEvents(std::io::Error::other(BoxError::from(ResponseTooLarge::Event)));
        assert_eq!(ResponseTooLarge::find(&error), Some(ResponseTooLarge::Event));
        assert_eq!(
            ResponseTooLarge::find(&kube::Error::Service(ResponseTooLarge::LimitedBody.into())),
            Some(ResponseTooLarge::LimitedBody)
        );
        assert_eq!(ResponseTooLarge::find(&kube::Error::ReadEvents(std::io::ErrorKind::TimedOut.into())), None);
    }

    #[test]
    fn recognises_watch_by_address() {
        for (uri, expected) in [("/api/v1/pods?limit=1&watch=true", true), ("/api/v1/pods?limit=1", false)] {
            assert_eq!(is_watch(&uri.parse().unwrap()), expected, "{uri}");
        }
    }
}

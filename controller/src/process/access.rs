//! Authorizes readers of the metrics: they need the right to `get` the path `/metrics`.
//!
//! As in kube-controller-manager and controller-runtime, a TokenReview authenticates the reader and
//! a SubjectAccessReview authorizes it. Results are cached, so a scraper costs two requests a
//! minute. The cache holds checksums instead of tokens. The number of concurrent reviews is
//! limited, so that a flood of tokens does not become a flood of reviews.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http::header::AUTHORIZATION;
use http::{HeaderMap, Request};
use kube::Client;
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio::time::Instant;

use crate::clock;

const TOKEN_REVIEWS: &str = "/apis/authentication.k8s.io/v1/tokenreviews";
const ACCESS_REVIEWS: &str = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
/// How long a permission is cached.
const ALLOWED: Duration = Duration::from_secs(60);
/// How long a refusal is cached.
const REFUSED: Duration = Duration::from_secs(10);
/// Cached results.
const KEPT: usize = 64;
/// Concurrent reviews.
const REVIEWS: usize = 4;
/// How long one review may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// The result of the reviews.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Allowed,
    /// No token, or one that the API server does not know.
    Unknown,
    /// A known reader without the right.
    Forbidden,
    /// The API server did not answer.
    Unanswered,
}

/// Checksum of a token.
type Checksum = [u8; 32];

/// Asks the API server and caches the results; clones share the cache.
#[derive(Clone)]
pub(super) struct Access(Arc<Inner>);

struct Inner {
    client: Client,
    known: Mutex<Known>,
    reviews: Semaphore,
}

impl Access {
    pub(super) fn new(client: Client) -> Self {
        Self(Arc::new(Inner { client, known: Mutex::default(), reviews: Semaphore::new(REVIEWS) }))
    }

    /// Whether a request with these headers may read a path.
    pub(super) async fn check(&self, headers: &HeaderMap, path: &'static str) -> Verdict {
        let Some(token) = bearer(headers) else { return Verdict::Unknown };
        let checksum = checksum(token);
        if let Some(verdict) = self.known().get(&checksum, clock::instant()) {
            return verdict;
        }
        let Ok(_turn) = self.0.reviews.acquire().await else { return Verdict::Unanswered };
        // Another request of the same token may have been reviewed meanwhile.
        if let Some(verdict) = self.known().get(&checksum, clock::instant()) {
            return verdict;
        }
        let verdict = self.review(token, path).await.unwrap_or_else(|error| {
            tracing::warn!(error, "Cannot review access to the metrics.");
            Verdict::Unanswered
        });
        self.known().put(checksum, verdict, clock::instant());
        verdict
    }

    async fn review(&self, token: &str, path: &str) -> Result<Verdict, String> {
        let review = json!({
            "apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token},
        });
        let answer = self.post(TOKEN_REVIEWS, &review).await?;
        let (status, user) = (&answer["status"], &answer["status"]["user"]);
        if status["authenticated"] != true {
            return Ok(Verdict::Unknown);
        }
        let review = json!({
            "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
            "spec": {
                "nonResourceAttributes": {"path": path, "verb": "get"},
                "user": user["username"], "uid": user["uid"], "groups": user["groups"], "extra": user["extra"],
            },
        });
        let answer = self.post(ACCESS_REVIEWS, &review).await?;
        Ok(if answer["status"]["allowed"] == true { Verdict::Allowed } else { Verdict::Forbidden })
    }

    async fn post(&self, path: &str, body: &Value) -> Result<Value, String> {
        let request = Request::post(path).header(http::header::CONTENT_TYPE, "application/json");
        let request = request.body(body.to_string().into_bytes()).map_err(|error| error.to_string())?;
        // Parsed here: kube logs an answer that it cannot parse, and this one holds a token.
        let answer = clock::within(PATIENCE, self.0.client.request_text(request)).await;
        let answer = answer.ok_or_else(|| format!("no answer to POST {path} within {} s", PATIENCE.as_secs()))?;
        let text = answer.map_err(|error| format!("POST {path}: {error}"))?;
        serde_json::from_str(&text).map_err(|_| format!("the answer to POST {path} is not JSON"))
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Cached results by token.
#[derive(Debug, Default)]
struct Known(BTreeMap<Checksum, (Verdict, Instant)>);

impl Known {
    fn get(&self, token: &Checksum, now: Instant) -> Option<Verdict> {
        self.0.get(token).filter(|(_, until)| *until > now).map(|(verdict, _)| *verdict)
    }

    fn put(&mut self, token: Checksum, verdict: Verdict, now: Instant) {
        let lasts = match verdict {
            Verdict::Allowed => ALLOWED,
            Verdict::Unknown | Verdict::Forbidden => REFUSED,
            Verdict::Unanswered => return,
        };
        self.0.retain(|_, (_, until)| *until > now);
        if self.0.len() >= KEPT {
            let first = self.0.iter().min_by_key(|(_, (_, until))| *until).map(|(token, _)| *token);
            first.and_then(|token| self.0.remove(&token));
        }
        self.0.insert(token, (verdict, now + lasts));
    }
}

/// The bearer token of a request. The scheme is case-insensitive.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    Some(token.trim()).filter(|token| scheme.eq_ignore_ascii_case("bearer") && !token.is_empty())
}

fn checksum(token: &str) -> Checksum {
    let digest = ring::digest::digest(&ring::digest::SHA256, token.as_bytes());
    digest.as_ref().try_into().expect("SHA-256 has 32 bytes")
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("Bearer abc", Some("abc"))]
    #[case("bearer  abc ", Some("abc"))]
    #[case("Bearer ", None)]
    #[case("Bearer", None)]
    #[case("Basic abc", None)]
    fn tokens(#[case] header: &str, #[case] expected: Option<&str>) {
        let headers = HeaderMap::from_iter([(AUTHORIZATION, header.parse().unwrap())]);
        assert_eq!(bearer(&headers), expected);
        assert_eq!(bearer(&HeaderMap::new()), None);
    }

    #[tokio::test(start_paused = true)]
    async fn answers_hold_for_a_while() {
        let (now, mut known) = (clock::instant(), Known::default());
        let after = |seconds| now + Duration::from_secs(seconds);
        known.put(checksum("a"), Verdict::Allowed, now);
        known.put(checksum("f"), Verdict::Forbidden, now);
        known.put(checksum("n"), Verdict::Unanswered, now);
        assert_eq!(known.get(&checksum("a"), after(59)), Some(Verdict::Allowed));
        assert_eq!(known.get(&checksum("a"), after(60)), None);
        assert_eq!(known.get(&checksum("f"), after(9)), Some(Verdict::Forbidden));
        assert_eq!(known.get(&checksum("f"), after(10)), None);
        assert_eq!(known.get(&checksum("n"), now), None, "an outage is not cached");
    }

    #[tokio::test(start_paused = true)]
    async fn only_so_many_are_kept() {
        let (now, mut known) = (clock::instant(), Known::default());
        known.put(checksum("scraper"), Verdict::Allowed, now);
        for guess in 0..10 * KEPT {
            known.put(checksum(&guess.to_string()), Verdict::Unknown, now);
        }
        assert_eq!(known.0.len(), KEPT);
        assert_eq!(known.get(&checksum("scraper"), now), Some(Verdict::Allowed), "the first to expire goes first");
    }
}

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
const ALLOWED_TTL: Duration = Duration::from_secs(60);
/// How long a refusal is cached.
const REFUSED_TTL: Duration = Duration::from_secs(10);
/// Most cached decisions.
const CACHE_SIZE: usize = 64;
/// Concurrent reviews.
const MAX_REVIEWS: usize = 4;
/// Timeout of one review.
const REVIEW_TIMEOUT: Duration = Duration::from_secs(5);

/// The result of the reviews.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AccessDecision {
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

/// Reviews access by the API server, and caches the decisions; clones share the cache.
#[derive(Clone)]
pub(super) struct AccessReviewer(Arc<ReviewerState>);

struct ReviewerState {
    client: Client,
    cache: Mutex<DecisionCache>,
    reviews: Semaphore,
}

impl AccessReviewer {
    pub(super) fn new(client: Client) -> Self {
        Self(Arc::new(ReviewerState { client, cache: Mutex::default(), reviews: Semaphore::new(MAX_REVIEWS) }))
    }

    /// Whether a request with these headers may read a path.
    pub(super) async fn check(&self, headers: &HeaderMap, path: &'static str) -> AccessDecision {
        let Some(token) = bearer(headers) else { return AccessDecision::Unknown };
        let checksum = checksum(token);
        if let Some(decision) = self.cache().get(&checksum, clock::instant()) {
            return decision;
        }
        let Ok(_turn) = self.0.reviews.acquire().await else { return AccessDecision::Unanswered };
        // A concurrent request with the same token may have been reviewed.
        if let Some(decision) = self.cache().get(&checksum, clock::instant()) {
            return decision;
        }
        let decision = self.review(token, path).await.unwrap_or_else(|error| {
            tracing::warn!(error, "Cannot review access to the metrics.");
            AccessDecision::Unanswered
        });
        self.cache().put(checksum, decision, clock::instant());
        decision
    }

    async fn review(&self, token: &str, path: &str) -> Result<AccessDecision, String> {
        let review = json!({
            "apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token},
        });
        let answer = self.post(TOKEN_REVIEWS, &review).await?;
        let (status, user) = (&answer["status"], &answer["status"]["user"]);
        if status["authenticated"] != true {
            return Ok(AccessDecision::Unknown);
        }
        let review = json!({
            "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
            "spec": {
                "nonResourceAttributes": {"path": path, "verb": "get"},
                "user": user["username"], "uid": user["uid"], "groups": user["groups"], "extra": user["extra"],
            },
        });
        let answer = self.post(ACCESS_REVIEWS, &review).await?;
        Ok(if answer["status"]["allowed"] == true { AccessDecision::Allowed } else { AccessDecision::Forbidden })
    }

    async fn post(&self, path: &str, body: &Value) -> Result<Value, String> {
        let request = Request::post(path).header(http::header::CONTENT_TYPE, "application/json");
        let request = request.body(body.to_string().into_bytes()).map_err(|error| error.to_string())?;
        // Parsed here: kube logs a response that it cannot parse, and this one contains a token.
        let answer = clock::within(REVIEW_TIMEOUT, self.0.client.request_text(request)).await;
        let answer = answer.ok_or_else(|| format!("no answer to POST {path} within {} s", REVIEW_TIMEOUT.as_secs()))?;
        let text = answer.map_err(|error| format!("POST {path}: {error}"))?;
        serde_json::from_str(&text).map_err(|_| format!("the answer to POST {path} is not JSON"))
    }

    fn cache(&self) -> MutexGuard<'_, DecisionCache> {
        self.0.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Cached decisions by the token's checksum.
#[derive(Debug, Default)]
struct DecisionCache(BTreeMap<Checksum, (AccessDecision, Instant)>);

impl DecisionCache {
    fn get(&self, token: &Checksum, now: Instant) -> Option<AccessDecision> {
        self.0.get(token).filter(|(_, until)| *until > now).map(|(decision, _)| *decision)
    }

    fn put(&mut self, token: Checksum, decision: AccessDecision, now: Instant) {
        let lasts = match decision {
            AccessDecision::Allowed => ALLOWED_TTL,
            AccessDecision::Unknown | AccessDecision::Forbidden => REFUSED_TTL,
            AccessDecision::Unanswered => return,
        };
        self.0.retain(|_, (_, until)| *until > now);
        if self.0.len() >= CACHE_SIZE {
            let first = self.0.iter().min_by_key(|(_, (_, until))| *until).map(|(token, _)| *token);
            first.and_then(|token| self.0.remove(&token));
        }
        self.0.insert(token, (decision, now + lasts));
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
    fn bearer_tokens_are_extracted(#[case] header: &str, #[case] expected: Option<&str>) {
        let headers = HeaderMap::from_iter([(AUTHORIZATION, header.parse().unwrap())]);
        assert_eq!(bearer(&headers), expected);
        assert_eq!(bearer(&HeaderMap::new()), None);
    }

    #[tokio::test(start_paused = true)]
    async fn decisions_expire() {
        let (now, mut cache) = (clock::instant(), DecisionCache::default());
        let after = |seconds| now + Duration::from_secs(seconds);
        cache.put(checksum("a"), AccessDecision::Allowed, now);
        cache.put(checksum("f"), AccessDecision::Forbidden, now);
        cache.put(checksum("n"), AccessDecision::Unanswered, now);
        assert_eq!(cache.get(&checksum("a"), after(59)), Some(AccessDecision::Allowed));
        assert_eq!(cache.get(&checksum("a"), after(60)), None);
        assert_eq!(cache.get(&checksum("f"), after(9)), Some(AccessDecision::Forbidden));
        assert_eq!(cache.get(&checksum("f"), after(10)), None);
        assert_eq!(cache.get(&checksum("n"), now), None, "an outage is not cached");
    }

    #[tokio::test(start_paused = true)]
    async fn cache_size_is_bounded() {
        let (now, mut cache) = (clock::instant(), DecisionCache::default());
        cache.put(checksum("scraper"), AccessDecision::Allowed, now);
        for guess in 0..10 * CACHE_SIZE {
            cache.put(checksum(&guess.to_string()), AccessDecision::Unknown, now);
        }
        assert_eq!(cache.0.len(), CACHE_SIZE);
        assert_eq!(
            cache.get(&checksum("scraper"), now),
            Some(AccessDecision::Allowed),
            "the first to expire goes first"
        );
    }
}

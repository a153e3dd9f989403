//! A request, as the server reads it.

use std::collections::BTreeMap;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderName, USER_AGENT};
use http::{Method, Request, StatusCode};

use super::object::ManagedFields;
use super::problem::{Outcome, Problem};
use super::server::Answer;
use super::syntax;
use crate::route::{Undecodable, decoded, is_true};

/// The bytes of the longest body. Upstream: `MaxRequestBodyBytes`.
pub(super) const LONGEST_BODY: usize = 3 << 20;

/// How deep the values of an object may be nested. Values are read, written and dropped on the
/// stack, and serde_json reads no more than 127: the difference is for what contains the object, as
/// lists and `managedFields`.
pub(super) const DEEPEST: usize = 100;

/// Refuses a JSON text whose values are nested too deep. One that is no JSON is refused elsewhere.
pub(super) fn check_depth(text: &[u8]) -> Outcome<()> {
    if syntax::depth(text) > DEEPEST && syntax::fault(text).is_none() {
        return Err(Problem::too_deep());
    }
    Ok(())
}

/// What of a path is refused as unsupported.
pub(super) const NOT_UTF8: &str = "kube-apiserver-sim does not support a path that is not UTF-8";

/// A request with its body.
#[derive(Debug, Clone)]
pub(super) struct Call {
    pub(super) method: Method,
    pub(super) path: String,
    pub(super) query: BTreeMap<String, String>,
    pub(super) content_type: String,
    pub(super) accept: String,
    pub(super) user_agent: String,
    pub(super) body: Bytes,
    /// The body as it was sent, where that was YAML.
    pub(super) written: Option<Bytes>,
    pub(super) managed: ManagedFields,
}

impl Call {
    /// A parameter of the query, empty if absent.
    pub(super) fn param(&self, name: &str) -> &str {
        self.query.get(name).map_or("", String::as_str)
    }

    /// The body's media type.
    pub(super) fn form(&self) -> &str {
        self.content_type.split(';').next().unwrap_or_default().trim()
    }

    /// The body as the client sent it, where messages quote it.
    pub(super) fn as_sent(&self) -> &Bytes {
        self.written.as_ref().unwrap_or(&self.body)
    }

    /// Checks the length of the body, and that its values are not nested deeper than this server
    /// reads. What applies is YAML, which is checked when it has been read.
    pub(super) fn check_body(&self) -> Outcome<()> {
        if self.as_sent().len() > LONGEST_BODY {
            return Err(Problem::body_too_large(&format!("limit is {LONGEST_BODY}")));
        }
        let is_json = !self.is_protobuf() && self.form() != super::body::APPLY;
        if is_json { check_depth(&self.body) } else { Ok(()) }
    }

    /// Whether the body is protobuf.
    pub(super) fn is_protobuf(&self) -> bool {
        self.form() == super::protobuf::MEDIA_TYPE
    }

    /// Who writes: `fieldManager`, or the client's name. Upstream: `managerOrUserAgent`.
    pub(super) fn manager(&self) -> String {
        const LONGEST: usize = 128;
        let given = self.param("fieldManager");
        if !given.is_empty() {
            return given.to_owned();
        }
        let mut name = String::new();
        for letter in self.user_agent.split('/').next().unwrap_or_default().chars().filter(|one| !one.is_control()) {
            if name.len() + letter.len_utf8() > LONGEST {
                break;
            }
            name.push(letter);
        }
        name
    }

    pub(super) fn flag(&self, name: &str) -> bool {
        self.query.get(name).is_some_and(|value| is_true(value))
    }
}

/// A request, as the server reads it.
pub(super) fn read(request: Request<Bytes>, managed: ManagedFields) -> Result<Call, Undecodable> {
    let (parts, body) = request.into_parts();
    let header =
        |name: HeaderName| parts.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
    let path = decoded(parts.uri.path())?;
    Ok(Call {
        path,
        query: query(parts.uri.query().unwrap_or_default()),
        content_type: content_type(&parts.method, header(CONTENT_TYPE)),
        accept: header(ACCEPT),
        user_agent: header(USER_AGENT),
        method: parts.method,
        body,
        written: None,
        managed,
    })
}

/// The answer to a request whose path cannot be decoded.
pub(super) fn refusal(why: Undecodable) -> Answer {
    let (code, text) = match why {
        Undecodable::Encoding => (StatusCode::BAD_REQUEST, "400 Bad Request"),
        Undecodable::NotUtf8 => (StatusCode::NOT_IMPLEMENTED, NOT_UTF8),
    };
    Answer::Whole { code, body: text.into(), warnings: Vec::new(), form: "text/plain; charset=utf-8" }
}

/// The media type of a body. That of a patch is taken as it is; of others, letters in upper case
/// count as those in lower case, and parameters must have values. Upstream: Go's `ParseMediaType`.
fn content_type(method: &Method, header: String) -> String {
    if *method == Method::PATCH {
        return header;
    }
    let mut parts = header.split(';').map(str::trim);
    let form = parts.next().unwrap_or_default().to_ascii_lowercase();
    let rest: Vec<&str> = parts.collect();
    let (last, others) = rest.split_last().map_or(("", &[][..]), |(last, others)| (*last, others));
    let fits = |part: &&str| part.split_once('=').is_some_and(|(name, value)| !name.is_empty() && !value.is_empty());
    if others.iter().all(fits) && (last.is_empty() || fits(&last)) { form } else { "malformed".to_owned() }
}

/// The parameters, decoded.
fn query(text: &str) -> BTreeMap<String, String> {
    let mut parameters: BTreeMap<String, String> = BTreeMap::new();
    for (name, value) in form_urlencoded::parse(text.as_bytes()) {
        // The first counts, except of a list, which is kept line by line.
        match parameters.get_mut(name.as_ref()) {
            Some(all) if name == "dryRun" => *all += &format!("\n{value}"),
            Some(_) => {}
            None => {
                parameters.insert(name.into_owned(), value.into_owned());
            }
        }
    }
    parameters
}

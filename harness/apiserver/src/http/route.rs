//! Parses the verb and the target of a request from its method and path. Upstream: `RequestInfo`.

use std::fmt;

use http::Method;

/// The verb of a request, as in RBAC rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verb {
    /// GET of one object, or of a path without a resource.
    Get,
    /// GET of a collection.
    List,
    /// GET of a collection or an object, with `watch`.
    Watch,
    /// POST.
    Create,
    /// PUT.
    Update,
    /// PATCH.
    Patch,
    /// DELETE of one object.
    Delete,
    /// DELETE of a collection.
    DeleteCollection,
    /// Any other method.
    Other,
}

impl Verb {
    /// The verb in lower case, as in RBAC rules.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::List => "list",
            Self::Watch => "watch",
            Self::Create => "create",
            Self::Update => "update",
            Self::Patch => "patch",
            Self::Delete => "delete",
            Self::DeleteCollection => "deletecollection",
            Self::Other => "other",
        }
    }

    /// Whether it can change objects.
    pub fn is_write(self) -> bool {
        !matches!(self, Self::Get | Self::List | Self::Watch | Self::Other)
    }
}

impl fmt::Display for Verb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// The verb and the target of a request; fields that do not apply are empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestInfo {
    /// The verb.
    pub verb: Verb,
    /// The API group; empty for the core group.
    pub group: String,
    /// The namespace; empty for cluster-wide requests.
    pub namespace: String,
    /// The plural of the resource; empty for a path without one, such as `/version`.
    pub resource: String,
    /// `status`, `scale`, …
    pub subresource: String,
    /// The object's name; empty for a collection.
    pub name: String,
}

impl RequestInfo {
    /// Parses a method, a path and a query, both percent-encoded as in a request.
    pub fn parse(method: &Method, path: &str, query: Option<&str>) -> Self {
        Self::from_decoded(
            method,
            &percent_decode(path).unwrap_or_else(|_| path.to_owned()),
            watches(query.unwrap_or_default()),
        )
    }

    /// Parses a decoded path.
    pub(crate) fn from_decoded(method: &Method, path: &str, watches: bool) -> Self {
        let mut info = Self::target(path);
        info.verb = verb(method, &info, watches);
        info
    }

    fn target(path: &str) -> Self {
        let mut parts = path.trim_matches('/').split('/').map(str::to_owned);
        let mut next = || parts.next().unwrap_or_default();
        let mut info = Self {
            verb: Verb::Get,
            group: String::new(),
            namespace: String::new(),
            resource: String::new(),
            subresource: String::new(),
            name: String::new(),
        };
        match next().as_str() {
            "api" => {}
            "apis" => info.group = next(),
            _ => return info,
        }
        let _version = next();
        info.resource = next();
        info.name = next();
        info.subresource = next();
        if info.resource == "namespaces" && info.name.is_empty() && !info.subresource.is_empty() {
            // In `namespaces//x`, `x` is a resource of all namespaces.
            info.resource = std::mem::take(&mut info.subresource);
            info.name = next();
            info.subresource = next();
        } else if info.resource == "namespaces" && !info.name.is_empty() {
            info.namespace = info.name.clone();
            // In `namespaces/a/x`, `x` is a subresource of the namespace or a resource within it.
            if !matches!(info.subresource.as_str(), "" | "status" | "finalize") {
                info.resource = std::mem::take(&mut info.subresource);
                info.name = next();
                info.subresource = next();
            }
        }
        info
    }
}

fn verb(method: &Method, info: &RequestInfo, watches: bool) -> Verb {
    let collection = info.name.is_empty() && !info.resource.is_empty();
    match *method {
        Method::GET | Method::HEAD if watches && !info.resource.is_empty() => Verb::Watch,
        Method::GET | Method::HEAD if collection => Verb::List,
        Method::GET | Method::HEAD => Verb::Get,
        Method::POST => Verb::Create,
        Method::PUT => Verb::Update,
        Method::PATCH => Verb::Patch,
        Method::DELETE if collection => Verb::DeleteCollection,
        Method::DELETE => Verb::Delete,
        _ => Verb::Other,
    }
}

fn watches(query: &str) -> bool {
    let mut all = form_urlencoded::parse(query.as_bytes());
    all.find(|(name, _)| name == "watch").is_some_and(|(_, value)| is_true(&value))
}

/// The value of a boolean parameter. Upstream: `Convert_Slice_string_To_bool`.
pub(crate) fn is_true(value: &str) -> bool {
    !matches!(value.to_ascii_lowercase().as_str(), "0" | "false")
}

/// Why a path cannot be decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PathError {
    /// A `%` without two hexadecimal digits after it.
    Encoding,
    NotUtf8,
}

/// Percent-decodes a path.
pub(crate) fn percent_decode(path: &str) -> Result<String, PathError> {
    let mut parts = path.split('%');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        let digits = part.get(..2).filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()));
        let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()).ok_or(PathError::Encoding)?;
        bytes.push(byte);
        bytes.extend_from_slice(&part.as_bytes()[2..]);
    }
    String::from_utf8(bytes).map_err(|_| PathError::NotUtf8)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("GET /version", "get  // /")]
    #[case("GET /", "get  // /")]
    #[case("GET /api", "get  // /")]
    #[case("GET /apis/apps/v1", "get apps // /")]
    #[case("GET /api/v1/pods", "list  /pods/ /")]
    #[case("GET /api/v1/pods?limit=500", "list  /pods/ /")]
    #[case("GET /api/v1/pods?limit=500&watch=true&resourceVersion=1", "watch  /pods/ /")]
    #[case("GET /api/v1/pods?watch=1", "watch  /pods/ /")]
    #[case("GET /api/v1/pods?watch=false", "list  /pods/ /")]
    #[case("GET /api/v1/pods?watch=0", "list  /pods/ /")]
    #[case("GET /api/v1/pods?watch", "watch  /pods/ /")]
    #[case("GET /api/v1/pods?watch=TRUE", "watch  /pods/ /")]
    #[case("GET /api/v1/pods?watch=maybe", "watch  /pods/ /")]
    #[case("GET /api/v1/namespaces/%64efault/%70ods/%61%2e1", "get  default/pods/a.1 /")]
    #[case("PUT /apis/apps/v1/namespaces/a/deployments/web%2Fscale", "update apps a/deployments/web /scale")]
    #[case("GET /api/v1/namespaces/a/pods/50%25", "get  a/pods/50% /")]
    #[case("GET /api/v1/pods?labelSelector=watch%3Dtrue", "list  /pods/ /")]
    #[case("GET /api/v1/namespaces", "list  /namespaces/ /")]
    #[case("GET /api/v1/namespaces//", "list  /namespaces/ /")]
    #[case("GET /api/v1/namespaces//pods", "list  /pods/ /")]
    #[case("GET /api/v1/namespaces//pods/a/status", "get  /pods/a /status")]
    #[case("POST /api/v1/namespaces", "create  /namespaces/ /")]
    #[case("GET /api/v1/namespaces/a", "get  a/namespaces/a /")]
    #[case("DELETE /api/v1/namespaces/a", "delete  a/namespaces/a /")]
    #[case("PUT /api/v1/namespaces/a/finalize", "update  a/namespaces/a /finalize")]
    #[case("PATCH /api/v1/namespaces/a/status", "patch  a/namespaces/a /status")]
    #[case("GET /api/v1/namespaces/a/pods", "list  a/pods/ /")]
    #[case("DELETE /api/v1/namespaces/a/pods", "deletecollection  a/pods/ /")]
    #[case("DELETE /api/v1/namespaces/a/pods/p", "delete  a/pods/p /")]
    #[case("POST /api/v1/namespaces/a/pods/p/binding", "create  a/pods/p /binding")]
    #[case("GET /api/v1/namespaces/a/pods/p/proxy/x/y", "get  a/pods/p /proxy")]
    #[case("PUT /apis/apps/v1/namespaces/a/replicasets/web-1", "update apps a/replicasets/web-1 /")]
    #[case("PUT /apis/apps/v1/namespaces/a/deployments/web/status", "update apps a/deployments/web /status")]
    #[case("GET /apis/apps/v1/deployments?watch=true", "watch apps /deployments/ /")]
    #[case("PATCH /apis/apps/v1/namespaces/a/deployments/web/scale", "patch apps a/deployments/web /scale")]
    #[case("GET /api/v1/nodes/n1/", "get  /nodes/n1 /")]
    #[case("OPTIONS /api/v1/nodes", "other  /nodes/ /")]
    fn parses_verb_and_target(#[case] request: &str, #[case] expected: &str) {
        let (method, target) = request.split_once(' ').unwrap();
        let (path, query) = target.split_once('?').map_or((target, None), |(path, query)| (path, Some(query)));
        let RequestInfo { verb, group, namespace, resource, subresource, name } =
            RequestInfo::parse(&method.parse().unwrap(), path, query);
        assert_eq!(format!("{verb} {group} {namespace}/{resource}/{name} /{subresource}"), expected);
    }

    #[rstest]
    #[case("/a%2Fb%C3%A4", Ok("/a/bä"))]
    #[case("/a%2561", Ok("/a%61"))]
    #[case("/a%zz", Err(PathError::Encoding))]
    #[case("/a%+1", Err(PathError::Encoding))]
    #[case("/a%4", Err(PathError::Encoding))]
    #[case("/a%", Err(PathError::Encoding))]
    #[case("/%E4", Err(PathError::NotUtf8))]
    fn percent_decodes_a_path_once(#[case] path: &str, #[case] expected: Result<&str, PathError>) {
        assert_eq!(percent_decode(path).as_deref(), expected.as_ref().copied());
    }
}

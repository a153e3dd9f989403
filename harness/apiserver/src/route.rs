//! What a request is about, read from its method and path alone.

use std::fmt;

use http::Method;

/// The verb of a request, as in RBAC rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verb {
    /// GET of one object, or of a path that names no resource.
    Get,
    /// GET of a collection.
    List,
    /// GET of a collection or an object with `watch`.
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
    /// In lower case, as in RBAC rules.
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

/// Verb and target of a request; fields that do not apply are empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// The verb.
    pub verb: Verb,
    /// The API group; empty for the core group.
    pub group: String,
    /// The namespace; empty for cluster-wide requests.
    pub namespace: String,
    /// The resource, plural; empty for a path that names none, as `/version`.
    pub resource: String,
    /// `status`, `scale`, …
    pub subresource: String,
    /// The object's name; empty for a collection.
    pub name: String,
}

impl Route {
    /// Reads it from a method, a path and a query, both encoded as in a request.
    pub fn parse(method: &Method, path: &str, query: Option<&str>) -> Self {
        Self::of_decoded(method, &decoded(path).unwrap_or_else(|_| path.to_owned()), watches(query.unwrap_or_default()))
    }

    /// Reads it from a decoded path.
    pub(crate) fn of_decoded(method: &Method, path: &str, watches: bool) -> Self {
        let mut route = Self::target(path);
        route.verb = verb(method, &route, watches);
        route
    }

    fn target(path: &str) -> Self {
        let mut parts = path.trim_matches('/').split('/').map(str::to_owned);
        let mut next = || parts.next().unwrap_or_default();
        let mut route = Self {
            verb: Verb::Get,
            group: String::new(),
            namespace: String::new(),
            resource: String::new(),
            subresource: String::new(),
            name: String::new(),
        };
        match next().as_str() {
            "api" => {}
            "apis" => route.group = next(),
            _ => return route,
        }
        let _version = next();
        route.resource = next();
        route.name = next();
        route.subresource = next();
        if route.resource == "namespaces" && !route.name.is_empty() {
            route.namespace = route.name.clone();
            // In `namespaces/a/x`, `x` is a subresource of the namespace or a resource within it.
            if !matches!(route.subresource.as_str(), "" | "status" | "finalize") {
                route.resource = std::mem::take(&mut route.subresource);
                route.name = next();
                route.subresource = next();
            }
        }
        route
    }
}

fn verb(method: &Method, route: &Route, watches: bool) -> Verb {
    let collection = route.name.is_empty() && !route.resource.is_empty();
    match *method {
        Method::GET | Method::HEAD if watches && !route.resource.is_empty() => Verb::Watch,
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

/// The value of a parameter that is yes or no. Upstream: `Convert_Slice_string_To_bool`.
pub(crate) fn is_true(value: &str) -> bool {
    !matches!(value.to_ascii_lowercase().as_str(), "0" | "false")
}

/// Why a path cannot be decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Undecodable {
    /// A `%` without two hexadecimal digits after it.
    Encoding,
    NotUtf8,
}

/// A path without percent-encoding.
pub(crate) fn decoded(path: &str) -> Result<String, Undecodable> {
    let mut parts = path.split('%');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        let digits = part.get(..2).filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()));
        let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()).ok_or(Undecodable::Encoding)?;
        bytes.push(byte);
        bytes.extend_from_slice(&part.as_bytes()[2..]);
    }
    String::from_utf8(bytes).map_err(|_| Undecodable::NotUtf8)
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
    fn routes(#[case] request: &str, #[case] expected: &str) {
        let (method, target) = request.split_once(' ').unwrap();
        let (path, query) = target.split_once('?').map_or((target, None), |(path, query)| (path, Some(query)));
        let Route { verb, group, namespace, resource, subresource, name } =
            Route::parse(&method.parse().unwrap(), path, query);
        assert_eq!(format!("{verb} {group} {namespace}/{resource}/{name} /{subresource}"), expected);
    }

    #[rstest]
    #[case("/a%2Fb%C3%A4", Ok("/a/bä"))]
    #[case("/a%2561", Ok("/a%61"))]
    #[case("/a%zz", Err(Undecodable::Encoding))]
    #[case("/a%+1", Err(Undecodable::Encoding))]
    #[case("/a%4", Err(Undecodable::Encoding))]
    #[case("/a%", Err(Undecodable::Encoding))]
    #[case("/%E4", Err(Undecodable::NotUtf8))]
    fn decodes_a_path_once(#[case] path: &str, #[case] expected: Result<&str, Undecodable>) {
        assert_eq!(decoded(path).as_deref(), expected.as_ref().copied());
    }
}

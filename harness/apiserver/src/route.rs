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
    /// Reads it from a method, a path and a query.
    pub fn parse(method: &Method, path: &str, query: Option<&str>) -> Self {
        let mut route = Self::target(path);
        route.verb = verb(method, &route, query.unwrap_or_default());
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

fn verb(method: &Method, route: &Route, query: &str) -> Verb {
    let collection = route.name.is_empty() && !route.resource.is_empty();
    match *method {
        Method::GET | Method::HEAD if watches(query) && !route.resource.is_empty() => Verb::Watch,
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

/// The API server accepts `watch`, `watch=true` and `watch=1`.
fn watches(query: &str) -> bool {
    query.split('&').any(|pair| matches!(pair, "watch" | "watch=" | "watch=true" | "watch=1" | "watch=True"))
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
}

//! Chooses the proxy for the API server by Go's rules, which all other clients in a cluster follow.
//!
//! `HTTPS_PROXY` applies to an `https` API server and `HTTP_PROXY` to an `http` one, in upper or
//! lower case. Neither applies to `localhost`, to loopback addresses, or to hosts that match
//! `NO_PROXY`. A kubeconfig's `proxy-url` always applies. Both kinds of requests use a tunnel
//! (CONNECT), so the proxy sees host and port only.
//!
//! hyper-util's matcher decides by curl's rules. Here is what Go does besides: loopback, ports, and
//! that a leading dot leaves the domain itself out.

use std::net::IpAddr;

use http::{HeaderValue, Uri};
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::proxy::matcher::{Intercept, Matcher};

use super::ConnectError;

/// The proxy variables of an environment.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct ProxyRules {
    http: Option<String>,
    https: Option<String>,
    /// The entries of `NO_PROXY`, in lower case.
    exempt: Vec<String>,
}

impl ProxyRules {
    /// Reads the variables; `lookup` returns the value of one.
    pub fn read(lookup: impl Fn(&str) -> Option<String>) -> Self {
        let variable = |upper: &str| {
            let values = [lookup(upper), lookup(&upper.to_ascii_lowercase())];
            values.into_iter().flatten().find(|value| !value.is_empty())
        };
        let exempt = variable("NO_PROXY").unwrap_or_default().to_ascii_lowercase();
        Self {
            http: variable("HTTP_PROXY"),
            https: variable("HTTPS_PROXY"),
            exempt: exempt.split(',').map(|entry| entry.trim().to_owned()).collect(),
        }
    }

    /// The proxy for an API server.
    ///
    /// # Errors
    /// [`ConnectError::Proxy`] if the proxy applies and cannot be used.
    pub(super) fn choose(&self, server: &Uri) -> Result<Option<Uri>, ConnectError> {
        let (variable, proxy, default) = match server.scheme_str() {
            Some("http") => ("HTTP_PROXY", &self.http, 80),
            _ => ("HTTPS_PROXY", &self.https, 443),
        };
        let port = server.port_u16().unwrap_or(default);
        match proxy {
            Some(proxy) if self.apply_to(server.host().unwrap_or_default(), port) => parse(variable, proxy).map(Some),
            _ => Ok(None),
        }
    }

    /// The proxy for another address than the API server's, by the same rules.
    ///
    /// # Errors
    /// [`ConnectError::Proxy`] if the proxy applies and cannot be used, and
    /// [`ConnectError::Webhook`] if the address is not one.
    pub fn for_url(&self, url: &str) -> Result<Option<String>, ConnectError> {
        Ok(self.choose(&split_credentials(url)?.0)?.map(|proxy| proxy.to_string()))
    }

    /// Whether a configured proxy applies to this host.
    fn apply_to(&self, host: &str, port: u16) -> bool {
        let host = host.trim_start_matches('[').trim_end_matches(']').to_ascii_lowercase();
        let address = host.parse::<IpAddr>().ok().map(|address| address.to_canonical());
        let is_loopback = host == "localhost" || address.is_some_and(|address| address.is_loopback());
        if is_loopback || self.exempt.iter().any(|entry| entry == "*") {
            return false;
        }
        let host = address.map_or(host, |address| address.to_string());
        let authority = if host.contains(':') { format!("[{host}]") } else { host.clone() };
        let entries = self.exempt.iter().filter_map(|entry| entry_at(entry, &host, port)).collect::<Vec<_>>().join(",");
        let matcher = Matcher::builder().all("http://proxy").no(entries).build();
        Uri::try_from(format!("http://{authority}")).is_ok_and(|server| matcher.intercept(&server).is_some())
    }
}

/// Omits the addresses, which may hold passwords.
impl std::fmt::Debug for ProxyRules {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let set = |proxy: &Option<String>| proxy.is_some();
        let mut debug = to.debug_struct("ProxyRules");
        debug.field("http", &set(&self.http)).field("https", &set(&self.https)).field("exempt", &self.exempt).finish()
    }
}

/// An entry of `NO_PROXY` without its port and as the matcher reads it; `None` if it is invalid, or
/// does not apply to this host and port by Go's rules.
fn entry_at(entry: &str, host: &str, at: u16) -> Option<String> {
    // A network has no port, and an IPv6 address has colons, too.
    let is_whole = entry.contains('/') || entry.parse::<IpAddr>().is_ok();
    let (name, port) = match entry.rsplit_once(':').filter(|_| !is_whole) {
        Some((name, port)) => (name, Some(port.parse::<u16>().ok()?)),
        None => (entry, None),
    };
    let name = name.trim_start_matches('[').trim_end_matches(']');
    if port.is_some_and(|port| port != at) {
        return None;
    }
    if let Ok(address) = name.parse::<IpAddr>() {
        return Some(address.to_canonical().to_string());
    }
    // `*.example.com` and `.example.com` are the same.
    let name = if name.starts_with("*.") { &name[1..] } else { name };
    let domain = name.trim_start_matches('.');
    let excludes = domain.is_empty() || domain == "*" || name.starts_with('.') && domain == host;
    (!excludes).then(|| domain.to_owned())
}

/// Splits a webhook's address into a URL without credentials and an authorization header.
pub(super) fn split_credentials(url: &str) -> Result<(Uri, Option<HeaderValue>), ConnectError> {
    let whole: Uri = url.trim().parse().map_err(|_| ConnectError::Webhook)?;
    let intercept = intercept(&whole).filter(|_| is_whole(&whole)).ok_or(ConnectError::Webhook)?;
    if !is_http(&whole) {
        return Err(ConnectError::Webhook);
    }
    let mut parts = whole.into_parts();
    parts.authority = intercept.uri().authority().cloned();
    Ok((Uri::from_parts(parts).map_err(|_| ConnectError::Webhook)?, intercept.basic_auth().cloned()))
}

/// Parses a proxy's address; the default scheme is http, as in Go.
pub(super) fn parse(variable: &'static str, text: &str) -> Result<Uri, ConnectError> {
    let failed = |why: &str| ConnectError::Proxy { variable, why: why.to_owned() };
    let full = if text.contains("://") { text.to_owned() } else { format!("http://{text}") };
    let uri: Uri = full.parse().map_err(|_| failed("invalid address"))?;
    if !is_http(&uri) {
        let scheme = uri.scheme_str().unwrap_or_default();
        return Err(failed(&format!("unsupported scheme {scheme}, expected http or https")));
    }
    match intercept(&uri) {
        None => Err(failed("invalid address")),
        Some(proxy) if proxy.uri().host().unwrap_or_default().is_empty() => Err(failed("no host")),
        Some(_) if !is_whole(&uri) => Err(failed("its port is not a number")),
        Some(_) => Ok(uri),
    }
}

/// A proxy's address without its credentials.
pub(super) fn without_credentials(proxy: &Uri) -> String {
    intercept(proxy).map_or_else(String::new, |proxy| proxy.uri().to_string().trim_end_matches('/').to_owned())
}

/// A tunnel through the proxy, with the credentials of its address in a header instead.
pub(super) fn tunnel<C>(connector: C, proxy: &Uri) -> Tunnel<C> {
    let intercept = intercept(proxy);
    let address = intercept.as_ref().map_or(proxy, Intercept::uri);
    let tunnel = Tunnel::new(address.clone(), connector);
    match intercept.as_ref().and_then(Intercept::basic_auth) {
        Some(header) => tunnel.with_auth(header.clone()),
        None => tunnel,
    }
}

/// An address without path and credentials, and the credentials as a header.
fn intercept(address: &Uri) -> Option<Intercept> {
    Matcher::builder().all(address.to_string()).build().intercept(&Uri::from_static("http://any"))
}

fn is_http(address: &Uri) -> bool {
    matches!(address.scheme_str(), Some("http" | "https"))
}

/// Whether an address has a host, and its port, if it has one, is a number.
fn is_whole(address: &Uri) -> bool {
    let host = address.host().unwrap_or_default();
    let authority = address.authority().map_or("", |authority| authority.as_str());
    !host.is_empty() && (address.port_u16().is_some() || authority.rsplit('@').next() == Some(host))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn rules(variables: &[(&str, &str)]) -> ProxyRules {
        let find = |name: &str| variables.iter().find(|(of, _)| *of == name).map(|(_, value)| (*value).to_owned());
        ProxyRules::read(find)
    }

    fn choose(variables: &[(&str, &str)], server: &str) -> Option<String> {
        rules(variables).choose(&server.parse().unwrap()).unwrap().map(|uri| uri.to_string())
    }

    #[rstest]
    #[case::tls(&[("HTTPS_PROXY", "http://p:3128"), ("HTTP_PROXY", "http://q:1")], "https://api:6443", Some("http://p:3128/"))]
    #[case::plain(&[("HTTPS_PROXY", "http://p:3128"), ("HTTP_PROXY", "http://q:1")], "http://api:8080", Some("http://q:1/"))]
    #[case::lower_case(&[("https_proxy", "http://p:3128")], "https://api", Some("http://p:3128/"))]
    #[case::upper_case_first(&[("https_proxy", "http://p:1"), ("HTTPS_PROXY", "http://q:1")], "https://api", Some("http://q:1/"))]
    #[case::empty_is_not_set(&[("HTTPS_PROXY", ""), ("https_proxy", "http://p:1")], "https://api", Some("http://p:1/"))]
    #[case::without_scheme(&[("HTTPS_PROXY", "p:3128")], "https://api", Some("http://p:3128/"))]
    #[case::the_other_one(&[("HTTP_PROXY", "http://p:3128")], "https://api", None)]
    #[case::none(&[], "https://api", None)]
    #[case::localhost(&[("HTTPS_PROXY", "p:1")], "https://localhost:6443", None)]
    #[case::loopback(&[("HTTPS_PROXY", "p:1")], "https://127.8.0.1:6443", None)]
    #[case::loopback6(&[("HTTPS_PROXY", "p:1")], "https://[::1]:6443", None)]
    #[case::loopback_mapped(&[("HTTPS_PROXY", "p:1")], "https://[::ffff:127.0.0.1]:6443", None)]
    #[case::exempt(&[("HTTPS_PROXY", "p:1"), ("no_proxy", "10.0.0.0/8")], "https://10.96.0.1", None)]
    fn proxy_follows_gos_rules(
        #[case] variables: &[(&str, &str)],
        #[case] server: &str,
        #[case] expected: Option<&str>,
    ) {
        assert_eq!(choose(variables, server).as_deref(), expected);
    }

    /// As `golang.org/x/net/http/httpproxy` decides.
    #[rstest]
    #[case("*", "example.com", true)]
    #[case(" a.b , * ", "10.0.0.1", true)]
    #[case("example.com", "example.com", true)]
    #[case("example.com", "www.example.com", true)]
    #[case("EXAMPLE.com", "www.Example.COM", true)]
    #[case("example.com", "notexample.com", false)]
    #[case(".example.com", "example.com", false)]
    #[case(".example.com", "www.example.com", true)]
    #[case("*.example.com", "example.com", false)]
    #[case("*.example.com", "www.example.com", true)]
    #[case("*example.com", "www.example.com", false)]
    #[case("example.com:443", "example.com", true)]
    #[case("example.com:6443", "example.com", false)]
    #[case("example.com:https", "example.com", false)]
    #[case("10.96.0.1", "10.96.0.1", true)]
    #[case("10.96.0.1", "10.96.0.10", false)]
    #[case("10.96.0.1:443", "10.96.0.1", true)]
    #[case("10.96.0.1:6443", "10.96.0.1", false)]
    #[case("10.96.0.0/12", "10.111.255.255", true)]
    #[case("10.96.0.0/12", "10.112.0.0", false)]
    #[case("0.0.0.0/0", "10.0.0.1", true)]
    #[case("0.0.0.0/0", "[fd00::1]", false)]
    #[case("fd00::/8", "[fd12::1]", true)]
    #[case("fd00::/8", "[fe80::1]", false)]
    #[case("fd00::1", "[fd00::1]", true)]
    #[case("[fd00::1]:443", "[fd00::1]", true)]
    #[case("[fd00::1]:80", "[fd00::1]", false)]
    #[case("10.0.0.0/33", "10.0.0.1", false)]
    #[case(",,", "example.com", false)]
    #[case(".", "example.com", false)]
    #[case(":443", "example.com", false)]
    #[case(".svc,.cluster.local,", "kubernetes.default.svc", true)]
    fn no_proxy_follows_gos_rules(#[case] entries: &str, #[case] host: &str, #[case] expected: bool) {
        let variables = [("HTTPS_PROXY", "http://proxy:3128"), ("NO_PROXY", entries)];
        assert_eq!(choose(&variables, &format!("https://{host}")).is_none(), expected);
    }

    #[rstest]
    #[case("socks5://p:1", "unsupported scheme socks5")]
    #[case("http://", "invalid address")]
    #[case("http://p:port", "port is not a number")]
    fn unusable_proxy_is_refused_if_it_applies(#[case] proxy: &str, #[case] why: &str) {
        let rules = rules(&[("HTTPS_PROXY", proxy)]);
        let error = rules.choose(&"https://api".parse().unwrap()).unwrap_err().to_string();
        assert!(error.contains("HTTPS_PROXY") && error.contains(why), "{error}");
        assert!(
            rules.choose(&"https://127.0.0.1".parse().unwrap()).is_ok(),
            "a proxy that does not apply is not checked"
        );
    }

    #[test]
    fn passwords_are_never_shown() {
        let rules = rules(&[("HTTPS_PROXY", "http://u:s3cret@p:3128")]);
        let proxy = rules.choose(&"https://api".parse().unwrap()).unwrap().unwrap();
        assert_eq!(without_credentials(&proxy), "http://p:3128");
        assert!(!format!("{rules:?}").contains("s3cret"));
        let tunnel = tunnel((), &proxy);
        assert!(!format!("{tunnel:?}").contains("s3cret"));
        let error = parse("HTTPS_PROXY", "http://u:s3cret@p:port").unwrap_err();
        assert!(!error.to_string().contains("s3cret"), "{error}");
    }

    #[rstest]
    #[case("https://chat/x", "https://chat/x", "")]
    #[case(" http://us%40er:p%3Ass@chat:81/x?y ", "http://chat:81/x?y", "Basic dXNAZXI6cDpzcw==")]
    fn webhook_credentials_become_a_header(#[case] url: &str, #[case] to: &str, #[case] header: &str) {
        let (uri, authorization) = split_credentials(url).unwrap();
        assert_eq!(uri, to);
        assert_eq!(authorization.map_or(String::new(), |it| it.to_str().unwrap().to_owned()), header);
    }

    #[rstest]
    #[case("user:s3cret@chat")]
    #[case("https://user:s3cret@")]
    #[case("https://user:s3cret@chat:port")]
    #[case("ftp://user:s3cret@chat")]
    #[case("https://user:s3 cret@chat")]
    fn malformed_webhook_address_is_not_quoted(#[case] url: &str) {
        let error = split_credentials(url).unwrap_err();
        assert!(!format!("{error} {error:?}").contains("s3"), "{error}");
    }

    /// As Go's `http.Transport` sends them: a user without a password has an empty one.
    #[rstest]
    #[case("f", "Zjo=")]
    #[case("user:pa%40ss%3a", "dXNlcjpwYUBzczo=")]
    #[case("100%25", "MTAwJTo=")]
    fn credentials_become_basic_auth(#[case] user: &str, #[case] expected: &str) {
        let proxy = parse("HTTPS_PROXY", &format!("http://{user}@p:3128")).unwrap();
        let header = intercept(&proxy).unwrap().basic_auth().unwrap().clone();
        assert_eq!(header.to_str().unwrap(), format!("Basic {expected}"));
        assert!(header.is_sensitive());
    }
}

//! Chooses the proxy for the API server by Go's rules, which all other clients in a cluster follow.
//!
//! `HTTPS_PROXY` applies to an `https` API server and `HTTP_PROXY` to an `http` one, in upper or
//! lower case. Neither applies to `localhost`, to loopback addresses, or to hosts that match
//! `NO_PROXY`. A kubeconfig's `proxy-url` always applies. Both kinds of requests use a tunnel
//! (CONNECT), so the proxy sees host and port only.

use std::net::IpAddr;

use http::{HeaderValue, Uri};
use hyper_util::client::legacy::connect::proxy::Tunnel;

use super::ConnectError;

/// The proxy variables of an environment.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct ProxyRules {
    http: Option<String>,
    https: Option<String>,
    exempt: Vec<NoProxyEntry>,
}

/// One entry of `NO_PROXY`.
#[derive(Debug, Clone, PartialEq, Eq)]
enum NoProxyEntry {
    /// `*`.
    All,
    /// `10.0.0.0/8`: any port.
    Network { address: IpAddr, bits: u8 },
    /// `10.0.0.1`, `10.0.0.1:6443`, `[::1]:6443`.
    Address { address: IpAddr, port: Option<u16> },
    /// `example.com` and all below it, or with a dot in front only what is below it.
    Domain { suffix: String, itself: bool, port: Option<u16> },
}

impl ProxyRules {
    /// Reads the variables; `lookup` returns the value of one.
    pub fn read(lookup: impl Fn(&str) -> Option<String>) -> Self {
        let variable = |upper: &str| {
            let values = [lookup(upper), lookup(&upper.to_ascii_lowercase())];
            values.into_iter().flatten().find(|value| !value.is_empty())
        };
        let exempt = variable("NO_PROXY").unwrap_or_default();
        Self {
            http: variable("HTTP_PROXY"),
            https: variable("HTTPS_PROXY"),
            exempt: exempt.split(',').filter_map(NoProxyEntry::read).collect(),
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
        !is_loopback && !self.exempt.iter().any(|exempt| exempt.matches(&host, address, port))
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

impl NoProxyEntry {
    /// Parses an entry; an invalid one is ignored, as in Go.
    fn read(text: &str) -> Option<Self> {
        let text = text.trim().to_ascii_lowercase();
        if text == "*" {
            return Some(Self::All);
        }
        if let Some((address, bits)) = text.split_once('/') {
            let address: IpAddr = address.parse().ok()?;
            let bits = bits.parse().ok().filter(|bits| *bits <= if address.is_ipv4() { 32 } else { 128 })?;
            return Some(Self::Network { address, bits });
        }
        let (host, port) = match text.parse::<IpAddr>() {
            // An IPv6 address has colons, too.
            Ok(_) => (text.as_str(), None),
            Err(_) => match text.rsplit_once(':') {
                Some((host, port)) => (host, Some(port.parse().ok()?)),
                None => (text.as_str(), None),
            },
        };
        let host = host.trim_start_matches('[').trim_end_matches(']');
        if let Ok(address) = host.parse::<IpAddr>() {
            return Some(Self::Address { address: address.to_canonical(), port });
        }
        // `*.example.com` and `.example.com` are the same.
        let host = if host.starts_with("*.") { &host[1..] } else { host };
        let suffix = host.trim_start_matches('.');
        (!suffix.is_empty()).then(|| Self::Domain { suffix: suffix.to_owned(), itself: !host.starts_with('.'), port })
    }

    fn matches(&self, host: &str, address: Option<IpAddr>, at: u16) -> bool {
        match self {
            Self::All => true,
            Self::Network { address: network, bits } => address.is_some_and(|of| contains(*network, *bits, of)),
            Self::Address { address: own, port } => address == Some(*own) && port.is_none_or(|port| port == at),
            Self::Domain { suffix, itself, port } => {
                let below = host.strip_suffix(suffix).is_some_and(|rest| rest.ends_with('.'));
                (below || *itself && host == suffix) && port.is_none_or(|port| port == at)
            }
        }
    }
}

/// Whether an address lies in a network.
fn contains(network: IpAddr, bits: u8, address: IpAddr) -> bool {
    let all = |address: IpAddr| match address {
        IpAddr::V4(address) => (u128::from(address.to_bits()) << 96, 32),
        IpAddr::V6(address) => (address.to_bits(), 128),
    };
    let ((network, width), (address, other)) = (all(network), all(address));
    let differing = network ^ address;
    width == other && differing.leading_zeros() >= u32::from(bits)
}

/// Splits a webhook's address into a URL without credentials and an authorization header.
pub(super) fn split_credentials(url: &str) -> Result<(Uri, Option<HeaderValue>), ConnectError> {
    let whole: Uri = url.trim().parse().map_err(|_| ConnectError::Webhook)?;
    let host = whole.host().unwrap_or_default();
    let is_whole = !host.is_empty() && (whole.port_u16().is_some() || host_and_port(&whole) == host);
    if !is_whole || !matches!(whole.scheme_str(), Some("http" | "https")) {
        return Err(ConnectError::Webhook);
    }
    let authorization = credentials(&whole);
    let mut parts = whole.clone().into_parts();
    parts.authority = Some(host_and_port(&whole).parse().map_err(|_| ConnectError::Webhook)?);
    Ok((Uri::from_parts(parts).map_err(|_| ConnectError::Webhook)?, authorization))
}

/// Host and port of an address.
fn host_and_port(uri: &Uri) -> &str {
    let authority = uri.authority().map_or("", |authority| authority.as_str());
    authority.rsplit('@').next().unwrap_or_default()
}

/// The credentials of an address as a header.
fn credentials(uri: &Uri) -> Option<HeaderValue> {
    let (user, _) = uri.authority()?.as_str().rsplit_once('@')?;
    let mut header = HeaderValue::try_from(format!("Basic {}", base64(&percent_decode(user)))).ok()?;
    header.set_sensitive(true);
    Some(header)
}

/// Parses a proxy's address; the default scheme is http, as in Go.
pub(super) fn parse(variable: &'static str, text: &str) -> Result<Uri, ConnectError> {
    let failed = |why: &str| ConnectError::Proxy { variable, why: why.to_owned() };
    let full = if text.contains("://") { text.to_owned() } else { format!("http://{text}") };
    let uri: Uri = full.parse().map_err(|_| failed("invalid address"))?;
    let (host, authority) = (uri.host().unwrap_or_default(), host_and_port(&uri));
    if host.is_empty() {
        return Err(failed("no host"));
    }
    if authority != host && uri.port_u16().is_none() {
        return Err(failed("its port is not a number"));
    }
    match uri.scheme_str() {
        Some("http" | "https") => Ok(uri),
        Some(other) => Err(failed(&format!("unsupported scheme {other}, expected http or https"))),
        None => Err(failed("no scheme")),
    }
}

/// A proxy's address without its credentials.
pub(super) fn without_credentials(proxy: &Uri) -> String {
    let (scheme, host) = (proxy.scheme_str().unwrap_or_default(), proxy.host().unwrap_or_default());
    proxy.port_u16().map_or_else(|| format!("{scheme}://{host}"), |port| format!("{scheme}://{host}:{port}"))
}

/// A tunnel through the proxy, with the credentials of its address in a header instead.
pub(super) fn tunnel<C>(connector: C, proxy: &Uri) -> Tunnel<C> {
    let tunnel = Tunnel::new(without_credentials(proxy).parse().unwrap_or_else(|_| proxy.clone()), connector);
    match credentials(proxy) {
        Some(header) => tunnel.with_auth(header),
        None => tunnel,
    }
}

/// Decodes percent escapes: `%40` becomes `@`.
fn percent_decode(text: &str) -> Vec<u8> {
    let (mut bytes, mut rest) = (Vec::new(), text.as_bytes());
    while let Some((first, after)) = rest.split_first() {
        let digit = |at: usize| after.get(at).and_then(|byte| char::from(*byte).to_digit(16));
        let escaped = (*first == b'%').then(|| Some(digit(0)? * 16 + digit(1)?)).flatten();
        match escaped.and_then(|value| u8::try_from(value).ok()) {
            Some(value) => {
                bytes.push(value);
                rest = &after[2..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    bytes
}

/// Encodes as RFC 4648 base64 with padding, for `Basic` credentials.
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let byte = |at: usize| usize::from(chunk.get(at).copied().unwrap_or(0));
        let all = byte(0) << 16 | byte(1) << 8 | byte(2);
        for at in 0..4 {
            let has_digit = at <= chunk.len();
            text.push(if has_digit { char::from(DIGITS[all >> (18 - 6 * at) & 63]) } else { '=' });
        }
    }
    text
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

    #[rstest]
    #[case("", "")]
    #[case("f", "Zg==")]
    #[case("fo", "Zm8=")]
    #[case("foo", "Zm9v")]
    #[case("user:pa%40ss%3a", "dXNlcjpwYUBzczo=")]
    #[case("100%", "MTAwJQ==")]
    fn credentials_are_base64_encoded(#[case] user: &str, #[case] expected: &str) {
        assert_eq!(base64(&percent_decode(user)), expected);
    }
}

//! Chooses the proxy for a server by kubectl's rules: the kubeconfig's, or else the environment's.
//! No I/O.
//!
//! A `proxy-url` of the kubeconfig always applies. The environment's proxy (`HTTPS_PROXY`;
//! `HTTP_PROXY` for a server without TLS) applies to all hosts but loopback and those in
//! `NO_PROXY`: host names including their subdomains, addresses, ranges, each with or without a
//! port, and `*`. Variables may be written in lower case.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use hyper::Uri;
use serde::{Deserialize, Serialize};

/// A proxy with its credentials. The serialised form is a secret.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ForwardProxy {
    pub(super) scheme: Scheme,
    pub(super) host: String,
    pub(super) port: u16,
    /// User name and password.
    pub(super) user: Option<(String, String)>,
}

/// The protocol of a proxy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Scheme {
    /// HTTP CONNECT.
    Http,
    /// HTTP CONNECT over TLS.
    Https,
    /// SOCKS version 5; the proxy resolves names.
    Socks5,
}

impl Scheme {
    fn port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
            Self::Socks5 => 1080,
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
            Self::Socks5 => "socks5",
        }
    }
}

/// Omits the credentials, which do not belong in messages.
impl fmt::Display for ForwardProxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}:{}", self.scheme.name(), self.host, self.port)
    }
}

impl fmt::Debug for ForwardProxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ForwardProxy({self})")
    }
}

/// The proxy for a server; `proxy_url` is the `proxy-url` of its cluster in the kubeconfig.
///
/// # Errors
/// Which setting is an invalid proxy address, and why.
pub(crate) fn choose_proxy(
    server: &Uri,
    proxy_url: Option<&str>,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<Option<ForwardProxy>, String> {
    if let Some(proxy_url) = proxy_url.filter(|proxy_url| !proxy_url.is_empty()) {
        if !proxy_url.contains("://") {
            return Err(
                "its proxy-url is not a URL; write http://HOST:PORT, https://HOST:PORT or socks5://HOST:PORT".into()
            );
        }
        return proxy_url.parse().map(Some).map_err(|why| format!("its proxy-url {why}"));
    }
    let either = |upper: &str| {
        [upper.to_owned(), upper.to_lowercase()]
            .iter()
            .find_map(|name| variable(name).filter(|value| !value.is_empty()))
    };
    let is_tls = server.scheme_str() != Some("http");
    let name = if is_tls { "HTTPS_PROXY" } else { "HTTP_PROXY" };
    let Some(value) = either(name) else { return Ok(None) };
    let host = server.host().unwrap_or_default().trim_start_matches('[').trim_end_matches(']').to_lowercase();
    let port = server.port_u16().unwrap_or(if is_tls { 443 } else { 80 });
    if is_exempt(&host, port, &either("NO_PROXY").unwrap_or_default()) {
        return Ok(None);
    }
    let url = if value.contains("://") { value } else { format!("http://{value}") };
    url.parse().map(Some).map_err(|why| format!("the variable {name} {why}"))
}

impl FromStr for ForwardProxy {
    type Err = String;

    fn from_str(url: &str) -> Result<Self, String> {
        parse(url)
    }
}

fn parse(url: &str) -> Result<ForwardProxy, String> {
    let unusable = || "is not of the form http://HOST:PORT, https://HOST:PORT or socks5://HOST:PORT".to_owned();
    let (scheme, rest) = url.trim().split_once("://").ok_or_else(unusable)?;
    let scheme = match scheme.to_lowercase().as_str() {
        "http" => Scheme::Http,
        "https" => Scheme::Https,
        "socks5" | "socks5h" => Scheme::Socks5,
        // Do not quote an invalid scheme: it may be a password.
        other if other.bytes().all(|byte| byte.is_ascii_alphabetic()) && !rest.contains('@') => {
            return Err(format!("has the scheme {other}, which is none of http, https and socks5"));
        }
        _ => return Err("has a scheme that is none of http, https and socks5".to_owned()),
    };
    let rest = rest.split(['/', '?', '#']).next().unwrap_or_default();
    // A password may contain an @.
    let (user, address) = rest.rsplit_once('@').map_or((None, rest), |(user, address)| (Some(user), address));
    let user = user.map(user_and_password);
    let address: hyper::http::uri::Authority = address.parse().map_err(|_| unusable())?;
    let has_port = address.port_u16().is_some() || address.as_str() == address.host();
    let host = Some(address.host()).filter(|host| !host.is_empty() && has_port).ok_or_else(unusable)?;
    Ok(ForwardProxy { scheme, host: host.to_owned(), port: address.port_u16().unwrap_or(scheme.port()), user })
}

/// Splits the part before the `@` of an address into name and password.
pub(super) fn user_and_password(text: &str) -> (String, String) {
    let (name, password) = text.split_once(':').unwrap_or((text, ""));
    (percent_decode(name), percent_decode(password))
}

/// Decodes percent-encoded characters.
fn percent_decode(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let code = after.get(..2).filter(|_| *first == b'%').and_then(|code| std::str::from_utf8(code).ok());
        match code.filter(|code| !code.starts_with('+')).and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Whether the environment's proxy does not apply to this host.
fn is_exempt(host: &str, port: u16, exempt: &str) -> bool {
    let ip = host.parse::<IpAddr>().ok().map(|ip| ip.to_canonical());
    if host == "localhost" || ip.is_some_and(|ip| ip.is_loopback()) {
        return true;
    }
    exempt.split(',').map(|entry| entry.trim().to_lowercase()).filter(|entry| !entry.is_empty()).any(|entry| {
        if entry == "*" {
            return true;
        }
        if let Some((base, length)) = entry.split_once('/')
            && let (Ok(base), Ok(length)) = (base.parse::<IpAddr>(), length.parse::<u32>())
        {
            return ip.is_some_and(|ip| is_within(ip, base, length));
        }
        let (name, of_port) = match entry.rsplit_once(':') {
            // An IPv6 address without a port has colons as well.
            Some((name, of_port)) if entry.parse::<IpAddr>().is_err() => (name, Some(of_port)),
            _ => (entry.as_str(), None),
        };
        if of_port.is_some_and(|of_port| of_port != port.to_string()) {
            return false;
        }
        let name = name.trim_start_matches('[').trim_end_matches(']');
        if let Ok(address) = name.parse::<IpAddr>() {
            return ip == Some(address.to_canonical());
        }
        let name = name.strip_prefix('*').filter(|rest| rest.starts_with('.')).unwrap_or(name);
        match name.strip_prefix('.') {
            Some(domain) => host.strip_suffix(domain).is_some_and(|rest| rest.ends_with('.')),
            None if name.is_empty() => false,
            None => host == name || host.strip_suffix(name).is_some_and(|rest| rest.ends_with('.')),
        }
    })
}

/// Whether an address is in a range.
fn is_within(ip: IpAddr, base: IpAddr, length: u32) -> bool {
    match (ip, base.to_canonical()) {
        (IpAddr::V4(ip), IpAddr::V4(base)) if length <= 32 => {
            let mask = u32::MAX.checked_shl(32 - length).unwrap_or(0);
            u32::from(ip) & mask == u32::from(base) & mask
        }
        (IpAddr::V6(ip), IpAddr::V6(base)) if length <= 128 => {
            let mask = u128::MAX.checked_shl(128 - length).unwrap_or(0);
            u128::from(ip) & mask == u128::from(base) & mask
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn choose(server: &str, proxy_url: &str, environment: &[(&str, &str)]) -> Result<Option<String>, String> {
        let variable =
            |name: &str| environment.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
        Ok(choose_proxy(&server.parse().unwrap(), Some(proxy_url), &variable)?.map(|proxy| proxy.to_string()))
    }

    #[rstest]
    #[case::none("https://a:6443", "", &[], None)]
    #[case::kubeconfig("https://a:6443", "http://p:3128", &[], Some("http://p:3128"))]
    #[case::kubeconfig_socks("https://a:6443", "socks5://p", &[], Some("socks5://p:1080"))]
    #[case::kubeconfig_before_environment("https://a", "https://p", &[("HTTPS_PROXY", "http://q")], Some("https://p:443"))]
    #[case::kubeconfig_also_on_loopback("https://127.0.0.1:6443", "http://p", &[("NO_PROXY", "*")], Some("http://p:80"))]
    #[case::environment("https://a:6443", "", &[("HTTPS_PROXY", "http://p:3128")], Some("http://p:3128"))]
    #[case::small_letters("https://a:6443", "", &[("https_proxy", "http://p:3128")], Some("http://p:3128"))]
    #[case::without_scheme("https://a:6443", "", &[("HTTPS_PROXY", "p:3128")], Some("http://p:3128"))]
    #[case::with_credentials("https://a", "", &[("HTTPS_PROXY", "http://u:p@ss@p:1/x")], Some("http://p:1"))]
    #[case::of_plain_servers("http://a", "", &[("HTTPS_PROXY", "http://p"), ("HTTP_PROXY", "http://q")], Some("http://q:80"))]
    #[case::of_tls_servers_only("http://a", "", &[("HTTPS_PROXY", "http://p")], None)]
    #[case::loopback("https://127.0.0.1:6443", "", &[("HTTPS_PROXY", "http://p")], None)]
    #[case::loopback_six("https://[::1]:6443", "", &[("HTTPS_PROXY", "http://p")], None)]
    #[case::localhost("https://LOCALHOST:6443", "", &[("HTTPS_PROXY", "http://p")], None)]
    fn proxy_is_chosen_as_by_kubectl(
        #[case] server: &str,
        #[case] proxy_url: &str,
        #[case] environment: &[(&str, &str)],
        #[case] expected: Option<&str>,
    ) {
        assert_eq!(choose(server, proxy_url, environment).unwrap().as_deref(), expected);
    }

    #[rstest]
    #[case("a.corp", true)]
    #[case("corp", true)]
    #[case(".corp", true)]
    #[case("*.corp", true)]
    #[case("x, A.CORP", true)]
    #[case("a.corp:6443", true)]
    #[case("a.corp:443", false)]
    #[case("b.corp", false)]
    #[case("orp", false)]
    #[case("*", true)]
    #[case("", false)]
    #[case(":6443", false)]
    #[case("10.0.0.0/8", false)]
    fn no_proxy_exempts_names(#[case] exempt: &str, #[case] expected: bool) {
        assert_eq!(is_exempt("a.corp", 6443, exempt), expected);
    }

    #[rstest]
    #[case("10.1.2.3", "10.0.0.0/8", true)]
    #[case("10.1.2.3", "10.1.2.3", true)]
    #[case("10.1.2.3", "10.1.2.3:6443", true)]
    #[case("10.1.2.3", "10.1.2.3:80", false)]
    #[case("10.1.2.3", "10.1.2.0/25", true)]
    #[case("10.1.2.3", "10.1.3.0/24", false)]
    #[case("10.1.2.3", "0.0.0.0/0", true)]
    #[case("10.1.2.3", "10.0.0.0/99", false)]
    #[case("fd00::1", "fd00::/8", true)]
    #[case("fd00::1", "[fd00::1]:6443", true)]
    #[case("fd00::1", "fd00::2", false)]
    fn no_proxy_exempts_addresses(#[case] host: &str, #[case] exempt: &str, #[case] expected: bool) {
        assert_eq!(is_exempt(host, 6443, exempt), expected);
    }

    #[rstest]
    #[case("ftp://p", "its proxy-url has the scheme ftp")]
    #[case("p:3128", "its proxy-url is not a URL")]
    #[case("http://", "its proxy-url is not of the form")]
    #[case("http://a b", "its proxy-url is not of the form")]
    fn invalid_proxy_is_refused(#[case] proxy_url: &str, #[case] message: &str) {
        let error = choose("https://a", proxy_url, &[]).unwrap_err();
        assert!(error.contains(message), "{error}");
    }

    #[rstest]
    #[case("http://user:s3cret@p:port")]
    #[case("user:s3cret://p")]
    #[case("s3cret://user@p")]
    #[case("http://user:s3cret@")]
    #[case("http://user:s3 cret@a b")]
    #[case("user:s3cret@p:x")]
    fn refused_proxy_is_not_quoted(#[case] proxy_url: &str) {
        let environment = [("HTTPS_PROXY", proxy_url)];
        let errors =
            [choose("https://a", proxy_url, &[]).unwrap_err(), choose("https://a", "", &environment).unwrap_err()];
        assert!(errors.iter().all(|error| !error.contains("s3")), "{errors:?}");
    }

    #[test]
    fn credentials_are_decoded_and_not_printed() {
        let proxy = parse("socks5h://us%40er:p%3Aw%@p").unwrap();
        assert_eq!(proxy.user, Some(("us@er".to_owned(), "p:w%".to_owned())));
        assert_eq!(format!("{proxy} {proxy:?}"), "socks5://p:1080 ForwardProxy(socks5://p:1080)");
    }
}

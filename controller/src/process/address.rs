//! Where to listen, as operators of Go programs write it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::str::FromStr;

/// An address to listen on: `HOST:PORT`, `:PORT` for all of this machine's addresses, or `0` for
/// none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Address(Kind);

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
enum Kind {
    #[default]
    Nowhere,
    Everywhere(u16),
    At(SocketAddr),
}

impl Address {
    /// What to try in this order; nothing if nothing is to be listened on.
    pub(super) fn candidates(self) -> Vec<SocketAddr> {
        match self.0 {
            Kind::Nowhere => Vec::new(),
            // The first takes both families; the second is for machines without IPv6.
            Kind::Everywhere(port) => [IpAddr::V6(Ipv6Addr::UNSPECIFIED), IpAddr::V4(Ipv4Addr::UNSPECIFIED)]
                .map(|ip| SocketAddr::new(ip, port))
                .to_vec(),
            Kind::At(address) => vec![address],
        }
    }
}

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let kind = match text.strip_prefix(':') {
            _ if text == "0" => Some(Kind::Nowhere),
            Some(port) => port.parse().ok().map(Kind::Everywhere),
            None => text.parse().ok().map(Kind::At),
        };
        kind.map(Self).ok_or_else(|| "give IP:PORT, :PORT for all addresses, or 0 for none".to_owned())
    }
}

impl std::fmt::Display for Address {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            Kind::Nowhere => write!(to, "0"),
            Kind::Everywhere(port) => write!(to, ":{port}"),
            Kind::At(address) => write!(to, "{address}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("0", &[])]
    #[case(":8080", &["[::]:8080", "0.0.0.0:8080"])]
    #[case("127.0.0.1:1", &["127.0.0.1:1"])]
    #[case("[::1]:1", &["[::1]:1"])]
    fn reads(#[case] text: &str, #[case] candidates: &[&str]) {
        let address: Address = text.parse().unwrap();
        let shown: Vec<_> = address.candidates().iter().map(ToString::to_string).collect();
        assert_eq!(shown, candidates);
        assert_eq!(address.to_string(), text);
    }

    #[rstest]
    #[case("")]
    #[case("8080")]
    #[case(":http")]
    #[case(":70000")]
    #[case("example.com:80")]
    fn refuses(#[case] text: &str) {
        text.parse::<Address>().unwrap_err();
    }
}

//! Addresses to listen on, in the notation of Go programs.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::str::FromStr;

/// An address to listen on: `HOST:PORT`, `:PORT` for all of this machine's addresses, or `0` for
/// none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Address(BindTarget);

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
enum BindTarget {
    #[default]
    None,
    AllAddresses(u16),
    Socket(SocketAddr),
}

impl Address {
    /// The socket addresses to try in this order; empty if there is none to listen on.
    pub(super) fn candidates(self) -> Vec<SocketAddr> {
        match self.0 {
            BindTarget::None => Vec::new(),
            // IPv6 accepts both families; IPv4 is for machines without IPv6.
            BindTarget::AllAddresses(port) => [IpAddr::V6(Ipv6Addr::UNSPECIFIED), IpAddr::V4(Ipv4Addr::UNSPECIFIED)]
                .map(|ip| SocketAddr::new(ip, port))
                .to_vec(),
            BindTarget::Socket(address) => vec![address],
        }
    }
}

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let kind = match text.strip_prefix(':') {
            _ if text == "0" => Some(BindTarget::None),
            Some(port) => port.parse().ok().map(BindTarget::AllAddresses),
            None => text.parse().ok().map(BindTarget::Socket),
        };
        kind.map(Self).ok_or_else(|| "give IP:PORT, :PORT for all addresses, or 0 for none".to_owned())
    }
}

impl std::fmt::Display for Address {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            BindTarget::None => write!(to, "0"),
            BindTarget::AllAddresses(port) => write!(to, ":{port}"),
            BindTarget::Socket(address) => write!(to, "{address}"),
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
    fn addresses_are_parsed(#[case] text: &str, #[case] candidates: &[&str]) {
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
    fn invalid_addresses_are_refused(#[case] text: &str) {
        text.parse::<Address>().unwrap_err();
    }
}

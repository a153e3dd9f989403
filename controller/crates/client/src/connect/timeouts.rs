//! Protocols and timeouts of connections.

use std::time::Duration;

/// The protocol of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Protocol {
    /// HTTP/2 where the server offers it over TLS, else HTTP/1.1.
    #[default]
    Any,
    /// HTTP/1.1: one request at a time on a connection, which is closed if the request is
    /// abandoned.
    Http1,
}

/// Protocols and timeouts of connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectionTimeouts {
    /// To establish a connection.
    pub connect: Duration,
    /// HTTP/2: time without data until a ping is sent.
    pub ping: Duration,
    /// HTTP/2: time until the ping must be answered.
    pub pong: Duration,
    /// Time without data, and time until data can be written.
    pub silence: Duration,
}

impl Default for ConnectionTimeouts {
    fn default() -> Self {
        let ten = Duration::from_secs(10);
        Self { connect: ten, ping: ten, pong: ten, silence: Duration::from_secs(30) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timeouts_detect_a_silent_connection_in_half_a_minute() {
        let ConnectionTimeouts { connect, ping, pong, silence } = ConnectionTimeouts::default();
        let most = Duration::from_secs(30);
        assert!(connect <= most && ping + pong <= most && silence <= most);
        assert!(ping + pong < silence, "pings are heard before the silence around them counts");
    }
}

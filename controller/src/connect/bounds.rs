//! How long anything may take before a connection counts as dead.

use std::time::Duration;

/// What may be spoken with a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Protocol {
    /// HTTP/2 where the server offers it over TLS, else HTTP/1.1.
    #[default]
    Any,
    /// HTTP/1.1: a request at a time on a connection, which is closed if the request is given up.
    Http1,
}

/// How long anything may take before a connection counts as dead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// To make a connection.
    pub connect: Duration,
    /// HTTP/2: until a ping goes out, after the last that came.
    pub ping: Duration,
    /// HTTP/2: until the ping is answered.
    pub pong: Duration,
    /// Until anything comes, or can be written.
    pub silence: Duration,
}

impl Default for Bounds {
    fn default() -> Self {
        let ten = Duration::from_secs(10);
        Self { connect: ten, ping: ten, pong: ten, silence: Duration::from_secs(30) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_silent_connection_is_found_in_half_a_minute() {
        let Bounds { connect, ping, pong, silence } = Bounds::default();
        let most = Duration::from_secs(30);
        assert!(connect <= most && ping + pong <= most && silence <= most);
        assert!(ping + pong < silence, "pings are heard before the silence around them counts");
    }
}

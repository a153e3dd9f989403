//! Free ports on loopback.

use std::net::{Ipv4Addr, TcpListener};

use crate::ClusterError;

/// `N` different ports that are free at the moment.
///
/// Another process may take one before the program binds it: then the program reports that, and the
/// boot is repeated.
pub(super) fn free_ports<const N: usize>() -> Result<[u16; N], ClusterError> {
    let mut ports = [0; N];
    let mut listeners = Vec::with_capacity(N);
    for port in &mut ports {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(ClusterError::Port)?;
        *port = listener.local_addr().map_err(ClusterError::Port)?.port();
        listeners.push(listener);
    }
    Ok(ports)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn ports_differ() {
        let ports = free_ports::<8>().unwrap();
        assert_eq!(BTreeSet::from(ports).len(), 8);
    }
}

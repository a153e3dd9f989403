//! Free ports on loopback.

use std::net::{Ipv4Addr, TcpListener};

use crate::cluster::ClusterError;

/// `N` different ports that nobody listens on just now.
///
/// Between here and the program's own `bind` somebody else may take one: then the program says so,
/// and the boot is repeated.
pub(super) fn free<const N: usize>() -> Result<[u16; N], ClusterError> {
    let mut ports = [0; N];
    let mut held = Vec::with_capacity(N);
    for port in &mut ports {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(ClusterError::Port)?;
        *port = listener.local_addr().map_err(ClusterError::Port)?.port();
        held.push(listener);
    }
    Ok(ports)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn ports_differ() {
        let ports = free::<8>().unwrap();
        assert_eq!(BTreeSet::from(ports).len(), 8);
    }
}

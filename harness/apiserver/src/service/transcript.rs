//! The transcript of requests and responses, in order, to compare two runs.

use bytes::Bytes;
use http::StatusCode;

use crate::http::request::ApiRequest;

/// One line for each request, once started.
#[derive(Debug, Default)]
pub(crate) struct Transcript {
    lines: Option<Vec<String>>,
}

impl Transcript {
    pub(crate) fn start(&mut self) {
        self.lines.get_or_insert_default();
    }

    /// Adds a request and its response. Bodies are hashed: they may contain secrets.
    pub(crate) fn record(&mut self, request: &ApiRequest, micros: i64, code: StatusCode, body: &Bytes) {
        let Some(lines) = &mut self.lines else { return };
        let ApiRequest { method, path, query, .. } = request;
        let query: Vec<_> = query.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let (request_hash, response_hash) = (fnv1a(&request.body), fnv1a(body));
        let (query, code) = (query.join("&"), code.as_u16());
        lines.push(format!("{micros} {method} {path} {query} {request_hash:016x} -> {code} {response_hash:016x}"));
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        self.lines.clone().unwrap_or_default()
    }
}

/// FNV-1a, 64 bits: the same on every machine and in every build.
fn fnv1a(bytes: &[u8]) -> u64 {
    let start = 0xcbf2_9ce4_8422_2325;
    bytes.iter().fold(start, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    /// The published vectors of the algorithm.
    #[test]
    fn fnv1a_matches_published_vectors() {
        assert_eq!(super::fnv1a(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(super::fnv1a(b"foobar"), 0x8594_4171_f739_67e8);
    }
}

//! The transcript: what the server was asked and what it answered, in order, to find out whether
//! two runs are the same.

use bytes::Bytes;
use http::StatusCode;

use super::call::Call;

/// One line for each request, once begun.
#[derive(Debug, Default)]
pub(super) struct Transcript {
    lines: Option<Vec<String>>,
}

impl Transcript {
    /// From now on.
    pub(super) fn begin(&mut self) {
        self.lines.get_or_insert_default();
    }

    /// Adds a request and its answer. Bodies are in it as hashes: they may hold secrets.
    pub(super) fn note(&mut self, call: &Call, micros: i64, code: StatusCode, body: &Bytes) {
        let Some(lines) = &mut self.lines else { return };
        let Call { method, path, query, .. } = call;
        let query: Vec<_> = query.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let (asked, answered) = (fnv1a(&call.body), fnv1a(body));
        let (query, code) = (query.join("&"), code.as_u16());
        lines.push(format!("{micros} {method} {path} {query} {asked:016x} -> {code} {answered:016x}"));
    }

    pub(super) fn lines(&self) -> Vec<String> {
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
    /// From the algorithm's published vectors.
    #[test]
    fn known_vectors() {
        assert_eq!(super::fnv1a(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(super::fnv1a(b"foobar"), 0x8594_4171_f739_67e8);
    }
}

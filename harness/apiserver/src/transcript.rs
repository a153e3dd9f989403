//! What the server was asked and what it answered, in order, for whoever wants to know whether two plays were the same.

use hyper::StatusCode;
use hyper::body::Bytes;

use super::server::Call;
use crate::fingerprint::fingerprint;

/// A line for each request, if anybody wants them.
#[derive(Debug, Default)]
pub(super) struct Transcript {
    lines: Option<Vec<String>>,
}

impl Transcript {
    /// From now on.
    pub(super) fn begin(&mut self) {
        self.lines.get_or_insert_default();
    }

    /// A request and its answer. Bodies stand in it as fingerprints: they may hold secrets.
    pub(super) fn note(&mut self, call: &Call, micros: i64, code: StatusCode, body: &Bytes) {
        let Some(lines) = &mut self.lines else { return };
        let Call { method, path, query, .. } = call;
        let query: Vec<_> = query.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let (asked, answered) = (fingerprint(call.body.iter().copied()), fingerprint(body.iter().copied()));
        lines.push(format!("{micros} {method} {path} {} {asked} -> {} {answered}", query.join("&"), code.as_u16()));
    }

    pub(super) fn lines(&self) -> Vec<String> {
        self.lines.clone().unwrap_or_default()
    }
}

//! xing's rules about one workload, at a tick (sections 1.7 and 1.8).
//!
//! Cases: `config-restart/s02-adopted@xing`, `config-restart/s30-xing-pods-began-with-it`,
//! `config-restart/s31-reference-added@xing`.

use jiff::Timestamp;

use super::pending::Note;
use super::plan::{Cause, Linked, Observed, Plan, Present, Restart, Write};
use super::references::ConfigName;
use super::trigger::stamp;

/// What a tick does with a workload that some change affects.
pub(super) fn plan(observed: &Observed, now: Timestamp) -> Plan {
    let before = &observed.workload.applied;
    let there = || {
        observed.configs.iter().filter_map(|(name, linked)| match &linked.present {
            Present::There { whole, .. } => Some((name, linked, whole)),
            Present::Unknown | Present::Missing => None,
        })
    };
    let differs = there().any(|(name, _, checksum)| before.get(&name.to_string()) != Some(checksum));
    let linked = |name: &String| observed.configs.keys().any(|config| config.to_string() == *name);
    if !differs && before.keys().all(linked) {
        return Plan::default();
    }
    // A pending config keeps what the annotation says of it; what is not linked goes.
    let mut applied = before.clone();
    applied.retain(|name, _| linked(name));
    let causes: Vec<Cause> =
        there().filter_map(|(name, linked, checksum)| cause(observed, name, linked, checksum)).collect();
    applied.extend(there().map(|(name, _, checksum)| (name.to_string(), checksum.clone())));
    let merged = causes.iter().map(|cause| observed.configs[&cause.config].changes.max(1)).sum();
    let restart =
        (!causes.is_empty()).then(|| Restart { trigger: stamp(now), causes, merged, restarts: None, held: None });
    Plan { write: Some(Write { applied, restart, note: Note::Keep }), wait: None }
}

/// The two rules: what was applied and differs restarts; what was never applied does if it was seen
/// to change meanwhile.
fn cause(observed: &Observed, config: &ConfigName, linked: &Linked, checksum: &str) -> Option<Cause> {
    let before = observed.workload.applied.get(&config.to_string());
    let restarts = before.map_or(linked.changes >= 2, |before| before != checksum);
    restarts.then(|| Cause {
        config: config.clone(),
        keys: linked.keys.clone(),
        before: before.cloned(),
        after: checksum.to_owned(),
    })
}

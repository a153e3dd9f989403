//! Reads and writes the state that is stored on the workload: the checksums of the data that its
//! pods are known to have, and the times of its recent restarts.
//!
//! The checksums are in xing's annotation, a JSON object as text with xing's keys and checksums. If
//! the annotation cannot be read, the workload is treated as if it had none, which never restarts
//! anything, and an event reports it. The value `null` crashes xing's controller (defect X9).

use std::collections::BTreeMap;

use jiff::Timestamp;
use rollout_model::whole_second;
use serde_json::Value;

/// The checksum of a config that does not exist and that pods run without, because all references
/// to it are optional. It differs from every checksum of xing's controller, so the creation of the
/// config also restarts the workload there.
pub(crate) const ABSENT: &str = "absent";

/// The most checksums that are read. Real annotations have fewer within 256 KiB; only a hostile one
/// has more, to use up memory.
const MAX_CHECKSUMS: usize = 5000;
/// The most restart times that are read.
const MAX_RESTARTS: usize = 1000;

/// The longest pending annotation that is stored; those that this controller writes are shorter.
const MAX_PENDING_BYTES: usize = 64 << 10;

/// Checksums by the text of a [`crate::ConfigName`].
pub(crate) type AppliedChecksums = BTreeMap<String, String>;

/// Reads the annotation with the checksums. If that fails, the second value is the reason.
pub(crate) fn read_checksums(annotation: Option<&str>) -> (AppliedChecksums, Option<String>) {
    let Some(text) = annotation else { return (AppliedChecksums::new(), None) };
    let unreadable = |what: &str| (AppliedChecksums::new(), Some(what.to_owned()));
    let entries = match serde_json::from_str(text) {
        Ok(Value::Object(entries)) => entries,
        Ok(Value::Null) => return unreadable("it is null"),
        Ok(_) => return unreadable("it is no JSON object"),
        // The parser's message would quote the annotation.
        Err(error) => return unreadable(&format!("it is not JSON (column {})", error.column())),
    };
    if entries.len() > MAX_CHECKSUMS {
        return unreadable(&format!("it has more than {MAX_CHECKSUMS} checksums"));
    }
    let mut checksums = AppliedChecksums::new();
    for (name, value) in entries {
        match value {
            Value::String(checksum) => checksums.insert(name, checksum),
            // Go reads null as an empty string, which then counts as a different checksum.
            Value::Null => checksums.insert(name, String::new()),
            _ => return unreadable("a checksum in it is no text"),
        };
    }
    (checksums, None)
}

/// Writes the checksums annotation, with sorted keys.
pub(crate) fn write_checksums(checksums: &AppliedChecksums) -> String {
    serde_json::to_string(checksums).unwrap_or_default()
}

/// Reads the times of restarts. Entries that cannot be read are skipped.
pub(crate) fn read_restarts(annotation: Option<&str>) -> Vec<Timestamp> {
    let times = annotation.unwrap_or_default().split(',');
    let mut times: Vec<Timestamp> = times.filter_map(|time| time.trim().parse().ok()).collect();
    times.sort_unstable();
    // The budget needs the last ones.
    times.split_off(times.len().saturating_sub(MAX_RESTARTS))
}

/// Reads the annotation of a pending restart. One that is too long becomes empty, so that it is
/// written again.
pub(crate) fn read_pending(annotation: &str) -> String {
    if annotation.len() > MAX_PENDING_BYTES { String::new() } else { annotation.to_owned() }
}

/// Writes the times of restarts: in seconds, comma separated, oldest first.
pub(crate) fn write_restarts(times: &[Timestamp]) -> String {
    let seconds = |time: &Timestamp| whole_second(*time).to_string();
    times.iter().map(seconds).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    /// Scenarios 45 and 46, and section 1.4.
    #[rstest]
    #[case::none(None, "{}", None)]
    #[case::as_xing_writes_it(Some(r#"{"configmap/ns/c":"00"}"#), r#"{"configmap/ns/c":"00"}"#, None)]
    #[case::sorted(
        Some(r#"{"secret/ns/c":"1","configmap/ns/c":"0"}"#),
        r#"{"configmap/ns/c":"0","secret/ns/c":"1"}"#,
        None
    )]
    #[case::one_is_null(Some(r#"{"configmap/ns/c":null}"#), r#"{"configmap/ns/c":""}"#, None)]
    #[case::not_json(Some("nonsense"), "{}", Some("it is not JSON (column 2)"))]
    #[case::empty(Some(""), "{}", Some("it is not JSON (column 0)"))]
    #[case::null(Some("null"), "{}", Some("it is null"))]
    #[case::a_number(Some(r#"{"configmap/ns/c":1}"#), "{}", Some("a checksum in it is no text"))]
    #[case::a_list(Some("[]"), "{}", Some("it is no JSON object"))]
    fn checksums_annotation_round_trips(
        #[case] text: Option<&str>,
        #[case] expected: &str,
        #[case] problem: Option<&str>,
    ) {
        let (checksums, reason) = read_checksums(text);
        assert_eq!((write_checksums(&checksums).as_str(), reason.as_deref()), (expected, problem));
    }

    #[test]
    fn restart_times_round_trip_and_skip_unreadable_entries() {
        let text = "2026-01-01T00:00:05Z,2026-01-01T00:01:00Z";
        assert_eq!(write_restarts(&read_restarts(Some(text))), text);
        assert_eq!(read_restarts(Some("soon,,2026-01-01T00:00:05Z")).len(), 1);
        assert_eq!(read_restarts(None), []);
    }

    #[test]
    fn oversized_annotations_are_not_stored() {
        let entries: Vec<String> = (0..20_000).map(|n| format!(r#""{n:x}":"""#)).collect();
        let (checksums, problem) = read_checksums(Some(&format!("{{{}}}", entries.join(","))));
        assert_eq!((checksums.len(), problem.as_deref()), (0, Some("it has more than 5000 checksums")));
        let deep = "[".repeat(200_000);
        assert!(read_checksums(Some(&deep)).1.is_some_and(|problem| problem.starts_with("it is not JSON")));
        assert_eq!(read_restarts(Some(&"2026-01-01T00:00:05Z,".repeat(12_000))).len(), 1000);
        assert_eq!(read_pending(&"x".repeat(200_000)), "");
    }
}

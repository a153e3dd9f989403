//! What is remembered on the workload itself: the checksums that its pods are known to have, and
//! when it was restarted of late.
//!
//! The first is xing's annotation, a JSON object as text, with xing's keys and checksums. Whatever
//! is wrong with it, the workload is treated as if it had none, which never restarts anything, and
//! that is reported; a `null` in its place kills xing's controller (defect X9).

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::Value;

use crate::model::whole_second;

/// Stands in for a checksum: pods run without it, because every reference to it is optional and it
/// was not there. To xing's controller it is a checksum that differs, so with that, too, its coming
/// restarts.
pub(crate) const ABSENT: &str = "absent";

/// Checksums in an annotation: 256 KiB have room for fewer, unless they are made to take memory.
const MOST_CHECKSUMS: usize = 5000;
/// Restarts that are kept.
const MOST_RESTARTS: usize = 1000;

/// Bytes that are kept of the annotation of a restart that waits; what this controller writes is
/// shorter.
const LONGEST_PENDING: usize = 64 << 10;

/// Checksums by [`super::ConfigName`], as text.
pub(crate) type Applied = BTreeMap<String, String>;

/// Reads the annotation with the checksums, and says what is wrong with it, if anything is.
pub(crate) fn read_applied(annotation: Option<&str>) -> (Applied, Option<String>) {
    let Some(text) = annotation else { return (Applied::new(), None) };
    let wrong = |what: &str| (Applied::new(), Some(what.to_owned()));
    let entries = match serde_json::from_str(text) {
        Ok(Value::Object(entries)) => entries,
        Ok(Value::Null) => return wrong("it is null"),
        Ok(_) => return wrong("it is no JSON object"),
        // The parser's own words would quote what it has found.
        Err(error) => return wrong(&format!("it is not JSON (column {})", error.column())),
    };
    if entries.len() > MOST_CHECKSUMS {
        return wrong(&format!("it has more than {MOST_CHECKSUMS} checksums"));
    }
    let mut applied = Applied::new();
    for (name, value) in entries {
        match value {
            Value::String(checksum) => applied.insert(name, checksum),
            // Go reads it so, and then it is one that differs.
            Value::Null => applied.insert(name, String::new()),
            _ => return wrong("a checksum in it is no text"),
        };
    }
    (applied, None)
}

/// Writes it, keys sorted.
pub(crate) fn write_applied(applied: &Applied) -> String {
    serde_json::to_string(applied).unwrap_or_default()
}

/// Reads when the workload was restarted; what cannot be read does not count.
pub(crate) fn read_restarts(annotation: Option<&str>) -> Vec<Timestamp> {
    let times = annotation.unwrap_or_default().split(',');
    let mut times: Vec<Timestamp> = times.filter_map(|time| time.trim().parse().ok()).collect();
    times.sort_unstable();
    // A budget counts the last ones.
    times.split_off(times.len().saturating_sub(MOST_RESTARTS))
}

/// Reads what is shown of a restart that waits. What is too long is kept as nothing, so that it is
/// written anew.
pub(crate) fn read_pending(annotation: &str) -> String {
    if annotation.len() > LONGEST_PENDING { String::new() } else { annotation.to_owned() }
}

/// Writes that: seconds, comma separated, oldest first.
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
    fn reads_and_writes(#[case] text: Option<&str>, #[case] written: &str, #[case] problem: Option<&str>) {
        let (applied, why) = read_applied(text);
        assert_eq!((write_applied(&applied).as_str(), why.as_deref()), (written, problem));
    }

    #[test]
    fn restarts_round_trip_and_nonsense_does_not_count() {
        let text = "2026-01-01T00:00:05Z,2026-01-01T00:01:00Z";
        assert_eq!(write_restarts(&read_restarts(Some(text))), text);
        assert_eq!(read_restarts(Some("soon,,2026-01-01T00:00:05Z")).len(), 1);
        assert_eq!(read_restarts(None), []);
    }

    #[test]
    fn annotations_that_are_made_to_take_memory_are_not_kept() {
        let entries: Vec<String> = (0..20_000).map(|n| format!(r#""{n:x}":"""#)).collect();
        let (applied, problem) = read_applied(Some(&format!("{{{}}}", entries.join(","))));
        assert_eq!((applied.len(), problem.as_deref()), (0, Some("it has more than 5000 checksums")));
        let deep = "[".repeat(200_000);
        assert!(read_applied(Some(&deep)).1.is_some_and(|problem| problem.starts_with("it is not JSON")));
        assert_eq!(read_restarts(Some(&"2026-01-01T00:00:05Z,".repeat(12_000))).len(), 1000);
        assert_eq!(read_pending(&"x".repeat(200_000)), "");
    }
}

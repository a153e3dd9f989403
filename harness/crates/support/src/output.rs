//! Extracts from another program's output the lines that say why it failed.
//!
//! ```text
//! etcd, kube-apiserver, kind, docker, a subject ──► output::excerpt ──► message of a failure
//! ```
//!
//! The last lines are often not the relevant ones: a usage text, a stack trace, a repetition. So
//! lines that report an error, in any of the usual formats, are preferred. Without one, both ends
//! of the output are shown: Node and Java print the message above the stack, Python below.

use std::collections::BTreeSet;

use serde_json::Value;

/// The maximum number of error lines, and of lines at each end of an output without errors.
const MOST: usize = 6;
/// Marks omitted lines.
const GAP: &str = "[...]";

/// The lines that report an error, or both ends of the output if there are none.
#[must_use]
pub fn excerpt(output: &str) -> Vec<String> {
    let mut lines = find_errors(output);
    if lines.is_empty() {
        return keep_ends(output, MOST, MOST);
    }
    // The last line may be another reason, unless it belongs to an indented stack or is a log line.
    let last = output.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default().trim_end();
    let is_log = last.starts_with([' ', '\t', '{', '[']) || klog_letter(without_header(last)).is_some();
    let is_fatal = lines.iter().any(|line| severity(line) == Some(Severity::Fatal));
    if !is_log && !is_fatal && !lines.iter().any(|line| line == last) {
        lines.push(last.to_owned());
    }
    lines
}

/// The reason on one line, for a command with short output.
#[must_use]
pub fn reason(output: &[u8]) -> String {
    let text = String::from_utf8_lossy(output);
    let errors = find_errors(&text);
    if !errors.is_empty() {
        return errors.join("; ");
    }
    let is_warning = |line: &&str| !line.to_ascii_lowercase().starts_with("warning");
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.clone().find(is_warning).or_else(|| lines.next()).unwrap_or("it printed nothing").to_owned()
}

/// The first and the last lines of an output, without blank ones.
#[must_use]
pub(crate) fn keep_ends(output: &str, first: usize, last: usize) -> Vec<String> {
    shorten(output.lines().map(str::trim_end).filter(|line| !line.is_empty()).map(str::to_owned).collect(), first, last)
}

/// The lines that report an error, each once; only fatal ones, if there are any.
#[must_use]
pub(crate) fn find_errors(output: &str) -> Vec<String> {
    let fatal = find(output, Severity::Fatal);
    if fatal.is_empty() { find(output, Severity::Error) } else { fatal }
}

/// The lines that report a fatal error, each once.
#[must_use]
pub fn find_fatal(output: &str) -> Vec<String> {
    find(output, Severity::Fatal)
}

fn find(output: &str, wanted_severity: Severity) -> Vec<String> {
    let mut found = Vec::new();
    let mut reported = BTreeSet::new();
    let mut lines = output.lines().peekable();
    while let Some(line) = lines.next() {
        let line = without_header(line.trim());
        if severity(line) != Some(wanted_severity) || !reported.insert(without_time(line).to_owned()) {
            continue;
        }
        found.push(without_stack(line));
        // Rust prints the message on the next line.
        if line.starts_with("thread '")
            && let Some(message) = lines.next_if(|next| !next.trim().is_empty())
        {
            found.push(message.trim().to_owned());
        }
    }
    // The first errors are often the cause, and the last ones the consequence.
    shorten(found, MOST / 2, MOST / 2)
}

fn shorten(mut lines: Vec<String>, first: usize, last: usize) -> Vec<String> {
    if lines.len() > first + last {
        let end = lines.len() - last;
        lines.splice(first..end, [GAP.to_owned()]);
    }
    lines
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Severity {
    /// The program may continue.
    Error,
    /// The program exits.
    Fatal,
}

/// The severity of the error that a line reports; `None` if it reports none.
fn severity(line: &str) -> Option<Severity> {
    if let Some(letter) = klog_letter(line) {
        return match letter {
            // Kubernetes components exit with this message.
            'E' if line.contains("] \"command failed\"") => Some(Severity::Fatal),
            'E' => Some(Severity::Error),
            'F' => Some(Severity::Fatal),
            _ => None,
        };
    }
    if line.starts_with('{')
        && let Ok(entry) = serde_json::from_str::<Value>(line)
    {
        return ["level", "severity", "lvl"].iter().find_map(|key| level(entry.get(key)?.as_str()?)).flatten();
    }
    if let Some(rest) = line.strip_prefix("Command Output:") {
        // kind appends the complete output of a command, which is often a log of many lines.
        let rest = rest.trim();
        let is_log = rest.is_empty() || rest.starts_with('[') || klog_letter(rest).is_some();
        return if is_log { None } else { Some(severity(rest).unwrap_or(Severity::Error)) };
    }
    let logfmt = |word: &str| word.strip_prefix("level=").and_then(|word| level(word.trim_matches('"')));
    if let Some(severity) = line.split_whitespace().find_map(logfmt) {
        return severity;
    }
    announced_severity(line).or_else(|| logged_severity(line)).or_else(|| is_exception(line).then_some(Severity::Error))
}

/// The severity of a level: `None` for another word, `Some(None)` for a level below error.
fn level(word: &str) -> Option<Option<Severity>> {
    match word.to_ascii_uppercase().as_str() {
        "TRACE" | "DEBUG" | "INFO" | "NOTICE" | "WARN" | "WARNING" => Some(None),
        "ERROR" | "ERR" | "SEVERE" => Some(Some(Severity::Error)),
        "CRITICAL" | "FATAL" | "PANIC" | "DPANIC" => Some(Some(Severity::Fatal)),
        _ => None,
    }
}

/// `error: …`, `Error response from daemon: …`, `program: fatal: …`, `panic: …`.
fn announced_severity(line: &str) -> Option<Severity> {
    if line.starts_with("thread '") && line.contains(" panicked at ") {
        return Some(Severity::Fatal);
    }
    let mut words = line.split_whitespace();
    let (first, second) = (words.next()?, words.next().unwrap_or_default());
    let is_name = first == "npm" || first.ends_with(':');
    let starts = |word: &str, begin: &str| {
        let rest = word.get(..begin.len()).filter(|it| it.eq_ignore_ascii_case(begin)).map(|_| &word[begin.len()..]);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([':', '[', '(']))
    };
    let begins = |begin: &str| starts(first, begin) || is_name && second.ends_with(':') && starts(second, begin);
    if begins("panic") && line.contains(':') || begins("fatal") {
        return Some(Severity::Fatal);
    }
    (begins("error") || first == "npm" && matches!(second, "error" | "ERR!")).then_some(Severity::Error)
}

/// A log line with a level in capitals: `2026-11-26 04:20:01 ERROR …`, `[ERROR Port-6443]: …`,
/// `ERROR:root:…`.
fn logged_severity(line: &str) -> Option<Severity> {
    let is_mark = |letter: char| !letter.is_ascii_alphanumeric();
    let mut words = line.split_whitespace().take(6).map(|word| word.trim_start_matches(is_mark));
    let is_capital = |word: &str| word.bytes().all(|byte| byte.is_ascii_uppercase());
    words
        .find_map(|word| {
            let word = word.split(is_mark).next().filter(|word| is_capital(word))?;
            level(word)
        })
        .flatten()
}

/// `java.lang.IllegalStateException: …`, `ValueError: …`, `Caused by: …`.
fn is_exception(line: &str) -> bool {
    if line.starts_with("Exception in thread ") || line.starts_with("Caused by: ") {
        return true;
    }
    let line = ["Uncaught ", "Unhandled exception. "].iter().find_map(|it| line.strip_prefix(it)).unwrap_or(line);
    let (name, rest) = line.split_at(line.find([':', ' ']).unwrap_or(line.len()));
    let is_name = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'$'));
    let follows = rest.is_empty() || rest.starts_with(": ") || rest.starts_with(" [");
    is_name && follows && (name.ends_with("Error") || name.ends_with("Exception"))
}

/// The level of a line of klog, as in `E1126 04:20:01.123456    1234 run.go:72] …`.
fn klog_letter(line: &str) -> Option<char> {
    let letter = line.chars().next().filter(|letter| "IWEF".contains(*letter))?;
    let day = line.get(1..5)?;
    let is_header = day.bytes().all(|byte| byte.is_ascii_digit()) && line[5..].starts_with(' ') && line.contains("] ");
    is_header.then_some(letter)
}

/// Removes the header that a log collector adds to a line: a journal's `Nov 26 04:20:01 node
/// kubelet[215]: ` before klog, or a container runtime's `2026-11-26T04:20:01.1Z stderr F `.
fn without_header(line: &str) -> &str {
    if let Some((_, rest)) = line.split_once("]: ")
        && klog_letter(rest).is_some()
    {
        return rest;
    }
    let mut words = line.splitn(4, ' ');
    match (words.next(), words.next(), words.next(), words.next()) {
        (Some(time), Some("stdout" | "stderr"), Some("F" | "P"), Some(rest)) if time.ends_with(['Z', '0']) => rest,
        _ => line,
    }
}

/// A log line without its time and process, to recognise repetitions.
fn without_time(line: &str) -> &str {
    if klog_letter(line).is_some() {
        let words = line.splitn(4, ' ').last().unwrap_or(line);
        return words.trim_start().split_once(' ').map_or(words, |(_, rest)| rest);
    }
    if let Some((_, rest)) = line.split_once("\"ts\":") {
        return rest.split_once(',').map_or(rest, |(_, rest)| rest);
    }
    line.trim_start_matches(|letter: char| !letter.is_alphabetic())
}

/// A JSON log line without the stack trace that some loggers add.
fn without_stack(line: &str) -> String {
    let Ok(Value::Object(mut entry)) = serde_json::from_str(line) else { return line.to_owned() };
    if entry.remove("stacktrace").is_none() {
        return line.to_owned();
    }
    Value::Object(entry).to_string()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::etcd_port(
        r#"{"level":"warn","ts":"2026-11-26T04:41:39.568162Z","caller":"embed/config.go:1207","msg":"Running http and grpc server on single port. This is not recommended for production."}
{"level":"fatal","ts":"2026-11-26T04:41:39.589335Z","caller":"etcdmain/etcd.go:183","msg":"discovery failed","error":"listen tcp 127.0.0.1:36087: bind: address already in use","stacktrace":"go.etcd.io/etcd/server/v3/etcdmain.startEtcdOrProxyV2\n\tetcdmain/etcd.go:183\nmain.main"}"#,
        &[r#"{"caller":"etcdmain/etcd.go:183","error":"listen tcp 127.0.0.1:36087: bind: address already in use","level":"fatal","msg":"discovery failed","ts":"2026-11-26T04:41:39.589335Z"}"#]
    )]
    #[case::etcd_folder(
        r#"{"level":"fatal","ts":"2026-11-26T04:41:39.949893Z","caller":"etcdmain/etcd.go:227","msg":"failed to list data directory","dir":"notadir/x","error":"open notadir/x: not a directory"}"#,
        &[r#"{"level":"fatal","ts":"2026-11-26T04:41:39.949893Z","caller":"etcdmain/etcd.go:227","msg":"failed to list data directory","dir":"notadir/x","error":"open notadir/x: not a directory"}"#]
    )]
    #[case::apiserver_flag("Error: unknown flag: --bogus\n", &["Error: unknown flag: --bogus"])]
    #[case::apiserver_key(
        r#"I1126 04:41:45.797883   30752 options.go:263] external host was not specified, using 192.0.2.2
W1126 04:41:45.797897   30752 authentication.go:841] AnonymousAuth is not allowed with the AlwaysAllow authorizer. Resetting AnonymousAuth to false. You should use a different authorizer
E1126 04:41:45.797936   30752 run.go:72] "command failed" err="failed to parse service-account-issuer-key-file: open /nope: no such file or directory""#,
        &[r#"E1126 04:41:45.797936   30752 run.go:72] "command failed" err="failed to parse service-account-issuer-key-file: open /nope: no such file or directory""#]
    )]
    #[case::controller_manager(
        r#"I1126 04:41:50.934382   30779 serving.go:411] Generated self-signed cert in-memory
E1126 04:41:50.966426   30779 run.go:72] "command failed" err="stat /nope: no such file or directory""#,
        &[r#"E1126 04:41:50.966426   30779 run.go:72] "command failed" err="stat /nope: no such file or directory""#]
    )]
    #[case::container_log(
        "2026-11-26T04:20:01.1Z stdout F starting\n2026-11-26T04:20:01.2Z stderr F Error: unknown flag: --bogus",
        &["Error: unknown flag: --bogus"]
    )]
    #[case::kubelet_in_a_journal(
        r#"Nov 26 04:20:01 node kubelet[215]: I1126 04:20:01.000001     215 server.go:425] "Kubelet version"
Nov 26 04:20:01 node kubelet[215]: E1126 04:20:01.000002     215 run.go:72] "command failed" err="failed to run Kubelet"
Nov 26 04:20:02 node kubelet[218]: E1126 04:20:02.000002     218 run.go:72] "command failed" err="failed to run Kubelet""#,
        &[r#"E1126 04:20:01.000002     215 run.go:72] "command failed" err="failed to run Kubelet""#]
    )]
    #[case::kubectl(
        r#"E1126 04:23:52.846308   25998 memcache.go:265] "Unhandled Error" err="connection refused"
E1126 04:23:52.847835   25998 memcache.go:265] "Unhandled Error" err="connection refused"
The connection to the server 127.0.0.1:1 was refused - did you specify the right host or port?"#,
        &[r#"E1126 04:23:52.846308   25998 memcache.go:265] "Unhandled Error" err="connection refused""#]
    )]
    #[case::go(
        "panic: assignment to entry in nil map\n\ngoroutine 1 [running]:\nmain.main()\n\t/x/p.go:2 +0x28",
        &["panic: assignment to entry in nil map"]
    )]
    #[case::rust(
        "\nthread 'main' (25953) panicked at p.rs:1:71:\na client: \"no kubeconfig\"\nstack backtrace:\n   0: rust_begin_unwind",
        &["thread 'main' (25953) panicked at p.rs:1:71:", "a client: \"no kubeconfig\""]
    )]
    #[case::java(
        "Exception in thread \"main\" java.lang.IllegalStateException: cannot reach the API server\n\tat X.main(X.java:1)\n\
         Caused by: java.net.ConnectException: Connection refused\n\tat X.main(X.java:1)\n\tat java.base/java.lang.reflect",
        &[
            "Exception in thread \"main\" java.lang.IllegalStateException: cannot reach the API server",
            "Caused by: java.net.ConnectException: Connection refused",
        ]
    )]
    #[case::python(
        "ERROR:root:cannot list: forbidden\nTraceback (most recent call last):\n  File \"/x.py\", line 4, in <module>\n    \
         f()\nValueError: no such replica set: web-1",
        &["ERROR:root:cannot list: forbidden", "ValueError: no such replica set: web-1"]
    )]
    #[case::node(
        "/x.js:1\nnull.x\n    ^\n\nTypeError: Cannot read properties of null (reading 'x')\n    at f (/x.js:1:43)\n\nNode.js v20.20.2",
        &["TypeError: Cannot read properties of null (reading 'x')"]
    )]
    #[case::npm(
        "npm warn Unknown user config\nnpm error code ENOTCACHED\nnpm error request failed",
        &["npm error code ENOTCACHED", "npm error request failed"]
    )]
    #[case::kubeadm(
        "[preflight] Running pre-flight checks\n\terror execution phase preflight: [preflight] Some fatal errors occurred:\n\
         \t[ERROR Port-6443]: Port 6443 is in use\n[preflight] If you know what you are doing",
        &[
            "error execution phase preflight: [preflight] Some fatal errors occurred:",
            "[ERROR Port-6443]: Port 6443 is in use",
        ]
    )]
    #[case::logfmt(
        "time=\"2026-11-26T04:20:01Z\" level=info msg=\"no error\"\ntime=\"2026-11-26T04:20:02Z\" level=fatal msg=\"no space\"",
        &["time=\"2026-11-26T04:20:02Z\" level=fatal msg=\"no space\""]
    )]
    #[case::columns(
        "2026-11-26 04:20:01 INFO handles ERROR lines\n2026-11-26 04:20:02,123 [main] ERROR c.e.Main - refused",
        &["2026-11-26 04:20:02,123 [main] ERROR c.e.Main - refused"]
    )]
    #[case::no_error("I1126 04:20:01.000001       1 a.go:1] Error rate is 0\nerrors: 0\nErrorless\n", &[])]
    fn finds_error_lines(#[case] output: &str, #[case] lines: &[&str]) {
        assert_eq!(find_errors(output), lines);
    }

    #[rstest]
    #[case("", "it printed nothing")]
    #[case(
        "unknown flag: --bogus\n\nUsage:  docker create\n\nRun 'docker create --help' for more",
        "unknown flag: --bogus"
    )]
    #[case("WARNING: no config\nno space left on device\n", "no space left on device")]
    #[case("WARNING: no config\n", "WARNING: no config")]
    #[case(
        "ERROR: failed to list clusters: command \"docker ps\" failed with error: exit status 1\nCommand Output: permission denied\n",
        "ERROR: failed to list clusters: command \"docker ps\" failed with error: exit status 1; Command Output: permission denied"
    )]
    #[case(
        "ERROR: failed to create cluster: exit status 1\nCommand Output: I1126 04:20:01.0   1 a.go:1] loading",
        "ERROR: failed to create cluster: exit status 1"
    )]
    fn reason_is_one_line(#[case] output: &str, #[case] line: &str) {
        assert_eq!(reason(output.as_bytes()), line);
    }

    #[test]
    fn excerpt_without_error_has_both_ends() {
        let output: String = (0..20).map(|line| format!("line {line}\n\n")).collect();
        let excerpt = excerpt(&output);
        assert_eq!(excerpt.len(), 13);
        assert_eq!((&*excerpt[0], &*excerpt[6], &*excerpt[12]), ("line 0", "[...]", "line 19"));
        assert_eq!(keep_ends("one\ntwo\n", 1, 1), ["one", "two"]);
    }

    #[rstest]
    #[case::another_reason("E1126 04:23:52.8   25998 a.go:1] refused\nno server\n", &["E1126 04:23:52.8   25998 a.go:1] refused", "no server"])]
    #[case::a_stack("error: refused\n\tat main.go:1\n", &["error: refused"])]
    #[case::a_log("E1126 04:23:52.8   2 a.go:1] refused\nI1126 04:23:52.9   2 a.go:2] next\n", &["E1126 04:23:52.8   2 a.go:1] refused"])]
    #[case::fatal("error: refused\nfatal: gone\nusage\n", &["fatal: gone"])]
    fn excerpt_appends_other_last_line(#[case] output: &str, #[case] lines: &[&str]) {
        assert_eq!(excerpt(output), lines);
    }

    #[test]
    fn many_errors_are_truncated_in_the_middle() {
        let output: String = (0..20).map(|line| format!("error: {}\n", "x".repeat(line + 1))).collect();
        let errors = find_errors(&output);
        assert_eq!((errors.len(), &*errors[0], &*errors[3], errors[6].len()), (7, "error: x", "[...]", 27));
    }

    proptest::proptest! {
        #[test]
        fn any_output_yields_a_short_excerpt(output in "(?s).*", log in "[IWEF][0-9é ]{0,8}.*\n?.*") {
            for text in [output, log] {
                assert!(excerpt(&text).len() <= 2 * MOST + 1);
                assert!(!reason(text.as_bytes()).contains('\n'));
            }
        }
    }
}

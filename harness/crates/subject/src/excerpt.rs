//! Excerpts of a subject's output for a screen.

use std::collections::BTreeSet;

/// The number of first lines that are shown with a failure, and of last lines.
const FIRST_LINES: usize = 5;
const LAST_LINES: usize = 10;
/// The number of stack traces before the last lines whose head is shown, and the number of lines of
/// a head.
const TRACES: usize = 3;
const TRACE_HEAD: usize = 2;
/// The number of lines that are read from pods, for the heads of stack traces.
pub(super) const POD_LINES: i64 = 1_000;
/// The maximum length of a shown line, in characters.
const MAX_LINE: usize = 300;

/// The most informative lines of an output: the first, where a program reports what it connects to;
/// the heads of its last stack traces, where many languages print the error; and the last. All are
/// truncated for a screen.
pub(super) fn excerpt(text: &str) -> Vec<String> {
    let lines: Vec<_> = text.lines().map(without_colours).filter(|line| !line.trim().is_empty()).collect();
    let last = lines.len().saturating_sub(LAST_LINES);
    let mut shown: BTreeSet<usize> = (0..FIRST_LINES.min(lines.len())).chain(last..lines.len()).collect();
    let heads = (0..last).rev().filter(|at| is_head_of_trace(&lines, *at)).take(TRACES);
    shown.extend(heads.flat_map(|at| at..at + TRACE_HEAD));
    let mut out = Vec::new();
    let mut next = 0;
    for at in shown {
        match at - next {
            0 => {}
            // A mark would be as long as the single line that it replaces.
            1 => out.push(lines[next].chars().take(MAX_LINE).collect()),
            left_out => out.push(format!("[... {left_out} lines]")),
        }
        out.push(lines[at].chars().take(MAX_LINE).collect());
        next = at + 1;
    }
    out
}

/// Whether a stack trace begins at a line: Java's and JavaScript's `Error: why` before the first
/// `at`, Python's `Traceback`, Go's `panic: why`, Rust's `thread 'main' panicked at`, and Java's
/// causes.
fn is_head_of_trace(lines: &[String], at: usize) -> bool {
    let is_frame = |line: &String| line.trim_start().starts_with("at ") && line.starts_with([' ', '\t']);
    let line = &lines[at];
    let begins = ["Traceback (", "panic: ", "fatal error: ", "Caused by: ", "thread '"];
    let has_frames = lines.get(at + 1).is_some_and(is_frame) && !is_frame(line) && !line.starts_with([' ', '\t']);
    has_frames || begins.iter().any(|begin| line.starts_with(begin))
}

/// Removes colours and cursor movements (ESC, a bracket, up to a letter), which would be shown as
/// escapes.
fn without_colours(line: &str) -> String {
    let mut parts = line.split("\u{1b}[");
    let first = parts.next().unwrap_or_default().to_owned();
    let rest = |part: &str| {
        let end = part.find(|letter| ('@'..='~').contains(&letter));
        end.map(|end| part[end..].chars().skip(1).collect::<String>()).unwrap_or_default()
    };
    parts.fold(first, |line, part| line + &rest(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_shown_without_colours() {
        let text = "\u{1b}[1;31mred\u{1b}[0m and not\n\n  \nplain [x]\n\u{1b}[";
        assert_eq!(excerpt(text), ["red and not", "plain [x]"]);
    }

    /// The output of each language for an uncaught error, after 50 lines of another kind, and with
    /// 30 frames.
    #[rstest::rstest]
    #[case::node(
        "/app/index.js:7\n    throw new Error(\"no such host\");\n    ^\n\nError: no such host\n",
        "    at f (/app/x.js:1:2)",
        "\nNode.js v20.1.0\n",
        "Error: no such host"
    )]
    #[case::java(
        "Exception in thread \"main\" java.lang.IllegalStateException: no such host\n",
        "\tat x.Main.f(Main.java:3)",
        "",
        "java.lang.IllegalStateException: no such host"
    )]
    #[case::java_by_cause(
        "Exception in thread \"main\" a.B: x\n\tat a.B.c(B.java:1)\nCaused by: java.net.UnknownHostException: no such host\n",
        "\tat x.Main.f(Main.java:3)",
        "\t... 4 more\n",
        "Caused by: java.net.UnknownHostException: no such host"
    )]
    #[case::python(
        "Traceback (most recent call last):\n",
        "  File \"x.py\", line 1, in f\n    g()",
        "ValueError: no such host\n",
        "ValueError: no such host"
    )]
    #[case::go(
        "panic: no such host\n\ngoroutine 1 [running]:\n",
        "main.f(...)\n\t/x.go:1 +0x1",
        "exit status 2\n",
        "panic: no such host"
    )]
    #[case::rust(
        "thread 'main' panicked at src/main.rs:1:2:\nno such host\nstack backtrace:\n",
        "   0: f\n             at ./x.rs:1:2",
        "",
        "no such host"
    )]
    fn excerpt_has_message_of_stack_trace(
        #[case] head: &str,
        #[case] frame: &str,
        #[case] end: &str,
        #[case] message: &str,
    ) {
        let before: String = (0..50).map(|line| format!("INFO line {line}\n")).collect();
        let frames = format!("{frame}\n").repeat(30);
        let shown = excerpt(&format!("{before}{head}{frames}{end}"));
        assert!(shown.iter().any(|line| line.contains(message)), "{shown:#?}");
        assert_eq!(shown[0], "INFO line 0");
        assert!(shown.len() <= 25, "{shown:#?}");
    }
}

//! The only place that writes to standard output and, beside `progress`, to standard error.
//!
//! Output comes in part from files, clusters and subjects, so all of it is sanitised here: only the
//! harness's own styles pass as escape sequences, and only to a terminal. Only [`command`] writes
//! workflow commands of GitHub Actions.
//!
//! `println!` panics if standard output is closed. Here a closed standard output ends the command
//! like a signal (`lockstep list | head -1`), and output to a closed standard error is dropped.

use std::ffi::OsString;
use std::fmt::Arguments;
use std::io::{ErrorKind, IsTerminal, Write};

use lockstep_cluster::supervise::Interrupt;
use lockstep_support::outcome::InterruptCause;
use lockstep_support::sanitize;

use super::progress::Progress;

/// Prints a line of the result on standard output.
macro_rules! say {
    ($($what:tt)*) => { $crate::cli::out::result(format_args!("{}\n", format_args!($($what)*))) };
}

/// Prints a message on standard error.
macro_rules! note {
    ($($what:tt)*) => { $crate::cli::out::aside(format_args!($($what)*)) };
}

pub(super) use note;
pub(super) use say;

/// Print a part of the result on standard output.
pub(super) fn result(text: Arguments<'_>) {
    print(&sanitize::for_terminal(&text.to_string(), colour));
}

/// Print a report on standard output, wrapped for the terminal.
pub(super) fn report(text: &str) {
    result(format_args!("{}", lockstep_report::wrap(text, terminal_width())));
}

/// The width of the terminal, or the one that `COLUMNS` names; `None` if there is neither.
pub(super) fn terminal_width() -> Option<usize> {
    let columns = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let terminal = || rustix::termios::tcgetwinsize(std::io::stdout()).ok().map(|size| usize::from(size.ws_col));
    columns.or_else(terminal).filter(|columns| *columns > 0)
}

/// Print a workflow command of GitHub Actions, with texts already escaped, on standard output.
pub(super) fn command(annotation: &str) {
    print(&format!("{annotation}\n"));
}

fn print(text: &str) {
    Progress::for_process().while_cleared(|| print_now(text));
}

fn print_now(text: &str) {
    let mut out = std::io::stdout().lock();
    if let Err(error) = out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        if error.kind() != ErrorKind::BrokenPipe && Interrupt::for_process().cause().is_none() {
            aside_now(format_args!("error: cannot write to standard output: {error}"));
        }
        Interrupt::for_process().raise(InterruptCause::Output);
    }
}

/// Print a line on standard error.
pub(super) fn aside(text: Arguments<'_>) {
    Progress::for_process().while_cleared(|| aside_now(text));
}

fn aside_now(text: Arguments<'_>) {
    // If standard error is closed, there is no other place to report it.
    let _ = writeln!(std::io::stderr().lock(), "{}", sanitize::for_terminal(&text.to_string(), || false));
}

/// Whether standard output may have colours.
pub(super) fn colour() -> bool {
    may_have_colours(&std::io::stdout())
}

/// Whether a stream is a terminal that shows colours, and the user wants them.
pub fn may_have_colours(stream: &impl IsTerminal) -> bool {
    stream.is_terminal() && wants_colours(|name| std::env::var_os(name))
}

/// Follows `NO_COLOR`, and `TERM=dumb`, a terminal that shows escape sequences as text.
fn wants_colours(variable: impl Fn(&str) -> Option<OsString>) -> bool {
    variable("NO_COLOR").is_none_or(|value| value.is_empty()) && variable("TERM").is_none_or(|value| value != "dumb")
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::wants_colours;

    #[rstest]
    #[case("xterm", "", true)]
    #[case("dumb", "", false)]
    #[case("xterm", "1", false)]
    fn colours_follow_the_environment(#[case] term: &str, #[case] no_color: &str, #[case] expected: bool) {
        let variable = |name: &str| Some(if name == "TERM" { term.into() } else { no_color.into() });
        assert_eq!(wants_colours(variable), expected);
    }

    #[test]
    fn empty_environment_has_colours() {
        assert!(wants_colours(|_| None));
    }
}

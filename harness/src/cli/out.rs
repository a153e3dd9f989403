//! The only place that writes to standard output and standard error.
//!
//! What is printed comes in part from files, clusters and subjects, so all of it is made plain
//! here: the harness's own styles are the only escape sequences that pass, and only to a terminal.
//! A command of GitHub Actions is written by [`command`] alone.
//!
//! `println!` panics where nobody reads any more. Here a closed standard output ends the command as
//! a signal does (`lockstep list | head -1`), and what goes to a closed standard error is lost.

use std::fmt::Arguments;
use std::io::{ErrorKind, Write};

use super::reporter::colour;
use crate::outcome::Cause;
use crate::plain;
use crate::supervise::Interrupt;

/// A line of the result, on standard output.
macro_rules! say {
    ($($what:tt)*) => { $crate::cli::out::result(format_args!("{}\n", format_args!($($what)*))) };
}

/// A line about the work, on standard error.
macro_rules! note {
    ($($what:tt)*) => { $crate::cli::out::aside(format_args!($($what)*)) };
}

pub(super) use {note, say};

/// A part of the result, on standard output.
pub(super) fn result(what: Arguments<'_>) {
    print(&plain::printed(&what.to_string(), colour));
}

/// A command of GitHub Actions, whose texts are escaped already, on standard output.
pub(super) fn command(annotation: &str) {
    print(&format!("{annotation}\n"));
}

fn print(text: &str) {
    let mut out = std::io::stdout().lock();
    if let Err(error) = out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        if error.kind() != ErrorKind::BrokenPipe && Interrupt::of_process().cause().is_none() {
            aside(format_args!("error: cannot write to standard output: {error}"));
        }
        Interrupt::of_process().raise(Cause::Output);
    }
}

/// A line on standard error.
pub(super) fn aside(what: Arguments<'_>) {
    // There is no other place to say that nobody reads it.
    let _ = writeln!(std::io::stderr().lock(), "{}", plain::printed(&what.to_string(), || false));
}

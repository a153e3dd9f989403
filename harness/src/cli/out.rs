//! The only place that writes to standard output and standard error.
//!
//! `println!` panics where nobody reads any more. Here a closed standard output ends the command as a signal does (`lockstep list | head -1`),
//! and what goes to a closed standard error is lost.

use std::fmt::Arguments;
use std::io::{ErrorKind, Write};

use crate::outcome::Cause;
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

/// A part of the result as it is, on standard output.
pub(super) fn result(what: Arguments<'_>) {
    let mut out = std::io::stdout().lock();
    if let Err(error) = out.write_fmt(what).and_then(|()| out.flush()) {
        if error.kind() != ErrorKind::BrokenPipe && Interrupt::of_process().cause().is_none() {
            aside(format_args!("error: cannot write to standard output: {error}"));
        }
        Interrupt::of_process().raise(Cause::Output);
    }
}

/// A line on standard error.
pub(super) fn aside(what: Arguments<'_>) {
    // There is no other place to say that nobody reads it.
    let _ = writeln!(std::io::stderr().lock(), "{what}");
}

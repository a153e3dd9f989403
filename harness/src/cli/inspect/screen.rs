//! The terminal while a recording is looked at: keys in, a view out.
//!
//! It is given back on every way out: at the end and at an error when [`Screen`] is dropped, in a
//! panic by a hook, and at a signal, because waiting for a key ends ten times a second to ask
//! whether there was one. A process that is ended by force says its last words to the same effect.

use std::io;
use std::time::Duration;

use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use crate::inspect::{Inspected, Move, View};
use crate::outcome::Cause;
use crate::supervise::Interrupt;

/// How long a signal may wait for a key.
const PATIENCE: Duration = Duration::from_millis(100);

/// The terminal as a screen.
struct Screen(DefaultTerminal);

impl Screen {
    fn open() -> io::Result<Self> {
        // Also installs the hook for panics.
        let terminal = ratatui::try_init().inspect_err(|_| ratatui::restore())?;
        Interrupt::of_process().at_last(ratatui::restore);
        Ok(Self(terminal))
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        ratatui::restore();
    }
}

/// What a key asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asked {
    /// Another frame.
    Go(Move),
    /// The end.
    Quit,
    /// The end, as by SIGINT.
    Interrupt,
}

/// Show a recording until somebody has seen enough.
pub(super) fn show(inspected: &Inspected) -> io::Result<()> {
    let mut screen = Screen::open()?;
    let mut at = inspected.start();
    let interrupt = Interrupt::of_process();
    let mut is_stale = true;
    while interrupt.cause().is_none() {
        if is_stale {
            screen.0.draw(|frame| {
                let view = View::of(inspected, at, frame.area().as_size());
                frame.render_widget(&view, frame.area());
            })?;
            is_stale = false;
        }
        if !event::poll(PATIENCE)? {
            continue;
        }
        let asked = match event::read()? {
            Event::Key(key) if key.kind != KeyEventKind::Release => asked(key),
            Event::Resize(..) => {
                is_stale = true;
                None
            }
            _ => None,
        };
        match asked {
            Some(Asked::Go(towards)) => (at, is_stale) = (inspected.go(at, towards), true),
            Some(Asked::Quit) => break,
            Some(Asked::Interrupt) => interrupt.raise(Cause::Interrupt),
            None => {}
        }
    }
    Ok(())
}

fn asked(key: KeyEvent) -> Option<Asked> {
    Some(match key.code {
        KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => Asked::Interrupt,
        KeyCode::Char('q') | KeyCode::Esc => Asked::Quit,
        KeyCode::Right | KeyCode::Char('l') => Asked::Go(Move::StepForward),
        KeyCode::Left | KeyCode::Char('h') => Asked::Go(Move::StepBack),
        KeyCode::Down | KeyCode::Char('j') => Asked::Go(Move::VersionForward),
        KeyCode::Up | KeyCode::Char('k') => Asked::Go(Move::VersionBack),
        KeyCode::Home | KeyCode::Char('g') => Asked::Go(Move::First),
        KeyCode::End | KeyCode::Char('G') => Asked::Go(Move::Last),
        KeyCode::Char('w') => Asked::Go(Move::Wrong),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case(KeyCode::Right, KeyModifiers::NONE, Some(Asked::Go(Move::StepForward)))]
    #[case(KeyCode::Up, KeyModifiers::NONE, Some(Asked::Go(Move::VersionBack)))]
    #[case(KeyCode::Char('q'), KeyModifiers::NONE, Some(Asked::Quit))]
    #[case(KeyCode::Char('c'), KeyModifiers::CONTROL, Some(Asked::Interrupt))]
    #[case(KeyCode::Char('c'), KeyModifiers::NONE, None)]
    fn keys(#[case] code: KeyCode, #[case] modifiers: KeyModifiers, #[case] expected: Option<Asked>) {
        assert_eq!(asked(KeyEvent::new(code, modifiers)), expected);
    }
}

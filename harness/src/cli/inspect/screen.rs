//! The terminal interface of `lockstep inspect`.
//!
//! The terminal is restored on every exit: when [`Screen`] is dropped, by a hook in a panic, and
//! after a signal, because waiting for a key ends ten times a second to check for one. A forced
//! exit restores the terminal, too.

use std::io;
use std::time::Duration;

use lockstep_cluster::supervise::Interrupt;
use lockstep_report::inspect::{FrameView, Inspection, Navigation};
use lockstep_support::outcome::InterruptCause;
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

/// How long to wait for a key before checking for a signal.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

struct Screen(DefaultTerminal);

impl Screen {
    fn open() -> io::Result<Self> {
        // This also installs the panic hook.
        let terminal = ratatui::try_init().inspect_err(|_| ratatui::restore())?;
        Interrupt::for_process().on_forced_exit(ratatui::restore);
        Ok(Self(terminal))
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        ratatui::restore();
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KeyAction {
    /// Go to another frame.
    Go(Navigation),
    /// End the command.
    Quit,
    /// End the command as SIGINT does.
    Interrupt,
}

/// Show a recording until the user quits.
pub(super) fn show(inspected: &Inspection) -> io::Result<()> {
    let mut screen = Screen::open()?;
    let mut at = inspected.start();
    let interrupt = Interrupt::for_process();
    let mut is_stale = true;
    while interrupt.cause().is_none() {
        if is_stale {
            screen.0.draw(|frame| {
                let view = FrameView::of(inspected, at, frame.area().as_size());
                frame.render_widget(&view, frame.area());
            })?;
            is_stale = false;
        }
        if !event::poll(POLL_INTERVAL)? {
            continue;
        }
        let action = match event::read()? {
            Event::Key(key) if key.kind != KeyEventKind::Release => key_action(key),
            Event::Resize(..) => {
                is_stale = true;
                None
            }
            _ => None,
        };
        match action {
            Some(KeyAction::Go(towards)) => (at, is_stale) = (inspected.go(at, towards), true),
            Some(KeyAction::Quit) => break,
            Some(KeyAction::Interrupt) => interrupt.raise(InterruptCause::Interrupt),
            None => {}
        }
    }
    Ok(())
}

fn key_action(key: KeyEvent) -> Option<KeyAction> {
    Some(match key.code {
        KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => KeyAction::Interrupt,
        KeyCode::Char('q') | KeyCode::Esc => KeyAction::Quit,
        KeyCode::Right | KeyCode::Char('l') => KeyAction::Go(Navigation::StepForward),
        KeyCode::Left | KeyCode::Char('h') => KeyAction::Go(Navigation::StepBack),
        KeyCode::Down | KeyCode::Char('j') => KeyAction::Go(Navigation::VersionForward),
        KeyCode::Up | KeyCode::Char('k') => KeyAction::Go(Navigation::VersionBack),
        KeyCode::Home | KeyCode::Char('g') => KeyAction::Go(Navigation::First),
        KeyCode::End | KeyCode::Char('G') => KeyAction::Go(Navigation::Last),
        KeyCode::Char('w') => KeyAction::Go(Navigation::Wrong),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case(KeyCode::Right, KeyModifiers::NONE, Some(KeyAction::Go(Navigation::StepForward)))]
    #[case(KeyCode::Up, KeyModifiers::NONE, Some(KeyAction::Go(Navigation::VersionBack)))]
    #[case(KeyCode::Char('q'), KeyModifiers::NONE, Some(KeyAction::Quit))]
    #[case(KeyCode::Char('c'), KeyModifiers::CONTROL, Some(KeyAction::Interrupt))]
    #[case(KeyCode::Char('c'), KeyModifiers::NONE, None)]
    fn key_maps_to_action(#[case] code: KeyCode, #[case] modifiers: KeyModifiers, #[case] expected: Option<KeyAction>) {
        assert_eq!(key_action(KeyEvent::new(code, modifiers)), expected);
    }
}

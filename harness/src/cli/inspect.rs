//! `lockstep inspect`: steps through a recording in a terminal, or writes it as a page or a trace,
//! without a cluster.
//!
//! The terminal is restored on every exit: when [`Screen`] is dropped, by a hook in a panic, and
//! after a signal, because waiting for a key ends ten times a second to check for one. A forced
//! exit restores the terminal, too.

use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use lockstep_case as case;
use lockstep_cluster::supervise::Interrupt;
use lockstep_recording::Recording;
use lockstep_report::RerunCommands;
use lockstep_report::inspect::{FrameView, Inspection, Navigation, trace};
use lockstep_report::page::{self, CaseSection};
use lockstep_runner::run::FileError;
use lockstep_search::infer::{Arrangements, infer};
use lockstep_support::collection;
use lockstep_support::outcome::{InterruptCause, RunOutcome};
use lockstep_support::sanitize::quote;
use lockstep_timeline::Timeline;
use lockstep_verdict::{self as verdict, Judgement};
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::golden::{GoldenArgs, load_golden_beside};
use super::out::{note, say};
use super::recording_files::RecordingArg;
use super::rerun_command::CommandLine;
use super::{CliError, output_paths};

/// Step through a recording, forwards and backwards, in a terminal.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    #[command(flatten, next_help_heading = "Output")]
    recording: RecordingArg,
    /// Write an HTML page with a slider instead; it needs no network.
    #[arg(help_heading = "Output", long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Write a trace in Chrome's trace event format instead; Perfetto opens it.
    #[arg(help_heading = "Output", long, value_name = "FILE")]
    trace: Option<PathBuf>,
    #[command(flatten)]
    golden: GoldenArgs,
}

/// A judgement, and the timeline that was expected.
type GoldenJudgement = (Judgement, Option<Timeline>);

pub(super) fn execute(arguments: &Arguments, typed: &CommandLine) -> Result<RunOutcome, CliError> {
    output_paths::check_file("--html", arguments.html.as_deref())?;
    output_paths::check_file("--trace", arguments.trace.as_deref())?;
    let to_files = arguments.html.is_some() || arguments.trace.is_some();
    if !to_files && !io::stdout().is_terminal() {
        let why = "inspect needs a terminal on standard output; \
            `--html FILE` writes a page for a browser, `--trace FILE` a trace for Perfetto";
        return Err(CliError::Usage(why.to_owned()));
    }
    let mut recording = arguments.recording.read()?;
    arguments.golden.replace_workload(&mut recording);
    let judged = arguments.judge(&recording)?;
    let inspected = match &judged {
        Some((judgement, expected)) => Inspection::of_judgement(&recording, judgement, expected.as_ref()),
        None => match infer(&recording, "captured/rollout", &Arrangements::new()) {
            Ok(inferred) => Inspection::of_inferred(&inferred.annotated),
            Err(error) => Inspection::without_steps(&recording, &error.to_string()),
        },
    };
    if let Some(file) = &arguments.trace {
        output_paths::write(file, &trace(&inspected))?;
        say!("{}", file.display());
    }
    if let Some(file) = &arguments.html {
        output_paths::write(file, &arguments.page(typed, &inspected, judged.as_ref()))?;
        say!("{}", file.display());
    }
    if !to_files {
        show_screen(&inspected).map_err(|source| FileError::File { path: PathBuf::from("the terminal"), source })?;
    }
    Ok(RunOutcome::Conformant)
}

impl Arguments {
    /// Judge the recording; `None` if it has no case. If the case file is missing, the recording is
    /// judged by the invariants and its rules only, with a note.
    fn judge(&self, recording: &Recording) -> Result<Option<GoldenJudgement>, CliError> {
        let Ok(case) = case::parse_recorded(&recording.header) else { return Ok(None) };
        let case = Arc::new(case);
        let file = self.golden.case_file(&recording.header);
        if !collection::is_file(&file) {
            note!(
                "{} is not there, so there is no golden timeline; --cases FOLDER names where the cases are",
                file.display()
            );
            return Ok(Some((verdict::judge(&case, recording, None), None)));
        }
        let golden = load_golden_beside(&file, &case)?;
        let golden = golden.for_subject(&recording.header, self.golden.as_version.minor);
        let golden = golden.for_server(&recording.header.cluster.version);
        let judgement = verdict::judge(&case, recording, golden);
        let expected = judgement.expected_timeline(golden).cloned();
        Ok(Some((judgement, expected)))
    }

    /// The page of this recording.
    fn page(&self, typed: &CommandLine, inspected: &Inspection, judged: Option<&GoldenJudgement>) -> String {
        let Some((judgement, expected)) = judged else {
            let mut facts = vec![
                ("recording", self.recording_path()),
                ("subject", inspected.subject.clone()),
                ("verdict", inspected.verdict.clone()),
            ];
            facts.extend(inspected.instead_of_requests().map(|why| ("requests", why)));
            return page::recording_page(&inspected.title, &facts, &inspected.timeline, &inspected.frames);
        };
        let repeat =
            format!("{} {}{}", typed.beginning(), quote(&self.recording_path()), typed.flags(&["html", "trace"]));
        let rerun = RerunCommands { program: typed.program.clone(), repeat };
        let (expected, frames) = (expected.as_ref(), Some(&inspected.frames));
        page::page(&inspected.title, &[CaseSection { judgement, expected, rerun: &rerun, took: None, frames }])
    }

    fn recording_path(&self) -> String {
        self.recording.path().display().to_string()
    }
}

/// How long to wait for a key before checking for a signal.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// The terminal as a screen.
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

/// The action of a key.
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
fn show_screen(inspected: &Inspection) -> io::Result<()> {
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

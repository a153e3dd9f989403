//! The view as a terminal shows it.

use insta::assert_snapshot;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use rstest::rstest;

use super::super::Inspected;
use super::View;
use super::fixture::{captured, rolling};
use crate::recording::Entry;
use crate::timeline::fixture::Film;

fn drawn(inspected: &Inspected, at: usize, (width, height): (u16, u16)) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal
        .draw(|frame| {
            let view = View::of(inspected, at, frame.area().as_size());
            frame.render_widget(&view, frame.area());
        })
        .unwrap();
    terminal.backend().to_string()
}

#[test]
fn a_wide_terminal_has_two_columns() {
    assert_snapshot!(drawn(&rolling(), 7, (130, 32)));
}

#[test]
fn a_narrow_terminal_has_one() {
    assert_snapshot!(drawn(&rolling(), 8, (80, 30)));
}

#[test]
fn what_does_not_fit_is_left_out() {
    assert_snapshot!(drawn(&rolling(), 11, (60, 14)));
}

/// No size is too small, and no frame too far.
#[rstest]
#[case(1, 1)]
#[case(5, 3)]
#[case(20, 8)]
#[case(300, 4)]
#[case(40, 200)]
fn every_size_is_drawn(#[case] width: u16, #[case] height: u16) {
    let inspected = rolling();
    for at in [0, 7, 99] {
        assert_eq!(drawn(&inspected, at, (width, height)).lines().count(), usize::from(height));
    }
}

#[test]
fn a_recording_that_shows_nothing_says_so() {
    let nothing = Inspected::unjudged(&Film::new().cut());
    assert!(drawn(&nothing, 0, (60, 5)).contains("the recording shows no object"));
    assert_eq!((nothing.start(), nothing.go(0, super::super::Move::StepForward)), (0, 0));
    assert!(drawn(&nothing, 9, (200, 50)).contains("the recording shows no object"));
}

#[test]
fn a_capture_shows_its_steps_and_who_wrote_what() {
    let inspected = Inspected::inferred(&captured(Some("kube-controller-manager")));
    assert_snapshot!(drawn(&inspected, 7, (130, 32)));
}

#[test]
fn an_empty_panel_says_why() {
    let mut recording = captured(None);
    recording.entries.retain(|entry| !matches!(entry, Entry::Step(_)));
    let stepless = Inspected::stepless(&recording, "nothing happens in the recording");
    let text = drawn(&stepless, 1, (130, 40));
    for said in [
        "not judged: no steps were found in the recording",
        "a timeline has steps, and there are none: nothing happens in the recording",
        "a live cluster shows objects, not requests,",
        "and this recording does not name who wrote them",
    ] {
        assert!(text.contains(said), "{said}: {text}");
    }
    let judged = drawn(&rolling(), 11, (130, 40));
    assert!(judged.contains("the controller asks for nothing in this step"), "{judged}");
}

//! Tests of the view in a terminal.

use insta::assert_snapshot;
use lockstep_recording::RecordingEntry;
use lockstep_recording::testing::RecordingBuilder;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use rstest::rstest;

use super::super::Inspection;
use super::super::fixture::{captured, rolling};
use super::FrameView;

fn draw(inspected: &Inspection, at: usize, (width, height): (u16, u16)) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal
        .draw(|frame| {
            let view = FrameView::of(inspected, at, frame.area().as_size());
            frame.render_widget(&view, frame.area());
        })
        .unwrap();
    terminal.backend().to_string()
}

#[test]
fn wide_terminal_has_two_columns() {
    assert_snapshot!(draw(&rolling(), 7, (130, 32)));
}

#[test]
fn narrow_terminal_has_one_column() {
    assert_snapshot!(draw(&rolling(), 8, (80, 30)));
}

#[test]
fn panels_that_do_not_fit_are_left_out() {
    assert_snapshot!(draw(&rolling(), 11, (60, 14)));
}

/// No size is too small, and no frame number too large.
#[rstest]
#[case(1, 1)]
#[case(5, 3)]
#[case(20, 8)]
#[case(300, 4)]
#[case(40, 200)]
fn view_is_drawn_at_every_size(#[case] width: u16, #[case] height: u16) {
    let inspected = rolling();
    for at in [0, 7, 99] {
        assert_eq!(draw(&inspected, at, (width, height)).lines().count(), usize::from(height));
    }
}

#[test]
fn empty_recording_says_so() {
    let nothing = Inspection::without_case(&RecordingBuilder::new().cut_off());
    assert!(draw(&nothing, 0, (60, 5)).contains("the recording shows no object"));
    assert_eq!((nothing.start(), nothing.go(0, super::super::Navigation::StepForward)), (0, 0));
    assert!(draw(&nothing, 9, (200, 50)).contains("the recording shows no object"));
}

#[test]
fn capture_shows_steps_and_authors() {
    let inspected = Inspection::of_inferred(&captured(Some("kube-controller-manager")));
    assert_snapshot!(draw(&inspected, 7, (130, 32)));
}

#[test]
fn empty_panel_says_why() {
    let mut recording = captured(None);
    recording.entries.retain(|entry| !matches!(entry, RecordingEntry::Step(_)));
    let stepless = Inspection::without_steps(&recording, "nothing happens in the recording");
    let view = draw(&stepless, 1, (130, 40));
    for text in [
        "not judged: no steps were found in the recording",
        "a timeline has steps, and there are none: nothing happens in the recording",
        "a live cluster shows objects, not requests,",
        "and this recording does not name who wrote them",
    ] {
        assert!(view.contains(text), "{text}: {view}");
    }
    let judged = draw(&rolling(), 11, (130, 40));
    assert!(judged.contains("the controller asks for nothing in this step"), "{judged}");
}

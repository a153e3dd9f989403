//! Judges recordings in tests: the case of a recording is in its header.

use std::sync::Arc;

use lockstep_case::{self as case, Case};
use lockstep_recording::Recording;
use lockstep_recording::testing::SOURCE;
use lockstep_timeline::{GoldenOutcomes, Timeline};

use super::Judgement;

/// The case of a recording.
pub fn case_of(recording: &Recording) -> Arc<Case> {
    let header = &recording.header;
    let parse = |source: &str| case::parse("cases/rolling/x.yaml", "rolling/x", source);
    // A source that is not a case is only displayed.
    let case = parse(&header.source).or_else(|_| parse(SOURCE)).expect("the fixtures' case is good");
    Arc::new(Case { name: header.case.clone(), path: header.path.clone(), source: header.source.clone(), ..case })
}

/// Judges by one golden timeline.
pub fn judge(recording: &Recording, golden: Option<&Timeline>) -> Judgement {
    judge_by(recording, golden.cloned().map(GoldenOutcomes::from).as_ref())
}

/// Judges by golden outcomes, also after packing the versions.
pub fn judge_by(recording: &Recording, golden: Option<&GoldenOutcomes>) -> Judgement {
    let judgement = super::judge(&case_of(recording), recording, golden);
    let mut packed = recording.clone();
    packed.pack();
    assert_eq!(super::judge(&case_of(recording), &packed, golden), judgement);
    judgement
}

/// Judges by another run.
pub fn judge_live(recording: &Recording, other: &Recording) -> Judgement {
    super::judge_live(&case_of(recording), recording, other)
}

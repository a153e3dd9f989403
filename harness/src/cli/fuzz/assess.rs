//! What programs that were played have shown: judged on all cores, as it takes a tenth of the time that playing takes.

use std::thread;

use crate::recording::Recording;
use crate::search::{Answer, Played, Shown};

/// What one program has shown.
pub(super) struct Assessed {
    /// Whether the sides differ.
    pub(super) answer: Answer,
    /// What steers the search.
    pub(super) shown: Option<Shown>,
}

/// Judge each program; `ours` is the recording of Lockstep's own controller of the program at this place.
pub(super) fn assess<'a>(
    all: &'a [Played],
    ours: impl Fn(usize) -> Option<&'a Recording> + Sync,
    lanes: usize,
) -> Vec<Assessed> {
    let one = |at: usize, played: &Played| Assessed {
        answer: played.answer(),
        shown: ours(at).map(|recording| Shown::of(&played.program, recording)),
    };
    let size = all.len().div_ceil(lanes.max(1)).max(1);
    thread::scope(|scope| {
        let parts = all.chunks(size).enumerate().map(|(part, chunk)| {
            let one = &one;
            let judge = move || chunk.iter().zip(part * size..).map(|(played, at)| one(at, played)).collect::<Vec<_>>();
            scope.spawn(judge)
        });
        let parts: Vec<_> = parts.collect();
        parts.into_iter().flat_map(|part| part.join().expect("what is judged does not panic")).collect()
    })
}

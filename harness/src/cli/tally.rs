//! Which of upstream's several outcomes the plays of a case reached, and which they did not.

use std::cell::RefCell;
use std::collections::BTreeMap;

use crate::outcome::Outcome;
use crate::timeline::Blessed;
use crate::verdict::Judgement;

/// Counts outcomes by subject and case, as plays come in.
#[derive(Debug, Default)]
pub(super) struct Tally(RefCell<BTreeMap<(String, String), Vec<Count>>>);

/// How often one outcome was reached, and what upstream's recordings say of it.
#[derive(Debug, Clone)]
struct Count {
    reached: u32,
    upstream: String,
}

impl Tally {
    /// Count a play; of cases with one outcome nothing is counted.
    pub(super) fn take(&self, judgement: &Judgement, blessed: Option<&Blessed>) {
        let (Some(nearest), Some(blessed)) = (judgement.nearest, blessed) else { return };
        let mut all = self.0.borrow_mut();
        let counts = all.entry((judgement.subject.name.clone(), judgement.case.clone())).or_insert_with(|| {
            let from = blessed.outcomes().map(|outcome| outcome.provenance.as_ref());
            let said = from.map(|from| from.and_then(|from| Some(format!("{} of {}", from.seen?, from.recordings))));
            said.map(|said| Count { reached: 0, upstream: said.unwrap_or_else(|| "?".to_owned()) }).collect()
        });
        if let (Outcome::Conformant, Some(count)) = (judgement.outcome(), counts.get_mut(nearest.number - 1)) {
            count.reached += 1;
        }
    }

    /// A line for each case and outcome.
    pub(super) fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for ((subject, case), counts) in self.0.borrow().iter() {
            for (number, Count { reached, upstream }) in (1..).zip(counts) {
                let reached = match reached {
                    0 => "not reached".to_owned(),
                    1 => "reached once".to_owned(),
                    times => format!("reached {times} times"),
                };
                lines.push(format!("{case}, outcome {number}, upstream's in {upstream}: {reached} by {subject}"));
            }
        }
        lines
    }
}

//! The search as a whole: chooses the next programs, and evaluates the results.
//!
//! The caller requests a [`batch`](Fuzzer::batch), runs each program on both sides, and passes the
//! results to [`learn`](Fuzzer::learn) and [`examine`](Fuzzer::examine). `learn` always receives
//! the behaviour of Lockstep's own controller, whichever controllers are compared: upstream leaves
//! some things to chance, so a search that it steers could not be repeated. `examine` returns a
//! program that differs by an unknown cause. The caller runs it again with other seeds, shrinks it
//! ([`Shrinking`]), and reports the result with [`record_cause`](Fuzzer::record_cause).

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;

use kube_apimachinery::SeededRng;
use lockstep_case::Case;
use lockstep_recording::Recording;
use lockstep_timeline::Timeline;

use super::area::Areas;
use super::compare::{Divergence, Repeats, SideComparison, compare};
use super::corpus::{Corpus, behaviour, decisions};
use super::initial::Focus;
use super::mutate::Decisions;
use super::program::CaseProgram;
use super::shrink::smaller;

/// The most programs to run while shrinking one.
const SHRINKING: usize = 500;
/// How many programs to examine before a cause that was chance in each of them is considered
/// chance.
const CHANCES: usize = 8;
/// How many programs to shrink before a cause that turned into another one in each small program is
/// considered the same: two causes may look alike while a program is large.
const LARGE: usize = 3;

/// A search in progress.
#[derive(Debug)]
pub struct Fuzzer {
    chance: SeededRng,
    /// The focus of each batch, in turn.
    turns: Vec<Focus>,
    turn: usize,
    corpora: BTreeMap<Focus, Corpus>,
    causes: BTreeMap<String, CauseRecord>,
    /// Causes that turned into another one when their program was small: the last of these, and how
    /// many programs were shrunk.
    smaller: BTreeMap<String, (String, usize)>,
    unknown: BTreeMap<String, usize>,
    programs_played: usize,
}

/// What is known of a cause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CauseRecord {
    /// In how many programs it was seen.
    pub programs: usize,
    /// The file of the smallest of them, unless the cause is chance.
    pub path: Option<PathBuf>,
}

/// A program that was run: its case and the recordings of both sides, the reference's first.
#[derive(Debug)]
pub struct PlayedProgram {
    /// The program, which can be changed and shrunk.
    pub program: CaseProgram,
    /// The case that it was played as.
    pub case: Arc<Case>,
    /// The recording of each side.
    pub sides: Vec<Option<Recording>>,
}

/// The behaviour of a controller on a program, as far as it steers the search.
#[derive(Debug)]
pub struct Feedback {
    behaviour: BTreeSet<String>,
    decisions: Decisions,
}

impl Feedback {
    /// From the recording of a program.
    #[must_use]
    pub fn of(program: &CaseProgram, recording: &Recording) -> Self {
        let timeline = Timeline::from_recording(recording);
        Self { behaviour: behaviour(&timeline), decisions: decisions(program, &timeline) }
    }
}

/// A program on which the sides differ.
#[derive(Debug)]
pub struct SearchFinding {
    /// The program and its recordings.
    pub run: PlayedProgram,
    /// How it differs.
    pub differing: Divergence,
}

impl SearchFinding {
    /// Identifies the cause: the first lines that differ and, if each side has deleted another pod,
    /// the traits by which the two pods differ.
    #[must_use]
    pub fn cause(&self) -> String {
        cause(&self.differing, &self.run.program)
    }

    /// A name for its file: `set-rsn-n-n-instead-of-nothing`.
    #[must_use]
    pub fn file_name(&self) -> String {
        name(&self.cause())
    }
}

fn name(cause: &str) -> String {
    let mut name = String::new();
    for letter in cause.chars() {
        if letter.is_ascii_alphanumeric() {
            name.push(letter.to_ascii_lowercase());
        } else if !name.ends_with('-') {
            name.push('-');
        }
    }
    name.trim_matches('-').chars().take(80).collect()
}

fn cause(differing: &Divergence, program: &CaseProgram) -> String {
    let traits = differing_traits(differing, program);
    if traits.is_empty() {
        differing.cause.clone()
    } else {
        format!("{}, by {}", differing.cause, traits.join(" and "))
    }
}

/// The traits by which the first pod that only the subject has deleted differs from the first that
/// only the reference has.
fn differing_traits(differing: &Divergence, program: &CaseProgram) -> Vec<&'static str> {
    let [one, two] = differing.deleted.each_ref().map(|pods| pods.first().map(String::as_str));
    program.differing_traits(one, two)
}

impl PlayedProgram {
    /// Compare the sides.
    #[must_use]
    pub fn answer(&self) -> SideComparison {
        match self.sides.as_slice() {
            [Some(reference), Some(subject)] => compare(&self.case, Some(reference), subject),
            [Some(subject)] => compare(&self.case, None, subject),
            _ => SideComparison::Unknown("it was not played".to_owned()),
        }
    }
}

impl Fuzzer {
    /// A new search.
    #[must_use]
    pub fn new(seed: u64, areas: &Areas) -> Self {
        let turns = areas.focuses();
        let corpora = turns.iter().map(|focus| (*focus, Corpus::new(*focus, areas.clone()))).collect();
        let (causes, smaller, unknown) = Default::default();
        Self { chance: SeededRng::new(seed), turns, turn: 0, corpora, causes, smaller, unknown, programs_played: 0 }
    }

    /// The programs to run next, and their focus. Programs for which `is_here` is false are
    /// replaced.
    pub fn batch(&mut self, size: usize, is_here: impl Fn(&CaseProgram) -> bool) -> (Focus, Vec<CaseProgram>) {
        let focus = self.turns[self.turn % self.turns.len()];
        self.turn += 1;
        let Self { chance, corpora, .. } = self;
        let Some(corpus) = corpora.get(&focus) else { return (focus, Vec::new()) };
        let drawn = std::iter::repeat_with(|| corpus.next(chance));
        (focus, drawn.filter(is_here).take(size).collect())
    }

    /// Evaluate the comparison of a program; returns the program if it differs by a new cause.
    pub fn examine(&mut self, run: PlayedProgram, answer: SideComparison) -> Option<SearchFinding> {
        match answer {
            SideComparison::Unknown(why) => *self.unknown.entry(why).or_default() += 1,
            SideComparison::Equal | SideComparison::CutShort => {}
            SideComparison::Differs(differing) => {
                let cause = cause(&differing, &run.program);
                let cause = match self.smaller.get(&cause) {
                    Some((small, LARGE..)) => small,
                    _ => &cause,
                };
                if let Some(known) = self.causes.get_mut(cause) {
                    known.programs += 1;
                    if known.path.is_some() || known.programs > CHANCES {
                        return None;
                    }
                }
                return Some(SearchFinding { run, differing: *differing });
            }
        }
        None
    }

    /// Let the behaviour of Lockstep's own controller on a program steer the search.
    pub fn learn(&mut self, program: &CaseProgram, feedback: Option<Feedback>) {
        self.programs_played += 1;
        if let (Some(feedback), Some(corpus)) = (feedback, self.corpora.get_mut(&program.focus)) {
            corpus.take(program, feedback.behaviour, feedback.decisions);
        }
    }

    /// Record the result for a cause: a case in this file, or chance.
    pub fn record_cause(&mut self, cause: String, path: Option<PathBuf>) {
        let known = self.causes.entry(cause).or_insert(CauseRecord { programs: 1, path: None });
        known.path = known.path.take().or(path);
    }

    /// Record that a cause turned into the cause `small` when its program was shrunk. Returns
    /// whether there is a case of that one, which is counted once more.
    pub fn merge_cause(&mut self, cause: String, small: &str) -> bool {
        if cause == small {
            return false;
        }
        let (known, programs) = self.smaller.entry(cause).or_default();
        small.clone_into(known);
        *programs += 1;
        let known = self.causes.get_mut(small).filter(|known| known.path.is_some());
        known.map(|known| known.programs += 1).is_some()
    }

    /// The number of causes that are not chance.
    #[must_use]
    pub fn real_causes(&self) -> usize {
        self.causes.values().filter(|cause| cause.path.is_some()).count()
    }

    /// All causes.
    #[must_use]
    pub fn causes(&self) -> &BTreeMap<String, CauseRecord> {
        &self.causes
    }

    /// Why programs could not be compared, and how many.
    #[must_use]
    pub fn unknown(&self) -> &BTreeMap<String, usize> {
        &self.unknown
    }

    /// The number of programs that were run.
    #[must_use]
    pub fn programs_played(&self) -> usize {
        self.programs_played
    }

    /// The number of programs in the corpus, and of known behaviour keys.
    #[must_use]
    pub fn size(&self) -> (usize, usize) {
        let sizes = self.corpora.values().map(Corpus::size);
        sizes.fold((0, 0), |(kept, seen), (more, also)| (kept + more, seen + also))
    }
}

/// A program that is being shrunk.
#[derive(Debug)]
pub struct Shrinking {
    smallest: SearchFinding,
    /// The candidates to try next.
    candidates: VecDeque<CaseProgram>,
    /// How many candidates for the current smallest program were taken from the front.
    tried: usize,
    /// All programs that were tried.
    tried_programs: BTreeSet<CaseProgram>,
}

impl Shrinking {
    /// Start with this program.
    #[must_use]
    pub fn of(finding: SearchFinding) -> Self {
        let candidates = smaller(&finding.run.program).into();
        Self { smallest: finding, candidates, tried: 0, tried_programs: BTreeSet::new() }
    }

    /// The next programs to run, at most `most`; none when the program cannot be shrunk further.
    pub fn next(&mut self, most: usize) -> Vec<CaseProgram> {
        let Self { candidates, tried, tried_programs, .. } = self;
        let most = most.min(SHRINKING.saturating_sub(tried_programs.len()));
        let candidates = std::iter::from_fn(|| {
            *tried += 1;
            candidates.pop_front()
        });
        // Most are never needed, as an earlier one succeeds.
        let fresh = candidates.filter(|program| !tried_programs.contains(program) && program.case().is_some());
        let next: Vec<CaseProgram> = fresh.take(most).collect();
        tried_programs.extend(next.iter().cloned());
        next
    }

    /// Whether a program differs by the same cause, with some of the same traits between pods. If
    /// it does so with other seeds as well, pass it to [`take`](Self::take).
    #[must_use]
    pub fn is_same(&self, run: &PlayedProgram) -> Option<Divergence> {
        match run.answer() {
            SideComparison::Differs(differing) => {
                let SearchFinding { run: PlayedProgram { program, .. }, differing: known } = &self.smallest;
                let (some, all) = (differing_traits(&differing, &run.program), differing_traits(known, program));
                (differing.cause == known.cause && is_part(&some, &all)).then_some(*differing)
            }
            _ => None,
        }
    }

    /// Continue with this smaller program. What could not be removed before can rarely be removed
    /// now, so it is tried last.
    pub fn take(&mut self, finding: SearchFinding) {
        self.candidates = smaller(&finding.run.program).into();
        let tried = self.tried.min(self.candidates.len());
        self.candidates.rotate_left(tried);
        (self.smallest, self.tried) = (finding, 0);
    }

    /// The smallest program so far.
    #[must_use]
    pub fn smallest(self) -> SearchFinding {
        self.smallest
    }
}

/// Whether these are some of those traits: if there are none, pods that differ in a trait have
/// another cause.
fn is_part(some: &[&str], all: &[&str]) -> bool {
    some.is_empty() == all.is_empty() && some.iter().all(|one| all.contains(one))
}

/// The results of repeated runs in words: `differs with 5 of 5 seeds`.
#[must_use]
pub fn describe_repeats(repeats: Repeats, reference: &str) -> String {
    let Repeats { plays, differs, outcomes } = repeats;
    let own =
        if outcomes > 1 { format!("; {reference} itself does {outcomes} different things") } else { String::new() };
    format!("differs with {differs} of {plays} seeds{own}")
}

#[cfg(test)]
mod tests {
    use lockstep_recording::testing::{RecordingBuilder, scaled_to};
    use lockstep_verdict::testing::case_of;

    use super::*;

    #[test]
    fn file_is_named_by_its_cause() {
        assert_eq!(name("ReplicaSet N -> N instead of nothing"), "replicaset-n-n-instead-of-nothing");
    }

    #[test]
    fn fewer_traits_are_the_same_cause_and_different_ones_are_not() {
        assert!(is_part(&["deletionCost"], &["deletionCost", "restarts"]) && is_part(&[], &[]));
        assert!(!is_part(&["node"], &["deletionCost", "restarts"]) && !is_part(&[], &["node"]));
    }

    #[test]
    fn differences_do_not_steer_the_search() {
        let recording = RecordingBuilder::rolled_out(3).end();
        let mut fuzzers = [Fuzzer::new(1, &Areas::only(&[])), Fuzzer::new(1, &Areas::only(&[]))];
        for sides in [1, 0].repeat(4) {
            let [one, two] = fuzzers.each_mut().map(|fuzzer| fuzzer.batch(4, |_| true));
            assert_eq!(one, two);
            for (at, fuzzer) in fuzzers.iter_mut().enumerate() {
                for program in &one.1 {
                    fuzzer.learn(program, Some(Feedback::of(program, &recording)));
                    let sides = vec![(at == sides).then(|| recording.clone()); 2];
                    let run = PlayedProgram { program: program.clone(), case: program.case().unwrap(), sides };
                    let answer = run.answer();
                    fuzzer.examine(run, answer);
                }
            }
        }
    }

    #[test]
    fn causes_with_the_same_small_program_are_one() {
        let mut fuzzer = Fuzzer::new(1, &Areas::only(&[]));
        assert!(!fuzzer.merge_cause("large".to_owned(), "small"));
        fuzzer.record_cause("small".to_owned(), Some(PathBuf::from("a.yaml")));
        assert!(fuzzer.merge_cause("larger".to_owned(), "small"));
        assert_eq!((fuzzer.real_causes(), fuzzer.causes()["small"].programs), (1, 2));
    }

    #[test]
    fn several_large_programs_are_made_smaller_before_they_count_as_one_cause() {
        let mut fuzzer = Fuzzer::new(1, &Areas::only(&[]));
        let program = fuzzer.batch(1, |_| true).1.remove(0);
        let (reference, subject) = (scaled_to(11), scaled_to(13));
        let run = || PlayedProgram {
            program: program.clone(),
            case: case_of(&reference),
            sides: vec![Some(reference.clone()), Some(subject.clone())],
        };
        fuzzer.record_cause("small".to_owned(), Some(PathBuf::from("a.yaml")));
        for _ in 0..LARGE {
            let finding = fuzzer.examine(run(), run().answer()).expect("it may be another cause");
            assert!(fuzzer.merge_cause(finding.cause(), "small"));
        }
        assert!(fuzzer.examine(run(), run().answer()).is_none());
        assert_eq!(fuzzer.causes()["small"].programs, 1 + LARGE + 1);
    }

    #[test]
    fn shrinking_never_runs_a_program_twice() {
        let mut fuzzer = Fuzzer::new(3, &Areas::only(&[]));
        let program =
            fuzzer.batch(8, |_| true).1.into_iter().find(|program| program.steps.len() > 4).expect("a long one");
        let (reference, subject) = (scaled_to(11), scaled_to(13));
        let find = |program: &CaseProgram| {
            let sides = vec![Some(reference.clone()), Some(subject.clone())];
            let run = PlayedProgram { program: program.clone(), case: case_of(&reference), sides };
            let SideComparison::Differs(differing) = run.answer() else { panic!("they differ") };
            SearchFinding { run, differing: *differing }
        };
        let mut shrinking = Shrinking::of(find(&program));
        let mut all = BTreeSet::new();
        let mut rounds = 0;
        while let [candidate] = shrinking.next(1).as_slice() {
            assert!(all.insert(candidate.clone()), "played twice: {candidate:?}");
            rounds += 1;
            if rounds % 3 == 0 {
                shrinking.take(find(candidate));
            }
        }
        let small = shrinking.smallest().run.program;
        assert!(small.size() < program.size());
        assert!(smaller(&small).iter().all(|it| it.case().is_none() || all.contains(it) || all.len() == SHRINKING));
    }
}

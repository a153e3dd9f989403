//! The search as a whole: which programs come next, and what is to be said of those that were
//! played.
//!
//! Whoever plays asks for a [`batch`](Hunt::batch), plays each program on both sides, lets the hunt
//! [`learn`](Hunt::learn) from it and [`look`](Hunt::look) at it. What it learns from is what Lockstep's own controller
//! does, whoever is compared: upstream leaves some things to chance, and a search that it steers
//! would never be repeated. A program that differs by a cause that was not seen before comes back;
//! it is to be played again with other seeds, and made smaller ([`Shrinking`]), and what came of it
//! is told with [`found`](Hunt::found).

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;

use kube_apiserver_sim::Chance;

use super::area::Areas;
use super::behaviour::{behaviour, decisions};
use super::corpus::Corpus;
use super::differ::{Answer, Differing, Repeats, differ};
use super::given::About;
use super::mutate::Decisions;
use super::program::Program;
use super::shrink::smaller;
use crate::case::Case;
use crate::recording::Recording;
use crate::timeline::Timeline;

/// How many programs are played at most to make one smaller.
const SHRINKING: usize = 500;
/// How many programs are looked at before a cause that is chance in each of them is believed to be
/// chance.
const CHANCES: usize = 8;
/// How many programs are made smaller before a cause that was another one in each small program is
/// believed to be that: two causes may look alike while a program is large.
const LARGE: usize = 3;

/// A search under way.
#[derive(Debug)]
pub struct Hunt {
    chance: Chance,
    /// What programs are about, in turn.
    turns: Vec<About>,
    turn: usize,
    corpora: BTreeMap<About, Corpus>,
    found: BTreeMap<String, Cause>,
    /// Causes that were another one when their program was small: which, the last time, and how
    /// many programs were made smaller.
    smaller: BTreeMap<String, (String, usize)>,
    unknown: BTreeMap<String, usize>,
    played: usize,
}

/// What is known of a cause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cause {
    /// In how many programs it was seen.
    pub programs: usize,
    /// The smallest of them, unless it is chance.
    pub path: Option<PathBuf>,
}

/// A program that was played: its case, and what each side did, the other's first.
#[derive(Debug)]
pub struct Played {
    /// The program.
    pub program: Program,
    /// As a case.
    pub case: Arc<Case>,
    /// By side.
    pub sides: Vec<Option<Recording>>,
}

/// What a controller did with a program, as far as it steers a search.
#[derive(Debug)]
pub struct Shown {
    behaviour: BTreeSet<String>,
    decisions: Decisions,
}

impl Shown {
    /// Of the recording of a program.
    #[must_use]
    pub fn of(program: &Program, recording: &Recording) -> Self {
        let timeline = Timeline::from_recording(recording);
        Self { behaviour: behaviour(&timeline), decisions: decisions(program, &timeline) }
    }
}

/// What is to be done about a program that differs.
#[derive(Debug)]
pub struct Look {
    /// The program.
    pub played: Played,
    /// How it differs.
    pub differing: Differing,
}

impl Look {
    /// What tells causes apart: the first lines that differ, and where each has deleted another
    /// pod, in what the two pods differ.
    #[must_use]
    pub fn cause(&self) -> String {
        cause(&self.differing, &self.played.program)
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

fn cause(differing: &Differing, program: &Program) -> String {
    let apart = apart(differing, program);
    if apart.is_empty() { differing.cause.clone() } else { format!("{}, by {}", differing.cause, apart.join(" and ")) }
}

/// In which traits the first pod that only one has deleted differs from the first that only the
/// other has.
fn apart(differing: &Differing, program: &Program) -> Vec<&'static str> {
    let [one, two] = differing.deleted.each_ref().map(|pods| pods.first().map(String::as_str));
    program.apart(one, two)
}

impl Played {
    /// Whether the sides differ.
    #[must_use]
    pub fn answer(&self) -> Answer {
        match self.sides.as_slice() {
            [Some(other), Some(subject)] => differ(&self.case, Some(other), subject),
            [Some(subject)] => differ(&self.case, None, subject),
            _ => Answer::Unknown("it was not played".to_owned()),
        }
    }
}

impl Hunt {
    /// A search that has found nothing yet.
    #[must_use]
    pub fn new(seed: u64, areas: &Areas) -> Self {
        let turns = areas.abouts();
        let corpora = turns.iter().map(|about| (*about, Corpus::new(*about, areas.clone()))).collect();
        let (found, smaller, unknown) = Default::default();
        Self { chance: Chance::new(seed), turns, turn: 0, corpora, found, smaller, unknown, played: 0 }
    }

    /// The programs that are played next, and what they are about. Those that are not to be played
    /// here are drawn again.
    pub fn batch(&mut self, size: usize, is_here: impl Fn(&Program) -> bool) -> (About, Vec<Program>) {
        let about = self.turns[self.turn % self.turns.len()];
        self.turn += 1;
        let Self { chance, corpora, .. } = self;
        let Some(corpus) = corpora.get(&about) else { return (about, Vec::new()) };
        let drawn = std::iter::repeat_with(|| corpus.next(chance));
        (about, drawn.filter(is_here).take(size).collect())
    }

    /// Take the answer for a program; the program comes back if it differs by a new cause.
    pub fn look(&mut self, played: Played, answer: Answer) -> Option<Look> {
        match answer {
            Answer::Unknown(why) => *self.unknown.entry(why).or_default() += 1,
            Answer::Equal => {}
            Answer::Differs(differing) => {
                let cause = cause(&differing, &played.program);
                let cause = match self.smaller.get(&cause) {
                    Some((small, LARGE..)) => small,
                    _ => &cause,
                };
                if let Some(known) = self.found.get_mut(cause) {
                    known.programs += 1;
                    if known.path.is_some() || known.programs > CHANCES {
                        return None;
                    }
                }
                return Some(Look { played, differing: *differing });
            }
        }
        None
    }

    /// Let what Lockstep's own controller did with a program steer what comes next.
    pub fn learn(&mut self, program: &Program, shown: Option<Shown>) {
        self.played += 1;
        if let (Some(shown), Some(corpus)) = (shown, self.corpora.get_mut(&program.about)) {
            corpus.take(program, shown.behaviour, shown.decisions);
        }
    }

    /// What came of a cause: a case in this file, or chance.
    pub fn found(&mut self, cause: String, path: Option<PathBuf>) {
        let known = self.found.entry(cause).or_insert(Cause { programs: 1, path: None });
        known.path = known.path.take().or(path);
    }

    /// What is a cause when its program is small. Returns whether there is a case of that one,
    /// which counts once more.
    pub fn shrunk(&mut self, cause: String, small: &str) -> bool {
        if cause == small {
            return false;
        }
        let (known, programs) = self.smaller.entry(cause).or_default();
        small.clone_into(known);
        *programs += 1;
        let known = self.found.get_mut(small).filter(|known| known.path.is_some());
        known.map(|known| known.programs += 1).is_some()
    }

    /// How many causes are not chance.
    #[must_use]
    pub fn real(&self) -> usize {
        self.found.values().filter(|cause| cause.path.is_some()).count()
    }

    /// All causes.
    #[must_use]
    pub fn causes(&self) -> &BTreeMap<String, Cause> {
        &self.found
    }

    /// Why programs could not be compared, and how many.
    #[must_use]
    pub fn unknown(&self) -> &BTreeMap<String, usize> {
        &self.unknown
    }

    /// How many programs were played.
    #[must_use]
    pub fn played(&self) -> usize {
        self.played
    }

    /// How many programs are kept, and how much behaviour was seen.
    #[must_use]
    pub fn size(&self) -> (usize, usize) {
        let sizes = self.corpora.values().map(Corpus::size);
        sizes.fold((0, 0), |(kept, seen), (more, also)| (kept + more, seen + also))
    }
}

/// A program that is made smaller.
#[derive(Debug)]
pub struct Shrinking {
    smallest: Look,
    /// Those that come next.
    candidates: VecDeque<Program>,
    /// How many of the candidates for the smallest so far were taken from the front.
    tried: usize,
    /// All that were played.
    played: BTreeSet<Program>,
}

impl Shrinking {
    /// Of this program.
    #[must_use]
    pub fn of(look: Look) -> Self {
        let candidates = smaller(&look.played.program).into();
        Self { smallest: look, candidates, tried: 0, played: BTreeSet::new() }
    }

    /// So many programs, at most, that are to be played now; none when it is as small as it gets.
    pub fn next(&mut self, most: usize) -> Vec<Program> {
        let Self { candidates, tried, played, .. } = self;
        let most = most.min(SHRINKING.saturating_sub(played.len()));
        let candidates = std::iter::from_fn(|| {
            *tried += 1;
            candidates.pop_front()
        });
        // Most are never looked at, as one before them is taken.
        let fresh = candidates.filter(|program| !played.contains(program) && program.case().is_some());
        let next: Vec<Program> = fresh.take(most).collect();
        played.extend(next.iter().cloned());
        next
    }

    /// Whether a program that was played differs by the same cause, between pods by some of the
    /// same traits; if it holds with other seeds as well, it is to be [taken](Self::take).
    #[must_use]
    pub fn is_same(&self, played: &Played) -> Option<Differing> {
        match played.answer() {
            Answer::Differs(differing) => {
                let Look { played: Played { program, .. }, differing: known } = &self.smallest;
                let (some, all) = (apart(&differing, &played.program), apart(known, program));
                (differing.cause == known.cause && is_part(&some, &all)).then_some(*differing)
            }
            _ => None,
        }
    }

    /// Go on from this smaller one. What could not be left out before can seldom be left out now:
    /// it comes last.
    pub fn take(&mut self, look: Look) {
        self.candidates = smaller(&look.played.program).into();
        let tried = self.tried.min(self.candidates.len());
        self.candidates.rotate_left(tried);
        (self.smallest, self.tried) = (look, 0);
    }

    /// The smallest so far.
    #[must_use]
    pub fn smallest(self) -> Look {
        self.smallest
    }
}

/// Whether these are some of those traits: by none, two pods that differ in one are another cause.
fn is_part(some: &[&str], all: &[&str]) -> bool {
    some.is_empty() == all.is_empty() && some.iter().all(|one| all.contains(one))
}

/// Words for what repeats have shown: `differs with 5 of 5 seeds`.
#[must_use]
pub fn said(repeats: Repeats, other: &str) -> String {
    let Repeats { plays, differs, outcomes } = repeats;
    let own = if outcomes > 1 { format!("; {other} itself does {outcomes} different things") } else { String::new() };
    format!("differs with {differs} of {plays} seeds{own}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::fixture::{Film, scaled_to};
    use crate::verdict::fixture::case_of;

    #[test]
    fn a_file_is_named_by_its_cause() {
        assert_eq!(name("ReplicaSet N -> N instead of nothing"), "replicaset-n-n-instead-of-nothing");
    }

    #[test]
    fn fewer_traits_are_the_same_cause_and_others_are_not() {
        assert!(is_part(&["deletionCost"], &["deletionCost", "restarts"]) && is_part(&[], &[]));
        assert!(!is_part(&["node"], &["deletionCost", "restarts"]) && !is_part(&[], &["node"]));
    }

    #[test]
    fn what_differs_does_not_change_what_comes_next() {
        let recording = Film::rolled_out(3).end();
        let mut hunts = [Hunt::new(1, &Areas::only(&[])), Hunt::new(1, &Areas::only(&[]))];
        for sides in [1, 0].repeat(4) {
            let [one, two] = hunts.each_mut().map(|hunt| hunt.batch(4, |_| true));
            assert_eq!(one, two);
            for (at, hunt) in hunts.iter_mut().enumerate() {
                for program in &one.1 {
                    hunt.learn(program, Some(Shown::of(program, &recording)));
                    let sides = vec![(at == sides).then(|| recording.clone()); 2];
                    let played = Played { program: program.clone(), case: program.case().unwrap(), sides };
                    let answer = played.answer();
                    hunt.look(played, answer);
                }
            }
        }
    }

    #[test]
    fn what_is_the_same_when_it_is_small_is_one_cause() {
        let mut hunt = Hunt::new(1, &Areas::only(&[]));
        assert!(!hunt.shrunk("large".to_owned(), "small"));
        hunt.found("small".to_owned(), Some(PathBuf::from("a.yaml")));
        assert!(hunt.shrunk("larger".to_owned(), "small"));
        assert_eq!((hunt.real(), hunt.causes()["small"].programs), (1, 2));
    }

    #[test]
    fn several_large_programs_are_made_smaller_before_they_count_as_one_cause() {
        let mut hunt = Hunt::new(1, &Areas::only(&[]));
        let program = hunt.batch(1, |_| true).1.remove(0);
        let (other, subject) = (scaled_to(11), scaled_to(13));
        let played = || Played {
            program: program.clone(),
            case: case_of(&other),
            sides: vec![Some(other.clone()), Some(subject.clone())],
        };
        hunt.found("small".to_owned(), Some(PathBuf::from("a.yaml")));
        for _ in 0..LARGE {
            let look = hunt.look(played(), played().answer()).expect("it may be another cause");
            assert!(hunt.shrunk(look.cause(), "small"));
        }
        assert!(hunt.look(played(), played().answer()).is_none());
        assert_eq!(hunt.causes()["small"].programs, 1 + LARGE + 1);
    }

    #[test]
    fn what_was_played_is_not_played_again_when_a_program_gets_smaller() {
        let mut hunt = Hunt::new(3, &Areas::only(&[]));
        let program =
            hunt.batch(8, |_| true).1.into_iter().find(|program| program.steps.len() > 4).expect("a long one");
        let (other, subject) = (scaled_to(11), scaled_to(13));
        let look = |program: &Program| {
            let sides = vec![Some(other.clone()), Some(subject.clone())];
            let played = Played { program: program.clone(), case: case_of(&other), sides };
            let Answer::Differs(differing) = played.answer() else { panic!("they differ") };
            Look { played, differing: *differing }
        };
        let mut shrinking = Shrinking::of(look(&program));
        let mut all = BTreeSet::new();
        let mut rounds = 0;
        while let [candidate] = shrinking.next(1).as_slice() {
            assert!(all.insert(candidate.clone()), "played twice: {candidate:?}");
            rounds += 1;
            if rounds % 3 == 0 {
                shrinking.take(look(candidate));
            }
        }
        let small = shrinking.smallest().played.program;
        assert!(small.size() < program.size());
        assert!(smaller(&small).iter().all(|it| it.case().is_none() || all.contains(it) || all.len() == SHRINKING));
    }
}

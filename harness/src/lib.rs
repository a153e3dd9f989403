//! Lockstep runs one YAML case against upstream's `kube-controller-manager` and against another Deployment controller,
//! moves the pods of both by hand, one step at a time, and diffs what the ReplicaSets did.
//!
//! # The picture
//!
//! ```text
//!            case ──► driver ──steps──► API server ◄──interceptor──── subject        (what is judged)
//!                        │                  │    ▲
//!                        │                  │    └── the test environment's own controllers (what the subject does not bring)
//!                     settle ◄──watches── observe
//!                        │                  │
//!                        └──────────────► recording ──► timeline ──► verdict ──► report
//!                                             (a file)     └──── compared with the golden timeline of upstream
//! ```
//!
//! * **Lockstep.** A [`case`] is a list of steps: one thing that the world does each. Between two steps the world stands still;
//!   after each the runner waits until the namespace has *settled*, which is proved ([`observe::settle`]), not timed.
//! * **History first.** Watches keep every version of every object ([`observe`]); judging reads the [`recording`] and never a cluster.
//! * **Upstream is the oracle.** Expected [`timeline`]s are recorded from upstream, never written by hand.
//! * **Three verdicts.** A test environment that failed is never the subject's failure, a subject that did nothing is never a pass ([`verdict`]).
//! * **The interceptor.** Every [`subject`] reaches the API server through a proxy of the harness's own ([`intercept`]). It can hold, refuse and lose
//!   what passes, so a step has a middle, and [`faults`] fall between any two writes.
//! * **The judge shares no code with the controller under test.** One file, `subject/ours.rs`, names the controller crate.
//!
//! # Where things are
//!
//! `case`, `controllers`, `course`, `coverage`, `expect`, `mutants`, `plain`, `recording`, `timeline`, `rules`, `verdict`, `faults`, `report`, `versions` and `outcome` are pure: no clock,
//! no network, no runtime. `supervise`, `cluster`,
//! `intercept`, `subject`, `driver` and `observe` talk to the world. They meet in `runner` alone, and `cli` is how a person gets there.
//! The simulated API server is the crate `kube-apiserver-sim` (`harness/apiserver`), which knows nothing of this one.
//!
//! # Where this differs from the first picture of it
//!
//! * A checkpoint is one object a line, not one line in all: diffs of it read better.
//! * The test environment's kube-controller-manager runs the controllers that cases can see, by name, rather than all but one: it needs half
//!   the time to start and disturbs the measured half less.
//! * A timeline names its case by a digest, so that an edited case is told from a wrong subject.
//! * A Deployment's own decisions stand after its ReplicaSets' in a step: they travel in a status write that conflicts and is
//!   repeated, so their place between the others is not repeatable on upstream itself.

pub mod case;
pub mod cli;
pub mod clock;
pub mod cluster;
pub mod controllers;
pub mod course;
pub mod coverage;
pub mod driver;
pub mod expect;
pub mod faults;
mod fingerprint;
pub mod golden;
pub mod intercept;
pub mod mutants;
pub mod observe;
pub mod outcome;
pub mod plain;
mod pointer;
mod private;
mod quote;
pub mod recording;
pub mod report;
pub mod rules;
pub mod run;
pub mod runner;
mod secret;
mod state;
pub mod subject;
pub mod supervise;
pub mod timeline;
mod tree;
pub mod trials;
pub mod verdict;
pub mod versions;

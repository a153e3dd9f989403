//! Lockstep runs a YAML case against a Deployment controller, on a cluster whose own one is off,
//! moves the pods by hand, one step at a time, and compares what the ReplicaSets did with what
//! upstream's `kube-controller-manager` did on the same case.
//!
//! # The picture
//!
//! ```text
//!  cases/*.yaml ─► case ─► driver ──steps──► API server ◄──interceptor──► subject
//!                            │                  ▲    ▲                 (the controller under test)
//!                            │                  │    └── the controllers that the subject does not bring
//!                          settle ◄──watches── observe
//!                            │                  │
//!                            └───────────────► recording
//!                                                 │    a file; nothing below this line touches a cluster
//!                                              replay ─► timeline ─► verdict ─► report
//!                                                           ▲
//!                                 cases/*.timeline ─► golden, recorded from upstream
//! ```
//!
//! * A [`case`] is a list of steps. After each step the runner waits until the namespace has
//!   settled, which is proved ([`observe::settle`]), not timed.
//! * Watches record every version of every object ([`observe`]). Judging reads the [`recording`]
//!   alone, so a stored recording is judged again with the same result.
//! * Golden [`timeline`]s are recorded from upstream, never written by hand.
//! * A verdict is conformant, non-conformant or inconclusive ([`verdict`]). A test environment that
//!   failed is never the subject's failure; a subject that did nothing is never a pass.
//! * The subject reaches the API server through the interceptor ([`intercept`]), which can hold,
//!   delay, refuse and drop what passes. So a step has a middle, and [`faults`] fall between any
//!   two writes.
//! * The harness shares no code with the controller that it judges: `subject/ours.rs` alone names
//!   that crate, and the simulated API server (`kube-apiserver-sim`) names neither.
//!
//! # The way of a case
//!
//! `case::load` → `run::Setup::with_each` (cluster, environment, session) → `run::Setup::play_each`
//! → `runner::Session::play` → `recording::Recording` → `verdict::judge(case, recording, golden)`,
//! which replays the recording once (`timeline::replay`) → `run::Event::CaseJudged` → whoever
//! reports.
//!
//! # The rooms, from below
//!
//! Each imports from those above it in this list only; `tests/layers.rs` checks that.
//!
//! | room | what comes in, what goes out, what it may not know |
//! | --- | --- |
//! | `clock`, [`collection`], [`output`], `private`, `state` | time, case files on disk or in the program, what other programs print, files of this user's own; nothing of Kubernetes |
//! | [`controllers`], [`expect`], [`outcome`], [`plain`], `tree` | names, numbers and texts that all use; `tree` is YAML with places |
//! | [`workload`] | a table of what another kind has where a Deployment has it; a client that translates |
//! | [`recording`] | what was seen while a case ran, as a file; not what was expected |
//! | `secret` | takes the values of Secrets out of a case's text and of a recording |
//! | [`timeline`] | a recording in, what the subject decided out; not what was expected |
//! | [`rules`], [`versions`] | CEL over frames; what other versions of upstream write differently |
//! | [`case`] | a YAML file in, a validated case out, or findings with their places; no cluster |
//! | [`course`], [`faults`], [`verdict`] | sizes and bounds; where a run can be disturbed; case, recording and golden timeline in, a judgement out |
//! | [`infer`] | a recording of what happened in, a case of it out; no cluster |
//! | [`search`] | random programs, what is new about them, and what makes them smaller |
//! | [`golden`], [`report`] | timelines beside their cases; judgements in, text, HTML, JSON and XML out |
//! | [`inspect`] | a recording, step by step: what a terminal shows of a frame, and a trace; reads no key |
//! | [`campaign`] | the results of several runs in, those of one run out; not how a run is made |
//! | [`supervise`] | child processes that end with this one; nothing of Kubernetes |
//! | [`cluster`] | a plan in, a cluster out; not what runs on it |
//! | [`intercept`] | the proxy between subject and API server; not what a case is about |
//! | [`audit`] | the audit logs of a cluster in, a Deployment's recording out; no cluster |
//! | [`capture`] | a Deployment of a live cluster in, a recording out; writes nothing there |
//! | [`observe`], [`subject`] | watches and whether the namespace has settled; a controller, started and ended |
//! | [`monitor`] | a live cluster's versions in, breaches of the invariants and their evidence out |
//! | [`driver`] | steps in, requests out, as users, nodes and kubelets make them |
//! | [`runner`] | one case on one session: a recording; never a verdict |
//! | [`run`] | many cases on many sessions, and a stream of events; prints nothing |
//! | [`trials`], [`cli`] | what a test runner or a person asked for; decides no verdict |

pub mod audit;
pub mod campaign;
pub mod capture;
pub mod case;
mod causes;
pub mod cli;
pub mod clock;
pub mod cluster;
pub mod collection;
pub mod controllers;
pub mod course;
pub mod coverage;
pub mod driver;
pub mod expect;
pub mod explore;
pub mod faults;
mod fingerprint;
pub mod golden;
pub mod infer;
pub mod inspect;
pub mod intercept;
pub mod monitor;
pub mod mutants;
pub mod observe;
pub mod outcome;
pub mod output;
pub mod plain;
mod pointer;
mod private;
mod quote;
pub mod recording;
pub mod report;
pub mod rules;
pub mod run;
pub mod runner;
pub mod search;
mod secret;
mod state;
pub mod subject;
pub mod supervise;
pub mod timeline;
mod tree;
pub mod trials;
pub mod verdict;
pub mod versions;
pub mod workload;

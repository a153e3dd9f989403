//! Lockstep runs a YAML case against a Deployment controller, on a cluster whose own Deployment
//! controller is off. It drives the pods one step at a time, and compares what the ReplicaSets did
//! with what upstream's `kube-controller-manager` did on the same case.
//!
//! # Overview
//!
//! ```text
//!  cases/*.yaml ─► case ─► driver ──steps──► API server ◄──interceptor──► subject
//!                            │                  ▲    ▲                 (the controller under test)
//!                            │                  │    └── controllers that it does not bring
//!                          settle ◄──watches── observe
//!                            │                  │
//!                            └───────────────► recording
//!                                                 │    a file; nothing below touches a cluster
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
//!   delay, refuse and drop requests and answers. So [`faults`] can be injected between any two
//!   writes of a step.
//! * The harness shares no code with the controller that it judges: only `subject/ours.rs` names
//!   that crate, and the simulated API server (`kube-apiserver-sim`) names neither.
//!
//! # How a case is processed
//!
//! `case::load` → `run::Setup::for_each_subject` (cluster, environment, session) →
//! `run::Setup::play_each` → `runner::Session::play` → `recording::Recording` →
//! `verdict::judge(case, recording, golden)`, which replays the recording once (`timeline::replay`)
//! → `run::RunEvent::CaseJudged` → the subscribers that report.
//!
//! # Modules, the lowest layer first
//!
//! A module imports only from modules above it in this list; `tests/layers.rs` checks that.
//!
//! | module | input, output, and what it may not know |
//! | --- | --- |
//! | `clock`, [`collection`], [`output`], `private_fs`, `state_dir` | time, case files on disk or in the program, what other programs print, this user's private files; nothing of Kubernetes |
//! | [`controllers`], [`pod_expectation`], [`outcome`], [`sanitize`], `yaml` | names, numbers and texts that all modules use; `yaml` is YAML with source locations |
//! | [`workload`] | a table that maps a Deployment's fields to another kind's; a client that translates |
//! | [`recording`] | the observed object versions of a run, as a file; not what was expected |
//! | `secret` | redacts the values of Secrets in a case's text and in a recording |
//! | [`timeline`] | recording in, the subject's decisions out; not what was expected |
//! | [`rules`], [`versions`] | CEL over frames; what other versions of upstream report differently |
//! | [`case`] | YAML file in, a validated case out, or errors with their locations; no cluster |
//! | [`faults`], [`series`], [`verdict`] | the points where faults can be injected; sizes and bounds; case, recording and golden timeline in, a judgement out |
//! | [`infer`] | recording in, an inferred case out; no cluster |
//! | [`search`] | random programs, novelty feedback, and shrinking |
//! | [`golden`], [`report`] | timelines beside their cases; judgements in, text, HTML, JSON and XML out |
//! | [`inspect`] | a recording, step by step: the terminal view of a frame, and a trace; reads no key |
//! | [`campaign`] | the results of several runs in, merged results out; not how a run is made |
//! | [`supervise`] | child processes that end with this process; nothing of Kubernetes |
//! | [`cluster`] | plan in, running cluster out; not what runs on it |
//! | [`intercept`] | the proxy between subject and API server; not what a case contains |
//! | [`audit`] | audit logs of a cluster in, a Deployment's recording out; no cluster |
//! | [`capture`] | a Deployment of a live cluster in, a recording out; read-only |
//! | [`observe`], [`subject`] | watches, and whether the namespace has settled; starts and stops controllers |
//! | [`monitor`] | object versions of a live cluster in, breaches of the invariants with evidence out |
//! | [`driver`] | steps in, the requests of users, nodes and kubelets out |
//! | [`runner`] | case and session in, recording out; never a verdict |
//! | [`run`] | cases and sessions in, a stream of events out; prints nothing |
//! | [`trials`], [`cli`] | commands of a test runner or a user; decides no verdict |

pub mod cli;
pub mod trials;

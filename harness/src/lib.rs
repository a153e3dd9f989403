//! `lockstep`: tests a Kubernetes Deployment controller.
//!
//! It runs a YAML case against the controller, on a cluster whose own Deployment controller is off.
//! It drives the pods one step at a time, and compares what the controller did with what upstream's
//! `kube-controller-manager` did on the same case.
//!
//! **Architecture Invariant:** this crate decides no verdict. It parses arguments, runs commands
//! and prints. What is true of a recording is decided below it.
//!
//! * [`cli`] has the commands, a file for each or for several of one subject.
//! * [`trials`] makes a test of each case, for a test runner.
//!
//! # Crates
//!
//! Each opens with what it may not know. The first eight are pure: no network and no client of
//! Kubernetes.
//!
//! * [`lockstep_support`]: YAML with locations, output that is safe to print, files, the clock.
//! * [`lockstep_workload`]: how another kind is read and written as a Deployment.
//! * [`lockstep_recording`]: everything that was observed while a case ran.
//! * [`lockstep_timeline`]: what a subject decided, step by step.
//! * [`lockstep_case`]: the cases and their operations.
//! * [`lockstep_verdict`]: what a recording says about its subject.
//! * [`lockstep_report`]: judgements as text, HTML, JSON and XML.
//! * [`lockstep_search`]: random cases, orders of events, and cases inferred from recordings.
//! * [`lockstep_cluster`]: six ways to have a cluster.
//! * `lockstep_intercept`: the proxy between the subject and the API server.
//! * [`lockstep_subject`]: starts and stops the controller that is judged.
//! * [`lockstep_runner`]: plays a case on a cluster with a subject.
//! * [`lockstep_live`]: reads the Deployments of live clusters.
//! * `kube_apiserver_sim`: the simulated API server, which knows nothing of the harness.
//!
//! # The way of a case
//!
//! 1. [`lockstep_case::load`] reads the file, or reports all that is wrong in it.
//! 2. `Setup::for_each_subject` ([`lockstep_runner::run`]) boots a cluster and starts the subject
//!    behind the interceptor.
//! 3. `Setup::play_each` plays the cases, each by `Session::play`, which performs a step and waits
//!    until the namespace has settled.
//! 4. The result is a [`lockstep_recording::Recording`]. Nothing below touches a cluster.
//! 5. [`lockstep_verdict::judge`] replays the recording once ([`lockstep_timeline`]) and compares
//!    the timeline with the golden one.
//! 6. `RunEvent::CaseJudged` has the judgement. The reporters of [`cli`] subscribe to it.

pub mod cli;
pub mod trials;

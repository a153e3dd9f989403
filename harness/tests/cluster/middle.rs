//! Events within a step that never come: a write that is not made, a hold that exceeds the budget,
//! a subject that does not restart. Each ends in the case's budget and names the place; it is
//! inconclusive only if the test environment is what blocks.
//!
//! Trials `control-plane::middle::<what>`, ignored where no control plane can run.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use libtest_mimic::{Failed, Trial};
use lockstep_case::{self as case, Case};
use lockstep_cluster::{self as cluster, shared};
use lockstep_report as report;
use lockstep_runner::{Environment, EnvironmentError, Session, SessionOptions};
use lockstep_subject::SubjectSpec;
use lockstep_support::clock;
use lockstep_verdict::{self as verdict, FindingKind, Judgement, Verdict};

/// The budget of one settling, and of a whole case that exceeds it, including the time that a
/// subject may take to start.
const BUDGET: Duration = Duration::from_secs(6);
const IN_ALL: Duration = Duration::from_secs(60 + 60);

pub(crate) fn trials() -> Vec<Trial> {
    let unavailable = cluster::available(cluster::DEFAULT_VERSION).is_err();
    let trial = |name: &str, test: fn() -> Result<(), String>| {
        Trial::test(format!("control-plane::middle::{name}"), move || {
            test().map_err(|why| {
                eprintln!("Error: {why}");
                Failed::from(why)
            })
        })
        .with_ignored_flag(unavailable)
    };
    vec![
        trial("missing-write", || {
            let step = "{set: {image: app:2}, fault: {write: 99, of: replicasets, action: crash}}";
            plays(&SubjectSpec::Ours, step, Verdict::NonConformant, "never made write 99 of replicasets")
        }),
        trial("missing-decision", || {
            let step = "{set: {image: app:2}, during: {decision: rs1 3 -> 7, do: [{scale: 4}]}}";
            plays(&SubjectSpec::Ours, step, Verdict::NonConformant, "never requested `rs1 3 -> 7`")
        }),
        // The interceptor, a part of the test environment, delays a response beyond the budget.
        trial("hold-exceeds-budget", || {
            let step = "{set: {image: app:2}, fault: {write: 1, of: replicasets, action: {delay: 10s}}}";
            plays(&SubjectSpec::Ours, step, Verdict::Inconclusive, "the interceptor still keeps 1 of")
        }),
        trial("subject-exits-after-restart", || {
            let (spec, _mark) = once("exit 3")?;
            plays(&spec, CRASH, Verdict::NonConformant, "the subject ended (exit code 3)")
        }),
        trial("slow-subject-restart", || {
            let (spec, _mark) = once("sleep 12")?;
            conforms(&spec, CRASH)
        }),
        trial("subject-hangs-after-restart", || {
            let (spec, _mark) = once("exec sleep 600")?;
            plays(&spec, CRASH, Verdict::NonConformant, "the subject made no request in the 6")
        }),
    ]
}

const CRASH: &str = "{set: {image: app:2}, fault: {write: 1, of: replicasets, side: after, action: crash}}";

/// Runs a case of one step; it must have this verdict at the step, and this text in its report.
fn plays(spec: &SubjectSpec, step: &str, verdict: Verdict, words: &str) -> Result<(), String> {
    let (judgement, took) = run_case(spec, step)?;
    let description = describe(&judgement);
    if judgement.verdict != verdict || !description.contains(words) || !description.contains("middle/x.yaml:6") {
        return Err(format!(
            "expected {verdict:?} at line 6 that says '{words}', found {:?}:\n{description}",
            judgement.verdict
        ));
    }
    if took > IN_ALL { Err(format!("it took {took:?}")) } else { Ok(()) }
}

/// Runs a case of one step, which must be conformant.
fn conforms(spec: &SubjectSpec, step: &str) -> Result<(), String> {
    let (judgement, _) = run_case(spec, step)?;
    let completes = judgement
        .findings
        .iter()
        .all(|finding| !matches!(finding.kind, FindingKind::Unsettled(_) | FindingKind::Trouble(_)));
    if completes {
        Ok(())
    } else {
        Err(format!("expected a case that is played to its end:\n{}", describe(&judgement)))
    }
}

fn describe(judgement: &Judgement) -> String {
    format!("{}\n{}", report::headline(judgement), report::failure(judgement, &report::RerunCommands::default(), false))
}

fn run_case(spec: &SubjectSpec, step: &str) -> Result<(Judgement, Duration), String> {
    let given = "  - deployment: {name: web, replicas: 3, image: \"app:1\"}\n  - ready: {pods: all}";
    let step = step.replace("app:2", "\"app:2\"").replace("rs1 3 -> 7", "\"rs1 3 -> 7\"");
    let text = format!("description: x\ngiven:\n{given}\nsteps:\n  - {step}\n");
    let case = Arc::new(case::parse("middle/x.yaml", "middle/x", &text).map_err(|error| error.to_string())?);
    // Without the fault the step itself succeeds.
    let mut plain = Case::clone(&case);
    plain.steps.iter_mut().for_each(|step| (step.during, step.fault) = (None, None));
    let runtime =
        tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(|error| error.to_string())?;
    let result = runtime.block_on(async {
        let environment = Arc::new(Environment::open(shared::obtain(cluster::DEFAULT_VERSION).await?).await?);
        let options = SessionOptions { budget: BUDGET, ..SessionOptions::default() };
        let session = Session::open(&environment, spec, &options).await?;
        let plain = session.play(&plain).await;
        let since = clock::instant();
        let recording = session.play(&case).await;
        let took = since.elapsed();
        session.close().await;
        environment.close().await;
        Ok::<_, EnvironmentError>((plain, recording, took))
    });
    let (plain, recording, took) = result.map_err(|error| error.to_string())?;
    Ok((verdict::judge_live(&case, &recording, &plain), took))
}

/// Our controller as a process. Its second start, which a marker in the folder detects, runs `then`
/// first.
fn once(then: &str) -> Result<(SubjectSpec, tempfile::TempDir), String> {
    let me = std::env::current_exe().map_err(|error| error.to_string())?;
    let profile = me.ancestors().nth(2).ok_or("a test binary stands in target/PROFILE/deps")?;
    let program = profile.join("rollout-controller");
    if !program.is_file() {
        return Err(format!("{} is not built: cargo build --package rollout-controller", program.display()));
    }
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let script = |program: &Path, mark: &Path| {
        let (program, mark) = (program.display(), mark.display());
        format!("mkdir {mark} 2>/dev/null || {then}; exec {program} --leader-elect=false")
    };
    let script = script(&program, &folder.path().join("started"));
    Ok((SubjectSpec::Command(vec!["sh".into(), "-c".into(), script]), folder))
}

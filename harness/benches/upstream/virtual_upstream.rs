//! The time of upstream's controllers on the simulated cluster: in virtual time, compared with
//! `ours`, and as a process over HTTP in real time. It plays and judges every case of the
//! Deployment and ReplicaSet controllers with a golden timeline; as a process only some of them.
//!
//! ```text
//! cargo bench --package lockstep --bench upstream -- virtual_upstream     # LOCKSTEP_LANES: side by side, else one a core
//! ```
//!
//! The numbers depend on the machine and its load.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use lockstep_case::{self as case, Case};
use lockstep_cluster::{ClusterPlan, DEFAULT_VERSION, Site};
use lockstep_recording::controllers::{Controller, ControllerSet};
use lockstep_runner::run::{CompletedPlay, PlayError, PlayPlan, Setup};
use lockstep_subject::SubjectSpec;
use lockstep_support::clock;
use lockstep_verdict::golden::GoldenTimelines;
use lockstep_verdict::{self as verdict, Verdict};

use crate::selection::Outcome;

/// As a process only every 20th case is played.
const PROCESS_EVERY: usize = 20;

pub(crate) fn run(_arguments: &[String]) -> Outcome {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    std::env::set_current_dir(root)?;
    let cases = cases()?;
    let few: Vec<_> = cases.iter().step_by(PROCESS_EVERY).cloned().collect();
    println!(
        "{:18} {:>6} {:>5} {:>9} {:>9} {:>9} {:>9} {:>9}  not conformant",
        "subject", "cases", "lanes", "in all s", "mean ms", "median", "slowest", "a minute"
    );
    for (subject, cases) in [("ours", &cases), ("upstream", &cases), ("upstream:process", &few)] {
        one(&subject.parse()?, cases)?;
    }
    Ok(())
}

fn cases() -> Result<Vec<Arc<Case>>, Box<dyn std::error::Error>> {
    let all =
        case::find(&[PathBuf::from("cases")])?.iter().map(|path| case::load(path)).collect::<Result<Vec<_>, _>>()?;
    let all = all.into_iter().flatten().map(Arc::new);
    let of_upstream =
        |case: &Arc<Case>| !case.controllers.has(Controller::ConfigRestart) && case.expectation.is_blessed();
    Ok(all.filter(of_upstream).collect())
}

/// Measures one subject on all cases.
fn one(spec: &SubjectSpec, cases: &[Arc<Case>]) -> Outcome {
    let lanes = match std::env::var("LOCKSTEP_LANES") {
        Ok(text) => text.parse()?,
        Err(_) => std::thread::available_parallelism()?,
    };
    let setup = Setup { lanes, ..Setup::new(ClusterPlan::new(DEFAULT_VERSION).at(Site::Sim)) };
    let mut sets: BTreeMap<ControllerSet, Vec<Arc<Case>>> = BTreeMap::new();
    for case in cases {
        sets.entry(case.controllers.clone()).or_default().push(Arc::clone(case));
    }
    let (mut times, mut others) = (Vec::new(), Vec::new());
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let began = clock::instant();
    runtime.block_on(async {
        for (under_test, cases) in &sets {
            let result =
                setup.for_each_subject(under_test, std::slice::from_ref(spec), cases.len(), async |_, player| {
                    let take = async |result: CompletedPlay<'_>| {
                        times.push(result.took.as_secs_f64() * 1000.0);
                        others.extend(is_other(&result));
                        Ok::<_, PlayError>(ControlFlow::Continue(()))
                    };
                    setup.play_each(player, PlayPlan::once(cases), take).await
                });
            result.await?;
        }
        Ok::<_, PlayError>(())
    })?;
    line(spec, lanes, began.elapsed(), times);
    others.iter().for_each(|other| println!("    {other}"));
    Ok(())
}

/// The verdict of a play that was not conformant, whose time is not meaningful.
fn is_other(result: &CompletedPlay<'_>) -> Option<String> {
    let Ok(golden) = GoldenTimelines::load_beside(Path::new(&result.case.path)) else {
        return Some(result.case.name.clone());
    };
    let golden = golden.for_server(&result.recording.header.cluster.version);
    let judgement = verdict::judge(result.case, &result.recording, golden);
    (judgement.verdict != Verdict::Conformant).then(|| format!("{} {}", result.case.name, judgement.verdict.name()))
}

fn line(spec: &SubjectSpec, lanes: NonZeroUsize, took: Duration, mut times: Vec<f64>) {
    times.sort_by(f64::total_cmp);
    #[expect(clippy::cast_precision_loss, reason = "a number of cases is small")]
    let count = times.len() as f64;
    let mean = times.iter().sum::<f64>() / count;
    let at = |place: usize| times.get(place).copied().unwrap_or_default();
    let (seconds, median, slowest) = (took.as_secs_f64(), at(times.len() / 2), at(times.len() - 1));
    let rate = count / seconds * 60.0;
    println!(
        "{:18} {:>6} {lanes:>5} {seconds:>9.1} {mean:>9.1} {median:>9.1} {slowest:>9.1} {rate:>9.0}",
        spec.to_string(),
        times.len()
    );
}

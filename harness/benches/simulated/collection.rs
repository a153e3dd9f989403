//! The time of cases on the simulated cluster: every case of `cases/`, played and judged on one
//! core.
//!
//!   cargo bench --package lockstep --bench simulated -- collection
//!
//! Each case is played five times in turns, so that a busy moment of the machine does not affect
//! one case alone, and its fastest time counts. Two cases are also played by the program, from its
//! start to its end. Compare only runs on the same machine, such as before and after a change.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use lockstep_case::{self as case, Case};
use lockstep_runner::{Simulation, simulate};
use lockstep_subject::SubjectSpec;
use lockstep_support::clock;
use lockstep_verdict::golden::GoldenTimelines;
use lockstep_verdict::{self as verdict, Verdict};

use crate::selection::Outcome;

const ROUNDS: u32 = 5;
/// A usual case, and a big one.
const ALONE: [&str; 2] = ["cases/rolling/surge-1-unavailable-0.yaml", "cases/rolling/quarter-on-ten.yaml"];
const BUDGET: Duration = Duration::from_secs(20);

pub(crate) fn run(_arguments: &[String]) -> Outcome {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    std::env::set_current_dir(root)?;
    let cases =
        case::find(&[PathBuf::from("cases")])?.iter().map(|path| case::load(path)).collect::<Result<Vec<_>, _>>()?;
    let cases: Vec<_> = cases.into_iter().flatten().map(Arc::new).collect();
    let goldens =
        cases.iter().map(|case| GoldenTimelines::load_beside(Path::new(&case.path))).collect::<Result<Vec<_>, _>>()?;
    let spec: SubjectSpec = "ours".parse()?;
    let mut fastest = vec![(Duration::MAX, Duration::MAX); cases.len()];
    for _ in 0..ROUNDS {
        for ((case, golden), best) in cases.iter().zip(&goldens).zip(&mut fastest) {
            let (played, judged) = once(case, golden, &spec)?;
            *best = (best.0.min(played), best.1.min(judged));
        }
    }
    let mut areas: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    let millis = |time: Duration| time.as_secs_f64() * 1000.0;
    for (case, (played, judged)) in cases.iter().zip(&fastest) {
        areas.entry(case.area()).or_default().push(millis(*played + *judged));
    }
    println!("{:29} {:>6} {:>9} {:>9} {:>9}", "area", "cases", "mean ms", "median", "slowest");
    let mut all = Vec::new();
    for (area, times) in &mut areas {
        line(area, times);
        all.append(times);
    }
    line("all", &mut all);
    let judging: f64 = fastest.iter().map(|(_, judged)| millis(*judged)).sum();
    println!("of which judging {:.1} ms a case", judging / f64::from(u32::try_from(cases.len())?));
    for case in ALONE {
        println!("{case} alone, from the program's start to its end: {:.0} ms", millis(alone(case)?));
    }
    Ok(())
}

/// The fastest of several runs of the program.
fn alone(case: &str) -> Result<Duration, Box<dyn std::error::Error>> {
    let mut fastest = Duration::MAX;
    for _ in 0..ROUNDS {
        let began = clock::instant();
        let output = Command::new(env!("CARGO_BIN_EXE_lockstep")).args(["run", case]).output()?;
        fastest = fastest.min(began.elapsed());
        if !output.status.success() {
            return Err(format!("{case}: {}", String::from_utf8_lossy(&output.stderr)).into());
        }
    }
    Ok(fastest)
}

/// The durations of one play and its judgement.
fn once(
    case: &Arc<Case>,
    golden: &GoldenTimelines,
    spec: &SubjectSpec,
) -> Result<(Duration, Duration), Box<dyn std::error::Error>> {
    let simulation = Simulation::new(case.controllers.clone(), BUDGET);
    let began = clock::instant();
    let recording = simulate(case, spec, &simulation)?;
    let played = began.elapsed();
    let began = clock::instant();
    let judgement = verdict::judge(case, &recording, golden.for_server(&recording.header.cluster.version));
    let judged = began.elapsed();
    if judgement.verdict != Verdict::Conformant {
        return Err(format!("{} is {}, so its time says nothing", case.name, judgement.verdict.name()).into());
    }
    Ok((played, judged))
}

fn line(name: &str, times: &mut [f64]) {
    times.sort_by(f64::total_cmp);
    #[expect(clippy::cast_precision_loss, reason = "a number of cases is small")]
    let mean = times.iter().sum::<f64>() / times.len() as f64;
    let at = |place: usize| times.get(place).copied().unwrap_or_default();
    println!("{name:16} {:>6} {mean:>9.1} {:>9.1} {:>9.1}", times.len(), at(times.len() / 2), at(times.len() - 1));
}

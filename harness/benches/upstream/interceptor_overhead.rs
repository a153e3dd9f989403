//! The interceptor's overhead on a whole case: the same case on one control plane, with upstream's
//! controller through the interceptor and directly, alternately. It only measures, and checks that
//! the runs complete.
//!
//! ```text
//! LOCKSTEP_BIN=… cargo bench --package lockstep --bench upstream -- interceptor_overhead
//! ```

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use lockstep_case as case;
use lockstep_cluster::{self as cluster, ClusterPlan, DEFAULT_VERSION};
use lockstep_recording::RecordingEntry;
use lockstep_runner::{Environment, Session, SessionOptions};
use lockstep_support::clock;

use crate::selection::Outcome;

const CASE: &str = "../cases/rolling/quarter-on-ten.yaml";
/// The number of rounds, alternating between the sides.
const ROUNDS: u32 = 4;
/// The number of measured plays per round, after one warm-up play.
const PLAYS: u32 = 5;
/// Longer than a settling takes on a busy machine.
const BUDGET: Duration = Duration::from_secs(90);

pub(crate) fn run(_arguments: &[String]) -> Outcome {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let without = "deployment".parse()?;
        let environment = Arc::new(
            Environment::open(cluster::boot(&ClusterPlan::new(DEFAULT_VERSION).without(without)).await?).await?,
        );
        let measured = measure(&environment).await;
        environment.close().await;
        measured
    })
}

/// The measurements of one side.
#[derive(Default)]
struct InterceptPoint {
    /// Milliseconds per play.
    plays: Vec<u64>,
    /// Milliseconds per settling, from the step to the proof that the controller is idle.
    settlings: Vec<u64>,
    /// The requests that the interceptor recorded, if there is one.
    requests: usize,
}

async fn measure(environment: &Arc<Environment>) -> Outcome {
    let case = case::load_one(&Path::new(env!("CARGO_MANIFEST_DIR")).join(CASE))?;
    let spec = "upstream".parse().map_err(|error| format!("{error}"))?;
    let mut sides = [InterceptPoint::default(), InterceptPoint::default()];
    for round in 0..ROUNDS {
        let first = usize::from(round % 2 == 1);
        for which in [first, 1 - first] {
            let options =
                SessionOptions { budget: BUDGET, bypass_interceptor: which == 1, ..SessionOptions::default() };
            let session = Session::open(environment, &spec, &options).await?;
            session.play(&case).await;
            for _ in 0..PLAYS {
                let began = clock::instant();
                let recording = session.play(&case).await;
                sides[which].plays.push(clock::millis_since(began));
                if !recording.end.as_ref().is_some_and(|end| end.completed) {
                    return Err("a play did not come to its end".into());
                }
                for entry in &recording.entries {
                    match entry {
                        RecordingEntry::Settled(settling) => sides[which].settlings.push(settling.took),
                        RecordingEntry::Request(_) => sides[which].requests += 1,
                        _ => {}
                    }
                }
            }
            session.close().await;
        }
    }
    let [interceptor, none] = &mut sides;
    let each = interceptor.requests / interceptor.plays.len();
    for (title, side) in [("no interceptor", &mut *none), ("interceptor", &mut *interceptor)] {
        let (half, most) = (at(&mut side.plays, 50), at(&mut side.plays, 99));
        let (settled, slowest) = (at(&mut side.settlings, 50), at(&mut side.settlings, 99));
        let rate = u64::try_from(each)? * 1000 / half.max(1);
        eprintln!(
            "{title:8} {} plays: median {half} ms, p99 {most} ms; a step settles in {settled} ms, p99 {slowest} ms; {each} requests a play, {rate} a second",
            side.plays.len()
        );
    }
    let (with, without) = (at(&mut interceptor.plays, 50), at(&mut none.plays, 50));
    eprintln!("with the interceptor a play takes {}% of what it takes without", with * 100 / without.max(1));
    Ok(())
}

/// A percentile.
fn at(values: &mut [u64], percent: usize) -> u64 {
    values.sort_unstable();
    let place = values.len().saturating_sub(1) * percent / 100;
    values.get(place).copied().unwrap_or_default()
}

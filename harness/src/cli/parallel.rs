//! Runs independent work on several threads.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread::Builder;

use lockstep_runner::EnvironmentError;

use super::CliError;

/// Run `work` for each index below `count` on `jobs` threads, and pass each result to `take` as
/// soon as it is done. A thread stops when `work` returns `None`.
///
/// # Errors
/// A thread cannot be started, or `take` fails.
pub(super) fn run_in_parallel<T: Send>(
    thread: impl Fn() -> Builder,
    jobs: usize,
    count: usize,
    work: impl Fn(usize) -> Option<T> + Sync,
    mut take: impl FnMut(usize, T) -> Result<(), CliError>,
) -> Result<(), CliError> {
    let failed = |error: std::io::Error| EnvironmentError::Simulation(format!("no thread can be started: {error}"));
    let next = AtomicUsize::new(0);
    let (done, finished) = mpsc::channel();
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            let (done, next, work) = (done.clone(), &next, &work);
            let worker = move || {
                while let Some(at) = Some(next.fetch_add(1, Ordering::Relaxed)).filter(|at| *at < count) {
                    let Some(result) = work(at) else { return };
                    if done.send((at, result)).is_err() {
                        return;
                    }
                }
            };
            thread().spawn_scoped(scope, worker).map_err(failed)?;
        }
        drop(done);
        finished.into_iter().try_for_each(|(at, result)| take(at, result))
    })
}

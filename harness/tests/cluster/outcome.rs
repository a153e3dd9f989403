//! What a trial returns, and how it checks and waits.

use std::time::Duration;

use libtest_mimic::{Failed, Trial};
use lockstep_support::clock;

pub(crate) type Outcome = Result<(), Failed>;

pub(crate) fn trial<F: Future<Output = Outcome> + 'static>(name: &str, ignored: bool, run: fn() -> F) -> Trial {
    Trial::test(name, move || block_on(run())).with_ignored_flag(ignored)
}

pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    runtime.expect("a runtime").block_on(future)
}

pub(crate) fn check(holds: bool, message: impl Into<Failed>) -> Outcome {
    if holds { Ok(()) } else { Err(message.into()) }
}

pub(crate) async fn until(message: &str, patience: Duration, mut holds: impl AsyncFnMut() -> bool) -> Outcome {
    let started = clock::instant();
    while !holds().await {
        if started.elapsed() > patience {
            return Err(format!("after {patience:?} still not: {message}").into());
        }
        clock::pause(Duration::from_millis(20)).await;
    }
    Ok(())
}

//! The `lockstep` command. All of it is in the library; here is only the way in and the way out.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use include_dir::{Dir, include_dir};
use lockstep::cli::{Cli, CliError};
use lockstep::collection;
use lockstep::outcome::Cause;
use lockstep::plain;
use lockstep::subject::SUBJECT_TARGET;
use lockstep::supervise::{Interrupt, interrupt};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The repository's cases, when this was compiled. A checkout reads those on disk, so it does not
/// matter there that a new file alone does not make cargo compile this again.
static COLLECTION: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/cases");

/// How long plays that were given up may take to notice.
const LAST: Duration = Duration::from_millis(100);

fn main() -> ExitCode {
    lockstep::runner::main_if_asked();
    // What a subject in this process says of faults that a case makes is no news of the harness's.
    // LOCKSTEP_LOG=warn shows it.
    let quiet = || format!("warn,kube_client=off,{SUBJECT_TARGET}=off").into();
    let filter = tracing_subscriber::EnvFilter::try_from_env("LOCKSTEP_LOG").unwrap_or_else(|_| quiet());
    // Nobody may be there to read that a log line could not be written either.
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    log.log_internal_errors(false).init();
    collection::embed(files(&COLLECTION));
    let cli = match Cli::read(std::env::args_os()) {
        Ok(cli) => cli,
        Err(error) => {
            error.print().ok();
            // Help and version are no errors; bad usage is 64, as every other bad input.
            return ExitCode::from(if error.use_stderr() { 64 } else { 0 });
        }
    };
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return fail(&format!("no runtime: {error}")),
    };
    let heard = interrupt::listen(|cause| complain(&format!("interrupted ({cause}); a second signal ends it at once")));
    if let Err(error) = heard {
        return fail(&format!("signals cannot be heard: {error}"));
    }
    let outcome = runtime.block_on(cli.execute()).unwrap_or_else(|error| {
        match &error {
            // A diagnostic with its own heading.
            CliError::Cases(_) => complain(&error.to_string()),
            // Whoever did it knows.
            CliError::Interrupted(_) => {}
            error => complain(&format!("error: {}", plain::text(&error.to_string()))),
        }
        error.outcome()
    });
    // What still plays has nothing that would be left behind.
    runtime.shutdown_timeout(LAST);
    ExitCode::from(Interrupt::of_process().cause().map_or(outcome.code(), Cause::code))
}

/// Every file of a folder and of those in it.
fn files(folder: &'static Dir<'static>) -> Vec<(&'static Path, &'static [u8])> {
    let here = folder.files().map(|file| (file.path(), file.contents()));
    here.chain(folder.dirs().flat_map(files)).collect()
}

/// Say what is wrong, where somebody reads it.
fn complain(what: &str) {
    let _ = writeln!(std::io::stderr(), "{what}");
}

fn fail(why: &str) -> ExitCode {
    complain(&format!("error: {why}"));
    ExitCode::from(70)
}

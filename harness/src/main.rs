//! The `lockstep` command: sets up logging, embedded cases, signals and the runtime, runs the
//! command from the library, and returns its exit code.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use include_dir::{Dir, include_dir};
use lockstep::cli::{Cli, CliError, may_have_colours};
use lockstep_cluster::supervise::{Interrupt, interrupt};
use lockstep_subject::SUBJECT_TARGETS;
use lockstep_support::outcome::InterruptCause;
use lockstep_support::{collection, sanitize};
use tracing_subscriber::EnvFilter;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The repository's cases at compile time. Cargo does not recompile this for a new case file, which
/// does not matter in a checkout: there the cases on disk are read.
static COLLECTION: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/cases");

/// How long abandoned plays may take to stop.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_millis(100);

fn main() -> ExitCode {
    lockstep_runner::dispatch_role();
    // A subject in this process logs the faults that a case injects, which is not worth showing by
    // default. LOCKSTEP_LOG=warn shows it.
    let silent: String = SUBJECT_TARGETS.map(|target| format!(",{target}=off")).concat();
    let quiet = || EnvFilter::new(format!("warn,kube_client=off{silent}"));
    let given = std::env::var("LOCKSTEP_LOG").unwrap_or_default();
    let filter = match if given.is_empty() { Ok(quiet()) } else { given.parse() } {
        Ok(filter) => filter,
        Err(error) => {
            complain(&format!("error: LOCKSTEP_LOG: {error}; it is a level such as debug, or as of `RUST_LOG`"));
            return ExitCode::from(64);
        }
    };
    // Standard error may be closed, so a failure to log cannot be reported either.
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    let log = log.with_ansi(may_have_colours(&std::io::stderr()));
    log.log_internal_errors(false).init();
    collection::embed(|| all_files(&COLLECTION));
    let cli = match Cli::read(std::env::args_os()) {
        Ok(cli) => cli,
        Err(error) => {
            error.print().ok();
            // Help and version exit with 0; bad usage exits with 64, as all bad input.
            return ExitCode::from(if error.use_stderr() { 64 } else { 0 });
        }
    };
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return fail(&format!("no runtime: {error}")),
    };
    let listening =
        interrupt::handle_signals(|cause| complain(&format!("interrupted ({cause}); a second signal ends it at once")));
    if let Err(error) = listening {
        return fail(&format!("signals cannot be heard: {error}"));
    }
    let outcome = runtime.block_on(cli.execute()).unwrap_or_else(|error| {
        match &error {
            // These diagnostics have their own heading.
            CliError::Cases(_) => complain(&error.to_string()),
            // The user caused the interruption.
            CliError::Interrupted(_) => {}
            error => complain(&format!("error: {}", sanitize::text(&error.to_string()))),
        }
        error.outcome()
    });
    // Plays that are still running leave nothing behind.
    runtime.shutdown_timeout(SHUTDOWN_TIMEOUT);
    interrupt::end_unsupervised();
    ExitCode::from(Interrupt::for_process().cause().map_or(outcome.code(), InterruptCause::code))
}

/// The files of a folder and all folders below it.
fn all_files(folder: &'static Dir<'static>) -> Vec<(&'static Path, &'static [u8])> {
    let direct = folder.files().map(|file| (file.path(), file.contents()));
    direct.chain(folder.dirs().flat_map(all_files)).collect()
}

/// Print a message on standard error.
fn complain(message: &str) {
    let _ = writeln!(std::io::stderr(), "{message}");
}

fn fail(why: &str) -> ExitCode {
    complain(&format!("error: {why}"));
    ExitCode::from(70)
}

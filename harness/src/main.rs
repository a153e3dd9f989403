//! The `lockstep` command. All of it is in the library; here is only the way in and the way out.

use std::process::ExitCode;

use clap::Parser;
use lockstep::cli::{Cli, CliError};
use lockstep::plain;
use lockstep::subject::SUBJECT_TARGET;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    lockstep::supervise::main_if_asked();
    // What a subject in this process says of faults that a case makes is no news of the harness's. LOCKSTEP_LOG=warn shows it.
    let quiet = || format!("warn,kube_client=off,{SUBJECT_TARGET}=off").into();
    let filter = tracing_subscriber::EnvFilter::try_from_env("LOCKSTEP_LOG").unwrap_or_else(|_| quiet());
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            error.print().ok();
            // Help and version are no errors; bad usage is 64, as every other bad input.
            return ExitCode::from(if error.use_stderr() { 64 } else { 0 });
        }
    };
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("error: no runtime: {error}");
            return ExitCode::from(70);
        }
    };
    let outcome = runtime.block_on(cli.execute()).unwrap_or_else(|error| {
        match &error {
            // A diagnostic with its own heading.
            CliError::Cases(_) => eprintln!("{error}"),
            error => eprintln!("error: {}", plain::text(&error.to_string())),
        }
        error.outcome()
    });
    ExitCode::from(outcome.code())
}

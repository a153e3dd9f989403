//! The program: flags, logs, signals, and exit codes.
//!
//! Exit codes: 0 after SIGTERM or SIGINT, when running work is finished and the lease released; 1
//! for every failure, including a lost lease; 2 for invalid flags. A second signal ends the program
//! at once.

mod flags;

use std::hash::{BuildHasher, RandomState};
use std::io::IsTerminal;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use clap::Parser;
use flags::{Flags, Launch, LoggingFormat, SecureMetrics};
use rollout_controller::connect::{self, ConnectionTimeouts, Protocol, ProxyRules};
use rollout_controller::{Endpoint, Metrics, ProcessOptions, Tls, migrate, serve};
use tokio::runtime::{Builder, Handle};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tracing_subscriber::EnvFilter;

fn main() -> ExitCode {
    let flags = Flags::parse();
    if let Some(new) = flags.new_key() {
        return match new.print() {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("Error: {error:#}");
                ExitCode::FAILURE
            }
        };
    }
    let launch = flags.launch(identity).unwrap_or_else(|error| Flags::refuse(&error));
    let format = launch.format;
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(&launch.filter));
    let logs = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    // The library's own default heeds NO_COLOR, and nothing else.
    let logs = if std::io::stderr().is_terminal() { logs } else { logs.with_ansi(false) };
    match format {
        LoggingFormat::Text => logs.init(),
        LoggingFormat::Json => logs.json().flatten_event(true).init(),
    }
    let runtime = Builder::new_multi_thread().enable_all().build();
    let outcome = runtime.context("cannot start the async runtime").and_then(|runtime| {
        let outcome = runtime.block_on(start(launch));
        // A process that has lost the lease must exit before another acts, even if a task is still
        // busy.
        runtime.shutdown_background();
        outcome
    });
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // With JSON logs, the final error must be JSON, too.
            match format {
                LoggingFormat::Text => eprintln!("Error: {error:#}"),
                LoggingFormat::Json => tracing::error!(error = format!("{error:#}"), "Failed."),
            }
            ExitCode::FAILURE
        }
    }
}

async fn start(launch: Launch) -> anyhow::Result<()> {
    let Launch { kubeconfig, metrics: at, probes, secure, mut settings, migrate_from, election, .. } = launch;
    settings.resync_period = settings.resync_period.map(with_jitter);
    let shutdown = shutdown_signal()?;
    let proxies = ProxyRules::read(|name| std::env::var(name).ok());
    if let Some(webhook) = settings.restart.webhook.as_mut().filter(|webhook| webhook.proxy.is_none()) {
        webhook.proxy = proxies.for_url(&webhook.url.0)?.map(rollout_controller::WebhookUrl);
    }
    let config = connect::config(kubeconfig.as_deref(), &proxies).await?;
    let server = config.cluster_url.to_string();
    let metrics = Metrics::new(config.cluster_url.authority().map_or("", |authority| authority.as_str()));
    let client = connect::client(&config, &metrics)?;
    if let Some(from) = migrate_from {
        let migration = migrate(client, settings, from).await?;
        print!("{migration}");
        anyhow::ensure!(migration.restarts.is_empty(), "taking over would restart workloads");
        return Ok(());
    }
    let runtime = start_probe_runtime()?;
    let lease = {
        // A client spawns a task in the runtime in which it is made.
        let _within = runtime.enter();
        Some(connect::client_with_timeouts(&config, Protocol::Http1, ConnectionTimeouts::default(), &metrics)?)
    };
    let mut endpoints = Endpoint::open(at, probes).await?;
    if let Some(SecureMetrics(folder)) = secure {
        let tls = Tls::new(folder.as_deref(), &host())?;
        endpoints = endpoints.into_iter().map(|endpoint| endpoint.secured(&tls)).collect();
    }
    tracing::info!(%server, version = env!("CARGO_PKG_VERSION"), "Started.");
    let process = ProcessOptions { election, lease, metrics, endpoints, runtime: Some(runtime) };
    serve(client, settings, process, shutdown).await?;
    tracing::info!("Stopped.");
    Ok(())
}

/// Starts a runtime on a thread of its own, which ends with the process.
fn start_probe_runtime() -> anyhow::Result<Handle> {
    let runtime = Builder::new_current_thread().enable_all().build().context("cannot start the runtime of probes")?;
    let handle = runtime.handle().clone();
    let thread = std::thread::Builder::new().name("probes".to_owned());
    let run = move || runtime.block_on(std::future::pending::<()>());
    thread.spawn(run).context("cannot start the thread of probes")?;
    Ok(handle)
}

/// The identity of this process: the machine's or pod's name, and a random suffix.
fn identity() -> String {
    let unique = || RandomState::new().hash_one(std::process::id());
    format!("{}_{:016x}{:016x}", host(), unique(), unique())
}

/// The machine's or pod's name.
fn host() -> String {
    let kernel = || std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    std::env::var("HOSTNAME").ok().or_else(kernel).unwrap_or_default().trim().to_owned()
}

/// A period between this one and twice it, drawn at random as upstream does, so that processes do
/// not all resync at the same time.
fn with_jitter(period: Duration) -> Duration {
    let random = RandomState::new().hash_one("resync") >> 32;
    let share = f64::from(u32::try_from(random).unwrap_or(u32::MAX)) / f64::from(u32::MAX);
    period.mul_f64(1.0 + share)
}

/// Completes at the first SIGTERM or SIGINT; the second one ends the program.
fn shutdown_signal() -> anyhow::Result<impl Future<Output = ()>> {
    let mut terminate = signal(SignalKind::terminate()).context("cannot listen for SIGTERM")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot listen for SIGINT")?;
    Ok(async move {
        any_signal(&mut terminate, &mut interrupt).await;
        tracing::info!("Stopping: finishing what is under way; a second signal ends it at once.");
        tokio::spawn(async move {
            any_signal(&mut terminate, &mut interrupt).await;
            tracing::warn!("Ended at once.");
            std::process::exit(1);
        });
    })
}

async fn any_signal(terminate: &mut Signal, interrupt: &mut Signal) {
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
}

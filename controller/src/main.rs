//! The program: flags, logs, signals, and the way out.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::{Parser, ValueEnum};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use rollout_controller::{Compatibility, Settings, check, run};
use tracing_subscriber::EnvFilter;

/// Rolls Deployments out, as kube-controller-manager's deployment controller does.
#[derive(Debug, Parser)]
#[command(version)]
struct Flags {
    /// Kubeconfig file [default: $KUBECONFIG, ~/.kube/config, or the pod's service account]
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// Controllers to run, comma separated
    #[arg(long, value_enum, value_delimiter = ',', default_value = "deployment")]
    controllers: Vec<ControllerName>,
    /// Deployments looked after at the same time
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..))]
    concurrent_deployment_syncs: u16,
    /// Whose behaviour to follow
    #[arg(long, value_enum, default_value = "upstream")]
    compatibility: Behaviour,
    /// Log more; twice: everything. RUST_LOG overrides it
    #[arg(short, long, action = clap::ArgAction::Count)]
    verbose: u8,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ControllerName {
    /// Deployments
    Deployment,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Behaviour {
    /// kube-controller-manager v1.36
    Upstream,
}

fn main() -> ExitCode {
    let flags = Flags::parse();
    let level = match flags.verbose {
        0 => "info",
        1 => "info,rollout_controller=debug",
        _ => "debug",
    };
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(level));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
    let outcome = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("cannot start the async runtime")
        .and_then(|runtime| runtime.block_on(start(flags)));
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("Error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn start(flags: Flags) -> anyhow::Result<()> {
    let mut config = match &flags.kubeconfig {
        Some(path) => {
            let file =
                Kubeconfig::read_from(path).with_context(|| format!("cannot read kubeconfig {}", path.display()))?;
            Config::from_custom_kubeconfig(file, &KubeConfigOptions::default())
                .await
                .context("cannot use kubeconfig")?
        }
        None => Config::infer().await.context("no usable kubeconfig; set KUBECONFIG or --kubeconfig")?,
    };
    // What is to be tried again, and when, is the controller's decision.
    config.default_retry = false;
    let server = config.cluster_url.to_string();
    let client = Client::try_from(config).context("cannot make a client")?;
    check(&client).await.with_context(|| format!("API server {server}"))?;
    let settings = Settings {
        concurrent_deployment_syncs: flags.concurrent_deployment_syncs.into(),
        compatibility: match flags.compatibility {
            Behaviour::Upstream => Compatibility::Upstream,
        },
        ..Settings::default()
    };
    tracing::info!(%server, "Started.");
    run(client, settings, shutdown_signal()?).await?;
    tracing::info!("Stopped.");
    Ok(())
}

/// Completes at the first SIGTERM or SIGINT.
fn shutdown_signal() -> anyhow::Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate()).context("cannot listen for SIGTERM")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot listen for SIGINT")?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}

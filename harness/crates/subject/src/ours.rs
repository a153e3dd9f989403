//! Runs this project's controller: no other file of the harness names its crate. With the feature
//! `mutants` the controller contains the mutant bank.
//!
//! In this process it is a task with its own client, built from the same kubeconfig that a child
//! process gets, so every request still goes through the interceptor.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lockstep_case::{RestartOptions, RestartProfile, RestartWebhook};
use lockstep_cluster::client_from_kubeconfig;
use lockstep_intercept::WEBHOOK;
use lockstep_recording::controllers::{Controller, ControllerSet};
use lockstep_support::clock;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::{StartContext, SubjectError};

/// The tracing targets of its log as a task of this process. A filter matches prefixes, so the
/// first covers the copies with the mutant bank as well.
pub use rollout_controller::LOG_TARGETS as SUBJECT_TARGETS;

/// The controller as a task of this process.
#[derive(Debug)]
pub(super) struct InProcessTask {
    stop: oneshot::Sender<()>,
    handle: JoinHandle<()>,
    ended: Arc<Mutex<Option<String>>>,
}

/// The controllers that it has.
pub(super) fn controllers() -> ControllerSet {
    Controller::ALL.into_iter().collect()
}

/// Starts the controller as a task; `fixed`: with upstream's defects fixed.
pub(super) async fn start(context: &StartContext<'_>, fixed: bool) -> Result<(InProcessTask, String), SubjectError> {
    let client = match &context.client {
        Some(client) => client.clone(),
        // The interceptor listens on this machine.
        None => client_from_kubeconfig(&context.kubeconfig).map_err(|error| SubjectError::Client(error.to_string()))?,
    };
    run(client, context.controllers, fixed, context.restart)
}

/// Starts it with these controllers on a client.
pub(super) fn run(
    client: kube::Client,
    controllers: &ControllerSet,
    fixed: bool,
    restart: &RestartOptions,
) -> Result<(InProcessTask, String), SubjectError> {
    let controllers = controllers.iter().map(|one| one.as_str().parse()).collect::<Result<_, _>>();
    let controllers = controllers.map_err(|error: rollout_controller::UnknownController| {
        SubjectError::Client(format!("this controller cannot bring what is wanted of it: {error}"))
    })?;
    let mut settings = rollout_controller::Settings { controllers, ..rollout_controller::Settings::default() };
    // If the harness's time is simulated, so is the controller's.
    if clock::is_simulated() {
        settings.clock = rollout_controller::Clock::starting_at(clock::now());
    }
    settings.restart = restart_settings(restart)?;
    if fixed {
        settings.compatibility = rollout_controller::Compatibility::Fixed;
    }
    let (stop, stopped) = oneshot::channel::<()>();
    let ended = Arc::new(Mutex::new(None));
    let reason = Arc::clone(&ended);
    let handle = tokio::spawn(async move {
        let stopped = async {
            stopped.await.ok();
        };
        let outcome = rollout_controller::run(client, settings, stopped).await;
        let why = outcome.map_or_else(|error| error.to_string(), |()| "it returned".to_owned());
        reason.lock().unwrap_or_else(std::sync::PoisonError::into_inner).get_or_insert(why);
    });
    Ok((InProcessTask { stop, handle, ended }, format!("rollout-controller {}", env!("CARGO_PKG_VERSION"))))
}

/// A controller with one rule changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mutant {
    /// The name.
    pub name: String,
    /// The controller whose rule is changed.
    pub controller: Controller,
    /// What it does differently, worded to follow "it".
    pub behaviour: String,
}

/// The mutants of this build: none without the feature `mutants`.
pub fn list_mutants() -> Vec<Mutant> {
    #[cfg(feature = "mutants")]
    return rollout_controller::mutants::BANK
        .iter()
        .map(|mutant| {
            use rollout_controller::mutants::MutatedController;
            let controller = match mutant.of {
                MutatedController::Deployment => Controller::Deployment,
                MutatedController::ReplicaSet => Controller::ReplicaSet,
                MutatedController::ConfigRestart => Controller::ConfigRestart,
            };
            Mutant { name: mutant.name.to_owned(), controller, behaviour: mutant.does.to_owned() }
        })
        .collect();
    #[cfg(not(feature = "mutants"))]
    Vec::new()
}

/// Calls a function with a mutant in place of the controller on this thread, if this build has it.
pub fn with_mutant<T>(name: &str, function: impl FnOnce() -> T) -> Option<T> {
    #[cfg(feature = "mutants")]
    {
        let mutant = rollout_controller::mutants::BANK.iter().find(|mutant| mutant.name == name)?;
        Some(rollout_controller::mutants::with_mutant(mutant.name, function))
    }
    #[cfg(not(feature = "mutants"))]
    {
        let _ = (name, function);
        None
    }
}

/// Converts a case's restart options to the controller's settings.
fn restart_settings(options: &RestartOptions) -> Result<rollout_controller::RestartSettings, SubjectError> {
    let mut settings = rollout_controller::RestartSettings {
        profile: match options.profile {
            RestartProfile::Xing => rollout_controller::Profile::Xing,
            RestartProfile::Safe => rollout_controller::Profile::Safe,
            RestartProfile::Reloader => rollout_controller::Profile::Reloader,
        },
        // The profiles of other controllers use those controllers' checksums, which have no key.
        secrets: match options.profile {
            RestartProfile::Xing | RestartProfile::Reloader => rollout_controller::SecretChecksums::Unkeyed,
            RestartProfile::Safe => rollout_controller::SecretChecksums::Keyed(checksum_keys()),
        },
        reloader: reloader(options).map_err(SubjectError::Client)?,
        ignored_errors: options.ignored_errors.clone(),
        dry_run: options.dry_run,
        ..rollout_controller::RestartSettings::default()
    };
    settings.window.grace_period = options.grace_period.unwrap_or(settings.window.grace_period);
    settings.window.longest = options.max_wait.unwrap_or(settings.window.longest);
    if let Some((restarts, period)) = options.budget {
        settings.budget = rollout_controller::Budget { restarts, period };
    }
    settings.webhook = options.webhook.map(webhook);
    if options.webhook == Some(RestartWebhook::Instead) {
        settings.reloader.webhook = Some(rollout_controller::WebhookUrl(WEBHOOK.to_owned()));
    }
    Ok(settings)
}

/// The webhook that a case observes.
fn webhook(of: RestartWebhook) -> rollout_controller::Webhook {
    let format = match of {
        RestartWebhook::Json | RestartWebhook::Instead => rollout_controller::WebhookFormat::Json,
        RestartWebhook::Raw => rollout_controller::WebhookFormat::Raw,
        RestartWebhook::Slack => rollout_controller::WebhookFormat::Slack,
        RestartWebhook::Teams => rollout_controller::WebhookFormat::Teams,
        RestartWebhook::GoogleChat => rollout_controller::WebhookFormat::GoogleChat,
    };
    let plain = rollout_controller::Webhook::plain(rollout_controller::WebhookUrl(WEBHOOK.to_owned()));
    rollout_controller::Webhook { format, ..plain }
}

/// The settings for a case's Reloader flags.
fn reloader(options: &RestartOptions) -> Result<rollout_controller::ReloaderSettings, String> {
    let flags = options.flags.iter().map(String::as_str);
    rollout_controller::ReloaderSettings::from_flags(flags).map_err(|error| error.to_string())
}

/// Why it does not support these restart options, if it does not.
pub(super) fn lacks(options: &RestartOptions) -> Option<String> {
    reloader(options).err()
}

/// The key for the checksums of Secrets: constant, so that identical arguments give an identical
/// run. It protects nothing: cases contain what they write into Secrets.
const CHECKSUM_KEY: &[u8] = b"lockstep: the same key in each run";

fn checksum_keys() -> rollout_controller::ChecksumKeys {
    rollout_controller::ChecksumKeys::new(CHECKSUM_KEY, None).expect("it is longer than 32 bytes")
}

impl InProcessTask {
    /// Why the task has ended, if it has.
    pub(super) fn ended(&self) -> Option<String> {
        let reason = self.ended.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone();
        reason.or_else(|| self.handle.is_finished().then(|| "it panicked".to_owned()))
    }

    /// Aborts it.
    pub(super) async fn kill(self) {
        self.handle.abort();
        self.handle.await.ok();
    }

    /// Stops it and waits.
    pub(super) async fn stop(self) {
        self.stop.send(()).ok();
        let mut handle = self.handle;
        if tokio::time::timeout(Duration::from_secs(3), &mut handle).await.is_err() {
            handle.abort();
            handle.await.ok();
        }
    }
}

/// The binary: the given one, else the one that was built beside the harness.
pub(super) fn binary(path: Option<&Path>) -> Result<PathBuf, SubjectError> {
    let beside = || {
        let me = std::env::current_exe().unwrap_or_default();
        let folder = me.parent().unwrap_or(Path::new("."));
        // Test binaries are one folder deeper.
        let folder = if folder.ends_with("deps") { folder.parent().unwrap_or(folder) } else { folder };
        folder.join("rollout-controller")
    };
    let path = path.map_or_else(beside, Path::to_owned);
    if path.is_file() {
        return Ok(std::path::absolute(path)?);
    }
    Err(SubjectError::Missing {
        item: "the controller's binary",
        path: path.display().to_string(),
        remedy: "build it with `cargo build --package rollout-controller`",
    })
}

/// The binary's arguments: as for upstream no leader election, and client limits that do not
/// throttle.
pub(super) fn arguments(context: &StartContext<'_>) -> Result<Vec<String>, SubjectError> {
    let mut arguments = vec![
        format!("--controllers={}", context.controllers),
        "--leader-elect=false".into(),
        "--kube-api-qps=2000".into(),
        "--kube-api-burst=4000".into(),
    ];
    if context.controllers.has(Controller::ConfigRestart) {
        let folder = context.folder.join("checksum-keys");
        lockstep_support::private_fs::write(&folder.join("key"), CHECKSUM_KEY)?;
        arguments.push(format!("--secret-checksum-keys={}", folder.display()));
    }
    Ok(arguments)
}

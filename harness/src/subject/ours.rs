//! This project's controller: the only place in the harness that names its crate. With the feature
//! `mutants` it is the crate with the same interface and the mutant bank in it.
//!
//! In process it is a task with a client of its own, built from the same kubeconfig that a child
//! process gets, so every request still goes through the interceptor.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

#[cfg(feature = "mutants")]
use rollout_controller_mutants as rollout_controller;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::{Stage, SubjectError};
use crate::case::{RestartOptions, RestartProfile, RestartWebhook};
use crate::clock;
use crate::cluster::client_of;
use crate::controllers::{Controller, Controllers};
use crate::intercept::WEBHOOK;
#[cfg(feature = "mutants")]
use crate::mutants::Mutant;

/// The target of what it logs where it is a task of this process. A filter takes it for a prefix,
/// so it covers the crate with the mutant bank as well.
pub const SUBJECT_TARGET: &str = "rollout_controller";

/// The controller as a task of this process.
#[derive(Debug)]
pub(super) struct Task {
    stop: oneshot::Sender<()>,
    handle: JoinHandle<()>,
    ended: Arc<Mutex<Option<String>>>,
}

/// What it has.
pub(super) fn controllers() -> Controllers {
    Controller::ALL.into_iter().collect()
}

/// Start the library; `fixed`: with upstream's defects fixed.
pub(super) async fn start(stage: &Stage<'_>, fixed: bool) -> Result<(Task, String), SubjectError> {
    let client = match &stage.client {
        Some(client) => client.clone(),
        // The interceptor listens on this machine.
        None => client_of(&stage.kubeconfig).map_err(|error| SubjectError::Client(error.to_string()))?,
    };
    run(client, stage.controllers, fixed, stage.restart)
}

/// Start it with these controllers on a client.
pub(super) fn run(
    client: kube::Client,
    controllers: &Controllers,
    fixed: bool,
    restart: &RestartOptions,
) -> Result<(Task, String), SubjectError> {
    let controllers = controllers.iter().map(|one| one.as_str().parse()).collect::<Result<_, _>>();
    let controllers = controllers.map_err(|error: rollout_controller::UnknownController| {
        SubjectError::Client(format!("this controller cannot bring what is wanted of it: {error}"))
    })?;
    let mut settings = rollout_controller::Settings { controllers, ..rollout_controller::Settings::default() };
    // Where the harness's time is simulated the controller's is too.
    if clock::is_simulated() {
        settings.clock = rollout_controller::Clock::starting_at(clock::now());
    }
    settings.restart = restart_settings(restart)?;
    if fixed {
        settings.compatibility = rollout_controller::Compatibility::Fixed;
    }
    let (stop, stopped) = oneshot::channel::<()>();
    let ended = Arc::new(Mutex::new(None));
    let told = Arc::clone(&ended);
    let handle = tokio::spawn(async move {
        let stopped = async {
            stopped.await.ok();
        };
        let outcome = rollout_controller::run(client, settings, stopped).await;
        let why = outcome.map_or_else(|error| error.to_string(), |()| "it returned".to_owned());
        told.lock().unwrap_or_else(std::sync::PoisonError::into_inner).get_or_insert(why);
    });
    Ok((Task { stop, handle, ended }, format!("rollout-controller {}", env!("CARGO_PKG_VERSION"))))
}

/// The mutants that this build has.
#[cfg(feature = "mutants")]
pub(super) fn bank() -> Vec<Mutant> {
    let all = rollout_controller::BANK.iter();
    all.map(|mutant| {
        let of = match mutant.of {
            rollout_controller::ControllerName::Deployment => Controller::Deployment,
            rollout_controller::ControllerName::ReplicaSet => Controller::ReplicaSet,
            rollout_controller::ControllerName::ConfigRestart => Controller::ConfigRestart,
        };
        Mutant { name: mutant.name.to_owned(), of, does: mutant.does.to_owned() }
    })
    .collect()
}

/// Do something on this thread with one of them in the place of the controller.
#[cfg(feature = "mutants")]
pub(super) fn with_mutant<T>(name: &str, something: impl FnOnce() -> T) -> Option<T> {
    let mutant = rollout_controller::BANK.iter().find(|mutant| mutant.name == name)?;
    Some(rollout_controller::with_mutant(mutant.name, something))
}

/// A case's words for restarts in the controller's own.
fn restart_settings(options: &RestartOptions) -> Result<rollout_controller::RestartSettings, SubjectError> {
    let mut settings = rollout_controller::RestartSettings {
        profile: match options.profile {
            RestartProfile::Xing => rollout_controller::Profile::Xing,
            RestartProfile::Safe => rollout_controller::Profile::Safe,
            RestartProfile::Reloader => rollout_controller::Profile::Reloader,
        },
        // The profiles of other controllers have those controllers' checksums, which have no key.
        secrets: match options.profile {
            RestartProfile::Xing | RestartProfile::Reloader => rollout_controller::SecretChecksums::Unkeyed,
            RestartProfile::Safe => rollout_controller::SecretChecksums::Keyed(checksum_keys()),
        },
        reloader: reloader(options).map_err(SubjectError::Client)?,
        ignored_errors: options.ignored_errors.clone(),
        dry_run: options.dry_run,
        ..rollout_controller::RestartSettings::default()
    };
    settings.window.grace_period = options.grace.unwrap_or(settings.window.grace_period);
    settings.window.longest = options.longest.unwrap_or(settings.window.longest);
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

/// What a case's flags of Reloader choose.
fn reloader(options: &RestartOptions) -> Result<rollout_controller::ReloaderSettings, String> {
    let flags = options.flags.iter().map(String::as_str);
    rollout_controller::ReloaderSettings::from_flags(flags).map_err(|error| error.to_string())
}

/// Why it cannot decide restarts with these options, if it cannot.
pub(super) fn lacks(options: &RestartOptions) -> Option<String> {
    reloader(options).err()
}

/// The key for the checksums of Secrets: always the same, so that identical arguments give an
/// identical run. Nothing that it hides is a secret: cases hold what they put into Secrets.
const CHECKSUM_KEY: &[u8] = b"lockstep: the same key in each run";

fn checksum_keys() -> rollout_controller::ChecksumKeys {
    rollout_controller::ChecksumKeys::new(CHECKSUM_KEY, None).expect("it is longer than 32 bytes")
}

impl Task {
    /// Why the task is no longer running.
    pub(super) fn ended(&self) -> Option<String> {
        let said = self.ended.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone();
        said.or_else(|| self.handle.is_finished().then(|| "it panicked".to_owned()))
    }

    /// End it where it stands.
    pub(super) async fn kill(self) {
        self.handle.abort();
        self.handle.await.ok();
    }

    /// End it and wait.
    pub(super) async fn stop(self) {
        self.stop.send(()).ok();
        let mut handle = self.handle;
        if tokio::time::timeout(Duration::from_secs(3), &mut handle).await.is_err() {
            handle.abort();
        }
    }
}

/// The real binary: the one named, else the one that was built beside the harness.
pub(super) fn binary(path: Option<&Path>) -> Result<PathBuf, SubjectError> {
    let beside = || {
        let me = std::env::current_exe().unwrap_or_default();
        let folder = me.parent().unwrap_or(Path::new("."));
        // Test binaries stand one folder deeper.
        let folder = if folder.ends_with("deps") { folder.parent().unwrap_or(folder) } else { folder };
        folder.join("rollout-controller")
    };
    let path = path.map_or_else(beside, Path::to_owned);
    if path.is_file() {
        return Ok(std::path::absolute(path)?);
    }
    Err(SubjectError::Missing {
        what: "the controller's binary",
        path: path.display().to_string(),
        remedy: "build it with `cargo build --package rollout-controller`",
    })
}

/// The binary's arguments. As for upstream: no leader election, and client limits that do not
/// throttle.
pub(super) fn arguments(stage: &Stage<'_>) -> Result<Vec<String>, SubjectError> {
    let mut arguments = vec![
        format!("--controllers={}", stage.controllers),
        "--leader-elect=false".into(),
        "--kube-api-qps=2000".into(),
        "--kube-api-burst=4000".into(),
    ];
    if stage.controllers.has(Controller::ConfigRestart) {
        let folder = stage.folder.join("checksum-keys");
        crate::private::write(&folder.join("key"), CHECKSUM_KEY)?;
        arguments.push(format!("--secret-checksum-keys={}", folder.display()));
    }
    Ok(arguments)
}

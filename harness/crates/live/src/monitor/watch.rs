//! Input and output of the monitor: watches, lines, alerts, metrics and files.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use kube::Client;
use lockstep_cluster::supervise::Interrupt;
use lockstep_support::clock;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::alert::{self, AlertError, AlertUrl, AlertWebhook};
use super::counts::{self, SharedCounts};
use super::model::{BreachReport, ClusterInfo, MonitorOutput, Tolerances};
use super::observed::slim;
use super::{Monitor, evidence};
use crate::capture::{LiveWatch, anonymous, error_message, missing_workload_rights};

/// The time between two polls of the monitor.
const TICK: Duration = Duration::from_millis(250);
/// The seconds after which the server ends a watch, which shows that it has brought everything; at
/// most a third of the time after which a status is checked.
const LONGEST_WATCH: u64 = 30;
/// The milliseconds without any judgement after which that is reported.
const BEHIND: u64 = 120_000;
/// The most alerts in flight; further ones are dropped and counted.
const ALERTS: usize = 64;

/// What to watch, and how to report.
#[derive(Debug, Clone)]
pub struct WatchOptions {
    /// The name of the cluster.
    pub cluster: String,
    /// The namespace; `None`: all.
    pub namespace: Option<String>,
    /// For how long; `None`: until interrupted.
    pub length: Option<Duration>,
    /// How much is tolerated and stored.
    pub terms: Tolerances,
    /// The address at which metrics are served.
    pub metrics: Option<SocketAddr>,
    /// The webhook to which breaches are posted.
    pub webhook: Option<AlertUrl>,
    /// Whether breaches are reported as Events.
    pub events: bool,
    /// The folder of evidence, and the most files in it.
    pub evidence: Option<(PathBuf, usize)>,
}

/// Why the cluster cannot be watched.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// The server does not answer.
    #[error("the cluster does not answer: {0}")]
    Unreachable(String),
    /// The user lacks a permission.
    #[error("this user may not {0}; watch needs list and watch of deployments, replicasets and pods")]
    Rights(String),
    /// Metrics cannot be served.
    #[error("metrics cannot be served at {address}: {source}; choose another address with --metrics")]
    Metrics {
        /// The address.
        address: SocketAddr,
        /// The system's error.
        source: std::io::Error,
    },
    /// Evidence cannot be kept.
    #[error("evidence cannot be kept in {}: {source}; choose another folder with --evidence", folder.display())]
    Evidence {
        /// The folder.
        folder: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// The webhook cannot be used.
    #[error(transparent)]
    Alert(#[from] AlertError),
}

/// A message while watching.
#[derive(Debug)]
pub enum WatchMessage<'a> {
    /// A breach that was not reported a short time ago.
    Breach(&'a BreachReport),
    /// A note about the progress.
    Note(&'a str),
}

/// Watch until the time is over, or until interrupted; returns the number of breaches.
///
/// # Errors
/// See [`WatchError`]; once the watches are open, errors are reported as messages.
pub async fn watch(
    client: &Client,
    options: &WatchOptions,
    interrupt: &Interrupt,
    report: impl Fn(WatchMessage<'_>),
) -> Result<u64, WatchError> {
    let unreachable = |error: kube::Error| WatchError::Unreachable(error_message(&error));
    let version = client.apiserver_version().await.map_err(unreachable)?.git_version;
    let namespace = options.namespace.as_deref();
    let missing = missing_workload_rights(client, namespace).await.map_err(WatchError::Unreachable)?;
    if !missing.is_empty() {
        return Err(WatchError::Rights(missing.join(", ")));
    }
    let mut terms = options.terms;
    if options.evidence.is_none() {
        terms.bytes = 0;
    }
    let cluster_info = ClusterInfo { cluster: options.cluster.clone(), version, began: clock::now() };
    if let Some((folder, _)) = &options.evidence {
        evidence::prepare(folder).map_err(|source| WatchError::Evidence { folder: folder.clone(), source })?;
    }
    let mut work = OutputTasks::new(client, options, Monitor::new(terms, cluster_info)).await?;
    let began = clock::instant();
    let (sender, mut updates) = mpsc::channel(1024);
    let mut watches = JoinSet::new();
    let length = u32::try_from((terms.settle / 3_000).clamp(1, LONGEST_WATCH)).unwrap_or(1);
    for stream in LiveWatch::everywhere(client, namespace, length, slim) {
        watches.spawn(stream.follow(sender.clone()));
    }
    let stop = async {
        match options.length {
            Some(length) => clock::sleep(length).await,
            None => std::future::pending().await,
        }
    };
    let mut stop = std::pin::pin!(stop);
    let mut interrupted = std::pin::pin!(interrupt.wait());
    let mut last_look = began;
    loop {
        let remaining = TICK.saturating_sub(last_look.elapsed());
        tokio::select! {
            biased;
            _ = &mut interrupted => break,
            () = &mut stop => break,
            () = clock::sleep(remaining) => {
                last_look = clock::instant();
                let outputs = work.monitor.poll(clock::millis_since(began));
                work.out(outputs, &report);
            }
            Some(update) = updates.recv() => work.monitor.take(update, clock::millis_since(began)),
            Some(done) = work.under_way.join_next() => work.done(done.ok(), &report),
        }
    }
    watches.shutdown().await;
    let mut last = work.monitor.poll(clock::millis_since(began));
    last.extend(work.monitor.end());
    work.out(last, &report);
    // Pending tasks get a moment to finish: an interrupted process has two seconds.
    let finish = async {
        while let Some(done) = work.under_way.join_next().await {
            work.done(done.ok(), &report);
        }
    };
    tokio::select! {
        () = finish => {}
        () = clock::sleep(Duration::from_millis(1_500)) => {}
    }
    Ok(work.monitor.counts.all_breaches())
}

/// What kind of alert or file it was, and the result.
type TaskResult = (&'static str, Result<(), String>);

/// Handles the monitor's results.
struct OutputTasks<'a> {
    client: &'a Client,
    options: &'a WatchOptions,
    monitor: Monitor,
    webhook: Option<AlertWebhook>,
    counts: SharedCounts,
    under_way: JoinSet<TaskResult>,
    _server: JoinSet<()>,
    is_behind: bool,
}

impl<'a> OutputTasks<'a> {
    async fn new(client: &'a Client, options: &'a WatchOptions, monitor: Monitor) -> Result<Self, WatchError> {
        let webhook = options.webhook.as_ref().map(AlertWebhook::new).transpose()?;
        let counts = SharedCounts::default();
        let mut server = JoinSet::new();
        if let Some(address) = options.metrics {
            let listener = counts::listen(address).await.map_err(|source| WatchError::Metrics { address, source })?;
            server.spawn(counts::serve(listener, Arc::clone(&counts)));
        }
        let under_way = JoinSet::new();
        Ok(Self { client, options, monitor, webhook, counts, under_way, _server: server, is_behind: false })
    }

    fn out(&mut self, outputs: Vec<MonitorOutput>, report: &impl Fn(WatchMessage<'_>)) {
        for output in outputs {
            match output {
                MonitorOutput::Breach(breach) => self.breach(*breach, report),
                MonitorOutput::Evidence(file, recording) => {
                    let Some((folder, most)) = self.options.evidence.clone() else { continue };
                    let anonymise = self.options.terms.anonymise;
                    self.under_way.spawn_blocking(move || {
                        let recording = if anonymise { anonymous(&recording) } else { *recording };
                        let kept = evidence::keep(&folder, &file, &recording, most);
                        ("evidence", kept.map_err(|error| format!("{}: {error}", folder.join(&file).display())))
                    });
                }
                MonitorOutput::Note(note) => report(WatchMessage::Note(&note)),
            }
        }
        let is_behind = self.monitor.counts.behind > BEHIND;
        if is_behind && !self.is_behind {
            let why = self.monitor.trouble();
            let why = why.as_deref().unwrap_or("the cluster does not answer a watch");
            report(WatchMessage::Note(&format!("nothing could be judged for two minutes: {why}")));
        }
        self.is_behind = is_behind;
        self.counts.lock().unwrap_or_else(PoisonError::into_inner).clone_from(&self.monitor.counts);
    }

    fn breach(&mut self, mut breach: BreachReport, report: &impl Fn(WatchMessage<'_>)) {
        if breach.is_repeated {
            return;
        }
        breach.evidence = breach
            .evidence
            .zip(self.options.evidence.as_ref())
            .map(|(file, (folder, _))| folder.join(file).display().to_string());
        report(WatchMessage::Breach(&breach));
        if let Some(webhook) = self.webhook.clone() {
            let breach = breach.clone();
            self.send("webhook", async { webhook.post(breach).await });
        }
        if self.options.events {
            self.send("event", alert::event(self.client.clone(), breach));
        }
    }

    fn send(&mut self, kind: &'static str, alert: impl Future<Output = Result<(), String>> + Send + 'static) {
        if self.under_way.len() >= ALERTS {
            self.monitor.counts.count_failure(kind);
            return;
        }
        self.under_way.spawn(async move { (kind, alert.await) });
    }

    fn done(&mut self, done: Option<TaskResult>, report: &impl Fn(WatchMessage<'_>)) {
        // A task that panicked counts as failed.
        let (kind, outcome) = done.unwrap_or(("panic", Err("it panicked".to_owned())));
        if let Err(why) = outcome {
            self.monitor.counts.count_failure(kind);
            report(WatchMessage::Note(&format!("the {kind} was lost: {why}")));
        }
    }
}

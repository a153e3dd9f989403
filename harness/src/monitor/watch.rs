//! The thin part: watches in, lines, alerts, metrics and files out.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use kube::Client;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::Monitor;
use super::alert::{self, AlertError, Webhook, WebhookUrl};
use super::breach::Breach;
use super::folder;
use super::model::{Output, Place, Terms};
use super::seen::slim;
use super::serve::{self, Shown};
use crate::capture::{Stream, anonymous, missing_workload_rights, said};
use crate::clock;
use crate::supervise::Interrupt;

/// How often it is looked what is to be said.
const TICK: Duration = Duration::from_millis(250);
/// A watch that has lasted so many seconds is opened anew, which shows that it was not dead; no
/// longer than a third of the time after which a status is asked.
const LONGEST_WATCH: u64 = 30;
/// If nothing could be judged for so many milliseconds, that is said.
const BEHIND: u64 = 120_000;
/// As many alerts may be under way at once; more are lost, and counted.
const ALERTS: usize = 64;

/// What is to be watched, and who is told.
#[derive(Debug, Clone)]
pub struct Wish {
    /// What the cluster is called.
    pub cluster: String,
    /// The namespace; `None`: all.
    pub namespace: Option<String>,
    /// For how long; `None`: until interrupted.
    pub length: Option<Duration>,
    /// How much is forgiven and kept.
    pub terms: Terms,
    /// Where metrics are served.
    pub metrics: Option<SocketAddr>,
    /// Where breaches are posted.
    pub webhook: Option<WebhookUrl>,
    /// Whether Events are written.
    pub events: bool,
    /// The folder of evidence, and how many files it may have.
    pub evidence: Option<(PathBuf, usize)>,
}

/// Why nothing is watched.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// The server does not answer.
    #[error("the cluster does not answer: {0}")]
    Unreachable(String),
    /// This user may not read what is needed.
    #[error("this user may not {0}; watch needs list and watch of deployments, replicasets and pods")]
    Rights(String),
    /// Metrics cannot be served.
    #[error("metrics cannot be served at {address}: {source}; choose another address with --metrics")]
    Metrics {
        /// Where.
        address: SocketAddr,
        /// What the system says.
        source: std::io::Error,
    },
    /// The webhook is of no use.
    #[error(transparent)]
    Alert(#[from] AlertError),
}

/// What is said meanwhile.
#[derive(Debug)]
pub enum Said<'a> {
    /// A breach that was not reported a short time ago.
    Breach(&'a Breach),
    /// Something about the work.
    Note(&'a str),
}

/// Watch until the time is over, or until interrupted; how many breaches there were.
///
/// # Errors
/// See [`WatchError`]; once the watches are open, troubles are said.
pub async fn watch(
    client: &Client,
    wish: &Wish,
    interrupt: &Interrupt,
    say: impl Fn(Said<'_>),
) -> Result<u64, WatchError> {
    let unreachable = |error: kube::Error| WatchError::Unreachable(said(&error));
    let version = client.apiserver_version().await.map_err(unreachable)?.git_version;
    let namespace = wish.namespace.as_deref();
    let missing = missing_workload_rights(client, namespace).await.map_err(WatchError::Unreachable)?;
    if !missing.is_empty() {
        return Err(WatchError::Rights(missing.join(", ")));
    }
    let mut terms = wish.terms;
    if wish.evidence.is_none() {
        terms.bytes = 0;
    }
    let place = Place { cluster: wish.cluster.clone(), version, began: clock::now() };
    let mut work = Work::new(client, wish, Monitor::new(terms, place)).await?;
    let began = clock::instant();
    let (sender, mut seen) = mpsc::channel(1024);
    let mut watches = JoinSet::new();
    let length = u32::try_from((terms.settle / 3_000).clamp(1, LONGEST_WATCH)).unwrap_or(1);
    for stream in Stream::everywhere(client, namespace, length, slim) {
        watches.spawn(stream.follow(sender.clone()));
    }
    let stop = async {
        match wish.length {
            Some(length) => clock::sleep(length).await,
            None => std::future::pending().await,
        }
    };
    let mut stop = std::pin::pin!(stop);
    let mut raised = std::pin::pin!(interrupt.raised());
    let mut looked = began;
    loop {
        let rest = TICK.saturating_sub(looked.elapsed());
        tokio::select! {
            biased;
            _ = &mut raised => break,
            () = &mut stop => break,
            () = clock::sleep(rest) => {
                looked = clock::instant();
                let outputs = work.monitor.look(clock::millis_since(began));
                work.out(outputs, &say);
            }
            Some(news) = seen.recv() => work.monitor.take(news, clock::millis_since(began)),
            Some(done) = work.under_way.join_next() => work.done(done.ok(), &say),
        }
    }
    watches.shutdown().await;
    let mut last = work.monitor.look(clock::millis_since(began));
    last.extend(work.monitor.end());
    work.out(last, &say);
    // What is under way has a moment: an interrupted process has two seconds.
    let finish = async {
        while let Some(done) = work.under_way.join_next().await {
            work.done(done.ok(), &say);
        }
    };
    tokio::select! {
        () = finish => {}
        () = clock::sleep(Duration::from_millis(1_500)) => {}
    }
    Ok(work.monitor.counts.all_breaches())
}

/// What one alert or file was, and what became of it.
type Done = (&'static str, Result<(), String>);

/// All that is done about what comes out.
struct Work<'a> {
    client: &'a Client,
    wish: &'a Wish,
    monitor: Monitor,
    webhook: Option<Webhook>,
    shown: Shown,
    under_way: JoinSet<Done>,
    _server: JoinSet<()>,
    is_behind: bool,
}

impl<'a> Work<'a> {
    async fn new(client: &'a Client, wish: &'a Wish, monitor: Monitor) -> Result<Self, WatchError> {
        let webhook = wish.webhook.as_ref().map(Webhook::new).transpose()?;
        let shown = Shown::default();
        let mut server = JoinSet::new();
        if let Some(address) = wish.metrics {
            let listener = serve::listen(address).await.map_err(|source| WatchError::Metrics { address, source })?;
            server.spawn(serve::serve(listener, Arc::clone(&shown)));
        }
        let under_way = JoinSet::new();
        Ok(Self { client, wish, monitor, webhook, shown, under_way, _server: server, is_behind: false })
    }

    fn out(&mut self, outputs: Vec<Output>, say: &impl Fn(Said<'_>)) {
        for output in outputs {
            match output {
                Output::Breach(breach) => self.breach(*breach, say),
                Output::Evidence(file, recording) => {
                    let Some((folder, most)) = self.wish.evidence.clone() else { continue };
                    let anonymise = self.wish.terms.anonymise;
                    self.under_way.spawn_blocking(move || {
                        let recording = if anonymise { anonymous(&recording) } else { *recording };
                        let kept = folder::keep(&folder, &file, &recording, most);
                        ("evidence", kept.map_err(|error| format!("{}: {error}", folder.join(&file).display())))
                    });
                }
                Output::Note(note) => say(Said::Note(&note)),
            }
        }
        let is_behind = self.monitor.counts.behind > BEHIND;
        if is_behind && !self.is_behind {
            let why = self.monitor.trouble();
            let why = why.as_deref().unwrap_or("the cluster does not answer a watch");
            say(Said::Note(&format!("nothing could be judged for two minutes: {why}")));
        }
        self.is_behind = is_behind;
        self.shown.lock().unwrap_or_else(PoisonError::into_inner).clone_from(&self.monitor.counts);
    }

    fn breach(&mut self, mut breach: Breach, say: &impl Fn(Said<'_>)) {
        if breach.is_repeated {
            return;
        }
        breach.evidence = breach
            .evidence
            .zip(self.wish.evidence.as_ref())
            .map(|(file, (folder, _))| folder.join(file).display().to_string());
        say(Said::Breach(&breach));
        if let Some(webhook) = self.webhook.clone() {
            let breach = breach.clone();
            self.send("webhook", async { webhook.post(breach).await });
        }
        if self.wish.events {
            self.send("event", alert::event(self.client.clone(), breach));
        }
    }

    fn send(&mut self, what: &'static str, alert: impl Future<Output = Result<(), String>> + Send + 'static) {
        if self.under_way.len() >= ALERTS {
            self.monitor.counts.failed(what);
            return;
        }
        self.under_way.spawn(async move { (what, alert.await) });
    }

    fn done(&mut self, done: Option<Done>, say: &impl Fn(Said<'_>)) {
        // One that panicked is as lost as one that failed.
        let (what, outcome) = done.unwrap_or(("panic", Err("it panicked".to_owned())));
        if let Err(why) = outcome {
            self.monitor.counts.failed(what);
            say(Said::Note(&format!("the {what} was lost: {why}")));
        }
    }
}

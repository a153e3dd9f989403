//! Starts a subject, and waits until it works.
//!
//! The budget of a step counts from then on, as a slow start is not a wrong decision: a program may
//! take long to load, and the successor of a killed leader waits until its lease has expired. A
//! subject that makes no request within [`PATIENCE`] is non-conformant: the cluster answers and the
//! program runs, but it will never act. A subject that still waits for its lease is not, as the
//! harness killed the run that holds it.

use std::time::Duration;

use lockstep_case::RestartOptions;
use lockstep_cluster::kubeconfig;
use lockstep_intercept::{Interceptor, InterceptorLog, RequestsSinceStart};
use lockstep_recording::controllers::Controller;
use lockstep_recording::secret::Redaction;
use lockstep_recording::{Blame, Trouble};
use lockstep_subject::{
    InCluster, InterceptorEndpoint, RunningSubject, ServiceAccount, StartContext, SubjectError, SubjectSpec,
};
use lockstep_support::clock;

use crate::observe::Probe;
use crate::observe::probe::Reach;
use crate::{Environment, EnvironmentError, SessionOptions};

/// How long a subject may take from its start until it works, unless a step may take longer: four
/// times the usual duration of a lease.
const PATIENCE: Duration = Duration::from_secs(60);
/// How often to check whether its process has ended.
const LOOK: Duration = Duration::from_millis(50);
/// How often a subject is started in a row. More than once, because a controller may race with its
/// own last run, such as for a port.
const STARTS: u32 = 3;
/// The pause between two starts, multiplied by the number of the start.
const BETWEEN: Duration = Duration::from_millis(200);

pub(super) struct SubjectStart<'a> {
    pub(super) environment: &'a Environment,
    pub(super) spec: &'a SubjectSpec,
    pub(super) interceptor: &'a Interceptor,
    pub(super) probe: &'a Probe,
    pub(super) options: &'a SessionOptions,
    /// The values of earlier cases, which it may print.
    pub(super) redaction: Redaction,
}

impl SubjectStart<'_> {
    /// Start the subject for the first time. Also returns whether it has taken the probe up.
    pub(super) async fn start_first(&self) -> Result<(RunningSubject, bool), EnvironmentError> {
        let budget = self.options.budget;
        self.start_until_alive(async |subject: &RunningSubject| {
            self.probe.wait_until_taken_up(budget, &|| subject.exited().is_some()).await
        })
        .await
    }

    /// Start the subject again. The probe exists already: one flip through the subject shows that
    /// it follows.
    pub(super) async fn restart(&self) -> Result<RunningSubject, EnvironmentError> {
        let budget = self.options.budget;
        let follows = async |subject: &RunningSubject| {
            self.probe.flip(budget, &|| subject.exited().is_some()).await == Reach::Subject
        };
        self.start_until_alive(follows).await.map(|(subject, _)| subject)
    }

    /// Start the subject until it still runs when it `follows` the probe, or when it could have.
    async fn start_until_alive(
        &self,
        follows: impl AsyncFn(&RunningSubject) -> bool,
    ) -> Result<(RunningSubject, bool), EnvironmentError> {
        let Self { environment, spec, interceptor, probe, options, ref redaction } = *self;
        let (log, was_served) = (interceptor.log(), probe.is_taken_up());
        let (mut why, mut blame) = (String::new(), Blame::Subject);
        for start in 1..=STARTS {
            let subject = start_subject(environment, spec, interceptor, &probe.namespace, options).await?;
            // A subject that bypasses its interceptor serves the probe without a request.
            let is_served = || !was_served && probe.is_taken_up();
            let over = || subject.exited().is_some() || is_served();
            let is_at_work = until_at_work(log, options.budget, over).await;
            // For a controller that does not act on the probe, its first request is all that can be
            // waited for.
            let reacts = Controller::UPSTREAM.into_iter().any(|one| environment.under_test().has(one));
            let acts = is_at_work || is_served() || log.since_start().requests() > 0;
            let follows = if reacts { acts && follows(&subject).await } else { is_at_work };
            let Some(ended) = subject.exited() else { return Ok((subject, follows)) };
            (why, blame) = (redaction.output(&ended.why), ended.blame);
            tracing::debug!(start, why, "the subject ended while it started");
            subject.stop().await;
            clock::pause(BETWEEN * start).await;
        }
        // Several processes of it run side by side, and so do other programs of the machine.
        if why.to_lowercase().contains("address already in use") {
            why +=
                "\n  a port that it needs is taken: -j 1 runs one process of it; better let it take any port, or none";
            blame = Blame::Environment;
        }
        Err(SubjectError::EndsAtStart { subject: spec.to_string(), times: STARTS, blame, why }.into())
    }
}

/// Start a subject of this kind once, behind its interceptor.
pub(super) async fn start_subject(
    environment: &Environment,
    spec: &SubjectSpec,
    interceptor: &Interceptor,
    namespace: &str,
    options: &SessionOptions,
) -> Result<RunningSubject, EnvironmentError> {
    let folder = environment.folder.join(namespace);
    let profile = options.profile.unwrap_or(options.restart.profile);
    let restart = &RestartOptions { profile, ..options.restart.clone() };
    let access = environment.cluster.access();
    let kubeconfig = match options.bypass_interceptor {
        true => kubeconfig(&access.server, &access.ca_pem, &access.subject_token),
        false => interceptor.kubeconfig(),
    };
    let (supervisor, controllers) = (environment.supervisor.as_ref(), environment.under_test());
    let node = environment.cluster.node().filter(|_| spec.is_inside());
    let in_cluster = node.map(|node| InCluster { client: &environment.client, node, interceptor });
    let service_account = options.process.in_cluster.then(|| ServiceAccount {
        address: interceptor.address(),
        ca_pem: interceptor.ca_pem().to_owned(),
        token: access.subject_token.clone(),
        namespace: namespace.to_owned(),
    });
    let client = interceptor.client();
    let listener = InterceptorEndpoint { url: interceptor.url().to_owned(), ca_pem: interceptor.ca_pem().to_owned() };
    let virtual_time = environment.virtual_time.clone();
    let folder = folder.as_path();
    let context = StartContext {
        kubeconfig,
        client,
        folder,
        virtual_time,
        supervisor,
        controllers,
        restart,
        in_cluster,
        service_account,
        variables: &options.process.variables,
        interceptor: listener,
    };
    interceptor.log().subject_starts();
    let subject = spec.start(&context).await?;
    interceptor.log().subject_runs();
    Ok(subject)
}

/// Wait until the subject works, until its time is up, or until it is `over`; returns whether it
/// works.
pub(super) async fn until_at_work(log: &InterceptorLog, budget: Duration, over: impl Fn() -> bool) -> bool {
    let patience = PATIENCE.max(budget);
    loop {
        // Listen first, so that no progress is missed.
        let mut progress = log.listen();
        let since = log.since_start();
        if since.working_since().is_some() {
            return true;
        }
        let left = patience.saturating_sub(since.elapsed());
        if left.is_zero() || over() {
            return false;
        }
        tokio::time::timeout(left.min(LOOK), progress.changed()).await.ok();
    }
}

/// Why a subject that does not work yet will not act, as far as its requests show.
pub(super) fn explain_idleness(since: &RequestsSinceStart) -> Option<Trouble> {
    let started = if since.is_restart() { "was started again" } else { "was started" };
    let seconds = since.elapsed().as_secs();
    if let Some(lease) = since.awaited_lease() {
        let why = format!(
            "the subject has not got its lease {lease} in the {seconds} s since it {started}, and does nothing without it; \
             turn its leader election off, or let the lease expire sooner"
        );
        return Some(Trouble::new(Blame::Environment, why));
    }
    (since.requests() == 0).then(|| {
        Trouble::new(Blame::Subject, format!("the subject made no request in the {seconds} s since it {started}"))
    })
}

/// Why a running subject has not served the probe, and what follows from that.
pub(super) fn describe_unserved_probe(
    environment: &Environment,
    log: &InterceptorLog,
    probe: &Probe,
    budget: Duration,
) -> String {
    let since = log.since_start();
    let why = match explain_idleness(&since) {
        Some(trouble) => trouble.why,
        None if Controller::UPSTREAM.into_iter().any(|one| environment.under_test().has(one)) => {
            format!("{} (after {budget:?})", probe.discrepancy().why)
        }
        None => format!("none of its requests looks for objects in all namespaces ({} so far)", since.requests()),
    };
    format!("{why}; until the subject serves the probe, no step settles and no case is conformant")
}

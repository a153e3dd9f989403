//! The arguments of all commands that play cases: the cluster, the time limits, and how to play.

use std::collections::{BTreeMap, BTreeSet};
use std::env::VarError;
use std::num::NonZeroUsize;
use std::ops::RangeInclusive;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use lockstep_case::model::PodKind;
use lockstep_case::{Case, RestartProfile};
use lockstep_cluster::supervise::{self, Interrupt};
use lockstep_cluster::{self as cluster, SiteName};
use lockstep_recording::Recording;
use lockstep_recording::controllers::{Controller, ControllerSet};
use lockstep_runner::SubjectOptions;
use lockstep_runner::run::{ClusterSource, Setup, Subscribers};
use lockstep_subject::{ClusterControllers, Reference, ServiceAccount, SubjectError, SubjectSpec};
use lockstep_workload::Workload;

use super::CliError;
use super::choice::{CaseChoice, SubjectScope};
use super::cluster_args::ClusterArgs;
use super::out::note;
use super::progress::Progress;
use super::reporter::{ProgressReporter, messages};
use super::select::CaseSelection;

/// Where and how to play cases.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Playing")]
pub(super) struct PlayArgs {
    #[command(flatten)]
    pub(super) cluster_args: ClusterArgs,
    #[command(flatten)]
    scope: ScopeArgs,
    #[command(flatten)]
    pub(super) common: CommonPlayArgs,
    /// Who runs the pods: the case alone, or a kubelet [default: as each case says].
    ///
    /// `real` needs kind; the case then holds a readiness gate.
    #[arg(help_heading = "Playing", long, hide_short_help = true, value_enum, value_name = "KIND")]
    pods: Option<PodsArgument>,
}

/// What the subjects bring and follow, which selects cases.
#[derive(Debug, Clone, Default, clap::Args)]
pub(super) struct ScopeArgs {
    /// Controllers under test, such as deployment,replicaset [default: those that each case
    /// judges].
    ///
    /// The cluster runs all others, from upstream.
    #[arg(help_heading = "Subject", long, hide_short_help = true, value_name = "CONTROLLERS")]
    controllers: Option<ControllerSet>,
    /// Only config-restart cases of this profile: xing, safe or reloader [default: safe].
    ///
    /// Our own controller is given each case's profile and plays xing and safe.
    #[arg(help_heading = "Subject", long, hide_short_help = true, value_name = "PROFILE")]
    profile: Option<RestartProfile>,
    /// Run this controller beside the subject, which shares its work: upstream or upstream:VERSION.
    ///
    /// It brings the controllers under test as well, and acts in real time on the same Deployments.
    /// What it writes is not judged as the subject's. Needs --workload, which says what the
    /// subject's share is.
    #[arg(help_heading = "Subject", long, hide_short_help = true, value_name = "CONTROLLER", value_parser = beside)]
    beside: Option<SubjectSpec>,
}

/// How to play, of the commands that play on the simulated cluster only, too.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct CommonPlayArgs {
    /// Play the cases on this kind in place of Deployments: argo-rollouts, or a file.
    ///
    /// Every Deployment of a case is written as this kind, and read as a Deployment. The file says
    /// where the kind has a Deployment's fields. For subjects command:PROGRAM and
    /// deployment:MANIFEST, on the Deployment controller's cases.
    #[arg(help_heading = "Subject", long, hide_short_help = true, value_name = "WORKLOAD")]
    workload: Option<Workload>,
    /// Give a `command:` subject the environment of a pod.
    ///
    /// KUBERNETES_SERVICE_HOST, KUBERNETES_SERVICE_PORT and the files of a service account, mounted
    /// for it alone.
    #[arg(help_heading = "Subject", long, hide_short_help = true)]
    in_cluster: bool,
    /// Pass this variable to a subject that is a process; repeat it for several.
    ///
    /// A subject gets PATH, HOME, KUBECONFIG, TMPDIR, the locale, NO_PROXY, SSL_CERT_FILE and
    /// SSL_CERT_DIR, what Go's and Rust's runtimes read, and no other variable.
    #[arg(help_heading = "Subject", long, hide_short_help = true, value_name = "NAME", value_parser = variable)]
    subject_env: Vec<String>,
    /// How long a step may take to settle before it fails.
    ///
    /// In proportion longer where a case wants more than 1000 pods.
    #[arg(help_heading = "Playing", long, default_value = "20s", value_name = "TIME", value_parser = budget)]
    budget: Duration,
    /// sim: the seed of names and delays; for `run` also a range, such as 1..1000.
    ///
    /// Both ends are included. The seed also chooses among faults. With 0 nothing is delayed.
    /// Identical arguments give an identical run.
    #[arg(help_heading = "Playing", long, default_value = "0", value_name = "N|FROM..TO")]
    seeds: SeedRange,
    /// sim: play each case N times [without N: twice] and compare every request and answer.
    #[arg(help_heading = "Playing", long, hide_short_help = true, value_name = "N")]
    #[arg(num_args = 0..=1, require_equals = true, default_missing_value = "2")]
    #[arg(value_parser = clap::value_parser!(u32).range(2..=10_000))]
    check_determinism: Option<u32>,
    /// sim: whose controllers run beside the subject: simulated, upstream or upstream:VERSION.
    ///
    /// `simulated`: this project's ReplicaSet controller (and Deployment controller, where the
    /// subject has another) and the simulated server's garbage collector. `upstream`:
    /// kube-controller-manager's own, in virtual time, once `scripts/fetch virtual` has built
    /// them; the subject is then `ours` or `upstream`.
    #[arg(help_heading = "Playing", long, hide_short_help = true, default_value_t, value_name = "CONTROLLERS")]
    cluster_controllers: ClusterControllers,
    /// Cases played in parallel [default: number of cores on sim, twice as many elsewhere].
    ///
    /// On sim each has a cluster of its own. Elsewhere they are played in namespaces of one
    /// cluster, beside each other unless a case stops the subject, or holds or breaks what passes
    /// between it and the server.
    #[arg(help_heading = "Playing", short = 'j', long, value_name = "N", value_parser = jobs)]
    jobs: Option<NonZeroUsize>,
}

/// The most parallel plays. Each needs memory, and most need a cluster.
const MOST_JOBS: usize = 1_000;

/// Parses the number of parallel plays.
pub(super) fn jobs(text: &str) -> Result<NonZeroUsize, String> {
    let jobs = text.parse().ok().filter(|jobs: &NonZeroUsize| jobs.get() <= MOST_JOBS);
    jobs.ok_or_else(|| format!("it must be a whole number from 1 to {MOST_JOBS}"))
}

/// Parses the controller that runs beside the subject.
fn beside(text: &str) -> Result<SubjectSpec, String> {
    let is_version_or_path = |which: &String| which.contains('/') || cluster::is_version(which);
    match text.parse() {
        Ok(SubjectSpec::Upstream(which)) if which.as_ref().is_none_or(is_version_or_path) => {
            Ok(SubjectSpec::Upstream(which))
        }
        _ => Err(format!(
            "expected upstream, upstream:VERSION such as upstream:{}, or upstream:PATH",
            cluster::DEFAULT_VERSION
        )),
    }
}

/// Who runs the pods.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum PodsArgument {
    /// The case alone; no kubelet runs them.
    Held,
    /// A kubelet; the case holds a readiness gate.
    Real,
}

impl PlayArgs {
    /// The arguments of a command that plays on the simulated cluster only.
    pub(super) fn simulated(scope: ScopeArgs, common: CommonPlayArgs) -> Self {
        Self { cluster_args: ClusterArgs::simulated(), scope, common, pods: None }
    }

    /// The only seed, or the first of several.
    pub(super) fn seed(&self) -> u64 {
        self.common.seeds.first
    }

    /// Take the seeds out if they are several, so that each is played in a round of its own.
    pub(super) fn take_seeds(&mut self) -> Option<RangeInclusive<u64>> {
        let SeedRange { first, last } = self.common.seeds;
        (first < last).then(|| {
            self.common.seeds = SeedRange { first: 0, last: 0 };
            first..=last
        })
    }

    /// The selected cases that apply to the subjects. Notes about the others go to standard error.
    pub(super) fn choose(&self, selection: &CaseSelection, specs: &[SubjectSpec]) -> Result<Vec<Arc<Case>>, CliError> {
        let is_external = specs.iter().any(SubjectSpec::is_strange);
        let default = ControllerSet::default();
        // Another project's controller is one controller with one profile.
        let reference = specs.iter().find_map(SubjectSpec::reference);
        let restarts = Reference::controllers();
        let of_reference = reference.map(|_| self.scope.controllers.as_ref().unwrap_or(&restarts));
        let scope = SubjectScope {
            controllers: of_reference
                .or_else(|| is_external.then(|| self.scope.controllers.as_ref().unwrap_or(&default))),
            has_replica_sets: match &self.scope.controllers {
                Some(brought) => brought.has(Controller::ReplicaSet),
                None => self.has_owned_kind(),
            },
            profile: self.scope.profile.or_else(|| match reference {
                Some(one) => Some(one.profile()),
                None => is_external.then(RestartProfile::default),
            }),
            specs,
            takes_options: specs.iter().all(SubjectSpec::takes_restart_options),
            workload: self.common.workload.as_ref(),
            is_virtual: self.is_virtual(specs),
            has_deployments: !specs.iter().any(SubjectSpec::may_have_a_workload),
        };
        let CaseChoice { cases, notes } = scope.choose(selection.cases()?, |case| selection.names(case));
        notes.iter().for_each(|line| note!("{line}"));
        if let Some(line) = long_waits(&cases).filter(|_| !scope.is_virtual) {
            note!("{line}");
        }
        if cases.is_empty() {
            let names: Vec<_> = specs.iter().map(ToString::to_string).collect();
            return Err(CliError::NoneLeft(names.join(" and ")));
        }
        Ok(cases.into_iter().map(Arc::new).collect())
    }

    /// Whether these subjects are played in virtual time.
    fn is_virtual(&self, specs: &[SubjectSpec]) -> bool {
        let is_simulated = self.cluster_args.cluster() == SiteName::Sim && self.scope.beside.is_none();
        is_simulated && specs.iter().all(SubjectSpec::is_simulable)
    }

    /// Fails if these cases and subjects cannot be played with these arguments.
    pub(super) fn check(&self, cases: &[Arc<Case>], specs: &[SubjectSpec]) -> Result<(), CliError> {
        let usage = |why: String| Err(CliError::Usage(why));
        self.cluster_args.check()?;
        specs.iter().try_for_each(SubjectSpec::check)?;
        if self.common.seeds.first != self.common.seeds.last {
            return usage("only `run` plays several seeds; name one, such as --seeds 7".to_owned());
        }
        let site = self.cluster_args.cluster();
        if self.common.in_cluster {
            if !specs.iter().any(|spec| matches!(spec, SubjectSpec::Command(_))) {
                return usage("--in-cluster is for subjects command:PROGRAM; add one, or leave it out".to_owned());
            }
            let mounts = supervise::can_mount(Path::new(ServiceAccount::PATH));
            mounts.map_err(|error| CliError::Usage(format!("--in-cluster: {error}")))?;
        }
        if let Some(workload) = &self.common.workload
            && let Some(spec) = specs.iter().find(|spec| !spec.may_have_a_workload())
        {
            return usage(format!(
                "--workload {workload} is for a controller of that kind, which {spec} is not; give it as --subject \
                 command:PROGRAM"
            ));
        }
        if let Some(beside) = &self.scope.beside {
            self.check_beside(beside)?;
        }
        for spec in specs {
            match spec {
                SubjectSpec::Deployment(path) if site != SiteName::Kind => {
                    return Err(SubjectError::Elsewhere(path.clone()).into());
                }
                SubjectSpec::Virtual(_) if site != SiteName::Sim => {
                    return Err(SubjectError::OnlyVirtual(spec.to_string()).into());
                }
                _ => {}
            }
        }
        if site == SiteName::Sim && self.cluster_args.k8s_version != cluster::DEFAULT_VERSION {
            let known = cluster::DEFAULT_VERSION;
            return usage(format!("sim answers as {known} does; add --cluster control-plane for another version"));
        }
        if self.common.cluster_controllers.are_upstream() && site != SiteName::Sim {
            let why = format!("--cluster-controllers is for --cluster sim; the controllers of {site} are upstream's");
            return usage(why);
        }
        self.common.cluster_controllers.check(specs)?;
        if site == SiteName::Sim {
            for why in specs.iter().filter_map(SubjectSpec::not_built) {
                note!("{why}; kube-controller-manager runs as a process until then, over HTTP and in real time");
            }
        }
        let mut environments = BTreeSet::new();
        for case in cases {
            let under_test = self.under_test(case);
            if let Some(lacking) = under_test.first_missing(&case.controllers) {
                let (path, title) = (&case.path, lacking.title());
                return usage(format!("{path} judges the {title}; add {lacking} to --controllers, or leave that out"));
            }
            specs.iter().chain(&self.scope.beside).try_for_each(|spec| spec.can_bring(&under_test))?;
            environments.insert(under_test);
        }
        // Other clusters are created and removed for each set of controllers.
        if environments.len() > 1 && site == SiteName::Kubeconfig {
            let sets = environments.iter().map(ToString::to_string).collect::<Vec<_>>().join(" and ");
            let why = format!(
                "one cluster cannot leave out {sets} in turn; run the cases of one kind, or give --controllers"
            );
            return usage(why);
        }
        if self.pods == Some(PodsArgument::Real) { check_real_pods(cases, site) } else { Ok(()) }
    }

    /// Fails if this controller cannot share the work of the subjects.
    fn check_beside(&self, beside: &SubjectSpec) -> Result<(), CliError> {
        let usage = |why: String| Err(CliError::Usage(why));
        let Some(workload) = &self.common.workload else {
            return usage(format!(
                "--beside {beside} shares the work of the subject; add --workload FILE, which says what the subject's share is"
            ));
        };
        if (workload.api_version.as_str(), workload.kind.as_str()) != ("apps/v1", "Deployment") {
            return usage(format!(
                "--beside {beside} acts on Deployments, and --workload describes {}; leave --beside out",
                workload.plural
            ));
        }
        Ok(beside.check_fetched()?)
    }

    /// Fails if a controller is to run beside the subject of this command, which cannot have one.
    pub(super) fn refuse_beside(&self, command: &str, why: &str) -> Result<(), CliError> {
        match &self.scope.beside {
            Some(beside) => Err(CliError::Usage(format!("--beside {beside} is not for `{command}`: {why}"))),
            None => Ok(()),
        }
    }

    /// The controllers that subjects bring to a case. No cluster has a controller for what a
    /// workload owns in place of ReplicaSets, so the subject brings that one as well.
    fn under_test(&self, case: &Case) -> ControllerSet {
        let owned = self.has_owned_kind().then_some(Controller::ReplicaSet);
        self.scope.controllers.clone().unwrap_or_else(|| case.controllers.iter().chain(owned).collect())
    }

    fn has_owned_kind(&self) -> bool {
        self.common.workload.as_ref().is_some_and(|workload| workload.owns.is_some())
    }

    /// The cases grouped by the controllers under test, each group with a setup of its own,
    /// otherwise in order.
    pub(super) fn by_environment(
        &self,
        setup: &Setup,
        cases: Vec<Arc<Case>>,
    ) -> Vec<(Setup, ControllerSet, Vec<Arc<Case>>)> {
        let each = self.by_controllers(cases).into_iter();
        each.map(|(under_test, cases)| (setup.clone(), under_test, cases)).collect()
    }

    /// The cases grouped by the controllers under test.
    pub(super) fn by_controllers(&self, cases: Vec<Arc<Case>>) -> Vec<(ControllerSet, Vec<Arc<Case>>)> {
        let mut environments: BTreeMap<ControllerSet, Vec<Arc<Case>>> = BTreeMap::new();
        for case in cases {
            environments.entry(self.under_test(&case)).or_default().push(case);
        }
        environments.into_iter().collect()
    }

    /// The setup of a run that sends its events to these subscribers.
    pub(super) fn setup(&self, events: Subscribers) -> Setup {
        let pods = self.pods.map(|pods| match pods {
            PodsArgument::Held => PodKind::Held,
            PodsArgument::Real => PodKind::Real,
        });
        let plan = self.cluster_args.plan(false);
        let cores = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        // On a real cluster a case mostly waits.
        let usual = if plan.site.name() == SiteName::Sim { cores } else { cores.saturating_mul(PLAYS_PER_CORE) };
        let lanes = self.common.jobs.unwrap_or(usual);
        Setup {
            source: ClusterSource::Standing,
            budget: self.common.budget,
            pods,
            profile: self.scope.profile,
            process: SubjectOptions { in_cluster: self.common.in_cluster, variables: self.common.subject_env.clone() },
            workload: self.common.workload.clone(),
            seed: self.seed(),
            plays: self.common.check_determinism.unwrap_or(1),
            lanes,
            cluster_controllers: self.common.cluster_controllers.clone(),
            beside: self.scope.beside.clone(),
            interrupt: Interrupt::for_process(),
            events,
            ..Setup::new(plan)
        }
    }

    /// Play each case once, and return it with its recording. The caller says how many plays to
    /// expect, if it knows.
    pub(super) async fn record_once(
        &self,
        spec: &SubjectSpec,
        cases: Vec<Arc<Case>>,
    ) -> Result<Vec<(Arc<Case>, Recording)>, CliError> {
        let (mut all, progress) = (Vec::new(), Progress::for_process());
        for (under_test, cases) in self.by_controllers(cases) {
            let setup = self.setup(messages(ProgressReporter::Naming));
            let specs = std::slice::from_ref(spec);
            let played = setup.for_each_subject(&under_test, specs, cases.len(), async |_, player| {
                for case in &cases {
                    progress.describe(case.name.clone());
                    all.push((Arc::clone(case), player.play(case).await?));
                    progress.advance(1);
                }
                Ok::<_, CliError>(())
            });
            played.await?;
        }
        Ok(all)
    }
}

/// Fails if the pods of these cases cannot run for real there.
fn check_real_pods(cases: &[Arc<Case>], site: SiteName) -> Result<(), CliError> {
    let usage = |why: String| Err(CliError::Usage(why));
    if site == SiteName::Kubeconfig {
        let why = "--pods real puts images on a node by its container engine, and on a cluster of your own \
                   there is none to do it with; leave it out, or use --cluster kind";
        return usage(why.to_owned());
    }
    if site != SiteName::Kind {
        return usage(format!("--pods real needs a kubelet, and {site} has none; add --cluster kind"));
    }
    match cases.iter().find_map(|case| Some((&case.path, case.held_pods_reason()?))) {
        Some((path, (line, why))) => usage(format!("{path}:{line}: {why}")),
        None => Ok(()),
    }
}

/// A seed, or a range of seeds with both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct SeedRange {
    first: u64,
    last: u64,
}

impl std::str::FromStr for SeedRange {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bad = || "use a number, or two with the smaller first, such as 1..1000".to_owned();
        let number = |text: &str| text.parse::<u64>().map_err(|_| bad());
        let (first, last) = text.split_once("..").unwrap_or((text, text));
        let seeds = Self { first: number(first)?, last: number(last.trim_start_matches('='))? };
        if seeds.first <= seeds.last { Ok(seeds) } else { Err(bad()) }
    }
}

/// Parses the time that a step may take to settle.
fn budget(text: &str) -> Result<Duration, String> {
    let time = humantime::parse_duration(text).map_err(|error| error.to_string())?;
    match time {
        Duration::ZERO => Err("nothing settles in no time; use a length such as 20s".to_owned()),
        time if time > MOST_BUDGET => Err("use a length of at most 24h, such as 20s".to_owned()),
        time => Ok(time),
    }
}

/// Parses the name of an environment variable that is set.
fn variable(name: &str) -> Result<String, String> {
    match std::env::var(name) {
        Ok(_) => Ok(name.to_owned()),
        Err(VarError::NotPresent) => Err("it is not set; name a variable of the environment, without its value".into()),
        // The error itself would show the value.
        Err(VarError::NotUnicode(_)) => Err("its value is not in UTF-8".into()),
    }
}

/// The default number of parallel plays per core on a real cluster.
const PLAYS_PER_CORE: NonZeroUsize = NonZeroUsize::new(2).expect("two is not zero");

/// Cases that wait so long are worth a note.
const LONG_WAIT: Duration = Duration::from_secs(30 * 60);

/// The longest time that a step may take to settle.
const MOST_BUDGET: Duration = Duration::from_secs(24 * 60 * 60);

/// A note on how long the `advance` steps of these cases take in real time, if that is long.
fn long_waits(cases: &[Case]) -> Option<String> {
    let longest = cases.iter().max_by_key(|case| case.total_advance())?;
    let all: Duration = cases.iter().map(Case::total_advance).sum();
    let minutes =
        |time: Duration| humantime::format_duration(Duration::from_secs(time.as_secs() / 60 * 60)).to_string();
    let (waits, most) = (minutes(all), minutes(longest.total_advance()));
    (all >= LONG_WAIT).then(|| {
        format!(
            "in real time the `advance` steps of these cases take {waits} in all, those of {} alone {most}",
            longest.name
        )
    })
}

/// Run `work`, and drop it when this process is interrupted.
pub(super) async fn unless_interrupted<T>(work: impl Future<Output = Result<T, CliError>>) -> Result<T, CliError> {
    Interrupt::for_process().unless(work).await.unwrap_or_else(|cause| Err(CliError::Interrupted(cause)))
}

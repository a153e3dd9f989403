//! Starts subjects of every kind, after checking what can be checked without a cluster; watches and
//! ends them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use lockstep_case::RestartOptions;
use lockstep_cluster as cluster;
use lockstep_cluster::supervise::{Child, Exit};
use lockstep_recording::controllers::{Controller, ControllerSet};
use lockstep_recording::{Blame, Identity, Trouble};
use lockstep_support::private_fs;

use crate::command::{self, ENDED};
use crate::pod_env::SubjectHome;
use crate::{LogSource, Reference, StartContext, SubjectError, SubjectSpec, deployment, ours, upstream, virtual_time};

/// A running subject.
#[derive(Debug)]
pub struct RunningSubject {
    /// Its name on the command line, and its own name and version.
    pub identity: Identity,
    pub(crate) handle: SubjectHandle,
    /// The lock on the only subject of its kind.
    pub(crate) _turn: Option<cluster::FileLock>,
}

/// The task, process or pods of a subject.
#[derive(Debug)]
pub(crate) enum SubjectHandle {
    Task(ours::InProcessTask),
    Virtual(virtual_time::VirtualTask),
    /// `printed`: the length of the log when it was started; `oom_kills`: how many processes the
    /// system had killed for lack of memory by then.
    Process {
        child: Child,
        log: PathBuf,
        printed: u64,
        oom_kills: u64,
    },
    Pods(Box<deployment::RunningPods>),
}

impl SubjectSpec {
    /// Whether it can run in the simulated cluster's virtual time: in this process, or in an
    /// installed program.
    pub fn is_simulable(&self) -> bool {
        match self {
            Self::Ours | Self::OursFixed | Self::Virtual(_) => true,
            Self::Upstream(which) => virtual_time::available(which.as_deref()).is_ok(),
            _ => false,
        }
    }

    /// Why upstream's controllers cannot run in virtual time, if only their program is missing.
    pub fn not_built(&self) -> Option<SubjectError> {
        let Self::Upstream(which) = self else { return None };
        virtual_time::available(which.as_deref()).err().filter(|error| matches!(error, SubjectError::NotBuilt(_)))
    }

    /// Whether only one of its kind can run on a machine at a time.
    pub fn is_alone(&self) -> bool {
        matches!(self, Self::Reference(..))
    }

    /// Why it does not support these restart options, if it accepts any.
    pub fn lacks_restart_options(&self, options: &RestartOptions) -> Option<String> {
        match self {
            Self::Reference(one, _) => one.lacks(options),
            Self::Ours | Self::OursFixed => ours::lacks(options),
            _ => None,
        }
    }

    /// Checks what can be checked without a cluster: a missing program is a usage error, not a
    /// verdict.
    ///
    /// # Errors
    /// [`SubjectError::Missing`], [`SubjectError::Manifest`].
    pub fn check(&self) -> Result<(), SubjectError> {
        match self {
            Self::Command(words) => command::find(&words[0]).map(drop),
            Self::OursProcess(path) => ours::binary(path.as_deref()).map(drop),
            Self::Upstream(Some(path)) | Self::UpstreamProcess(Some(path)) if upstream::is_path(path) => {
                upstream::check(Path::new(path))
            }
            Self::Upstream(Some(version)) | Self::UpstreamProcess(Some(version)) if !cluster::is_version(version) => {
                Err(SubjectError::Unknown(self.to_string()))
            }
            Self::Virtual(path) => virtual_time::check_custom(path),
            Self::Deployment(path) => deployment::check(path),
            Self::Reference(_, program) => command::find(program).map(drop),
            Self::Ours | Self::OursFixed | Self::Upstream(_) | Self::UpstreamProcess(_) => Ok(()),
        }
    }

    /// Checks that its program is there, if it is upstream's: starting it would download or build
    /// the program.
    ///
    /// # Errors
    /// [`SubjectError::NotFetched`], and those of [`check`](Self::check).
    pub fn check_fetched(&self) -> Result<(), SubjectError> {
        self.check()?;
        let (Self::Upstream(which) | Self::UpstreamProcess(which)) = self else { return Ok(()) };
        let version = which.as_deref().unwrap_or(upstream::VERSION);
        match upstream::is_path(version) || cluster::has_controller_manager(version) {
            true => Ok(()),
            false => Err(SubjectError::NotFetched(version.to_owned())),
        }
    }

    /// Checks that it can bring these controllers, as far as known: for a command only its user
    /// knows.
    ///
    /// # Errors
    /// [`SubjectError::Lacks`], [`SubjectError::ItsOwnMaker`].
    pub fn can_bring(&self, controllers: &ControllerSet) -> Result<(), SubjectError> {
        let lacking = match self {
            Self::Ours | Self::OursFixed | Self::OursProcess(_) => ours::controllers().first_missing(controllers),
            Self::Deployment(path) if controllers.has(Controller::ReplicaSet) => {
                return Err(SubjectError::ItsOwnMaker(path.clone()));
            }
            Self::Upstream(_) | Self::UpstreamProcess(_) => {
                ControllerSet::from_iter(Controller::UPSTREAM).first_missing(controllers)
            }
            Self::Reference(..) => Reference::controllers().first_missing(controllers),
            Self::Command(_) | Self::Virtual(_) | Self::Deployment(_) => None,
        };
        match lacking {
            Some(controller) => Err(SubjectError::Lacks { subject: self.to_string(), controller }),
            None => Ok(()),
        }
    }

    /// Starts it.
    ///
    /// # Errors
    /// See [`SubjectError`].
    pub async fn start(&self, context: &StartContext<'_>) -> Result<RunningSubject, SubjectError> {
        self.can_bring(context.controllers)?;
        if context.client.is_some() {
            let (client, virtual_time) = (context.client.clone(), context.virtual_time.as_ref());
            let controllers: Vec<_> = context.controllers.iter().map(Controller::as_str).collect();
            let (handle, version) = match self {
                Self::Ours | Self::OursFixed => {
                    let (task, version) = ours::start(context, *self == Self::OursFixed).await?;
                    (SubjectHandle::Task(task), version)
                }
                Self::Upstream(which) => {
                    let (task, version) = virtual_time::start(which.as_deref(), client, virtual_time, &controllers)?;
                    (SubjectHandle::Virtual(task), version)
                }
                Self::Virtual(path) => {
                    let (task, version) = virtual_time::start_custom(path, client, virtual_time, &controllers)?;
                    (SubjectHandle::Virtual(task), version)
                }
                _ => return Err(SubjectError::Outside(self.to_string())),
            };
            return Ok(RunningSubject { identity: self.identity(&version), handle, _turn: None });
        }
        let home = SubjectHome::create(context.folder, &context.kubeconfig, std::env::home_dir().as_deref())?;
        match self {
            Self::Ours | Self::OursFixed => {
                let (task, version) = ours::start(context, *self == Self::OursFixed).await?;
                Ok(RunningSubject { identity: self.identity(&version), handle: SubjectHandle::Task(task), _turn: None })
            }
            Self::OursProcess(path) => {
                let program = ours::binary(path.as_deref())?;
                let version = command::version(&program).await;
                let arguments = ours::arguments(context)?;
                self.process(context, &home, &program, (arguments, BTreeMap::new()), version).await
            }
            Self::Upstream(which) | Self::UpstreamProcess(which) => {
                let (program, version) = upstream::program(which.as_deref()).await?;
                let arguments = upstream::arguments(&home.kubeconfig, context.controllers, &version);
                self.process(context, &home, &program, (arguments, BTreeMap::new()), version).await
            }
            Self::Reference(one, program) => {
                let (program, version) = one.find(program).await?;
                let turn = one.lock_port().await?;
                let options = one.process_options(context.restart, &context.interceptor, context.folder)?;
                let running = self.process(context, &home, &program, options, version).await?;
                Ok(RunningSubject { _turn: Some(turn), ..running })
            }
            Self::Command(words) => {
                let program = command::find(&words[0])?;
                let version = program.file_name().unwrap_or_default().to_string_lossy().into_owned();
                self.process(context, &home, &program, (words[1..].to_vec(), BTreeMap::new()), version).await
            }
            Self::Virtual(_) => Err(SubjectError::OnlyVirtual(self.to_string())),
            Self::Deployment(path) => {
                let (pods, version) = deployment::start(path, context).await?;
                Ok(RunningSubject {
                    identity: self.identity(&version),
                    handle: SubjectHandle::Pods(Box::new(pods)),
                    _turn: None,
                })
            }
        }
    }

    async fn process(
        &self,
        context: &StartContext<'_>,
        home: &SubjectHome,
        program: &Path,
        options: (Vec<String>, BTreeMap<String, String>),
        version: String,
    ) -> Result<RunningSubject, SubjectError> {
        let log = context.folder.join("output.log");
        let supervisor = context.supervisor.ok_or_else(|| SubjectError::Outside(self.to_string()))?;
        let printed = log.metadata().map_or(0, |file| file.len());
        let process =
            command::process(program, options, home, context.service_account.as_ref(), context.variables, &log)?;
        let oom_kills = command::count_oom_kills();
        let child = supervisor.spawn(process)?;
        Ok(RunningSubject {
            identity: self.identity(&version),
            handle: SubjectHandle::Process { child, log, printed, oom_kills },
            _turn: None,
        })
    }

    /// The identity of the subject, from the output of `--version`, such as
    /// `kube-controller-manager v1.36.3`. A last word that is not a version is part of the
    /// program's name.
    fn identity(&self, version_output: &str) -> Identity {
        let is_version = |word: &str| word.trim_start_matches('v').starts_with(|c: char| c.is_ascii_digit());
        match version_output.rsplit_once(' ').filter(|(_, word)| is_version(word)) {
            Some((program, version)) => Identity::new(self, program, version),
            None => Identity::new(self, version_output, ""),
        }
    }
}

impl RunningSubject {
    /// Why it has ended, with an excerpt of its output, if it has.
    pub fn exited(&self) -> Option<Trouble> {
        match &self.handle {
            SubjectHandle::Task(task) => task.ended().map(|why| Trouble::ended(format!("{ENDED}: {why}"))),
            SubjectHandle::Virtual(task) => task.ended(),
            SubjectHandle::Process { child, log, printed, oom_kills } => child.exited().map(|exit| {
                let full_disk = log.parent().and_then(private_fs::describe_full_disk);
                let shortage = full_disk.or_else(|| describe_oom_kill(exit, command::count_oom_kills() > *oom_kills));
                trouble_of(exit, shortage.as_deref(), &command::last_words(log, *printed))
            }),
            SubjectHandle::Pods(pods) => pods.failure().map(Trouble::ended),
        }
    }

    /// Its output at the start and from now on, if available: a task of this process has no log of
    /// its own.
    pub fn log_source(&self) -> Option<LogSource> {
        match &self.handle {
            SubjectHandle::Task(_) => None,
            SubjectHandle::Virtual(task) => Some(task.log_source()),
            SubjectHandle::Process { log, printed, .. } => Some(LogSource::of_file(log, *printed)),
            SubjectHandle::Pods(pods) => Some(pods.log_source()),
        }
    }

    /// Kills it without grace period, and waits until it has ended.
    pub async fn kill(self) {
        match self.handle {
            SubjectHandle::Task(task) => task.kill().await,
            SubjectHandle::Virtual(task) => task.end().await,
            SubjectHandle::Process { child, .. } => {
                child.kill();
                child.wait_exit().await;
            }
            // Its pods are deleted; another start creates new ones.
            SubjectHandle::Pods(pods) => pods.stop().await,
        }
    }

    /// Stops it and waits until it has ended.
    pub async fn stop(self) {
        match self.handle {
            SubjectHandle::Task(task) => task.stop().await,
            SubjectHandle::Virtual(task) => task.end().await,
            SubjectHandle::Process { child, .. } => command::end(&child).await,
            SubjectHandle::Pods(pods) => pods.stop().await,
        }
    }
}

/// A sentence that says so if the system may have killed the process, or the last one of its
/// script.
fn describe_oom_kill(exit: Exit, has_killed: bool) -> Option<String> {
    let why = "the system has killed a process for lack of memory since it started; play fewer cases at once (-j)";
    (has_killed && matches!(exit, Exit::Signal(9) | Exit::Code(137))).then(|| why.to_owned())
}

/// What the exit of a subject's process says about the subject: nothing, if its supervisor ended
/// first, as the harness then kills the subject, or if the machine was short of space or memory.
fn trouble_of(exit: Exit, shortage: Option<&str>, last_words: &str) -> Trouble {
    match (exit, shortage) {
        (Exit::Code(_) | Exit::Signal(_), Some(why)) => {
            Trouble::new(Blame::Environment, format!("{ENDED} ({exit}), and {why}{last_words}"))
        }
        (Exit::Code(_) | Exit::Signal(_), None) => Trouble::ended(format!("{ENDED} ({exit}){last_words}")),
        (Exit::Unknown, _) => Trouble::new(Blame::Environment, format!("{ENDED} with its supervisor{last_words}")),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("ours", "deployment,replicaset", None)]
    #[case("upstream", "replicaset", None)]
    #[case("upstream", "config-restart", Some("has no config-restart controller to judge"))]
    #[case("ours", "config-restart", None)]
    #[case("xing:./controller", "config-restart", None)]
    #[case("xing:./controller", "deployment", Some("has no Deployment controller to judge"))]
    #[case("command:sleep 1000", "deployment,replicaset", None)]
    #[case("deployment:controller/deploy", "deployment", None)]
    #[case("deployment:controller/deploy", "deployment,replicaset", Some("its own pods need one"))]
    fn subject_brings_only_its_controllers(
        #[case] spec: &str,
        #[case] controllers: &str,
        #[case] refusal: Option<&str>,
    ) {
        let found = spec.parse::<SubjectSpec>().unwrap().can_bring(&controllers.parse().unwrap());
        let found = found.err().map(|error| error.to_string());
        assert!(found.as_ref().map(|said| said.contains(refusal.unwrap_or("?"))) == refusal.map(|_| true), "{found:?}");
    }

    #[rstest]
    #[case(Exit::Code(1), None, Blame::Subject, "the subject ended (exit code 1); it printed nothing")]
    #[case(Exit::Signal(9), None, Blame::Subject, "the subject ended (signal 9); it printed nothing")]
    #[case(Exit::Unknown, None, Blame::Environment, "the subject ended with its supervisor; it printed nothing")]
    #[case(
        Exit::Code(1),
        Some("the disk is full"),
        Blame::Environment,
        "the subject ended (exit code 1), and the disk is full; it printed nothing"
    )]
    fn end_with_its_supervisor_or_on_a_machine_short_of_space_is_not_the_subjects_fault(
        #[case] exit: Exit,
        #[case] shortage: Option<&str>,
        #[case] blame: Blame,
        #[case] why: &str,
    ) {
        let trouble = trouble_of(exit, shortage, "; it printed nothing");
        assert_eq!((trouble.blame, trouble.why.as_str()), (blame, why));
        assert_eq!(trouble.ended, blame == Blame::Subject);
    }

    #[rstest]
    #[case(Exit::Signal(9), true, true)]
    #[case::of_a_script(Exit::Code(137), true, true)]
    #[case::killed_by_another(Exit::Signal(9), false, false)]
    #[case::ended_by_itself(Exit::Code(1), true, false)]
    #[case::crashed(Exit::Signal(11), true, false)]
    fn killed_subject_may_have_been_killed_for_lack_of_memory(
        #[case] exit: Exit,
        #[case] has_killed: bool,
        #[case] is_excused: bool,
    ) {
        assert_eq!(describe_oom_kill(exit, has_killed).is_some(), is_excused);
    }
}

//! The simulated server over HTTP, in real time: other processes can use it, and cases judge them
//! as usual.
//!
//! Trials `sim::served::<what>`. They need no other programs: the subject is our controller,
//! through a socket.

use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use futures::TryStreamExt;
use futures::future::try_join_all;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, PostParams, WatchEvent, WatchParams};
use libtest_mimic::{Failed, Trial};
use lockstep_case::{self as case, Case};
use lockstep_cluster::{self as cluster, Cluster, ClusterPlan, Site};
use lockstep_recording::{Recording, RecordingEntry};
use lockstep_report as report;
use lockstep_runner::run::{self, CompletedPlay, PlayError, Setup};
use lockstep_runner::{Environment, Executor, Session, SessionOptions};
use lockstep_subject::SubjectSpec;
use lockstep_verdict::golden::GoldenTimelines;
use lockstep_verdict::{self as verdict, Verdict};

use crate::outcome::check;

/// Cases that check whether a client's lists, watches and writes work. `scripts/subjects` plays
/// many more.
const CROSS_SECTION: [&str; 5] =
    ["rolling/surge-1-unavailable-0", "recreate/three", "undo/previous", "history/limit-2", "scale/up-and-down"];

/// The trial in which a subject kills a server.
const KILLING: &str = "sim::served::subject-kills-the-server";

type ServeResult = Result<(), Box<dyn std::error::Error>>;

pub(crate) fn trials() -> Vec<Trial> {
    let runtime = || tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let trial = |name: &str, test: fn(tokio::runtime::Runtime) -> ServeResult| {
        Trial::test(format!("sim::served::{name}"), move || {
            let runtime = runtime().map_err(|why| Failed::from(why.to_string()))?;
            test(runtime).map_err(|why| Failed::from(why.to_string()))
        })
    };
    let mut trials = vec![
        trial("parallel-cases", |runtime| runtime.block_on(side_by_side())),
        trial("parallel-cases-on-one-server", |runtime| runtime.block_on(shared())),
        trial("subject-exits-in-one-of-several-cases", |runtime| runtime.block_on(ended())),
        Trial::test(KILLING, killed_alone),
        trial("writes-reach-a-watch", |runtime| runtime.block_on(watched())),
        trial("unauthenticated-client-is-rejected", |runtime| runtime.block_on(strange())),
        trial("unsupported-requests-are-recorded", |runtime| runtime.block_on(unknown())),
        trial("case-in-real-time", |runtime| runtime.block_on(run_small_case(false))),
        trial("unsupported-request-is-inconclusive", |runtime| runtime.block_on(run_small_case(true))),
    ];
    trials.extend(languages().into_iter().map(|(language, subject)| {
        let name = format!("a-controller-in-{language}");
        if let Err(lacking) = &subject {
            eprintln!("ignored: sim::served::{name}: {lacking}");
        }
        let ignored = subject.is_err();
        let judged = move || {
            let words = subject.map_err(Failed::from)?;
            let runtime = runtime().map_err(|why| Failed::from(why.to_string()))?;
            runtime.block_on(in_another_language(words)).map_err(|why| Failed::from(why.to_string()))
        };
        Trial::test(format!("sim::served::{name}"), judged).with_ignored_flag(ignored)
    }));
    trials
}

/// The controllers of `tests/subjects`: the command of each, or what is missing. `scripts/subjects`
/// builds them.
fn languages() -> [(&'static str, Result<Vec<String>, String>); 5] {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let built = root.join("../target/subjects");
    let words = |path: PathBuf, before: &[&str], language: &str| {
        let program = before.first().copied().filter(|program| !runs(program));
        match program {
            Some(program) => Err(format!("`{program}` is not installed here")),
            None if !path.exists() => Err(format!("it is not built: scripts/subjects {language}")),
            None => Ok(before.iter().map(|&word| word.to_owned()).chain([path.display().to_string()]).collect()),
        }
    };
    [
        ("python", words(root.join("tests/subjects/deployment.py"), &["python3"], "python")),
        ("go", words(built.join("go/deployment-controller"), &[], "go")),
        ("rust", words(built.join("rust/deployment-controller"), &[], "rust")),
        ("javascript", words(built.join("javascript/controller.js"), &["node"], "javascript")),
        ("java", words(built.join("java/deployment-controller.jar"), &["java", "-jar"], "java")),
    ]
}

/// Whether a program is installed and runs.
fn runs(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok_and(|asked| asked.status.success())
}

async fn boot() -> Result<Cluster, Box<dyn std::error::Error>> {
    Ok(cluster::boot(&ClusterPlan::new(cluster::DEFAULT_VERSION).at(Site::Sim)).await?)
}

async fn watched() -> ServeResult {
    let cluster = boot().await?;
    let client = cluster.access().subject_client()?;
    let version = client.apiserver_version().await?;
    assert_eq!(version.git_version, cluster::DEFAULT_VERSION);
    let api: Api<ConfigMap> = Api::namespaced(client, "default");
    let mut events = Box::pin(api.watch(&WatchParams::default().disable_bookmarks(), "0").await?);
    let mut object = ConfigMap::default();
    object.metadata.name = Some("a".to_owned());
    api.create(&PostParams::default(), &object).await?;
    let event = events.try_next().await?;
    assert!(matches!(&event, Some(WatchEvent::Added(one)) if one.metadata.name.as_deref() == Some("a")), "{event:?}");
    Ok(())
}

async fn strange() -> ServeResult {
    let cluster = boot().await?;
    let mut access = cluster.access().clone();
    "nobody".clone_into(&mut access.subject_token);
    let refused = access.subject_client()?.apiserver_version().await;
    assert!(matches!(&refused, Err(kube::Error::Api(status)) if status.code == 401), "{refused:?}");
    Ok(())
}

async fn unknown() -> ServeResult {
    let cluster = boot().await?;
    assert_eq!(cluster.unsupported_requests().await?.len(), 0);
    ask_too_much(&cluster.access().subject_client()?).await?;
    assert_eq!(cluster.unsupported_requests().await?.len(), 1);
    Ok(())
}

async fn ask_too_much(client: &kube::Client) -> ServeResult {
    let request = hyper::Request::get("/metrics").body(Vec::new())?;
    let refused = client.request_text(request).await;
    assert!(matches!(&refused, Err(kube::Error::Api(status)) if status.code == 501), "{refused:?}");
    Ok(())
}

fn small() -> Result<Arc<Case>, Box<dyn std::error::Error>> {
    case_of("web", "  - set: {image: \"app:2\"}\n  - ready: {pods: all}\n")
}

/// A case with these steps and a Deployment of this name.
fn case_of(name: &str, steps: &str) -> Result<Arc<Case>, Box<dyn std::error::Error>> {
    let text = format!(
        "description: x\ngiven:\n  - deployment: {{name: {name}, replicas: 2, image: \"app:1\"}}\n  - ready: {{pods: all}}\nsteps:\n{steps}"
    );
    Ok(Arc::new(case::parse("served/x.yaml", "served/x", &text)?))
}

/// Each session has its own server and subject: two cases run at once, and a third waits for one of
/// them.
async fn side_by_side() -> ServeResult {
    let environments =
        [Arc::new(Environment::open(boot().await?).await?), Arc::new(Environment::open(boot().await?).await?)];
    let options = SessionOptions::default();
    let sessions =
        try_join_all(environments.iter().map(|environment| Session::open(environment, &SubjectSpec::Ours, &options)))
            .await?;
    {
        let player = Executor::Sessions(sessions.into());
        assert_eq!(player.lanes(), 2);
        let case = small()?;
        let (one, two) = (player.acquire_slot(&case).await, player.acquire_slot(&case).await);
        assert!(!Arc::ptr_eq(&one.session().ok_or("a session")?, &two.session().ok_or("a session")?));
        let mut third = Box::pin(player.acquire_slot(&case));
        assert!(futures::poll!(&mut third).is_pending());
        let (first, second) = futures::join!(one.play(&case, None), two.play(&case, None));
        for recording in [first?, second?] {
            conforms(&case, &recording);
        }
        drop(one);
        drop(third.await);
        drop(two);
        player.close().await;
    }
    for environment in environments {
        environment.close().await;
    }
    Ok(())
}

/// Cases that do not stop the subject run in parallel in namespaces of one server; one that stops
/// it runs alone.
async fn shared() -> ServeResult {
    let environment = Arc::new(Environment::open(boot().await?).await?);
    let options = SessionOptions { lanes: NonZeroUsize::new(3).ok_or("three")?, ..SessionOptions::default() };
    let player = Executor::Sessions(vec![Session::open(&environment, &SubjectSpec::Ours, &options).await?].into());
    assert_eq!(player.lanes(), 3);
    let stops = case_of("web", "  - subject: stop\n  - set: {image: \"app:2\"}\n  - subject: start\n")?;
    let small = small()?;
    {
        let _turns = [player.acquire_slot(&small).await, player.acquire_slot(&small).await];
        assert!(futures::poll!(Box::pin(player.acquire_slot(&stops))).is_pending());
        let _third = player.acquire_slot(&small).await;
        assert!(futures::poll!(Box::pin(player.acquire_slot(&small))).is_pending());
    }
    {
        let _alone = player.acquire_slot(&stops).await;
        assert!(futures::poll!(Box::pin(player.acquire_slot(&small))).is_pending());
    }
    let cases = [&small, &small, &stops, &small, &small, &small];
    for (case, recording) in cases.iter().zip(try_join_all(cases.iter().map(|case| player.play(case))).await?) {
        conforms(case, &recording);
        let elsewhere =
            recording.entries.iter().any(|it| matches!(it, RecordingEntry::Request(it) if it.elsewhere.is_some()));
        assert!(!elsewhere, "a request about another case's namespace");
    }
    player.close().await;
    environment.close().await;
    Ok(())
}

/// Plays [`killed`] in a process of its own: its subject kills a server of the process in which it
/// runs, which could be another trial's.
fn killed_alone() -> Result<(), Failed> {
    if std::env::args().any(|argument| argument == "--exact") {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        return runtime.block_on(killed()).map_err(|why| Failed::from(why.to_string()));
    }
    let output = Command::new(std::env::current_exe()?).args(["--exact", KILLING, "--nocapture"]).output()?;
    let text = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
    check(output.status.success() && text.contains("1 passed"), text)
}

/// A server that exits makes one case inconclusive with a reason; the next runs on a new one.
async fn killed() -> ServeResult {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/subjects/hostile.py");
    let words = ["python3", &script.display().to_string()].map(ToOwned::to_owned);
    let spec = SubjectSpec::Command(words.into());
    let scaled = "  - scale: 2\n";
    let cases = [case_of("web", scaled)?, case_of("kill", scaled)?, case_of("api", scaled)?];
    let setup = Setup::new(ClusterPlan::new(cluster::DEFAULT_VERSION).at(Site::Sim));
    let mut verdicts = Vec::new();
    let plan = async |_: &SubjectSpec, player: &Executor| {
        let each = async |played: CompletedPlay<'_>| {
            let judgement = verdict::judge_live(played.case, &played.recording, &played.recording);
            let message = report::failure(&judgement, &report::RerunCommands::default(), false);
            verdicts.push((judgement.verdict, message));
            Ok::<_, PlayError>(ControlFlow::Continue(()))
        };
        setup.play_each(player, run::PlayPlan::once(&cases), each).await
    };
    setup.for_each_subject(&cases[0].controllers, &[spec], cases.len(), plan).await?;
    let [(first, _), (doomed, message), (last, _)] = &verdicts[..] else { return Err("three cases".into()) };
    assert_eq!(
        [*first, *doomed, *last],
        [Verdict::Conformant, Verdict::Inconclusive, Verdict::Conformant],
        "{message}"
    );
    assert!(message.contains("the cluster's kube-apiserver ended"), "{message}");
    Ok(())
}

/// To find in which of several cases a subject exits, each of them is played alone.
async fn ended() -> ServeResult {
    let environment = Arc::new(Environment::open(boot().await?).await?);
    let options = SessionOptions { lanes: NonZeroUsize::new(3).ok_or("three")?, ..SessionOptions::default() };
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/subjects/wrong.py");
    let words = ["python3", &script.display().to_string(), "ends-on-doomed"].map(ToOwned::to_owned);
    let spec = SubjectSpec::Command(words.into());
    let player = Executor::Sessions(vec![Session::open(&environment, &spec, &options).await?].into());
    let scaled = "  - scale: 2\n";
    let cases = [case_of("web", scaled)?, case_of("doomed", scaled)?, case_of("api", scaled)?];
    let recordings = try_join_all(cases.iter().map(|case| player.play(case))).await?;
    let exit_count =
        |recording| serde_json::to_string(&recording).map(|text| text.matches("the subject ended").count());
    let message: Result<Vec<_>, _> = recordings.iter().map(|recording| exit_count(&recording.entries)).collect();
    assert_eq!(message?, [0, 1, 0]);
    assert!(recordings.iter().map(|it| it.end.as_ref().is_some_and(|end| end.completed)).eq([true, false, true]));
    player.close().await;
    environment.close().await;
    Ok(())
}

fn conforms(case: &Arc<Case>, recording: &Recording) {
    let judgement = verdict::judge_live(case, recording, recording);
    let failure = || report::failure(&judgement, &report::RerunCommands::default(), false);
    assert_eq!(judgement.verdict, Verdict::Conformant, "{}", failure());
}

/// A controller without shared code reaches the server and is judged by upstream's timelines.
async fn in_another_language(words: Vec<String>) -> ServeResult {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let environment = Arc::new(Environment::open(boot().await?).await?);
    let budget = Duration::from_secs(90);
    let options = SessionOptions { budget, ..SessionOptions::default() };
    let spec = SubjectSpec::Command(words);
    let session = Session::open(&environment, &spec, &options).await?;
    for name in CROSS_SECTION {
        let path = root.join("../cases").join(name).with_extension("yaml");
        let case = Arc::new(case::load_one(&path)?);
        let recording = session.play(&case).await;
        let golden = GoldenTimelines::load_beside(&path)?;
        let judgement = verdict::judge(&case, &recording, golden.for_server(&recording.header.cluster.version));
        assert_eq!(
            judgement.verdict,
            Verdict::Conformant,
            "{}",
            report::failure(&judgement, &report::RerunCommands::default(), false)
        );
    }
    session.close().await;
    environment.close().await;
    Ok(())
}

/// One small case with our controller through interceptor and sockets.
async fn run_small_case(too_much: bool) -> ServeResult {
    let case = small()?;
    let cluster = boot().await?;
    let bypass_interceptor = cluster.access().subject_client()?;
    let environment = Arc::new(Environment::open(cluster).await?);
    let session = Session::open(&environment, &SubjectSpec::Ours, &SessionOptions::default()).await?;
    if too_much {
        ask_too_much(&bypass_interceptor).await?;
    }
    let recording = session.play(&case).await;
    session.close().await;
    environment.close().await;
    // Judged only by invariants: it must settle, and the server must have supported every request.
    let judgement = verdict::judge_live(&case, &recording, &recording);
    let wanted = if too_much { Verdict::Inconclusive } else { Verdict::Conformant };
    assert_eq!(judgement.verdict, wanted, "{}", report::failure(&judgement, &report::RerunCommands::default(), false));
    Ok(())
}

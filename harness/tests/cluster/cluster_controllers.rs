//! Upstream's controllers as the cluster's controllers, next to the subject in virtual time: the
//! cross-section of the cases has the results of a real cluster, a seed is reproducible, and their
//! failures are not the subject's.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use libtest_mimic::{Failed, Trial};
use lockstep_case::{self as case, Case};
use lockstep_recording::controllers::ControllerSet;
use lockstep_recording::{Recording, RecordingEntry};
use lockstep_report as report;
use lockstep_runner::{Simulation, simulate};
use lockstep_subject::virtual_time::{PROGRAM, ProgramPool, available};
use lockstep_subject::{ClusterControllers, SubjectSpec};
use lockstep_verdict::golden::GoldenTimelines;
use lockstep_verdict::{self as verdict, Verdict};

use crate::outcome::{Outcome, check};

const BUDGET: Duration = Duration::from_secs(20);
const SUBJECTS: [&str; 2] = ["ours", "upstream"];
/// The tag of the cases that also run on real clusters.
const TAG: &str = "cross-section";
/// The cases whose requests are compared between repetitions. In none of them does upstream choose
/// between equal pods, which it does in Go map order.
const REPEATED: [&str; 3] = ["delete/foreground", "recreate/three", "kill-order/ready-time"];

pub(crate) fn trials() -> Vec<Trial> {
    let not_built = available(None).is_err();
    let mut trials = vec![
        trial("exited_controller_is_not_the_subjects_failure", false, ends),
        trial("process_in_real_time_is_refused", not_built, in_real_time),
        trial("plays_of_one_seed_are_equal", not_built, repeats),
        trial("recording_names_the_cluster_controllers", not_built, recorded),
        trial("subject_crash_does_not_affect_cluster_controllers", not_built, survive),
    ];
    match cross_section() {
        Ok(cases) => trials.extend(cases.into_iter().flat_map(|case| {
            SUBJECTS.map(|subject| {
                let (name, case) = (case.name.replace('/', "::"), Arc::clone(&case));
                let name = format!("cluster_controllers::{subject}::{name}");
                Trial::test(name, move || conformant(subject, &case)).with_ignored_flag(not_built)
            })
        })),
        Err(error) => trials.push(Trial::test("cluster_controllers::cases", move || Err(error.into()))),
    }
    trials
}

fn trial(name: &str, ignored: bool, run: fn() -> Outcome) -> Trial {
    Trial::test(format!("cluster_controllers::{name}"), run).with_ignored_flag(ignored)
}

fn cases() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../cases")
}

fn load(name: &str) -> Result<Case, Failed> {
    Ok(case::load_one(&cases().join(format!("{name}.yaml")))?)
}

fn cross_section() -> Result<Vec<Arc<Case>>, String> {
    let mut all = Vec::new();
    for path in case::find(&[cases()]).map_err(|error| error.to_string())? {
        // A process for each trial would otherwise parse the whole collection.
        if std::fs::read_to_string(&path).map_err(|error| error.to_string())?.contains(TAG) {
            all.extend(case::load(&path).map_err(|error| error.to_string())?);
        }
    }
    all.retain(|case| case.tags.iter().any(|tag| tag == TAG));
    if all.is_empty() { Err(format!("no case has the tag {TAG}")) } else { Ok(all.into_iter().map(Arc::new).collect()) }
}

fn beside_upstream(controllers: &ControllerSet) -> Simulation {
    let cluster_controllers = ClusterControllers::Upstream(None);
    Simulation { cluster_controllers, ..Simulation::new(controllers.clone(), BUDGET) }
}

fn conformant(subject: &str, case: &Arc<Case>) -> Outcome {
    let recording = simulate(case, &subject.parse()?, &beside_upstream(&case.controllers))?;
    let golden = GoldenTimelines::load_beside(Path::new(&case.path))?;
    let judgement = verdict::judge(case, &recording, golden.for_server(&recording.header.cluster.version));
    check(judgement.verdict == Verdict::Conformant, report::headline(&judgement))
}

fn troubles(recording: &Recording) -> Vec<String> {
    let why = recording.entries.iter().filter_map(|entry| match entry {
        RecordingEntry::Trouble(trouble) => Some(trouble.why.clone()),
        RecordingEntry::Settled(settling) => settling.unsettled.as_ref().map(|trouble| trouble.why.clone()),
        _ => None,
    });
    why.collect()
}

/// A protocol frame, as an argument of the shell's `printf`.
fn frame(json: &str) -> String {
    let length: String =
        u32::try_from(json.len()).expect("short").to_be_bytes().iter().map(|byte| format!("\\{byte:03o}")).collect();
    format!("printf '{length}%s' '{json}' >&0\n")
}

/// The program starts and exits, as after a panic in a controller.
fn ends() -> Outcome {
    let hello = r#"{"hello":{"protocol":1,"program":"script","version":"v1.36.3","controllers":["replicaset","garbagecollector"]}}"#;
    let idle = frame(r#"{"idle":{"now":946684800000000000,"next":946684800000001000}}"#);
    let end = "head -c 4 <&0 >/dev/null\necho 'panic: boom' >&2\nexit 2\n";
    let folder = tempfile::tempdir()?;
    let path = folder.path().join(PROGRAM);
    std::fs::write(&path, format!("#!/bin/sh\nPATH=/usr/bin:/bin\n{}{idle}{end}", frame(hello)))?;
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755))?;
    let case = load("rolling/one-replica")?;
    let cluster_controllers: ClusterControllers = format!("upstream:{}", path.display()).parse()?;
    let simulation = Simulation { cluster_controllers, ..Simulation::new(case.controllers.clone(), BUDGET) };
    let recording = simulate(&case, &SubjectSpec::Ours, &simulation)?;
    let judgement = verdict::judge(&Arc::new(case), &recording, None);
    let why = troubles(&recording).join("\n");
    check(judgement.verdict == Verdict::Inconclusive, format!("{:?}: {why}", judgement.verdict))?;
    check(why.contains("the cluster's controllers") && why.contains("they ended (exit code 2)"), why.clone())?;
    check(why.contains("panic: boom") && !why.contains("the subject"), why)
}

fn in_real_time() -> Outcome {
    let process: SubjectSpec = "ours:process".parse()?;
    let message = ClusterControllers::Upstream(None).check(&[SubjectSpec::Ours, process]).err();
    let message = message.map(|error| error.to_string()).unwrap_or_default();
    check(message.starts_with("ours:process runs as a process, in real time"), message.clone())?;
    check(message.contains("add --cluster control-plane"), message)
}

/// Each play runs twice and compares every request and response with its body.
fn repeats() -> Outcome {
    for name in REPEATED {
        let case = load(name)?;
        let programs = ProgramPool::default();
        for subject in SUBJECTS {
            for seed in [0, 7] {
                let simulation = beside_upstream(&case.controllers);
                let simulation = Simulation { seed, plays: 2, programs: programs.clone(), ..simulation };
                let first = simulate(&case, &subject.parse()?, &simulation)?;
                let why = troubles(&first);
                check(why.is_empty(), format!("{name}, {subject}, seed {seed}: {why:?}"))?;
                let again = simulate(&case, &subject.parse()?, &simulation)?;
                check(again == first, format!("{name}, {subject}, seed {seed}: the second is another one"))?;
            }
        }
    }
    Ok(())
}

fn recorded() -> Outcome {
    let case = load("rolling/one-replica")?;
    let recording = simulate(&case, &SubjectSpec::Ours, &beside_upstream(&case.controllers))?;
    let whose = recording.header.cluster_controllers.as_ref().map(ToString::to_string);
    check(whose.as_deref() == Some("upstream (kube-controller-manager v1.36.3)"), format!("{whose:?}"))?;
    let case = Arc::new(case);
    let report = report::json(&verdict::judge(&case, &recording, None));
    check(report.contains(r#""clusterControllers":{"name":"upstream""#), report)?;
    let plain = simulate(&case, &SubjectSpec::Ours, &Simulation::new(case.controllers.clone(), BUDGET))?;
    check(plain.header.cluster_controllers.is_none(), "our own controllers are recorded as others")
}

/// The subject is killed at a write, and its writes are refused. The interceptor sees only the
/// subject's requests.
fn survive() -> Outcome {
    let case = load("during/crash-after-creation")?;
    let recording = simulate(&case, &SubjectSpec::Ours, &beside_upstream(&case.controllers))?;
    check(troubles(&recording).is_empty(), format!("{:?}", troubles(&recording)))?;
    let of_pods = recording.entries.iter().filter_map(|entry| match entry {
        RecordingEntry::Request(request)
            if request.resource == "pods" && request.verb != "list" && request.verb != "watch" =>
        {
            Some(request.to_string())
        }
        _ => None,
    });
    let of_pods: Vec<_> = of_pods.collect();
    check(of_pods.is_empty(), format!("requests of the ReplicaSet controller's passed the interceptor: {of_pods:?}"))
}

//! Upstream's controllers in virtual time: what becomes of a program that does not do its part, and, where the real one is
//! built, that a seed repeats itself, and what changed between its versions. That it does what upstream does is said by the
//! trials `sim::upstream::…`.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use libtest_mimic::{Arguments, Failed, Trial};
use lockstep::case::{self, Case};
use lockstep::recording::{Entry, Recording};
use lockstep::runner::{Simulation, simulated, simulated_with_output};
use lockstep::subject::Spec;
use lockstep::subject::virtual_time::{PROGRAM, Pool, available};
use lockstep::supervise;
use lockstep::verdict::{self, Verdict};

type Outcome = Result<(), Failed>;

const BUDGET: Duration = Duration::from_secs(20);
/// The cases whose requests are compared from play to play: rollouts and failing pods, and none in which upstream chooses
/// between equal pods, as it does by the order of a Go map.
const REPEATED: [&str; 3] = ["rolling/three-revisions", "rolling/surge-3-unavailable-2", "rolling/pods-fail"];
/// How often each is played.
const PLAYS: u32 = 10;
/// Two versions between which ties came to be decided.
const VERSIONS: [&str; 2] = ["v1.15.5", "v1.29.15"];

fn main() -> ExitCode {
    supervise::main_if_asked();
    let not_built = available(None).is_err();
    let lacks_one = VERSIONS.iter().any(|version| available(Some(version)).is_err());
    let trials = vec![
        trial("a_program_that_does_not_answer_makes_the_case_inconclusive", false, hangs),
        trial("a_program_that_ends_is_the_subjects_failure", false, ends),
        trial("a_program_of_another_protocol_is_refused", false, other_protocol),
        trial("a_program_that_is_not_built_is_named_with_what_builds_it", false, missing),
        trial("plays_of_one_seed_are_equal", not_built, repeats),
        trial("a_program_is_kept_for_many_cases_and_ends_with_the_run", not_built, kept),
        trial("a_preview_is_the_golden_timeline_and_blesses_nothing", not_built, previews),
        trial("a_tie_within_a_version_is_no_change_between_two", lacks_one, versions_vary),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn trial(name: &str, ignored: bool, run: fn() -> Outcome) -> Trial {
    Trial::test(format!("virtual_time::{name}"), run).with_ignored_flag(ignored)
}

fn check(holds: bool, what: impl Into<Failed>) -> Outcome {
    if holds { Ok(()) } else { Err(what.into()) }
}

fn load(name: &str) -> Result<Case, Failed> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../cases/{name}.yaml"));
    Ok(case::load_one(&path)?)
}

/// A frame, as `printf` of a shell writes it.
fn frame(json: &str) -> String {
    let length: String =
        u32::try_from(json.len()).expect("short").to_be_bytes().iter().map(|byte| format!("\\{byte:03o}")).collect();
    format!("printf '{length}%s' '{json}' >&0\n")
}

fn hello(protocol: u32) -> String {
    frame(&format!(
        r#"{{"hello":{{"protocol":{protocol},"program":"script","version":"v1.36.3","controllers":["deployment"]}}}}"#
    ))
}

/// A play with a script in the place of the program.
fn with_script(script: &str, pool: Pool) -> Result<Result<(Recording, Option<String>), String>, Failed> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join(PROGRAM);
    std::fs::write(&path, format!("#!/bin/sh\nPATH=/usr/bin:/bin\n{script}"))?;
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755))?;
    let case = load("rolling/one-replica")?;
    let spec: Spec = format!("upstream:{}", path.display()).parse()?;
    let simulation = Simulation { programs: pool, ..Simulation::new(case.controllers.clone(), BUDGET) };
    Ok(simulated_with_output(&case, &spec, &simulation).map_err(|error| error.to_string()))
}

fn judged(recording: &Recording) -> Result<(Verdict, String), Failed> {
    let case = std::sync::Arc::new(load("rolling/one-replica")?);
    let judgement = verdict::judge(&case, recording, None);
    let why = recording.entries.iter().filter_map(|entry| match entry {
        Entry::Trouble(trouble) => Some(trouble.why.clone()),
        Entry::Settled(settling) => settling.unsettled.as_ref().map(|trouble| trouble.why.clone()),
        _ => None,
    });
    let why: Vec<_> = why.collect();
    Ok((judgement.verdict, why.join("\n")))
}

/// It begins a bubble, answers nothing more, and prints at SIGQUIT what a Go program does.
fn hangs() -> Outcome {
    let dump = "goroutine 7 [sync.Mutex.Lock, synctest bubble 1]:\\nsync.(*Mutex).Lock(0x1)\\n\\t/x.go:1\\n\\n";
    let trap = format!("trap 'printf \"\\n{dump}\" >&2; exit 2' QUIT\n");
    let wait = "while :; do sleep 0.05; done\n";
    let script = trap + &hello(1) + &frame(r#"{"idle":{"now":946684800000000000,"next":946684800000001000}}"#) + wait;
    let (recording, output) = with_script(&script, Pool::with_patience(Duration::from_secs(1)))??;
    let (verdict, why) = judged(&recording)?;
    check(verdict == Verdict::Inconclusive, format!("{verdict:?}: {why}"))?;
    check(why.contains("did not become idle within 1 s"), why.clone())?;
    check(why.contains("goroutine 7 [sync.Mutex.Lock, synctest bubble 1]: sync.(*Mutex).Lock"), why)?;
    check(output.is_some_and(|output| output.contains("goroutine 7")), "the dump is not kept")
}

fn ends() -> Outcome {
    let idle = frame(r#"{"idle":{"now":946684800000000000,"next":946684800000001000}}"#);
    let script = hello(1) + &idle + "head -c 4 <&0 >/dev/null\necho 'panic: boom' >&2\nexit 2\n";
    let (recording, _) = with_script(&script, Pool::default())??;
    let (verdict, why) = judged(&recording)?;
    check(verdict == Verdict::NonConformant, format!("{verdict:?}: {why}"))?;
    check(why.contains("the subject ended (exit code 2)") && why.contains("panic: boom"), why)
}

fn other_protocol() -> Outcome {
    let said = with_script(&(hello(9) + "sleep 5\n"), Pool::default())?.err().unwrap_or_default();
    check(said.contains("speaks version 9 of the protocol, not 1"), said)
}

fn missing() -> Outcome {
    let said = available(Some("v1.2.3")).err().map(|error| error.to_string()).unwrap_or_default();
    check(said.contains("`scripts/upstream-virtual v1.2.3` builds it"), said)
}

/// Each play is itself two, whose every request and answer is compared, with its body.
fn repeats() -> Outcome {
    for name in REPEATED {
        let case = load(name)?;
        let programs = Pool::default();
        for seed in [0, 7] {
            let simulation = Simulation {
                seed,
                plays: 2,
                programs: programs.clone(),
                ..Simulation::new(case.controllers.clone(), BUDGET)
            };
            let first = simulated(&case, &Spec::Upstream(None), &simulation)?;
            check(
                !first.entries.iter().any(|entry| matches!(entry, Entry::Trouble(_))),
                format!("{name}: {:?}", first.entries),
            )?;
            for play in 1..PLAYS {
                let again = simulated(&case, &Spec::Upstream(None), &simulation)?;
                check(again == first, format!("{name}, seed {seed}: play {play} is another one"))?;
            }
        }
    }
    Ok(())
}

fn kept() -> Outcome {
    let case = load("rolling/one-replica")?;
    let programs = Pool::default();
    let simulation = Simulation { programs: programs.clone(), ..Simulation::new(case.controllers.clone(), BUDGET) };
    for _ in 0..5 {
        simulated(&case, &Spec::Upstream(None), &simulation)?;
    }
    check(format!("{programs:?}") == "Pool { free: 1, started: 1 }", format!("{programs:?}"))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(programs.close());
    check(format!("{programs:?}") == "Pool { free: 0, started: 1 }", format!("{programs:?}"))
}

/// The command writes a preview of a case that is not blessed; its steps are those that a real server gave, and the case
/// is unblessed still.
fn previews() -> Outcome {
    let folder = tempfile::tempdir()?;
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("../cases/rolling");
    let case = folder.path().join("rolling/mine.yaml");
    std::fs::create_dir_all(folder.path().join("rolling"))?;
    std::fs::copy(cases.join("one-replica.yaml"), &case)?;
    let lockstep = |arguments: &[&str]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_lockstep"));
        command.args(arguments).arg(&case).env("XDG_STATE_HOME", folder.path()).output()
    };
    let said = lockstep(&["bless", "--preview"])?;
    check(said.status.success(), String::from_utf8_lossy(&said.stderr).into_owned())?;
    let preview = std::fs::read_to_string(case.with_extension("preview"))?;
    check(preview.starts_with("# preview: kube-controller-manager v1.36.3 on "), preview.clone())?;
    check(preview.lines().next().is_some_and(|line| line.contains("not blessed")), preview.clone())?;
    let body = |text: &str| text.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect::<Vec<_>>();
    let golden = std::fs::read_to_string(cases.join("one-replica.timeline"))?;
    check(body(&preview) == body(&golden), format!("{preview}\nis not\n{golden}"))?;
    check(lockstep(&["run"])?.status.code() == Some(3), "a case with a preview alone is not unblessed")
}

fn root() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// What `lockstep versions` prints, and its exit code.
fn versions(arguments: &[&str]) -> Result<(String, Option<i32>), Failed> {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_lockstep"));
    let said = command.current_dir(root()).arg("versions").args(arguments).output()?;
    let (out, err) = (String::from_utf8_lossy(&said.stdout), String::from_utf8_lossy(&said.stderr));
    check(!out.is_empty(), err.into_owned())?;
    Ok((out.into_owned(), said.status.code()))
}

/// A tie that v1.15 breaks by the order of a Go map, a change, and a case that none has changed.
fn versions_vary() -> Outcome {
    let cases = ["kill-order/deletion-cost-changes", "annotations/empty", "recreate/three"]
        .map(|name| format!("cases/{name}.yaml"));
    let mut arguments: Vec<&str> = cases.iter().map(String::as_str).collect();
    arguments.extend(["--upstream", "v1.15.5,v1.29.15", "--repeat", "8", "--confirm", "8"]);
    let (text, code) = versions(&arguments)?;
    check(code == Some(0), format!("{code:?}: {text}"))?;
    for line in [
        "v1.15.5 to v1.29.15: 1 of 3 cases changed, 1 varies within a version",
        "  kill-order/deletion-cost-changes  varies within v1.15.5: ",
        "  in every case, not compared: a ScalingReplicaSet event says what the size was before",
        "  annotations/empty  step 1 (",
        "  - v1.15.5, + v1.29.15",
        "\nv1.29.15: 3 cases, all as on a real control plane",
    ] {
        check(text.contains(line), format!("no `{line}` in\n{text}"))?;
    }
    arguments.extend(["--output", "json"]);
    let (text, _) = versions(&arguments)?;
    let kind = |line: &str| -> Result<String, Failed> {
        let value: serde_json::Value = serde_json::from_str(line)?;
        Ok(format!("{} {}", value["case"].as_str().unwrap_or_default(), value["change"].as_str().unwrap_or_default()))
    };
    let kinds = text.lines().map(kind).collect::<Result<Vec<_>, _>>()?;
    let expected = ["annotations/empty changed", "kill-order/deletion-cost-changes varies", "recreate/three same"];
    check(kinds == expected, format!("{kinds:?}"))
}

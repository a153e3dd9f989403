//! `lockstep explain`, and the timelines of other upstream versions.

use std::path::Path;

use super::commands::{lockstep, stderr_of};

#[test]
fn explain_describes_every_case() {
    let (stdout, code) = lockstep(&["explain", "cases/rolling/quarter-on-ten.yaml"], &[]);
    assert_eq!(code, 0);
    let decided = stdout.lines().filter(|line| line.starts_with("  > rs")).collect::<Vec<_>>();
    assert!(decided.len() == 7 && decided.iter().all(|line| line.contains(": ")), "{stdout}");
    for part in [
        "rs1 shrinks from 10 to 8: 10 are available and 8 must be, so 2 may go",
        "rs2 grows from 3 to 5: 11 are wanted and at most 13 may be, so there is room for 2",
        "rs2          ░░░░░   5 wanted, 0 available",
        "step 2.1–2.5  ready 1 each: rs1 -1, rs2 +1",
        "nothing is decided: the rollout is complete",
    ] {
        assert!(stdout.contains(part), "no `{part}` in\n{stdout}");
    }
    let (all, code) = lockstep(&["explain", "cases"], &[]);
    assert!(code == 0 && all.lines().count() > 8_000);
}

#[test]
fn explain_runs_an_unblessed_case() {
    let case = "cases/rolling/surge-1-unavailable-0.yaml";
    let folder = tempfile::tempdir().expect("a folder");
    let copy = folder.path().join("mine.yaml");
    std::fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(case), &copy).expect("readable");
    let copy = copy.display().to_string();
    assert!(lockstep(&["explain", &copy], &[]).0.contains("no timeline is blessed yet"));
    let (live, code) = lockstep(&["explain", "--live=ours", &copy], &[]);
    assert_eq!(code, 0, "{live}");
    assert!(live.contains("what rollout-controller 0.1.0 on simulated v1.36.3 did just now"), "{live}");
    let steps =
        |stdout: &str| stdout.lines().filter(|line| line.starts_with("  >")).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(steps(&live), steps(&lockstep(&["explain", case], &[]).0), "upstream's story is blessed");
    let (stdout, code) = stderr_of(&["explain", "--live=someone", &copy]);
    assert!(code == 64 && stdout.contains("unknown subject 'someone'"), "{code} {stdout}");
}

#[test]
fn explain_draws_a_blessed_case() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("new/picture.svg").display().to_string();
    let (stdout, code) = lockstep(&["explain", "cases/recreate/three.yaml", "--svg", &file], &[]);
    let picture = std::fs::read_to_string(&file).expect("a picture");
    assert!(stdout.is_empty() && code == 0, "{stdout}");
    assert!(picture.starts_with("<svg xmlns=") && picture.contains("prefers-color-scheme: dark"), "{picture}");
    assert!(!picture.contains("<a ") && !picture.contains("<script"), "{picture}");
    assert_eq!(stderr_of(&["explain", "cases/recreate", "--svg", &file]).1, 64);
    let unblessed = "cases/config-restart/safe-and-xing/s02-adopted.yaml@safe";
    let (stdout, code) = stderr_of(&["explain", unblessed, "--svg", &file]);
    assert!(stdout.contains("is not blessed") && code == 64, "{stdout}");
}

/// Timelines of other upstream versions are stored next to the case. `list` and `explain` show
/// them, and `--as` judges by them.
#[test]
fn reads_timelines_of_other_upstream_versions() {
    let case = "cases/history/undo-keeps-order.yaml";
    let (stdout, code) = lockstep(&["list", case], &[]);
    assert!(stdout.contains("[otherwise in v1.15]") && code == 0, "{stdout}");
    let (now, then) = (lockstep(&["explain", case], &[]).0, lockstep(&["explain", case, "--as", "v1.15"], &[]).0);
    assert!(now.contains("what kube-controller-manager v1.36.3 on") && now.contains("> rs2 is deleted"), "{now}");
    assert!(then.contains("what kube-controller-manager v1.15.5 on") && then.contains("> rs1 is deleted"), "{then}");
    let folder = tempfile::tempdir().expect("a folder");
    let target = folder.path().display().to_string();
    let played = |more: &[&str]| lockstep(&[&["run", case], more].concat(), &[("XDG_STATE_HOME", target.as_str())]);
    assert_eq!(played(&[]).1, 0);
    let (stdout, code) = played(&["--as", "v1.15"]);
    assert!(
        stdout.contains("rs2 deleted instead of rs1 deleted") || stdout.contains("+         rs2 deleted"),
        "{stdout}"
    );
    assert!(stdout.contains("--as v1.15") && code == 1, "{stdout}");
    assert!(stdout.contains(&format!(" run {case} --subject ours --as v1.15\n")), "{stdout}");
    assert_eq!(played(&["--as", "1.15"]).1, 64);
    // v1.31 words its messages differently and decides the same, which needs no file.
    let (stdout, _) = lockstep(&["explain", "cases/recreate/three.yaml", "--as", "v1.31"], &[]);
    assert!(stdout.contains("with the words of v1.31"), "{stdout}");
}

#[test]
fn explain_refuses_a_version_without_recordings() {
    let (stderr, code) = stderr_of(&["explain", "cases/recreate/three.yaml", "--as", "v1.99"]);
    assert!(stderr.contains("nothing is recorded of this version; choose one from") && code == 64, "{stderr}");
}

//! Installing and running a release: `scripts/install.sh`, and `scripts/action` behind
//! `action.yml`.
//!
//! The release is made by the test: an archive whose `lockstep` is a shell script.
//! `scripts/release-archive` makes and checks a real one.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

const VERSION: &str = "9.8.7";

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../scripts").join(name)
}

/// This platform's name in archives.
fn target() -> String {
    let system = if cfg!(target_os = "macos") { "apple-darwin" } else { "unknown-linux-musl" };
    format!("{}-{system}", std::env::consts::ARCH)
}

/// Runs a command; returns standard output, standard error and the exit code.
fn run(command: &mut Command) -> (String, String, i32) {
    let output = command.output().expect("it starts");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    (text(output.stdout), text(output.stderr), output.status.code().expect("it ends by itself"))
}

/// Writes an executable shell script.
fn program(path: &Path, text: &str) {
    std::fs::write(path, format!("#!/bin/sh\n{text}\n")).expect("writable");
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).expect("ours");
}

/// A folder of releases and one to install into.
struct Release {
    folder: TempDir,
}

impl Release {
    /// Creates release `VERSION`, which is the latest.
    fn new() -> Self {
        let release = Self { folder: tempfile::tempdir().expect("a folder") };
        for place in [format!("download/v{VERSION}"), "latest/download".to_owned()] {
            let place = release.folder.path().join("releases").join(place);
            let name = format!("lockstep-{}", target());
            std::fs::create_dir_all(place.join(&name)).expect("writable");
            program(&place.join(&name).join("lockstep"), &format!("echo lockstep {VERSION}"));
            let pack = format!("tar -czf {name}.tar.gz {name} && rm -r {name}");
            let sum = format!("(sha256sum {name}.tar.gz || shasum -a 256 {name}.tar.gz) >SHA256SUMS 2>/dev/null");
            let made = Command::new("sh").current_dir(&place).args(["-c", &format!("{pack} && {sum}")]).status();
            assert!(made.expect("sh starts").success(), "the archive is made");
        }
        release
    }

    fn latest(&self, file: &str) -> PathBuf {
        self.folder.path().join("releases/latest/download").join(file)
    }

    fn url(&self) -> String {
        format!("file://{}/releases", self.folder.path().display())
    }

    /// The default path of an installed program.
    fn installed(&self) -> PathBuf {
        self.folder.path().join(".local/bin/lockstep")
    }

    fn install(&self, arguments: &[&str]) -> (String, String, i32) {
        self.install_from(&self.url(), arguments)
    }

    fn install_from(&self, url: &str, arguments: &[&str]) -> (String, String, i32) {
        let mut install = Command::new("sh");
        install.arg(script("install.sh")).args(arguments).env("LOCKSTEP_DOWNLOAD_URL", url);
        run(install.env("HOME", self.folder.path()).env("no_proxy", "127.0.0.1"))
    }
}

#[test]
fn installs_and_replaces_the_latest_release() {
    let release = Release::new();
    let (stdout, stderr, code) = release.install(&[]);
    let installed = release.installed();
    assert!(
        stdout.starts_with(&format!("installed lockstep {VERSION} as {}\n", installed.display())),
        "{stdout}{stderr}"
    );
    assert!(stdout.contains(".local/bin is not in your PATH") && code == 0, "{stdout}{stderr}");
    assert_eq!(run(&mut Command::new(&installed)).0, format!("lockstep {VERSION}\n"));
    std::fs::write(&installed, "old").expect("writable");
    assert_eq!(release.install(&[]).2, 0);
    assert_eq!(run(&mut Command::new(&installed)).0, format!("lockstep {VERSION}\n"));
    let there = installed.parent().expect("a folder").read_dir().expect("readable").count();
    assert_eq!(there, 1, "something is left behind");
}

#[test]
fn installs_a_version_into_a_folder_over_http() {
    let release = Release::new();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("bound");
    let folder = release.folder.path().to_owned();
    std::thread::spawn(move || {
        for connection in listener.incoming().flatten() {
            let mut request = String::new();
            BufReader::new(&connection).read_line(&mut request).ok();
            let path = request.split(' ').nth(1).unwrap_or_default();
            let body = std::fs::read(folder.join(path.trim_start_matches('/')));
            let (status, body) = body.map_or(("404 Not Found", Vec::new()), |body| ("200 OK", body));
            let length = body.len();
            let head = format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n");
            (&connection).write_all(&[head.into_bytes(), body].concat()).ok();
        }
    });
    let to = release.folder.path().join("to");
    let to = to.to_str().expect("text");
    let url = format!("http://{address}/releases/");
    let (stdout, stderr, code) = release.install_from(&url, &["--version", &format!("v{VERSION}"), "--to", to]);
    assert!(stdout.contains(&format!("installed lockstep {VERSION}")) && code == 0, "{stdout}{stderr}");
    let (_, stderr, code) = release.install_from(&url, &["--version", "1.0.0", "--to", to]);
    assert!(
        stderr.contains("cannot download") && stderr.contains("/download/v1.0.0/SHA256SUMS") && code == 69,
        "{stderr}"
    );
}

/// Installs with a `PATH` of one folder, whose `wget` answers addresses with these shell lines.
fn with_wget(release: &Release, answers: &str) -> (String, String, i32) {
    let bin = release.folder.path().join("bin");
    std::fs::create_dir(&bin).expect("writable");
    let path = std::env::var_os("PATH").expect("set");
    for tool in [
        "sh",
        "uname",
        "mktemp",
        "rm",
        "awk",
        "tar",
        "gzip",
        "sed",
        "tr",
        "grep",
        "cp",
        "mv",
        "mkdir",
        "chmod",
        "sha256sum",
    ] {
        let mut places = std::env::split_paths(&path).map(|folder| folder.join(tool));
        let found = places.find(|path| path.is_file()).unwrap_or_else(|| panic!("no {tool}"));
        std::os::unix::fs::symlink(found, bin.join(tool)).expect("writable");
    }
    let (log, url) = (release.folder.path().join("asked"), release.url());
    let wget = format!(
        "for address; do :; done\ncase $1 in --help) echo --max-redirect; exit ;; esac\n\
         to() {{ echo '  HTTP/1.1 302 Found' >&2; echo \"  Location: $1\" >&2; exit 8; }}\n\
         echo \"$address $*\" >> {}\nwhile [ \"$1\" != --output-document ]; do shift; done\n\
         send() {{ cp \"{}/latest/download/${{address##*/}}\" \"$2\"; }}\ncase $address in\n{answers}\nesac",
        log.display(),
        url.trim_start_matches("file://"),
    );
    program(&bin.join("wget"), &wget);
    let mut install = Command::new("sh");
    install.arg(script("install.sh")).env("LOCKSTEP_DOWNLOAD_URL", "https://a.test/r").env("PATH", &bin);
    let (stdout, stderr, code) = run(install.env("HOME", release.folder.path()));
    (stdout, stderr + &std::fs::read_to_string(log).unwrap_or_default(), code)
}

#[test]
fn wget_follows_redirections_to_https() {
    let release = Release::new();
    let answers = "https://a.test/*) to /moved/${address##*/} ;;\nhttps://b.test/*) send \"$@\" ;;";
    let answers = answers
        .replace("https://a.test/*)", "https://a.test/moved/*) to https://b.test/${address##*/} ;;\nhttps://a.test/*)");
    let (stdout, stderr, code) = with_wget(&release, &answers);
    assert!(stdout.starts_with("installed lockstep") && code == 0, "{stdout}{stderr}");
    assert!(stderr.lines().all(|line| line.contains("--max-redirect=0")), "{stderr}");
}

#[test]
fn wget_does_not_follow_redirections_to_http() {
    let release = Release::new();
    let answers = "https://*) to http://b.test/${address##*/} ;;\nhttp://*) send \"$@\" ;;";
    let (stdout, stderr, code) = with_wget(&release, answers);
    assert!(stderr.contains("https://a.test/r/latest/download/SHA256SUMS is redirected to http://b.test/"), "{stderr}");
    assert!(stderr.contains("which is not https") && code == 69 && !release.installed().exists(), "{stdout}{stderr}");
    assert!(!stderr.lines().any(|line| line.starts_with("http://")), "{stderr}");
}

#[test]
fn rejects_wrong_checksums_and_versions() {
    let refused = |release: &Release, arguments: &[&str], why: &str| {
        let (stdout, stderr, code) = release.install(arguments);
        assert!(stderr.contains(why) && code == 65, "{stdout}{stderr}{code}");
        assert!(!release.installed().exists(), "{why}");
    };
    let release = Release::new();
    let archive = release.latest(&format!("lockstep-{}.tar.gz", target()));
    let good = std::fs::read(&archive).expect("readable");
    std::fs::write(&archive, [&good[..], b"\0"].concat()).expect("writable");
    refused(&release, &[], "has the checksum");
    std::fs::write(&archive, good).expect("writable");
    std::fs::write(release.latest("SHA256SUMS"), "0000  lockstep-other.tar.gz\n").expect("writable");
    refused(&release, &[], "does not name lockstep-");
    // A valid checksum, but another version than the folder's name.
    let folder = release.folder.path().join("releases/download");
    std::fs::rename(folder.join(format!("v{VERSION}")), folder.join("v1.2.3")).expect("ours");
    refused(&release, &["--version", "1.2.3"], &format!("is 'lockstep {VERSION}', not lockstep 1.2.3"));
}

#[test]
fn reports_why_it_cannot_install() {
    let release = Release::new();
    for wrong in [&["--version"][..], &["--version", "../1"], &["1.0.0"], &["--to", ""]] {
        assert_eq!(release.install(wrong).2, 64, "{wrong:?}");
    }
    let taken = release.folder.path().join("file");
    std::fs::write(&taken, "").expect("writable");
    let (_, stderr, code) = release.install(&["--to", taken.to_str().expect("text")]);
    assert!(stderr.contains("cannot") && code == 73, "{stderr}");
    let bin = release.folder.path().join("bin");
    std::fs::create_dir(&bin).expect("writable");
    program(&bin.join("uname"), "echo Plan9");
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").expect("set"));
    let (_, stderr, code) = run(Command::new("sh").arg(script("install.sh")).env("PATH", path));
    assert!(stderr.contains("no archive for Plan9 on Plan9; build it: cargo install") && code == 69, "{stderr}");
}

/// `scripts/action` as a job of GitHub Actions runs it.
fn action(step: &str, folder: &Path) -> Command {
    let mut command = Command::new("bash");
    command.arg(script("action")).arg(step).current_dir(folder);
    command.env("RUNNER_TEMP", folder);
    command.env("GITHUB_PATH", folder.join("path")).env("GITHUB_OUTPUT", folder.join("output"));
    command
}

#[test]
fn action_installs_its_own_version() {
    let release = Release::new();
    let folder = release.folder.path();
    let url = release.url();
    let (_, stderr, code) = run(action("install", folder).env("LOCKSTEP_DOWNLOAD_URL", &url));
    let own = env!("CARGO_PKG_VERSION");
    assert!(stderr.contains(&format!("/download/v{own}/SHA256SUMS")) && code == 69, "{stderr}");
    for version in [VERSION, "latest"] {
        let mut install = action("install", folder);
        let (stdout, stderr, code) = run(install.env("LOCKSTEP_DOWNLOAD_URL", &url).env("VERSION", version));
        assert!(stdout.contains(&format!("installed lockstep {VERSION}")) && code == 0, "{stdout}{stderr}");
    }
    let path = std::fs::read_to_string(folder.join("path")).expect("written");
    assert!(path.lines().all(|bin| Path::new(bin).join("lockstep").exists()), "{path}");
}

#[test]
fn action_passes_on_its_inputs() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    program(&folder.join("lockstep"), "printf '%s\\n' \"$@\"\nexit 3");
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").expect("set"));
    let judged = |given: &[(&str, &str)]| run(action("run", folder).env("PATH", &path).envs(given.iter().copied()));
    let report = folder.join("lockstep-report").display().to_string();
    let files = format!("--junit\n{report}/junit.xml\n--html\n{report}/page.html\n--evidence\n{report}/evidence\n");
    let (stdout, stderr, code) = judged(&[]);
    assert_eq!((stdout, code), (format!("run\n{files}--\n"), 3), "{stderr}");
    let given = [
        ("SUBJECT", "command:./my controller $(touch ran)"),
        ("FILTER", "area(rolling) & !tag(slow)"),
        ("ARGS", "--cluster control-plane --as 'v1.35' \"$(touch ran)\""),
        ("PATHS", "cases 'more cases'"),
    ];
    let expected = "--subject\ncommand:./my controller $(touch ran)\n--filter\narea(rolling) & !tag(slow)\n\
                    --cluster\ncontrol-plane\n--as\nv1.35\n$(touch ran)\n--\ncases\nmore cases\n";
    assert_eq!(judged(&given).0, format!("run\n{files}{expected}"));
    assert!(!folder.join("ran").exists(), "an argument was run");
    assert!(judged(&[("ARGS", "'open")]).1.contains("the quotes do not match"));
    let output = std::fs::read_to_string(folder.join("output")).expect("written");
    assert!(output.starts_with(&format!("report={report}\n")), "{output}");
}

/// The job with publishing rights builds and downloads nothing; it only uses artifacts of other
/// jobs.
#[test]
fn publish_job_builds_nothing() {
    let workflow = script("../.github/workflows/release.yml");
    let text = std::fs::read_to_string(workflow).expect("readable");
    let workflow: serde_json::Value = serde_saphyr::from_str(&text).expect("YAML");
    for (name, job) in workflow["jobs"].as_object().expect("jobs") {
        let may_publish = job["permissions"].as_object().is_some_and(|all| all.values().any(|one| one == "write"));
        assert_eq!(may_publish, name == "release", "{name}");
        let runs: Vec<&str> =
            job["steps"].as_array().expect("steps").iter().filter_map(|step| step["run"].as_str()).collect();
        assert!(!may_publish || runs.iter().all(|run| !run.contains("cargo") && !run.contains("install")), "{runs:?}");
    }
}

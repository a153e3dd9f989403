//! `lockstep inspect` in a terminal: it shows a recording, handles keys, and restores the terminal
//! on every exit.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rstest::rstest;
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Termios, Winsize, tcgetattr, tcsetwinsize};

/// The escape sequences at the begin and end of a full-screen program, and to show the cursor.
const ENTER: &str = "\x1b[?1049h";
const LEAVE: &str = "\x1b[?1049l";
const CURSOR: &str = "\x1b[?25h";
const RIGHT: &str = "\x1b[C";

/// A pseudo-terminal and everything written to it.
struct Terminal {
    keyboard: File,
    slave: File,
    output: Arc<Mutex<String>>,
}

impl Terminal {
    fn open() -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
        grantpt(&master).expect("its other end");
        unlockpt(&master).expect("its other end");
        let name = ptsname(&master, Vec::new()).expect("a name").into_string().expect("text");
        let slave = OpenOptions::new().read(true).write(true).open(name).expect("its other end");
        let size = Winsize { ws_row: 40, ws_col: 130, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&slave, size).expect("a size");
        let keyboard = File::from(master);
        let (mut screen, output) = (keyboard.try_clone().expect("a copy"), Arc::new(Mutex::new(String::new())));
        let written = Arc::clone(&output);
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(length @ 1..) = screen.read(&mut bytes) {
                written
                    .lock()
                    .expect("no thread panics while it writes")
                    .push_str(&String::from_utf8_lossy(&bytes[..length]));
            }
        });
        Self { keyboard, slave, output }
    }

    fn copy(&self) -> File {
        self.slave.try_clone().expect("a copy")
    }

    fn output(&self) -> String {
        self.output.lock().expect("no thread panics while it writes").clone()
    }

    /// Waits until the output satisfies a condition.
    fn shows(&self, holds: impl Fn(&str) -> bool) {
        for _ in 0..200 {
            if holds(&self.output()) {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("{:?}", self.output());
    }

    /// The relevant terminal settings.
    fn settings(&self) -> String {
        let Termios { input_modes, output_modes, control_modes, local_modes, .. } =
            tcgetattr(&self.slave).expect("a terminal");
        format!("{input_modes:?} {output_modes:?} {control_modes:?} {local_modes:?}")
    }
}

fn lockstep() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lockstep"));
    command.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."));
    command.env("XDG_STATE_HOME", env!("CARGO_TARGET_TMPDIR")).env_remove("GITHUB_ACTIONS");
    command
}

/// A way to exit the view.
type WayOut = fn(&mut File, &Child);

fn quits(keyboard: &mut File, _: &Child) {
    keyboard.write_all(b"q").expect("writable");
}

fn presses_control_c(keyboard: &mut File, _: &Child) {
    keyboard.write_all(b"\x03").expect("writable");
}

fn is_terminated(_: &mut File, child: &Child) {
    kill_process(Pid::from_child(child), Signal::TERM).expect("it runs");
}

fn is_hung_up(_: &mut File, child: &Child) {
    kill_process(Pid::from_child(child), Signal::HUP).expect("it runs");
}

#[rstest]
#[case(quits, 0)]
#[case(presses_control_c, 130)]
#[case(is_terminated, 143)]
#[case(is_hung_up, 129)]
fn restores_the_terminal_on_exit(#[case] way_out: WayOut, #[case] code: i32) {
    let folder = tempfile::tempdir().expect("a folder");
    let kept = folder.path().display().to_string();
    let ran = lockstep().args(["run", "cases/recreate/three.yaml", "--recordings", &kept]).output().expect("it starts");
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));

    let mut terminal = Terminal::open();
    let before = terminal.settings();
    let mut command = lockstep();
    command.arg("inspect").arg(folder.path().join("recreate/three.ndjson"));
    command.stdin(terminal.copy()).stdout(terminal.copy()).stderr(terminal.copy());
    let mut child = command.spawn().expect("it starts");
    terminal.shows(|output| output.contains(ENTER) && output.contains("ReplicaSets") && output.contains("requests"));
    assert_ne!(terminal.settings(), before, "keys come one by one");
    // A key without a function, and one that moves to the next step.
    let shown = terminal.output().len();
    terminal.keyboard.write_all(format!("x{RIGHT}").as_bytes()).expect("writable");
    terminal.shows(|output| output.len() > shown);
    way_out(&mut terminal.keyboard, &child);
    assert_eq!(child.wait().expect("it ends").code(), Some(code));
    terminal.shows(|output| output.contains(LEAVE) && output.rfind(CURSOR).is_some());
    assert_eq!(terminal.settings(), before);
}

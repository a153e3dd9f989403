//! Chromium, driven by its DevTools protocol through a pipe.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

/// Gives Chromium its input and output as files 3 and 4, as `--remote-debugging-pipe` expects.
const SHELL: &str = r#"exec "$0" "$@" 3<&0 4>&1 </dev/null >/dev/null 2>/dev/null"#;
const FLAGS: [&str; 10] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--remote-debugging-pipe",
];

/// A running browser, which ends with the value.
pub(crate) struct Browser {
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    /// The number of the last command.
    last: u64,
    events: Vec<Value>,
    folder: TempDir,
}

impl Browser {
    pub(crate) fn start(program: &Path) -> Result<Self, String> {
        let folder = TempDir::new().map_err(|error| error.to_string())?;
        let mut command = Command::new("sh");
        command.arg("-c").arg(SHELL).arg(program).args(FLAGS);
        command.arg(format!("--user-data-dir={}", folder.path().join("profile").display()));
        let process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut process = process.map_err(|error| error.to_string())?;
        let (input, output) = process.stdin.take().zip(process.stdout.take()).ok_or("no pipes")?;
        Ok(Self { process, input, output: BufReader::new(output), last: 0, events: Vec::new(), folder })
    }

    /// Open this page on a screen of this size, in a light or dark scheme.
    pub(crate) fn open(&mut self, html: &str, size: (u32, u32), scheme: &str) -> Result<Tab<'_>, String> {
        let path = self.folder.path().join(format!("page-{}.html", self.last));
        std::fs::write(&path, html).map_err(|error| error.to_string())?;
        self.events.clear();
        let target = self.call("", "Target.createTarget", &json!({"url": "about:blank"}))?;
        let session =
            self.call("", "Target.attachToTarget", &json!({"targetId": target["targetId"], "flatten": true}))?;
        let session = session["sessionId"].as_str().ok_or("no session")?.to_owned();
        for domain in ["Page", "Network", "Runtime", "Log"] {
            self.call(&session, &format!("{domain}.enable"), &json!({}))?;
        }
        let (width, height) = size;
        let metrics = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600});
        self.call(&session, "Emulation.setDeviceMetricsOverride", &metrics)?;
        let scheme = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
        self.call(&session, "Emulation.setEmulatedMedia", &scheme)?;
        self.call(&session, "Page.navigate", &json!({"url": format!("file://{}", path.display())}))?;
        while !self.events.iter().any(|event| event["method"] == "Page.loadEventFired") {
            let event = self.read()?;
            self.events.push(event);
        }
        Ok(Tab { browser: self, session, path })
    }

    /// Call a method, and keep the events up to its answer.
    fn call(&mut self, session: &str, method: &str, params: &Value) -> Result<Value, String> {
        self.last += 1;
        let mut command = json!({"id": self.last, "method": method, "params": params});
        if !session.is_empty() {
            command["sessionId"] = session.into();
        }
        self.input.write_all(format!("{command}\0").as_bytes()).map_err(|error| error.to_string())?;
        loop {
            let mut message = self.read()?;
            match message["id"].as_u64() {
                Some(id) if id == self.last && message["error"].is_null() => return Ok(message["result"].take()),
                Some(id) if id == self.last => return Err(format!("{method}: {}", message["error"])),
                _ => self.events.push(message),
            }
        }
    }

    fn read(&mut self) -> Result<Value, String> {
        let mut message = Vec::new();
        self.output.read_until(0, &mut message).map_err(|error| error.to_string())?;
        match message.pop() {
            Some(0) => serde_json::from_slice(&message).map_err(|error| error.to_string()),
            _ => Err("the browser ended".to_owned()),
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.call("", "Browser.close", &json!({}));
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A page in a browser.
pub(crate) struct Tab<'a> {
    browser: &'a mut Browser,
    session: String,
    path: PathBuf,
}

impl Tab<'_> {
    pub(crate) fn eval(&mut self, expression: &str) -> Result<Value, String> {
        let params = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let mut answer = self.browser.call(&self.session, "Runtime.evaluate", &params)?;
        match &answer["exceptionDetails"] {
            Value::Null => Ok(answer["result"]["value"].take()),
            thrown => Err(format!("{expression}: {thrown}")),
        }
    }

    /// Press a key: a letter, or one with a name.
    pub(crate) fn press(&mut self, key: &str) -> Result<(), String> {
        let code = match key {
            "Enter" => 13,
            "Escape" => 27,
            "End" => 35,
            "ArrowLeft" => 37,
            _ => 0,
        };
        let text = match key {
            "Enter" => "\r",
            _ if code > 0 => "",
            letter => letter,
        };
        let down = json!({"type": "keyDown", "key": key, "code": key, "windowsVirtualKeyCode": code, "text": text});
        self.browser.call(&self.session, "Input.dispatchKeyEvent", &down)?;
        let up = json!({"type": "keyUp", "key": key, "code": key, "windowsVirtualKeyCode": code});
        self.browser.call(&self.session, "Input.dispatchKeyEvent", &up)?;
        Ok(())
    }

    /// The requests other than for the page itself, what scripts threw, and what was reported as an
    /// error.
    pub(crate) fn problems(&self) -> Vec<String> {
        let own = format!("file://{}", self.path.display());
        let events = self.browser.events.iter().filter(|event| event["sessionId"] == self.session.as_str());
        let problem = |event: &Value| match event["method"].as_str()? {
            "Network.requestWillBeSent" => {
                let url = event["params"]["request"]["url"].as_str()?;
                (url.split('#').next() != Some(&own)).then(|| format!("requests {url}"))
            }
            "Runtime.exceptionThrown" => Some(format!("throws {}", event["params"])),
            "Log.entryAdded" => Some(format!("logs {}", event["params"]["entry"]["text"])),
            _ => None,
        };
        events.filter_map(problem).collect()
    }
}

//! A headless Chromium, controlled through a pipe with the DevTools protocol: JSON messages, each
//! followed by a zero byte.

use serde_json::{Value, json};
use std::io::{self, BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// Names of the program in distributions.
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
/// It reads from descriptor 3 and writes to descriptor 4.
const BY_PIPE: &str = "exec \"$0\" \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>&1";
const PATIENCE: Duration = Duration::from_secs(60);

/// An error of the browser or of a check.
pub(super) type Failure = Box<dyn std::error::Error>;

/// The browser with one page open; ended on drop.
pub(super) struct Browser {
    child: Child,
    requests: ChildStdin,
    answers: Receiver<Value>,
    session: String,
    last_id: u64,
    /// Network and file accesses of the page, and errors of its script.
    pub(super) asked_for: Vec<String>,
    pub(super) complaints: Vec<String>,
}

/// The program, if it is installed.
pub(super) fn find() -> Option<&'static str> {
    let answers = |name: &&&str| {
        let mut command = Command::new(name);
        let version = command.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
        version.status().is_ok_and(|status| status.success())
    };
    NAMES.iter().find(answers).copied()
}

impl Browser {
    pub(super) fn start(name: &str, profile: &std::path::Path) -> Result<Browser, Failure> {
        // The page is our own, and there is no sandbox for root.
        let flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run"];
        let mut child = Command::new("sh")
            .args(["-c", BY_PIPE, name])
            .args(flags)
            .args(["--remote-debugging-pipe", "--disable-background-networking"])
            .args(["--hide-scrollbars", "--force-device-scale-factor=1"])
            .arg(format!("--user-data-dir={}", profile.display()))
            .arg("about:blank")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let (Some(requests), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err("no pipe".into());
        };
        let (sender, answers) = channel();
        std::thread::spawn(move || {
            for message in BufReader::new(stdout).split(0).map_while(io::Result::ok) {
                let Ok(message) = serde_json::from_slice(&message) else { continue };
                if sender.send(message).is_err() {
                    break;
                }
            }
        });
        let (asked_for, complaints) = (Vec::new(), Vec::new());
        let mut browser = Browser {
            child,
            requests,
            answers,
            session: String::new(),
            last_id: 0,
            asked_for,
            complaints,
        };
        let target = browser.ask("Target.createTarget", json!({ "url": "about:blank" }))?;
        let attach = json!({ "targetId": target["targetId"], "flatten": true });
        let attached = browser.ask("Target.attachToTarget", attach)?;
        browser.session = attached["sessionId"].as_str().unwrap_or_default().to_owned();
        for domain in ["Page", "Runtime", "Network", "Log"] {
            browser.ask(&format!("{domain}.enable"), json!({}))?;
        }
        Ok(browser)
    }

    /// Sends a command and waits for the result.
    pub(super) fn ask(&mut self, method: &str, params: Value) -> Result<Value, Failure> {
        self.last_id += 1;
        let mut request = json!({ "id": self.last_id, "method": method, "params": params });
        if !self.session.is_empty() {
            request["sessionId"] = Value::from(self.session.as_str());
        }
        write!(self.requests, "{request}\0")?;
        self.requests.flush()?;
        let id = self.last_id;
        let answer = self.wait_for(|message| message["id"] == id)?;
        match answer.get("error") {
            Some(error) => Err(format!("{method}: {error}").into()),
            None => Ok(answer["result"].clone()),
        }
    }

    fn wait_for(&mut self, is_it: impl Fn(&Value) -> bool) -> Result<Value, Failure> {
        let until = Instant::now() + PATIENCE;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let message = self.answers.recv_timeout(left)?;
            self.note(&message);
            if is_it(&message) {
                return Ok(message);
            }
        }
    }

    fn note(&mut self, message: &Value) {
        let params = &message["params"];
        let noted = match message["method"].as_str() {
            Some("Network.requestWillBeSent") => {
                self.asked_for.push(params["request"]["url"].to_string());
                return;
            }
            Some("Runtime.exceptionThrown") => &params["exceptionDetails"],
            Some("Log.entryAdded") => &params["entry"]["text"],
            _ => return,
        };
        self.complaints.push(noted.to_string());
    }

    /// Loads an address and waits until it has been loaded completely.
    pub(super) fn open(&mut self, url: &str) -> Result<(), Failure> {
        // Navigation within a page would not load anything.
        for url in ["about:blank", url] {
            self.ask("Page.navigate", json!({ "url": url }))?;
            self.wait_for(|message| message["method"] == "Page.loadEventFired")?;
        }
        self.settle()
    }

    /// The value of an expression in the page; awaits promises.
    pub(super) fn value(&mut self, expression: &str) -> Result<Value, Failure> {
        let params =
            json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        let answer = self.ask("Runtime.evaluate", params)?;
        match answer.get("exceptionDetails") {
            Some(thrown) => Err(format!("{expression:.80}: {thrown}").into()),
            None => Ok(answer["result"]["value"].clone()),
        }
    }

    /// Presses a key.
    pub(super) fn press(&mut self, key: &str, code: u32) -> Result<(), Failure> {
        for kind in ["keyDown", "keyUp"] {
            let mut event =
                json!({ "type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code });
            if key == "Enter" && kind == "keyDown" {
                event["text"] = Value::from("\r");
            }
            self.ask("Input.dispatchKeyEvent", event)?;
        }
        self.settle()
    }

    /// Types text into the focused element.
    pub(super) fn type_text(&mut self, text: &str) -> Result<(), Failure> {
        self.ask("Input.insertText", json!({ "text": text }))?;
        self.settle()
    }

    /// Waits until the page has been rendered.
    pub(super) fn settle(&mut self) -> Result<(), Failure> {
        let frames =
            "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))";
        self.value(frames).map(drop)
    }

    /// Sets the window size and the colour scheme.
    pub(super) fn dress(&mut self, width: u32, is_dark: bool) -> Result<(), Failure> {
        let size = json!({
            "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false
        });
        self.ask("Emulation.setDeviceMetricsOverride", size)?;
        let scheme = if is_dark { "dark" } else { "light" };
        let feature = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        self.ask("Emulation.setEmulatedMedia", json!({ "features": feature }))?;
        self.settle()
    }

    /// A screenshot of the window, as PNG in base64.
    pub(super) fn picture(&mut self) -> Result<String, Failure> {
        let answer = self.ask("Page.captureScreenshot", json!({ "format": "png" }))?;
        Ok(answer["data"].as_str().unwrap_or_default().to_owned())
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Its child processes end with it.
        self.session.clear();
        let _ = write!(self.requests, "{{\"id\":0,\"method\":\"Browser.close\"}}\0");
        let _ = self.requests.flush();
        let until = Instant::now() + Duration::from_secs(5);
        while Instant::now() < until {
            if let Ok(Some(_)) = self.child.try_wait() {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

//! A child process that answers requests, one JSON value per line. If it crashes or hangs, only the
//! current request is lost.

use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{self, BufRead, BufReader, Write};
use std::process::{ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

/// Starts the command with a limit of 10 GiB of memory, so that a runaway walk fails before the
/// machine does.
const LIMITED: &str = "ulimit -v 10485760; exec \"$0\" \"$@\"";

/// The process; killed and waited for on drop.
pub(crate) struct Child<Event> {
    child: std::process::Child,
    stdin: Option<ChildStdin>,
    events: Receiver<Event>,
}

impl<Event: DeserializeOwned + Send + 'static> Child<Event> {
    /// Starts this program with these arguments.
    pub(crate) fn start(args: &[String]) -> io::Result<Child<Event>> {
        let mut child = Command::new("sh")
            .args(["-c", LIMITED])
            .arg(std::env::current_exe()?)
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let stdin = child.stdin.take();
        let (sender, events) = channel();
        if let Some(stdout) = child.stdout.take() {
            std::thread::spawn(move || {
                for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                    let Ok(event) = serde_json::from_str(&line) else { continue };
                    if sender.send(event).is_err() {
                        break;
                    }
                }
            });
        }
        Ok(Child { child, stdin, events })
    }

    /// Sends a request.
    pub(crate) fn ask(&mut self, request: &impl Serialize) -> Result<(), String> {
        let sent = serde_json::to_string(request).ok().and_then(|text| {
            let stdin = self.stdin.as_mut()?;
            writeln!(stdin, "{text}").and_then(|()| stdin.flush()).ok()
        });
        sent.ok_or_else(|| "worker does not listen".to_owned())
    }

    /// The next event; an error if none arrives in time or the process has ended.
    pub(crate) fn next(&mut self, timeout: Duration) -> Result<Event, String> {
        self.events.recv_timeout(timeout).map_err(|why| match why {
            RecvTimeoutError::Timeout => format!("no answer within {} s", timeout.as_secs()),
            RecvTimeoutError::Disconnected => {
                let status = self.child.wait().map_or_else(|e| e.to_string(), |s| s.to_string());
                format!("crash: {status}")
            }
        })
    }
}

impl<Event> Drop for Child<Event> {
    fn drop(&mut self) {
        drop(self.stdin.take());
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Writes an event, as the child.
pub(crate) fn answer(event: &impl Serialize) -> io::Result<()> {
    let mut out = io::stdout().lock();
    serde_json::to_writer(&mut out, event)?;
    out.write_all(b"\n")?;
    out.flush()
}

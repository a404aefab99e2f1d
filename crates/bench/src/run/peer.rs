//! Other engines: a child process each, with a protocol of lines.
//!
//! `load CODE DATA EXPECTED`: files of bytecode and of input bytes, and the expected result;
//! answered by `ok` or `no REASON`. `run N`: runs the loaded program N times; answered by `RESULT
//! NS`, the last result and ns per run. End of input ends the child.

use super::engines::Runner;
use skep_cli::Error;
use std::cell::RefCell;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::rc::Rc;

/// A child that runs programs on request.
pub struct Peer {
    /// Its name.
    pub name: String,
    /// The newest cpu version that it supports.
    pub cpu: String,
    pipes: Rc<RefCell<Pipes>>,
}

struct Pipes {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Drop for Pipes {
    fn drop(&mut self) {
        self.input = None;
        // It ends with its input; its exit code means nothing.
        let _ = self.child.wait();
    }
}

impl Pipes {
    fn ask(&mut self, line: &str) -> Result<String, Error> {
        let input = self.input.as_mut().ok_or("no input")?;
        let mut answer = String::new();
        let sent = writeln!(input, "{line}").and_then(|()| input.flush());
        let read = sent.and_then(|()| self.output.read_line(&mut answer));
        match read {
            Ok(0) | Err(_) => Err("it has died".into()),
            Ok(_) => Ok(answer.trim_end().to_owned()),
        }
    }
}

impl Peer {
    /// Starts `NAME:CPU=COMMAND ARGUMENTS`.
    ///
    /// # Errors
    ///
    /// The text has another form, or the command does not start.
    pub fn start(text: &str) -> Result<Peer, Error> {
        let parts = text.split_once('=').and_then(|(name, command)| {
            let (name, cpu) = name.split_once(':')?;
            Some((name, cpu, command))
        });
        let (name, cpu, command) = parts.ok_or("a peer is NAME:CPU=COMMAND")?;
        let mut words = command.split_whitespace();
        let mut command = Command::new(words.next().ok_or("a peer has a command")?);
        command.args(words).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().map_err(|e| Error::at(name, e))?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let output = BufReader::new(output.ok_or("no pipe")?);
        let pipes = Rc::new(RefCell::new(Pipes { child, input, output }));
        Ok(Peer { name: name.to_owned(), cpu: cpu.to_owned(), pipes })
    }

    /// Loads a program.
    ///
    /// # Errors
    ///
    /// Why the engine does not run it.
    pub fn load(&self, code: &Path, data: &Path, expected: u64) -> Result<Runner<'_>, Error> {
        let line = format!("load {} {} {expected}", code.display(), data.display());
        let answer = self.pipes.borrow_mut().ask(&line)?;
        if let Some(reason) = answer.strip_prefix("no ") {
            return Err(reason.into());
        }
        let pipes = self.pipes.clone();
        Ok(Box::new(move |runs| {
            let answer = pipes.borrow_mut().ask(&format!("run {runs}"))?;
            let parts = answer.split_once(' ');
            let read =
                parts.and_then(|(result, ns)| Some((result.parse().ok()?, ns.parse().ok()?)));
            read.ok_or_else(|| answer.into())
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_answers_by_lines() {
        let script = std::env::temp_dir().join(format!("peer-{}.sh", std::process::id()));
        let text = "read line; echo ok; read line; echo 7 2.5; read line; echo no such thing\n";
        std::fs::write(&script, text).unwrap();
        let peer = Peer::start(&format!("sh:v3=sh {}", script.display())).unwrap();
        let path = Path::new("x");
        let mut runner = peer.load(path, path, 7).unwrap();
        assert_eq!(runner(3), Ok((7, 2.5)));
        assert_eq!(peer.load(path, path, 7).err().unwrap().to_string(), "such thing");
        assert!(peer.load(path, path, 7).is_err(), "it has ended");
        std::fs::remove_file(&script).unwrap();
        assert!(Peer::start("rbpf").is_err());
    }
}

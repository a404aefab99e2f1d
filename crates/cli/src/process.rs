//! Connects a command to the process: its streams, its panics, its exit code.

use crate::exit::Exit;
use crate::folded::Folded;
use crate::streams::Streams;
use skep_report::Style;
use std::env::ArgsOs;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::process::ExitCode;

/// The main function of a binary, given its arguments and streams.
type Run = fn(ArgsOs, &mut Streams<'_>) -> io::Result<Exit>;

/// Runs a command on the arguments and streams of this process.
pub fn run_in_process(run: Run) -> ExitCode {
    // Panics are caught where they can be attributed to one program, and reported there in one
    // line; with a backtrace requested, the usual text is printed.
    if std::env::var_os("RUST_BACKTRACE").is_none() {
        std::panic::set_hook(Box::new(|_| {}));
    }
    match std::panic::catch_unwind(|| in_streams(run)) {
        Ok(Ok(exit)) => ExitCode::from(exit.code()),
        Ok(Err(e)) => {
            let _ = writeln!(io::stderr(), "error: while writing: {}", skep::io_text(&e));
            ExitCode::from(Exit::Input.code())
        }
        Err(panic) => {
            let what = skep::panic_text(panic.as_ref());
            let _ = writeln!(io::stderr(), "internal error: {what}; please report it");
            ExitCode::from(Exit::Bug.code())
        }
    }
}

fn in_streams(run: Run) -> io::Result<Exit> {
    let stdout = io::stdout();
    // NO_COLOR, CLICOLOR_FORCE and whether this is a terminal.
    let coloured = anstream::AutoStream::choice(&stdout) != anstream::ColorChoice::Never;
    let out = WhileRead { to: stdout.lock(), is_read: true };
    let mut out = BufWriter::new(Folded::new(out, columns(&stdout)));
    let err = WhileRead { to: io::stderr(), is_read: true };
    let mut err = Folded::new(err, columns(&io::stderr()));
    let mut streams = Streams {
        out: &mut out,
        err: &mut err,
        style: if coloured { Style::Coloured } else { Style::Plain },
        progress: io::stderr().is_terminal(),
    };
    let exit = run(std::env::args_os(), &mut streams)?;
    out.flush()?;
    err.flush()?;
    Ok(exit)
}

/// The width of a terminal.
#[cfg(all(feature = "run", target_os = "linux"))]
fn columns(stream: &(impl IsTerminal + std::os::fd::AsFd)) -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(stream).ok().filter(|_| stream.is_terminal())?;
    Some(usize::from(size.ws_col))
}

#[cfg(not(all(feature = "run", target_os = "linux")))]
fn columns(_: &impl IsTerminal) -> Option<usize> {
    None
}

/// Writes until the reader closes the pipe. A reader that leaves early (`head`) does not end the
/// work, whose result is the exit status.
struct WhileRead<W> {
    to: W,
    is_read: bool,
}

impl<W: Write> WhileRead<W> {
    /// The result of `write`, or `unread` if the pipe is closed.
    fn or<T>(&mut self, unread: T, write: impl FnOnce(&mut W) -> io::Result<T>) -> io::Result<T> {
        if !self.is_read {
            return Ok(unread);
        }
        match write(&mut self.to) {
            Err(e) if e.kind() == io::ErrorKind::BrokenPipe => {
                self.is_read = false;
                Ok(unread)
            }
            done => done,
        }
    }
}

impl<W: Write> Write for WhileRead<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.or(bytes.len(), |to| to.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.or((), Write::flush)
    }
}

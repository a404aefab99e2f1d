//! The binary `skep`: connects the library to the process.

#![deny(unsafe_code)]

use skep_cli::{Exit, Streams};
use skep_report::Style;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::process::ExitCode;

fn main() -> ExitCode {
    // Panics are caught where they can be blamed on one program, and reported there in one line;
    // who wants a backtrace gets the usual text.
    if std::env::var_os("RUST_BACKTRACE").is_none() {
        std::panic::set_hook(Box::new(|_| {}));
    }
    match std::panic::catch_unwind(run) {
        Ok(Ok(exit)) => ExitCode::from(exit.code()),
        Ok(Err(e)) if e.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
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

fn run() -> io::Result<Exit> {
    let stdout = io::stdout();
    // NO_COLOR, CLICOLOR_FORCE and whether this is a terminal.
    let coloured = anstream::AutoStream::choice(&stdout) != anstream::ColorChoice::Never;
    let mut out = BufWriter::new(stdout.lock());
    let mut err = io::stderr();
    let mut streams = Streams {
        out: &mut out,
        err: &mut err,
        style: if coloured { Style::Coloured } else { Style::Plain },
        progress: io::stderr().is_terminal(),
    };
    let exit = skep_cli::run(std::env::args_os(), &mut streams)?;
    out.flush()?;
    Ok(exit)
}

//! Completions and manual pages, generated from the flag table.

use crate::flags::Cli;
use clap::CommandFactory;
use std::io::{self, Write};

/// Writes the completion script for `shell`.
pub(crate) fn completions(out: &mut dyn Write, shell: clap_complete::Shell) -> io::Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "skep", &mut script);
    out.write_all(&script)
}

/// Writes the manual page of skep or of a subcommand; `None` if there is no such subcommand.
pub(crate) fn man(out: &mut dyn Write, path: &[String]) -> io::Result<Option<()>> {
    let mut command = Cli::command();
    command.build();
    for name in path {
        let Some(found) = command.find_subcommand(name) else { return Ok(None) };
        let full = format!("{} {name}", command.get_bin_name().unwrap_or("skep"));
        command = found.clone().bin_name(full);
    }
    out.write_all(&page(command)?)?;
    Ok(Some(()))
}

/// The page of a command. The text after its options is laid out here: tables as lists of terms,
/// the exit status as a section.
fn page(command: clap::Command) -> io::Result<Vec<u8>> {
    let notes = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let title = command.get_bin_name().unwrap_or("skep").replace(' ', "-");
    let source = format!("skep {}", command.get_version().unwrap_or_default());
    let command = command.after_help(None::<&str>);
    // Its date is empty, but an argument: the source and the manual follow it.
    let man = clap_mangen::Man::new(command).title(title).date("\"\"");
    let man = man.source(source).manual("skep manual");
    let mut page = Vec::new();
    man.render(&mut page)?;
    let mut section = None;
    for paragraph in notes.split("\n\n").filter(|paragraph| !paragraph.trim().is_empty()) {
        let (wanted, text) = match paragraph.trim_start_matches('\n').strip_prefix("Exit status: ")
        {
            Some(text) => ("EXIT STATUS", text),
            None => ("NOTES", paragraph),
        };
        if section.replace(wanted) != Some(wanted) {
            writeln!(page, ".SH \"{wanted}\"")?;
        }
        lay_out(&mut page, text)?;
    }
    Ok(page)
}

/// A paragraph; rows of a table, which are indented, become terms with descriptions.
fn lay_out(page: &mut Vec<u8>, paragraph: &str) -> io::Result<()> {
    writeln!(page, ".PP")?;
    for line in paragraph.trim_matches('\n').lines() {
        match line.strip_prefix("  ").and_then(|row| row.split_once("  ")) {
            Some((term, about)) => {
                writeln!(page, ".TP\n\\fB{}\\fR\n{}", roff(term), roff(about.trim_start()))?;
            }
            None => writeln!(page, "{}", roff(line.trim_start()))?,
        }
    }
    Ok(())
}

/// Text escaped for roff.
fn roff(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-").replace('\'', "\\(aq");
    if text.starts_with('.') { format!("\\&{text}") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page_of(path: &[&str]) -> String {
        let path: Vec<String> = path.iter().map(|name| (*name).to_owned()).collect();
        let mut page = Vec::new();
        man(&mut page, &path).unwrap().unwrap();
        String::from_utf8(page).unwrap()
    }

    #[test]
    fn a_page_says_whose_it_is() {
        let version = env!("CARGO_PKG_VERSION");
        for (path, title) in [(&[][..], "skep"), (&["stat"], "skep-stat")] {
            let wanted = format!(".TH {title} 1 \"\" \"skep {version}\" \"skep manual\"\n");
            assert!(page_of(path).contains(&wanted), "{}", page_of(path));
        }
    }

    #[test]
    fn rows_of_tables_are_terms() {
        let page = page_of(&["stat"]);
        let row = ".TP\n\\fBtotal_insns, insns\\fR\ninsns processed on all paths\n";
        assert!(page.contains(row), "{page}");
        assert!(page.contains(".SH \"EXIT STATUS\"\n.PP\n0 if every program"), "{page}");
        assert!(!page.contains("EXTRA") && !page.contains("\n  "), "{page}");
        assert_eq!(roff(".a-'\\"), "\\&.a\\-\\(aq\\e");
    }

    /// The lines of a page as `man` shows it, without empty ones; `None` if there is no groff.
    #[cfg(unix)]
    fn rendered(page: &str) -> Option<Vec<String>> {
        use std::process::{Command, Stdio};
        let mut groff = Command::new("groff");
        groff.args(["-man", "-Tutf8", "-ww", "-rHY=0", "-P-cbou"]);
        groff.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut groff = groff.spawn().ok()?;
        let mut input = groff.stdin.take().unwrap();
        let page = page.to_owned();
        let writer = std::thread::spawn(move || input.write_all(page.as_bytes()));
        let done = groff.wait_with_output().unwrap();
        writer.join().unwrap().unwrap();
        assert!(done.status.success());
        assert_eq!(String::from_utf8_lossy(&done.stderr), "");
        let text = String::from_utf8(done.stdout).unwrap();
        let lines = text.lines().map(str::trim_end).filter(|line| !line.is_empty());
        Some(lines.map(str::to_owned).collect())
    }

    #[cfg(unix)]
    #[test]
    fn groff_renders_every_page_without_a_warning() {
        let mut command = Cli::command();
        command.build();
        for path in std::iter::once(Vec::new()).chain(crate::flags::tests::paths(&command)) {
            let path: Vec<&str> = path.iter().map(String::as_str).collect();
            let page = page_of(&path);
            let Some(lines) = rendered(&page) else { return };
            let title = format!("{}(1)", [&["skep"][..], &path].concat().join("-"));
            let (first, last) = (lines.first().unwrap(), lines.last().unwrap());
            let heading: Vec<&str> = first.split_whitespace().collect();
            assert_eq!(heading, [&title, "skep", "manual", &title]);
            let version = format!("skep {} ", env!("CARGO_PKG_VERSION"));
            assert!(last.starts_with(&version) && last.ends_with(&title), "{last}");
            // Nothing of the markup is left, and rows of tables are terms with descriptions.
            let is_markup = |line: &&String| line.contains("\\f") || line.starts_with('.');
            assert_eq!(lines.iter().find(is_markup), None);
            if path == ["stat"] {
                let row =
                    lines.iter().position(|line| line == "       total_insns, insns").unwrap();
                assert_eq!(lines[row + 1], "              insns processed on all paths");
            }
        }
    }
}

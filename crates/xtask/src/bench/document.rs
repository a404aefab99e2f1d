//! `cargo xtask bench document [FILE...]`: measures the tables of docs/bench again, and those of
//! docs/measurements.md if it is named.
//!
//! A table is between `<!-- skep-bench ARGUMENTS -->` and `<!-- end -->`: the output of that
//! command in a release build, with rbpf and sbpf as peers where engines are compared. Or it is
//! that of `<!-- cargo xtask ARGUMENTS -->`.

use crate::outcome::Ended;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Options of the command.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Markdown files [default: those in docs/bench]
    files: Vec<PathBuf>,
}

/// The commands of tables.
const COMMANDS: [&str; 2] = ["skep-bench", "cargo xtask"];
const END: &str = "<!-- end -->";

pub(crate) fn run(args: &Args) -> crate::Outcome {
    let skep_bench = super::release::skep_bench_in_release()?;
    let peers = super::peers::options()?;
    let own = std::env::current_exe()?;
    let mut measure = |line: &str| -> Result<String, String> {
        eprintln!("{line}");
        let (program, arguments) = match line.strip_prefix("cargo xtask ") {
            Some(arguments) => (&own, arguments),
            None => (&skep_bench, line.strip_prefix("skep-bench ").unwrap_or_default()),
        };
        let mut command = Command::new(program);
        command.current_dir(crate::root()).args(arguments.split_whitespace());
        if line.starts_with("skep-bench run") {
            command.args(&peers);
        }
        let output = command.stderr(Stdio::inherit()).output().map_err(|e| e.to_string())?;
        match output.status.success() {
            true => Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_owned()),
            false => Err(format!("{line}: {}", output.status)),
        }
    };
    let files = match args.files.is_empty() {
        false => args.files.clone(),
        true => pages()?,
    };
    for path in files {
        let path = crate::root().join(path);
        let text = std::fs::read_to_string(&path)?;
        std::fs::write(&path, renewed(&text, &mut measure)?)?;
    }
    Ok(Ended::Passed)
}

/// The files in docs/bench, by name.
fn pages() -> std::io::Result<Vec<PathBuf>> {
    let folder = std::fs::read_dir(crate::root().join("docs/bench"))?;
    let mut pages = folder.map(|file| Ok(file?.path())).collect::<std::io::Result<Vec<_>>>()?;
    pages.sort();
    Ok(pages)
}

/// The text with the output of `measure` for each command.
fn renewed(
    text: &str,
    measure: &mut dyn FnMut(&str) -> Result<String, String>,
) -> Result<String, String> {
    let mut out = String::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        out += line;
        out.push('\n');
        let comment = line.strip_prefix("<!-- ").and_then(|rest| rest.strip_suffix(" -->"));
        let is_command = |line: &&str| COMMANDS.iter().any(|name| line.starts_with(name));
        let Some(command) = comment.filter(is_command) else { continue };
        if !lines.any(|line| line == END) {
            return Err(format!("`{line}` has no `{END}`"));
        }
        out += &format!("\n{}\n\n{END}\n", measure(command)?);
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_between_the_marks_is_replaced() {
        let mut asked = Vec::new();
        let mut measure = |line: &str| {
            asked.push(line.to_owned());
            Ok("new".to_owned())
        };
        for command in ["skep-bench run", "cargo xtask bench growth"] {
            let text = format!("a\n<!-- {command} -->\nold\n<!-- end -->\nb\n");
            let new = renewed(&text, &mut measure).unwrap();
            assert_eq!(new, format!("a\n<!-- {command} -->\n\nnew\n\n<!-- end -->\nb\n"));
            assert_eq!(renewed(&new, &mut measure).unwrap(), new);
        }
        assert!(renewed("<!-- skep-bench x -->\n", &mut measure).is_err());
        let other = "<!-- picture of the crates -->\n";
        assert_eq!(renewed(other, &mut measure).unwrap(), other);
        let twice = |command: &str| [command.to_owned(), command.to_owned()];
        assert_eq!(asked, [twice("skep-bench run"), twice("cargo xtask bench growth")].concat());
    }
}

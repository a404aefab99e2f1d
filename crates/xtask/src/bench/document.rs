//! `cargo xtask bench document [FILE...]`: measures the tables of docs/bench again.
//!
//! A table is between `<!-- skep-bench ARGUMENTS -->` and `<!-- end -->`: the output of that
//! command in a release build, with rbpf and sbpf as peers where engines are compared.

use crate::outcome::Ended;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Options of the command.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Markdown files [default: those in docs/bench]
    files: Vec<PathBuf>,
}

const BEGIN: &str = "<!-- skep-bench ";
const END: &str = "<!-- end -->";

pub(crate) fn run(args: &Args) -> crate::Outcome {
    let skep_bench = super::release::skep_bench_in_release()?;
    let peers = super::peers::options()?;
    let mut measure = |words: &[&str]| -> Result<String, String> {
        eprintln!("skep-bench {}", words.join(" "));
        let mut command = Command::new(&skep_bench);
        command.current_dir(crate::root()).args(words).stderr(Stdio::inherit());
        if words.starts_with(&["run"]) {
            command.args(&peers);
        }
        let output = command.output().map_err(|e| e.to_string())?;
        match output.status.success() {
            true => Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_owned()),
            false => Err(format!("skep-bench {}: {}", words.join(" "), output.status)),
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
    measure: &mut dyn FnMut(&[&str]) -> Result<String, String>,
) -> Result<String, String> {
    let mut out = String::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        out += line;
        out.push('\n');
        let command = line.strip_prefix(BEGIN).and_then(|rest| rest.strip_suffix(" -->"));
        let Some(command) = command else { continue };
        if !lines.any(|line| line == END) {
            return Err(format!("`{line}` has no `{END}`"));
        }
        let words: Vec<&str> = command.split_whitespace().collect();
        out += &format!("\n{}\n\n{END}\n", measure(&words)?);
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_between_the_marks_is_replaced() {
        let text = "a\n<!-- skep-bench run -->\nold\n<!-- end -->\nb\n";
        let mut asked = Vec::new();
        let mut measure = |words: &[&str]| {
            asked.push(words.join(" "));
            Ok("new".to_owned())
        };
        let new = renewed(text, &mut measure).unwrap();
        assert_eq!(new, "a\n<!-- skep-bench run -->\n\nnew\n\n<!-- end -->\nb\n");
        assert_eq!(renewed(&new, &mut measure).unwrap(), new);
        assert!(renewed("<!-- skep-bench x -->\n", &mut measure).is_err());
        assert_eq!(asked, ["run", "run"]);
    }
}

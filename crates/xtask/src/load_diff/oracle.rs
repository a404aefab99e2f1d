//! The real libbpf: builds `oracle.c` with its sources or the system's library, and runs it.

use super::answer::Answer;
use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

const SOURCE: &str = include_str!("oracle.c");
/// Where `cargo xtask corpus` unpacks libbpf.
const CORPUS: &str = "target/corpus/src/tools/lib/bpf";
/// Headers beside the sources, of libbpf's own repository and of the kernel's.
const INCLUDES: [&str; 5] =
    [".", "../include", "../include/uapi", "../../include", "../../include/uapi"];
/// Older versions know fewer sections and map types.
pub(super) const VERSION_MIN: (u32, u32) = (1, 5);

/// The program, in a temporary folder.
pub(super) struct Oracle {
    folder: TempDir,
}

/// libbpf's results for a file.
#[derive(Default)]
pub(super) struct Theirs {
    /// Why it cannot be opened.
    pub(super) open: Option<Answer>,
    /// All programs together.
    pub(super) whole: Option<Answer>,
    /// Each alone, in libbpf's order.
    pub(super) programs: Vec<(String, Answer)>,
    /// The signal that ended libbpf, which then has no more results.
    pub(super) fault: Option<String>,
}

/// Builds the oracle; the inner error says what is missing on the machine.
pub(super) fn build(sources: Option<&Path>) -> Result<std::result::Result<Oracle, String>> {
    let folder = tempfile::tempdir()?;
    let corpus = crate::root().join(CORPUS);
    let sources = sources.map(Path::to_owned).or_else(|| corpus.exists().then_some(corpus));
    std::fs::write(folder.path().join("oracle.c"), SOURCE)?;
    let built = match &sources {
        Some(sources) => build_with(&folder, sources),
        None => compile(&folder, ["oracle.c", "-l:libbpf.a", "-lelf", "-lz"].map(OsStr::new)),
    };
    Ok(built.map(|()| Oracle { folder }))
}

fn build_with(folder: &TempDir, sources: &Path) -> std::result::Result<(), String> {
    let io = |e: std::io::Error| format!("{}: {e}", sources.display());
    let sources = sources.canonicalize().map_err(io)?;
    std::os::unix::fs::symlink(&sources, folder.path().join("bpf")).map_err(io)?;
    let mut arguments = vec!["-I.".into(), "oracle.c".into()];
    for entry in std::fs::read_dir(&sources).map_err(io)? {
        let path = entry.map_err(io)?.path();
        if path.extension().is_some_and(|extension| extension == "c") {
            arguments.push(path.into_os_string());
        }
    }
    for include in INCLUDES.map(|include| sources.join(include)).iter().filter(|i| i.exists()) {
        arguments.extend(["-I".into(), include.clone().into_os_string()]);
    }
    arguments.extend(["-lelf".into(), "-lz".into()]);
    compile(folder, arguments)
}

/// Runs the C compiler in the folder.
fn compile(
    folder: &TempDir,
    arguments: impl IntoIterator<Item = impl AsRef<OsStr>>,
) -> std::result::Result<(), String> {
    let mut cc = Command::new("cc");
    cc.args(["-O1", "-w", "-D_GNU_SOURCE", "-D_LARGEFILE64_SOURCE", "-D_FILE_OFFSET_BITS=64"]);
    cc.args(["-Wl,--wrap=syscall", "-o", "oracle"]).args(arguments).current_dir(folder.path());
    let done = cc.stdin(Stdio::null()).output().map_err(|e| format!("no C compiler: {e}"))?;
    if done.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    let line = said.lines().find(|line| line.contains("error")).unwrap_or("it does not build");
    Err(format!("libbpf: {line}"))
}

impl Oracle {
    /// Runs it on each file; returns the version of libbpf, major and minor. A missing result for a
    /// file is an error.
    pub(super) fn ask(
        &self,
        files: &[PathBuf],
        mut answer: impl FnMut(&Path, Theirs),
    ) -> Result<(u32, u32)> {
        let mut child = Command::new(self.folder.path().join("oracle"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        let (Some(mut stdin), Some(stdout)) = (stdin, stdout) else {
            return Err("the oracle has no pipes".into());
        };
        let list: String = files.iter().map(|file| format!("{}\n", file.display())).collect();
        let writer = std::thread::spawn(move || stdin.write_all(list.as_bytes()));
        // Names in files need not be text.
        let lines = BufReader::new(stdout).split(b'\n');
        let mut lines = lines.map(|line| Ok::<_, std::io::Error>(text(&line?)));
        let first = lines.next().transpose()?.unwrap_or_default();
        let version = version(&first).ok_or_else(|| format!("the oracle says '{first}'"))?;
        let mut files = files.iter();
        let mut theirs = Theirs::default();
        for line in lines {
            let line = line?;
            if let Some(fault) = line.strip_prefix("end\t") {
                let file = files.next().ok_or("more answers than files")?;
                theirs.fault = (!fault.is_empty()).then(|| fault.to_owned());
                answer(file, std::mem::take(&mut theirs));
            } else {
                theirs.add(&line);
            }
        }
        child.wait()?;
        writer.join().map_err(|_| "the list could not be written")??;
        match files.next() {
            Some(file) => Err(format!("{}: no answer", file.display()).into()),
            None => Ok(version),
        }
    }
}

fn text(line: &[u8]) -> String {
    String::from_utf8_lossy(line).into_owned()
}

/// The first line: `libbpf`, a tab, `1.7`.
fn version(line: &str) -> Option<(u32, u32)> {
    let (major, minor) = line.strip_prefix("libbpf\t")?.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

impl Theirs {
    /// Reads `what, name, error, failed call, attributes, warnings`.
    fn add(&mut self, line: &str) {
        let fields: Vec<&str> = line.split('\t').collect();
        let [what, name, error, _call, attributes, warnings] = fields[..] else { return };
        let answer = match (what, error) {
            ("open", _) => Answer::Refused(skep::LoadClass::Open, warnings.to_owned()),
            (_, "0") => Answer::Loaded(attributes.to_owned()),
            _ => Answer::of_warnings(warnings),
        };
        match what {
            "open" => self.open = Some(answer),
            "whole" => self.whole = Some(answer),
            "prog" => self.programs.push((name.to_owned(), answer)),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read() {
        assert_eq!(version("libbpf\t1.7"), Some((1, 7)));
        assert_eq!(version("Segmentation fault"), None);
        let mut theirs = Theirs::default();
        theirs.add("whole\t\t-22\t0:22\t\tmap 'm': failed to create: -EINVAL|");
        theirs.add("prog\tp\t0\t\ttype=6 attach=37\t");
        theirs.add("file\tx.o");
        assert_eq!(theirs.whole.map(|a| a.name()), Some("map"));
        let loaded = Answer::Loaded("type=6 attach=37".to_owned());
        assert_eq!(theirs.programs, [("p".to_owned(), loaded)]);
        assert!(theirs.open.is_none());
    }
}

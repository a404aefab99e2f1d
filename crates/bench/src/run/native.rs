//! Code that clang builds from the C sources when the benchmark starts: native code, and bytecode
//! for engines whose context has 64-bit pointers.

use super::kinds::HEADERS;
use super::{Kind, objects};
use skep_cli::Error;
use skep_insn::{Endian, encode_all};
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use tempfile::TempDir;

/// A compiler, and a folder for its output.
pub struct Clang {
    command: String,
    folder: TempDir,
}

impl Clang {
    /// The compiler that `CLANG` names, else `clang-19`, else `clang`.
    ///
    /// # Errors
    ///
    /// There is none, or no space for files.
    pub fn find() -> Result<Clang, Error> {
        Clang::first_of(&["clang-19", "clang"]).map_err(|_| "no clang here".into())
    }

    /// The same, or `cc`: for native code of plain C.
    ///
    /// # Errors
    ///
    /// There is none, or no space for files.
    pub fn or_cc() -> Result<Clang, Error> {
        Clang::first_of(&["clang-19", "clang", "cc"])
    }

    fn first_of(names: &[&str]) -> Result<Clang, Error> {
        let named = std::env::var("CLANG").ok();
        let mut names = named.into_iter().chain(names.iter().map(|name| (*name).to_owned()));
        let answers = |name: &String| {
            Command::new(name).arg("--version").output().is_ok_and(|o| o.status.success())
        };
        let command = names.find(answers).ok_or("no C compiler here")?;
        let folder = tempfile::tempdir().map_err(|e| Error::at("while making a folder", e))?;
        for (path, text) in HEADERS {
            let path = folder.path().join(path);
            let parent = path.parent().unwrap_or(folder.path());
            let written = fs::create_dir_all(parent).and_then(|()| fs::write(&path, text));
            written.map_err(|e| format!("while writing {}: {e}", path.display()))?;
        }
        Ok(Clang { command, folder })
    }

    /// `-O2` without loop and SLP vectorisation, in this compiler's flags.
    pub fn without_vectors(&self) -> &'static str {
        match self.version().contains("clang") {
            true => "-O2 -fno-vectorize -fno-slp-vectorize",
            false => "-O2 -fno-tree-vectorize -fno-tree-slp-vectorize",
        }
    }

    /// Its first line of `--version`.
    pub fn version(&self) -> String {
        let output = Command::new(&self.command).arg("--version").output();
        let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
        text.ok().and_then(|text| text.lines().next().map(str::to_owned)).unwrap_or_default()
    }

    /// A shared library of a program, with these optimisation flags.
    ///
    /// # Errors
    ///
    /// The compiler's.
    pub fn library(&self, kind: &Kind, flags: &str) -> Result<PathBuf, Error> {
        // One file per set of flags: an open library stays unchanged.
        let extension = format!("{}.so", flags.replace(' ', ""));
        let flags = flags.split_whitespace().chain(["-DBENCH_NATIVE", "-shared", "-fPIC"]);
        self.compile(kind, &extension, &flags.collect::<Vec<_>>())
    }

    /// The insns of a program whose context has 64-bit pointers, as bytes.
    ///
    /// # Errors
    ///
    /// The compiler's.
    pub fn bytecode(&self, kind: &Kind, cpu: &str) -> Result<Vec<u8>, Error> {
        let cpu = format!("-mcpu={cpu}");
        let path =
            self.compile(kind, "o", &["-O2", "-DBENCH_RAW", "-target", "bpf", &cpu, "-c"])?;
        let bytes = fs::read(&path).map_err(|e| Error::at(path.display(), e))?;
        let opened = objects::Opened::new(&bytes)?;
        let program = opened.programs.first().ok_or("no program")?;
        Ok(encode_all(&program.insns, Endian::Little))
    }

    fn compile(&self, kind: &Kind, extension: &str, flags: &[&str]) -> Result<PathBuf, Error> {
        let source = self.folder.path().join("bench").join(format!("{}.bpf.c", kind.name));
        let fail = |e: std::io::Error| format!("{}: {e}", source.display());
        fs::write(&source, kind.source).map_err(fail)?;
        let out = self.folder.path().join(format!("{}.{extension}", kind.name));
        let mut command = Command::new(&self.command);
        command.args(flags).arg("-w").arg(&source).arg("-o").arg(&out);
        let output = command.output().map_err(fail)?;
        if !output.status.success() {
            let text = String::from_utf8_lossy(&output.stderr);
            let line = text.lines().next().unwrap_or_default();
            return Err(format!("{}: {}: {line}", self.command, kind.name).into());
        }
        Ok(out)
    }
}

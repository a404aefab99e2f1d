//! The copy of the tree that contains all faults, and its build.

use super::table::{self, Fault};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The module by which the copy's crates test whether a fault is active.
const ASKS: &str = r#"
mod fault {
    //! The fault that the environment asks for.
    use std::sync::LazyLock;
    static CHOSEN: LazyLock<u32> = LazyLock::new(|| {
        std::env::var("SKEP_FAULT").ok().and_then(|text| text.parse().ok()).unwrap_or(0)
    });
    /// Whether it is this one.
    #[inline]
    pub(crate) fn is(number: u32) -> bool {
        *CHOSEN == number
    }
}
"#;

/// The variable that selects the fault.
pub(super) const VARIABLE: &str = "SKEP_FAULT";

/// Folders that are not copied.
const SKIPPED: [&str; 3] = [".git", "target", "artifacts"];

/// A fast build, whatever the settings of releases are.
const PROFILE: [(&str, &str); 4] = [
    ("CARGO_PROFILE_RELEASE_LTO", "off"),
    ("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "64"),
    ("CARGO_PROFILE_RELEASE_INCREMENTAL", "true"),
    ("CARGO_PROFILE_RELEASE_DEBUG", "0"),
];

pub(super) struct Tree {
    pub(super) root: PathBuf,
    target: PathBuf,
}

/// A program of the copy.
#[derive(Debug)]
pub(super) struct Binary {
    /// Name of its package.
    pub(super) package: String,
    /// `lib`, the name of a file of tests, or `bin`.
    pub(super) target: String,
    pub(super) path: PathBuf,
    /// The package's folder.
    pub(super) folder: PathBuf,
}

impl Tree {
    /// Copies the tree at `root`, with the faults. Unchanged files keep their time stamps, so that
    /// cargo only rebuilds what changed.
    pub(super) fn write(root: &Path, faults: &[Fault]) -> Result<Tree, Box<dyn std::error::Error>> {
        let target = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
        let base = root.join(target.unwrap_or_else(|| "target".into())).join("faults");
        let tree = Tree { root: base.join("tree"), target: base.join("build") };
        let mut files = sources(root)?;
        let mut libs = BTreeSet::new();
        for (file, edits) in table::by_file(faults) {
            let bytes = files.get_mut(Path::new(&file)).ok_or_else(|| format!("no file {file}"))?;
            *bytes = table::edited(std::str::from_utf8(bytes)?, &edits)?.into_bytes();
            libs.extend(file.split_once("/src/").map(|(folder, _)| format!("{folder}/src/lib.rs")));
        }
        for lib in libs {
            let bytes = files.get_mut(Path::new(&lib)).ok_or_else(|| format!("no file {lib}"))?;
            bytes.extend_from_slice(ASKS.as_bytes());
        }
        tree.replace(&files)?;
        Ok(tree)
    }

    fn replace(&self, files: &BTreeMap<PathBuf, Vec<u8>>) -> std::io::Result<()> {
        fs::create_dir_all(&self.root)?;
        for entry in walkdir::WalkDir::new(&self.root) {
            let entry = entry?;
            let path = entry.path().strip_prefix(&self.root).unwrap_or(entry.path());
            if entry.file_type().is_file() && !files.contains_key(path) {
                fs::remove_file(entry.path())?;
            }
        }
        for (path, bytes) in files {
            let path = self.root.join(path);
            if fs::read(&path).is_ok_and(|old| old == *bytes) {
                continue;
            }
            if let Some(folder) = path.parent() {
                fs::create_dir_all(folder)?;
            }
            fs::write(&path, bytes)?;
        }
        Ok(())
    }

    /// Builds the tests.
    pub(super) fn build(&self) -> Result<Vec<Binary>, Box<dyn std::error::Error>> {
        let mut binaries = self.cargo(&[
            "test",
            "--no-run",
            "-pskep-domain",
            "-pskep-btf",
            "-pskep-object",
            "-pskep-verifier",
            "-pskep-testkit",
            "--lib",
            "--test=it",
            "--test=xlated",
            "--test=suites",
            "--test=exec",
        ])?;
        binaries.extend(self.cargo(&["build", "-pxtask", "--bin=xtask"])?);
        Ok(binaries)
    }

    fn cargo(&self, args: &[&str]) -> Result<Vec<Binary>, Box<dyn std::error::Error>> {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut command = Command::new(cargo);
        command.args(args).args(["--release", "--locked", "--message-format=json"]);
        command.envs(PROFILE).env("CARGO_TARGET_DIR", &self.target);
        // Variables that cargo sets for programs that it runs, such as this one.
        for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("CARGO_PKG_")) {
            command.env_remove(name);
        }
        let output = command.current_dir(&self.root).stderr(Stdio::inherit()).output()?;
        let text = String::from_utf8_lossy(&output.stdout);
        let messages = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        if !output.status.success() {
            let said =
                messages.filter_map(|m| m["message"]["rendered"].as_str().map(str::to_owned));
            let errors: Vec<_> = said.filter(|text| text.starts_with("error")).collect();
            return Err(format!("the copy does not build\n{}", errors.join("\n")).into());
        }
        Ok(messages.filter_map(|message| Binary::of(&message)).collect())
    }
}

impl Binary {
    /// The program in a message of cargo.
    fn of(message: &Value) -> Option<Binary> {
        let path = PathBuf::from(message["executable"].as_str()?);
        let folder = Path::new(message["manifest_path"].as_str()?).parent()?.to_owned();
        let id = message["package_id"].as_str()?;
        let name = id.rsplit_once('#')?.1.split('@').next()?;
        // The id contains the package's name only if its folder has a different name.
        let numbered = name.starts_with(|c: char| c.is_ascii_digit());
        let package = if numbered { folder.file_name()?.to_str()? } else { name };
        let kind = message["target"]["kind"][0].as_str()?;
        let target = match kind {
            "test" => message["target"]["name"].as_str()?,
            kind => kind,
        };
        let package = package.to_owned();
        Some(Binary { package, target: target.to_owned(), path, folder })
    }
}

/// All files of the tree, by relative path.
fn sources(root: &Path) -> std::io::Result<BTreeMap<PathBuf, Vec<u8>>> {
    let mut files = BTreeMap::new();
    let walk = walkdir::WalkDir::new(root).into_iter();
    let kept = |name: &std::ffi::OsStr| !SKIPPED.contains(&name.to_string_lossy().as_ref());
    for entry in walk.filter_entry(|entry| entry.depth() == 0 || kept(entry.file_name())) {
        let entry = entry?;
        if entry.file_type().is_file() {
            let path = entry.path().strip_prefix(root).unwrap_or(entry.path()).to_owned();
            files.insert(path, fs::read(entry.path())?);
        }
    }
    Ok(files)
}

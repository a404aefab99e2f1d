//! Source files named by line info: the paths under which readers of SARIF and GitHub commands find
//! them, and whether they have changed since the object was built.
//!
//! The line shown is from the object, so a changed source never gives a wrong one; only for a test
//! that has none there, it is looked for in the source ([`crate::joined`]). Objects may contain
//! arbitrary paths: outside the tree, only regular files whose names are those of sources are
//! opened, and nothing of them is shown but the number of a line.

use crate::Error;
use crate::joined::Joined;
use skep_report::{Diagnostic, Note, SourceSpot};
use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::io::Read;
use std::path::{Component, Path, PathBuf};

/// Longer sources are not compared.
const SOURCE_BYTES_MAX: u64 = 16 << 20;
/// Maximum number of files whose lines are kept.
const FILES_MAX: usize = 1000;

/// Where sources are.
pub(crate) struct SourceTree {
    /// The directory for relative names, with links resolved.
    root: PathBuf,
    /// The directory to which names are made relative.
    here: PathBuf,
    /// Whether the user named the root: then missing files are reported.
    is_named: bool,
    /// Lines by file name; `None` if the file does not exist.
    files: HashMap<PathBuf, Option<Vec<String>>>,
    /// Names of files that do not exist and have no note in a diagnostic.
    missing: BTreeSet<String>,
}

impl SourceTree {
    /// The tree below `--source-root`, or below the current directory.
    ///
    /// # Errors
    ///
    /// The root is not a directory.
    pub(crate) fn new(root: Option<&Path>) -> Result<SourceTree, Error> {
        let here = fs::canonicalize(".").unwrap_or_default();
        let named = root.map(|root| {
            let failed = |e| format!("--source-root: {}: {}", root.display(), skep::io_text(&e));
            let root = fs::canonicalize(root).map_err(failed)?;
            let no_folder = || format!("--source-root: {}: not a directory", root.display());
            if root.is_dir() { Ok(root) } else { Err(no_folder()) }
        });
        let is_named = named.is_some();
        let root = named.unwrap_or_else(|| Ok(here.clone()))?;
        Ok(SourceTree { root, here, is_named, files: HashMap::new(), missing: BTreeSet::new() })
    }

    /// Adds notes about the source of the line that a diagnostic shows.
    pub(crate) fn compare(&mut self, diagnostic: &mut Diagnostic) {
        let Some(spot) = diagnostic.at.as_ref().filter(|spot| !spot.text.trim().is_empty()) else {
            return;
        };
        diagnostic.notes.extend(self.remark(spot).map(|text| Note { text, at: None }));
    }

    /// Shows the lines of tests that have none of their own in the object, or says that they have
    /// none.
    pub(crate) fn place(&mut self, joined: &[Joined], diagnostic: &mut Diagnostic) {
        // Added at the end: the others are named by their index.
        let mut of_shown = None;
        for joined in joined {
            let Joined { note, insn_idx, after, .. } = joined;
            match (note.and_then(|at| diagnostic.notes.get_mut(at)), self.find(joined)) {
                (Some(note), Some(spot)) => note.at = Some(spot),
                (Some(note), None) => {
                    note.at = None;
                    if joined.is_jump() {
                        let mut after = after.clone();
                        self.shorten_spot(&mut after);
                        let place = format!("{}:{}", after.file, after.line);
                        note.text += &format!(", which the compiler joined to the test at {place}");
                    }
                }
                (None, Some(spot)) if !spot.text.is_empty() => diagnostic.at = Some(spot),
                (None, found) => {
                    let text = format!(
                        "insn {insn_idx} is another test, which the compiler joined to that of this line"
                    );
                    of_shown = Some(Note { text, at: found });
                }
            }
        }
        diagnostic.notes.splice(0..0, of_shown);
    }

    fn find(&mut self, joined: &Joined) -> Option<SourceSpot> {
        let (lines, is_inside) = self.lines_of(&joined.after.file)?;
        let spot = joined.find(lines.as_deref()?)?;
        let text = if is_inside { spot.text } else { String::new() };
        Some(SourceSpot { text, ..spot })
    }

    /// The lines of a source, and whether it is in the tree; none if it may not be opened.
    fn lines_of(&mut self, file: &str) -> Option<(&Option<Vec<String>>, bool)> {
        let path = folded(&self.root.join(file));
        let is_inside = path.starts_with(&self.root) && path != self.root;
        if !is_inside && !is_source_name(&path) {
            return None;
        }
        if self.files.len() >= FILES_MAX {
            self.files.clear();
        }
        let root = is_inside.then_some(self.root.as_path());
        let lines = self.files.entry(path).or_insert_with_key(|path| lines(root, path));
        Some((lines, is_inside))
    }

    fn remark(&mut self, spot: &SourceSpot) -> Option<String> {
        let is_named = self.is_named;
        let (file, line) = (&spot.file, spot.line as usize);
        let mut shown = spot.clone();
        self.shorten_spot(&mut shown);
        let name = shown.file;
        match self.lines_of(file)? {
            (None, true) if is_named => {
                Some(format!("{name} is not in the source tree: the line shown is from the object"))
            }
            (None, _) => {
                if self.missing.len() < FILES_MAX {
                    self.missing.insert(file.clone());
                }
                None
            }
            (Some(lines), _) => {
                let now = line.checked_sub(1).and_then(|at| lines.get(at));
                let is_same = now.is_some_and(|now| now.trim() == spot.text.trim());
                (!is_same).then(|| {
                    format!("{name} has changed since the object was built: the line shown is from the object")
                })
            }
        }
    }

    /// A line about the sources that were not found: one for the whole run.
    pub(crate) fn missing(&self) -> Option<String> {
        let first = self.missing.first()?;
        let what = match self.missing.len() {
            1 => format!("source {first} not found"),
            FILES_MAX.. => format!("sources not found ({first} and many others)"),
            n => format!("{n} sources not found ({first}, ...)"),
        };
        let hint = if self.is_named { "" } else { " (--source-root names their folder)" };
        Some(format!("{what}: lines shown are from the object{hint}"))
    }

    /// Makes absolute names relative to the current directory if they are inside it.
    pub(crate) fn shorten(&self, diagnostic: &mut Diagnostic) {
        spots(diagnostic).for_each(|spot| self.shorten_spot(spot));
    }

    /// The same for one place.
    pub(crate) fn shorten_spot(&self, spot: &mut SourceSpot) {
        let name = Path::new(&spot.file).strip_prefix(&self.here).ok().and_then(Path::to_str);
        spot.file = name.unwrap_or(&spot.file).to_owned();
    }

    /// Makes names relative to the current directory, or absolute if they are outside it.
    pub(crate) fn name_from_here(&self, diagnostic: &mut Diagnostic) {
        for spot in spots(diagnostic) {
            let path = match self.is_named {
                true => folded(&self.root.join(&spot.file)),
                false => folded(&self.here.join(&spot.file)),
            };
            let name = path.strip_prefix(&self.here).unwrap_or(&path);
            // A name that is not UTF-8 cannot come from the object, which keeps its own.
            spot.file = name.to_str().unwrap_or(&spot.file).to_owned();
        }
    }
}

/// The places in a diagnostic.
fn spots(diagnostic: &mut Diagnostic) -> impl Iterator<Item = &mut SourceSpot> {
    let notes = diagnostic.notes.iter_mut().filter_map(|note| note.at.as_mut());
    diagnostic.at.iter_mut().chain(notes)
}

/// Whether a file outside the tree may be read: that of a source, by its name.
fn is_source_name(path: &Path) -> bool {
    const ENDINGS: [&str; 10] = ["c", "h", "cc", "cpp", "cxx", "hh", "hpp", "inc", "rs", "zig"];
    path.extension().is_some_and(|ending| ENDINGS.iter().any(|known| ending == *known))
}

/// A path without `.` and `..`, ignoring links.
fn folded(path: &Path) -> PathBuf {
    let mut done = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                done.pop();
            }
            part => done.push(part),
        }
    }
    done
}

/// The lines of a source; `None` if it does not exist, a link leads out of the root, or, without a
/// root, to what is no source.
fn lines(root: Option<&Path>, path: &Path) -> Option<Vec<String>> {
    let may_be_read = |path: &PathBuf| match root {
        Some(root) => path.starts_with(root),
        None => is_source_name(path),
    };
    let path = fs::canonicalize(path).ok().filter(may_be_read)?;
    let about = fs::metadata(&path).ok()?;
    if !about.is_file() || about.len() > SOURCE_BYTES_MAX {
        return None;
    }
    let mut bytes = Vec::new();
    fs::File::open(path).ok()?.take(SOURCE_BYTES_MAX).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).lines().map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use skep_report::Severity;

    fn of(file: &str, text: &str) -> Diagnostic {
        let at = SourceSpot {
            file: file.into(),
            line: 2,
            column: std::num::NonZeroU32::new(1),
            text: text.into(),
        };
        Diagnostic {
            severity: Severity::Error,
            rule: "r".into(),
            message: "m".into(),
            object: "a.o".into(),
            prog: "p".into(),
            insn_idx: None,
            insn: None,
            at: Some(at),
            notes: Vec::new(),
            advice: None,
        }
    }

    #[test]
    fn changed_and_missing_sources_are_said_and_nothing_outside_is_opened() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("tree");
        fs::create_dir(&root).unwrap();
        fs::write(root.join("a.c"), "int x;\n\treturn x;\n").unwrap();
        fs::write(dir.path().join("secret"), "a\nb\n").unwrap();
        std::os::unix::fs::symlink("../secret", root.join("link.c")).unwrap();
        let mut tree = SourceTree::new(Some(&root)).unwrap();
        let mut said = |file: &str, text: &str| {
            let mut diagnostic = of(file, text);
            tree.compare(&mut diagnostic);
            diagnostic.notes.first().map(|note| note.text.clone()).unwrap_or_default()
        };
        assert_eq!(said("a.c", "return x;"), "");
        assert_eq!(said("./sub/../a.c", "return x;"), "");
        assert_eq!(said(root.join("a.c").to_str().unwrap(), "return x;"), "");
        assert!(said("a.c", "return y;").starts_with("a.c has changed since"));
        assert!(said("b.c", "x").starts_with("b.c is not in the source tree"));
        let missing = fs::canonicalize(".").unwrap().join("src/b.c");
        assert_eq!(said(missing.to_str().unwrap(), "x"), "", "outside the tree");
        assert!(said("link.c", "x").starts_with("link.c is not in the source tree"));
        fs::write(dir.path().join("beside.c"), "a\nb\n").unwrap();
        std::os::unix::fs::symlink("secret", dir.path().join("outside.c")).unwrap();
        assert_eq!(said("../beside.c", "b"), "");
        assert!(said("../beside.c", "x").starts_with("../beside.c has changed since"));
        assert_eq!(said("../outside.c", "x"), "", "a link to what is no source");
        assert_eq!(said("../secret", "x"), "");
        assert_eq!(said("/dev/zero", "x"), "");
        assert_eq!(said("a.c", " "), "", "no line, nothing to compare");
        assert!(SourceTree::new(Some(&root.join("a.c"))).is_err());
    }

    /// Of a source outside the tree, only the number of a line is shown.
    #[test]
    fn a_test_without_a_line_is_found_in_the_source() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("tree");
        fs::create_dir(&root).unwrap();
        let text = "if (!p)\n\treturn 0;\nif (i > 8)\n\treturn 0;\nreturn p[i];\n";
        fs::write(root.join("a.c"), text).unwrap();
        fs::write(dir.path().join("b.c"), text).unwrap();
        let mut tree = SourceTree::new(Some(&root)).unwrap();
        let mut told = |file: &str, insn_idx: usize| {
            let mut diagnostic = of(file, "if (!p)");
            let at = diagnostic.at.clone();
            diagnostic.notes = vec![Note { text: "compared at insn 4: x".into(), at }];
            let joined = Joined::between(file, insn_idx, [(1, "if (!p)"), (5, "return p[i];")]);
            tree.place(&[joined], &mut diagnostic);
            let note = diagnostic.notes.remove(0);
            let spot = note.at.map(|at| (at.line, at.text)).unwrap_or_default();
            (note.text, spot)
        };
        let says = "compared at insn 4: x".to_owned();
        assert_eq!(told("a.c", 4), (says.clone(), (3, "if (i > 8)".into())));
        assert_eq!(told("../b.c", 4), (says, (3, String::new())));
        let none = "compared at insn 4: x, which the compiler joined to the test at c.c:1";
        assert_eq!(told("c.c", 4), (none.into(), (0, String::new())));
    }

    /// The shown insn's note stands first, which moves none of the others.
    #[test]
    fn notes_about_joined_tests_do_not_mix() {
        let mut tree = SourceTree::new(None).unwrap();
        let mut diagnostic = of("no_such.c", "if (!p)");
        let (text, at) = ("compared at insn 4: x".to_owned(), diagnostic.at.clone());
        diagnostic.notes = vec![Note { text, at }];
        let place = format!("{}/no_such.c", fs::canonicalize(".").unwrap().display());
        let of_note = Joined::between(&place, 4, [(1, "if (!p)"), (5, "return p[i];")]);
        let mut of_shown = of_note.clone();
        (of_shown.note, of_shown.insn_idx) = (None, 3);
        tree.place(&[of_shown, of_note], &mut diagnostic);
        let told: Vec<&str> = diagnostic.notes.iter().map(|note| note.text.as_str()).collect();
        assert_eq!(
            told,
            [
                "insn 3 is another test, which the compiler joined to that of this line",
                "compared at insn 4: x, which the compiler joined to the test at no_such.c:1",
            ]
        );
    }

    /// Without `--source-root`, once for all.
    #[test]
    fn sources_that_are_not_there_are_said_in_one_line() {
        let mut tree = SourceTree::new(None).unwrap();
        assert_eq!(tree.missing(), None);
        for _ in 0..2 {
            tree.compare(&mut of("no_such.c", "x"));
        }
        let hint = "lines shown are from the object (--source-root names their folder)";
        assert_eq!(tree.missing().unwrap(), format!("source no_such.c not found: {hint}"));
        tree.compare(&mut of("/no/such/either.c", "x"));
        let said = tree.missing().unwrap();
        assert_eq!(said, format!("2 sources not found (/no/such/either.c, ...): {hint}"));
    }

    #[test]
    fn names_are_relative_where_they_can_be() {
        let name = |tree: &SourceTree, file: &str| {
            let mut diagnostic = of(file, "x");
            tree.name_from_here(&mut diagnostic);
            diagnostic.at.unwrap().file
        };
        let tree = SourceTree::new(None).unwrap();
        let here = fs::canonicalize(".").unwrap();
        assert_eq!(name(&tree, "./a/../b.c"), "b.c");
        assert_eq!(name(&tree, here.join("src/b.c").to_str().unwrap()), "src/b.c");
        assert_eq!(name(&tree, "/usr/include/x.h"), "/usr/include/x.h");
        let below = SourceTree::new(Some(Path::new("src"))).unwrap();
        assert_eq!(name(&below, "b.c"), "src/b.c");
    }

    #[test]
    fn absolute_names_inside_the_current_directory_are_shortened() {
        let tree = SourceTree::new(None).unwrap();
        let here = fs::canonicalize(".").unwrap();
        let inside = here.join("src/b.c").to_str().unwrap().to_owned();
        let beside = format!("{}x/b.c", here.display());
        for (file, name) in [
            (inside.as_str(), "src/b.c"),
            (beside.as_str(), beside.as_str()),
            ("./a/../b.c", "./a/../b.c"),
            ("/usr/include/x.h", "/usr/include/x.h"),
        ] {
            let mut diagnostic = of(file, "x");
            diagnostic.notes = vec![Note { text: "n".into(), at: diagnostic.at.clone() }];
            tree.shorten(&mut diagnostic);
            assert_eq!(diagnostic.at.unwrap().file, name);
            assert_eq!(diagnostic.notes[0].at.as_ref().unwrap().file, name);
        }
    }
}

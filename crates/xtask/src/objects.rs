//! Finding object files for a command, and opening them for this host.

use skep::object::{Object, OpenOptions};
use skep::{Host, Loader};
use std::path::{Path, PathBuf};

/// Files as given, and for folders all `*.o` below them, following links; sorted, so that results
/// have a fixed order.
pub(crate) fn find(paths: &[PathBuf]) -> Result<Vec<PathBuf>, Box<dyn std::error::Error>> {
    let mut found = Vec::new();
    for path in paths {
        if !path.is_dir() {
            found.push(path.clone());
            continue;
        }
        for entry in walkdir::WalkDir::new(path).follow_links(true).sort_by_file_name() {
            let entry = match entry {
                // A link to an enclosing folder, or a dangling one, adds no file.
                Err(e) if e.loop_ancestor().is_some() || leads_nowhere(&e) => continue,
                entry => entry?,
            };
            if entry.file_type().is_file() && entry.path().extension().is_some_and(|e| e == "o") {
                found.push(entry.into_path());
            }
        }
    }
    Ok(found)
}

fn leads_nowhere(error: &walkdir::Error) -> bool {
    error.path().is_some_and(Path::is_symlink)
        && error.io_error().is_some_and(|e| e.kind() == std::io::ErrorKind::NotFound)
}

/// Reads and opens one object for this host. Parts that a loader would refuse are not an error:
/// only the programs are compared.
pub(crate) fn open(path: &Path, host: &Host) -> Result<Object, String> {
    let bytes = std::fs::read(path).map_err(|e| format!("{}: {e}", path.display()))?;
    let options = OpenOptions { loader: Loader::Any, ..host.open_options(path) };
    Object::open(&bytes, &options).map_err(|e| e.to_string())
}

/// The running machine, as objects are loaded against it.
pub(crate) fn host() -> Result<Host, String> {
    skep_testkit::host::here().map_err(|e| e.to_string())
}

/// The last two parts of a path: `v3/loop1.bpf.o`, the name of an object in tables and baselines.
pub(crate) fn short_name(path: &Path) -> String {
    let parts: Vec<_> = path.iter().rev().take(2).map(|p| p.to_string_lossy()).collect();
    parts.into_iter().rev().collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_followed() {
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir_all(at("there/sub")).expect("folders");
        std::fs::create_dir(at("here")).expect("a folder");
        std::fs::write(at("there/sub/a.o"), "").expect("a file");
        symlink(at("there"), at("here/linked")).expect("a link");
        symlink(at("there/sub/a.o"), at("here/b.o")).expect("a link");
        symlink(at("here"), at("here/loop")).expect("a link");
        symlink(at("nothing"), at("here/gone.o")).expect("a link");
        let found = find(&[at("here")]).expect("all that is there");
        assert_eq!(found, [at("here/b.o"), at("here/linked/sub/a.o")]);
    }

    #[test]
    fn an_object_is_known_by_its_folder_and_file() {
        assert_eq!(short_name(Path::new("a/b/v3/loop1.bpf.o")), "v3/loop1.bpf.o");
        assert_eq!(short_name(Path::new("loop1.bpf.o")), "loop1.bpf.o");
    }
}

//! All suites of a folder of `tests/`.

use super::case::Case;
use super::read::read;
use std::path::Path;

/// The cases of one suite, or the error in its file.
pub type Suite = (String, Result<Vec<Case>, String>);

/// Every Markdown file below `tests/FOLDER`, by name. A folder that cannot be read is a suite with
/// an error, so that missing cases are a failure.
pub fn read_folder(folder: &str) -> Vec<Suite> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests").join(folder);
    let mut suites = Vec::new();
    for entry in walkdir::WalkDir::new(&root).sort_by_file_name() {
        let path = match entry {
            Ok(entry) => entry.into_path(),
            Err(error) => {
                suites.push((folder.to_string(), Err(error.to_string())));
                continue;
            }
        };
        if path.extension().is_none_or(|extension| extension != "md") {
            continue;
        }
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let cases = std::fs::read_to_string(&path)
            .map_err(|error| error.to_string())
            .and_then(|text| read(&text).map_err(|error| error.to_string()));
        suites.push((name, cases.map_err(|error| format!("{}: {error}", path.display()))));
    }
    suites
}

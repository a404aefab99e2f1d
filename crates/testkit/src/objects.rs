//! Object files of this repository, opened as a session opens them.

use skep::Host;
use skep::object::Object;
use std::path::Path;

/// The object at `path`, opened for this host. A path that is not absolute begins at the folder
/// `tests`.
///
/// # Panics
///
/// There is none, or it cannot be opened: objects of this repository can.
pub fn open(host: &Host, path: impl AsRef<Path>) -> Object {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests").join(path);
    let bytes = std::fs::read(&path).unwrap_or_else(|why| panic!("{}: {why}", path.display()));
    Object::open(&bytes, &host.open_options(&path))
        .unwrap_or_else(|why| panic!("{}: {why}", path.display()))
}

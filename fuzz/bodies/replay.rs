//! Runs a body over its committed corpus: what the fuzzer found once is tried by each `cargo test`.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::{Duration, Instant};

/// No input may take longer, on a machine however busy.
const TIME_MAX: Duration = Duration::from_secs(20);

/// Runs `body` over the files of `fuzz/corpus/TARGET`.
pub(crate) fn corpus(target: &str, body: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let entries = std::fs::read_dir(&folder).expect("the corpus is committed");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("readable").path()).collect();
    paths.sort();
    assert!(!paths.is_empty(), "{}: no inputs", folder.display());
    for path in paths {
        let bytes = std::fs::read(&path).expect("readable");
        let begun = Instant::now();
        let ran = catch_unwind(AssertUnwindSafe(|| body(&bytes)));
        assert!(ran.is_ok(), "{}: a panic", path.display());
        assert!(begun.elapsed() < TIME_MAX, "{}: {:?}", path.display(), begun.elapsed());
    }
}

//! What `skep` prints, in `tests/cli/*.md`.

#[test]
fn transcripts_hold() {
    crate::transcript::hold(skep_cli::run, "tests/cli", 3);
}

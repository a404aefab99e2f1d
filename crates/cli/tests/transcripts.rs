//! What `skep` prints, in `tests/cli/*.md`.

mod transcript;

#[test]
fn transcripts_hold() {
    transcript::hold(skep_cli::run, "tests/cli", 3);
}

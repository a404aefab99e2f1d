//! What `skep-bench` prints, in `tests/cli/bench/*.md`.

#[path = "../../cli/tests/transcript/mod.rs"]
mod transcript;

#[test]
fn transcripts_hold() {
    transcript::hold(skep_bench::command::run, "tests/cli/bench", 1);
}

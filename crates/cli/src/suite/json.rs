//! `-o json`: the results as one document.

use super::done::{Done, Ending, Sums};
use serde_json::{Value, json};
use skep_report::{JsonForm, write_json_text};
use std::io::{self, Write};

/// Writes the document.
pub(super) fn write(done: &[Done<'_>], filtered: usize, out: &mut dyn Write) -> io::Result<()> {
    let Sums { passed, failed, errors, .. } = Sums::of(done);
    let whole = json!({
        "version": 2,
        "tests": done.iter().map(test).collect::<Vec<_>>(),
        "passed": passed,
        "failed": failed,
        "errors": errors,
        "filtered_out": filtered,
    });
    write_json_text(out, &whole, JsonForm::Pretty)
}

fn test(done: &Done<'_>) -> Value {
    let result = match done.ending() {
        Ending::Ok | Ending::Blessed => "ok",
        Ending::Failed => "failed",
        Ending::Error => "error",
    };
    json!({
        "name": done.test(),
        "file": done.path().display().to_string(),
        "line": done.line(),
        "result": result,
        "time_us": (done.seconds * 1e6) as u64,
        "problems": done.outcome.problems,
    })
}

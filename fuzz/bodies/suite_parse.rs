//! The Markdown suites: cases, options, claims, and the programs that they describe.

use skep_testkit::suite::{Claims, program, read};

/// No panic; an error is not empty, and transcripts lie in the text.
pub(crate) fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let cases = match read(text) {
        Ok(cases) => cases,
        Err(error) => return assert!(!error.is_empty()),
    };
    for case in &cases {
        assert!(case.line >= 1 && case.line <= text.lines().count());
        assert!(case.transcripts.iter().all(|part| text.get(part.range.clone()).is_some()));
        let _ = Claims::read(&case.bpf);
        let _ = program(case, None).map(drop);
    }
}

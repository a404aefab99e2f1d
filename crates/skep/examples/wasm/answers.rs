//! The example's results, which are compared with those of a native build.

use skep::{Session, Verdict, VerifyOptions};
use std::fmt::Write;
use std::path::Path;

/// One line per program, followed by the verifier's log.
pub(crate) fn answers(bytes: &[u8]) -> String {
    let session = Session::default();
    let object = match session.open(Path::new("object.bpf.o"), bytes) {
        Ok(object) => object,
        Err(error) => return format!("{error}\n"),
    };
    let mut text = String::new();
    let options = VerifyOptions { log_level: 1, ..VerifyOptions::default() };
    for entry in &object.programs {
        let line = match &entry.program {
            Err(error) => format!("not loaded: {error}"),
            Ok(program) => {
                let verification = session.verify(program, &options);
                let verdict = match &verification.verdict {
                    Verdict::Accepted(_) => "accepted".to_owned(),
                    Verdict::Rejected(_) => {
                        match session.diagnose(program, &verification, &options) {
                            Some(why) => format!("rejected: {why}"),
                            None => "rejected".to_owned(),
                        }
                    }
                    Verdict::Unsupported(what) => format!("not supported yet: {what}"),
                    Verdict::OutOfMemory => "over the memory limit".to_owned(),
                    Verdict::Bug(what) => format!("internal error: {what}"),
                };
                let counts = &verification.counts;
                let (insns, states) = (counts.insns_processed, counts.total_states);
                format!("{verdict}, {insns} insns, {states} states\n{}", verification.log)
            }
        };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{}: {line}", entry.name);
    }
    text
}

//! Replaces `jited` in a build without the runtime, which has no JIT compiler.

use crate::exit::Exit;
use serde::Serialize;
use skep::verifier::{VerifiedProgram, Xlated};
use std::io::{self, Write};

/// Has no values.
#[derive(Serialize)]
pub(super) enum Function {}

/// Not known here.
pub(crate) fn bytes(_: &VerifiedProgram) -> Option<usize> {
    None
}

/// Reports that there is no machine code.
pub(super) fn write(
    _: &mut dyn Write,
    verified: &VerifiedProgram,
    xlated: &Xlated,
) -> io::Result<Result<(), (Exit, String)>> {
    Ok(json(verified, xlated).map(drop))
}

/// The same.
pub(super) fn json(_: &VerifiedProgram, _: &Xlated) -> Result<Vec<Function>, (Exit, String)> {
    Err((Exit::Input, "not supported yet: machine code in a build that cannot run programs".into()))
}

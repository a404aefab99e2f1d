//! `Batch`: sites that change together.
//!
//! The `loom` models also compile this file, with instrumented sites and barriers.

use super::{EditError, Edits, Jump, Switch, Target, TextLock, synchronise};
use thiserror::Error as ThisError;

/// Why a batch changed nothing.
#[derive(Clone, Debug, PartialEq, Eq, ThisError)]
pub enum Error {
    /// A site is not in the state that the batch requires.
    #[error(transparent)]
    Edit(#[from] EditError),
    /// The host, which had let the process register for barriers, now denies one. The sites are
    /// restored, but a thread may have run the new code for a moment: what it refers to must not be
    /// reused before current runs have ended.
    #[error("while synchronising threads: membarrier: {0}")]
    Barrier(#[source] rustix::io::Errno),
}

/// Changes to sites, in any number of programs.
///
/// A batch may be committed again: it describes the new state, not the change. Of two changes to
/// one site, the later wins.
#[derive(Debug, Default)]
pub struct Batch {
    edits: Edits,
}

impl Batch {
    /// An empty batch.
    pub fn new() -> Batch {
        Batch::default()
    }

    /// Number of changes.
    pub fn len(&self) -> usize {
        self.edits.len()
    }

    /// Whether there are no changes.
    pub fn is_empty(&self) -> bool {
        self.edits.is_empty()
    }

    /// Turns a switch on (it jumps) or off, whatever its state. Adding one program's sites
    /// consecutively takes the least memory.
    pub fn add(&mut self, switch: &Switch, on: bool) {
        self.edits.switch(switch, None, on);
    }

    /// Turns a switch, which must be `from` when the batch is committed.
    pub fn add_from(&mut self, switch: &Switch, from: bool, to: bool) {
        self.edits.switch(switch, Some(from), to);
    }

    /// Points a jump at `to`, wherever it goes now.
    pub fn retarget(&mut self, jump: &Jump, to: &Target) {
        self.edits.retarget(jump, None, to);
    }

    /// Points a jump, which must go to `from` when the batch is committed, at `to`.
    pub fn retarget_from(&mut self, jump: &Jump, from: &Target, to: &Target) {
        self.edits.retarget(jump, Some(from), to);
    }

    /// Makes all changes and waits until every thread of the process sees them.
    ///
    /// # Errors
    ///
    /// See [`Error`]; all sites are then as before.
    pub fn commit(&mut self) -> Result<(), Error> {
        let lock = TextLock::take();
        if self.edits.apply(&lock)?
            && let Err(errno) = synchronise()
        {
            self.edits.revert(&lock);
            return Err(Error::Barrier(errno));
        }
        Ok(())
    }

    /// Makes all changes without waiting: each thread sees each of them eventually, at the latest
    /// when it next enters the kernel. This alone does not make it safe to reuse anything that the
    /// sites referred to.
    ///
    /// # Errors
    ///
    /// A site is not in the state that the batch requires; all sites are then as before.
    pub fn commit_nowait(&mut self) -> Result<(), Error> {
        let lock = TextLock::take();
        self.edits.apply(&lock)?;
        Ok(())
    }
}

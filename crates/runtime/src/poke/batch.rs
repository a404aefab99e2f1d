//! `Batch`: sites that change together.
//!
//! The models compile this file too, with sites and barriers that they watch.

use super::{EditError, Edits, Jump, Switch, Target, TextLock, synchronise};
use thiserror::Error as ThisError;

/// Why a batch changed nothing.
#[derive(Clone, Debug, PartialEq, Eq, ThisError)]
pub enum Error {
    /// A site is not as the batch needs it.
    #[error(transparent)]
    Edit(#[from] EditError),
    /// The host, which let the process register for it, refuses to synchronise its threads now. The
    /// sites are what they were, but a thread may have run what the batch wanted for a moment: what
    /// that refers to must not be used again before runs have ended.
    #[error("while synchronising threads: membarrier: {0}")]
    Barrier(rustix::io::Errno),
}

/// Changes of sites, of any number of programs.
///
/// A batch may be committed again: it holds what is to be, not what was. Of two changes of one site
/// the later one holds.
#[derive(Debug, Default)]
pub struct Batch {
    edits: Edits,
}

impl Batch {
    /// No change.
    pub fn new() -> Batch {
        Batch::default()
    }

    /// Number of changes.
    pub fn len(&self) -> usize {
        self.edits.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.edits.is_empty()
    }

    /// Turns a switch on (it jumps) or off, whatever it is now. Sites of one program one after the
    /// other take the least memory.
    pub fn add(&mut self, switch: &Switch, on: bool) {
        self.edits.switch(switch, None, on);
    }

    /// Turns a switch that is `from` when the batch is committed.
    pub fn add_from(&mut self, switch: &Switch, from: bool, to: bool) {
        self.edits.switch(switch, Some(from), to);
    }

    /// Sends a jump to `to`, wherever it goes now.
    pub fn retarget(&mut self, jump: &Jump, to: &Target) {
        self.edits.retarget(jump, None, to);
    }

    /// Sends a jump, which goes to `from` when the batch is committed, to `to`.
    pub fn retarget_from(&mut self, jump: &Jump, from: &Target, to: &Target) {
        self.edits.retarget(jump, Some(from), to);
    }

    /// Makes all changes and waits until every thread of the process has seen them.
    ///
    /// # Errors
    ///
    /// See [`Error`]; all sites are then what they were.
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

    /// Makes all changes and waits for nobody: each thread sees each of them some time later, at
    /// the latest when it next enters the kernel. Nothing that the sites referred to may be used
    /// again on the strength of this.
    ///
    /// # Errors
    ///
    /// A site is not as the batch needs it; all sites are then what they were.
    pub fn commit_nowait(&mut self) -> Result<(), Error> {
        let lock = TextLock::take();
        self.edits.apply(&lock)?;
        Ok(())
    }
}

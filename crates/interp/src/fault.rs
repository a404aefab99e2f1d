//! Why a run ended before its `exit`.

use std::fmt;

/// What went wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// An access to memory that does not belong to the program.
    BadAccess {
        /// First byte.
        addr: u64,
        /// Bytes.
        size: u32,
        /// Whether it was a write.
        write: bool,
    },
    /// The fuel is used up.
    OutOfFuel,
    /// Calls are nested more deeply than the stack allows.
    StackOverflow,
    /// An insn, helper, kfunc or map that is not there.
    NotSupported(String),
    /// Something that no verified program does: an internal error.
    Bug(String),
    /// The host stopped the run.
    Stopped(String),
}

/// Why a run ended, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// What went wrong.
    pub kind: FaultKind,
    /// The insn of `Xlated::insns` at which it ended; set by the machine.
    pub insn_idx: Option<u32>,
    /// Insns executed before; set by the machine.
    pub insns: u64,
}

impl Fault {
    /// A fault without a location.
    pub fn new(kind: FaultKind) -> Fault {
        Fault { kind, insn_idx: None, insns: 0 }
    }
    /// An access to memory that does not belong to the program.
    pub fn bad_access(addr: u64, size: u32, write: bool) -> Fault {
        Fault::new(FaultKind::BadAccess { addr, size, write })
    }
    /// Something that is missing.
    pub fn not_supported(what: impl Into<String>) -> Fault {
        Fault::new(FaultKind::NotSupported(what.into()))
    }
    pub(crate) fn bug(what: impl Into<String>) -> Fault {
        Fault::new(FaultKind::Bug(what.into()))
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            FaultKind::BadAccess { addr, size, write } => {
                let what = if *write { "store to" } else { "load from" };
                write!(f, "{what} {addr:#x}, {size} bytes: not the program's memory")?;
            }
            FaultKind::OutOfFuel => f.write_str("out of fuel")?,
            FaultKind::StackOverflow => f.write_str("calls nested too deep")?,
            FaultKind::NotSupported(what) => write!(f, "not supported yet: {what}")?,
            FaultKind::Bug(what) => write!(f, "internal error: {what}")?,
            FaultKind::Stopped(why) => f.write_str(why)?,
        }
        match self.insn_idx {
            Some(idx) => write!(f, " (at insn {idx} after {} insns)", self.insns),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Fault {}

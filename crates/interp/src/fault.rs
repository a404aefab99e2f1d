//! Why a run ended before its `exit`.

use std::fmt;

/// What went wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// The memory is not the program's.
    BadAccess {
        /// First byte.
        addr: u64,
        /// Bytes.
        size: u32,
        /// It was to be written.
        write: bool,
    },
    /// The fuel is used up.
    OutOfFuel,
    /// Calls are nested deeper than the stack is large.
    StackOverflow,
    /// An insn, helper, kfunc or map that is not there.
    NotSupported(String),
    /// What no verified program does: we are wrong.
    Bug(String),
    /// The host stopped the run.
    Stopped(String),
}

/// Why a run ended, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// What went wrong.
    pub kind: FaultKind,
    /// The insn of `Xlated::insns` at which it did; the machine fills it in.
    pub insn_idx: Option<u32>,
    /// Insns run before; the machine fills it in.
    pub insns: u64,
}

impl Fault {
    /// A fault without a place.
    pub fn new(kind: FaultKind) -> Fault {
        Fault { kind, insn_idx: None, insns: 0 }
    }
    /// An access to memory that is not the program's.
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

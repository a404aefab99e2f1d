//! Why a verification ended without a `VerifiedProgram`.

mod attach;
mod call;
mod flow;
mod func;
mod insn;
mod kfunc;
mod kind;
mod mem;
mod row;
mod variant;

pub use attach::AttachFault;
pub use call::CallFault;
pub use flow::FlowFault;
pub use func::FuncFault;
pub use insn::InsnFault;
pub use kfunc::KfuncFault;
pub use kind::RejectKind;
pub use mem::MemFault;
pub use row::{
    Acquired, CallChain, ChainFrame, KindRow, KnownRange, Name, Operand, OperandValue, Regno,
    Unreleased, Word,
};
pub use variant::{OtherRule, PrototypeFault};

use skep_uapi::words::Words;
use std::fmt;

/// The program is rejected: a result, not an error.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rejection {
    /// Offending insn; `None` if the program is rejected as a whole.
    pub insn_idx: Option<u32>,
    /// Its call frame; 0 is the entry function.
    pub frameno: u32,
    /// `errno` that `BPF_PROG_LOAD` would return, positive.
    pub errno: i32,
    /// What is wrong.
    pub kind: RejectKind,
    /// The rejections that it caused, innermost first: the kernel adds a line for each.
    pub led_to: Vec<RejectKind>,
    /// The kernel's message, without register state; may have several lines.
    pub message: String,
    /// The underlying reason, where `kind` only says that something does not match: the preceding
    /// line of the log.
    pub because: Option<Box<Because>>,
}

/// The underlying reason, where a rejection only says that something does not match.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Because {
    /// What is wrong.
    pub kind: RejectKind,
    /// The line of the kernel's log before the message.
    pub message: String,
}

impl Rejection {
    /// The registers that the message names, in its order.
    pub fn regnos(&self) -> Vec<Regno> {
        let kinds = std::iter::once(&self.kind).chain(&self.led_to);
        kinds.flat_map(RejectKind::regnos).collect()
    }

    /// The operands of the error, of those that it caused, and of the underlying reason.
    pub fn operands(&self) -> Vec<Operand> {
        let kinds = std::iter::once(&self.kind).chain(&self.led_to);
        let because = self.because.iter().map(|because| &because.kind);
        kinds.chain(because).flat_map(RejectKind::operands).collect()
    }

    /// The unreleased references, if they are the reason.
    pub fn unreleased(&self) -> &[Acquired] {
        match &self.kind {
            RejectKind::Flow(FlowFault::Leak { unreleased, .. }) => &unreleased.0,
            _ => &[],
        }
    }

    /// The call chain, if its stack or length is the reason.
    pub fn call_chain(&self) -> &[ChainFrame] {
        match &self.kind {
            RejectKind::Flow(
                FlowFault::TailCallStack { chain, .. }
                | FlowFault::SubprogStack { chain, .. }
                | FlowFault::CombinedStack { chain, .. }
                | FlowFault::TooDeep { chain, .. },
            ) => &chain.0,
            _ => &[],
        }
    }
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// The walk stops. One pointer, because every step of the walk may return it.
#[derive(Clone, Debug)]
pub(crate) struct Stop(Box<StopReason>);

/// Why the walk stops.
#[derive(Clone, Debug)]
pub(crate) enum StopReason {
    /// Refused.
    Reject(Refused),
    /// The program needs a rule that is not modelled.
    Unsupported(String),
    /// The walk exceeds the memory limit.
    OutOfMemory,
    /// An internal error.
    Bug(String),
}

/// A refusal while it is returned through the walk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refused {
    /// The kernel's, positive.
    pub(crate) errno: i32,
    pub(crate) kind: RejectKind,
    /// Additional lines.
    pub(crate) led_to: Vec<RejectKind>,
    /// The reason, if `kind` does not give it.
    pub(crate) because: Option<RejectKind>,
    /// How `kind` is still to be written to the log.
    pub(crate) log_form: LogForm,
}

/// How a refusal is written to the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LogForm {
    /// On a line of its own.
    Line,
    /// On a line that the kernel does not end.
    OpenLine,
    /// Not at all, or it has already been written.
    Nothing,
}

impl Refused {
    /// The refusal of an insn in a frame.
    pub(crate) fn at(self, insn_idx: u32, frameno: u32, words: Words) -> Rejection {
        let Refused { errno, kind, led_to, because, log_form: _ } = self;
        let mut message = kind.text(words);
        let mut printed = Vec::new();
        for line in led_to {
            let text = line.text(words);
            if !text.is_empty() {
                message += "\n";
                message += &text;
                printed.push(line);
            }
        }
        let led_to = printed;
        let because = because.map(|kind| Because { message: kind.text(words), kind });
        let because = because.filter(|because| !because.message.is_empty()).map(Box::new);
        Rejection { insn_idx: Some(insn_idx), frameno, errno, kind, led_to, message, because }
    }
}

impl Stop {
    #[cold]
    fn new(errno: i32, kind: RejectKind, log_form: LogForm) -> Stop {
        let refused = Refused { errno, kind, led_to: Vec::new(), because: None, log_form };
        Stop(Box::new(StopReason::Reject(refused)))
    }

    /// The program needs a rule that is not modelled.
    #[cold]
    pub(crate) fn unsupported(what: impl Into<String>) -> Stop {
        Stop(Box::new(StopReason::Unsupported(what.into())))
    }

    /// The walk exceeds the memory limit.
    #[cold]
    pub(crate) fn out_of_memory() -> Stop {
        Stop(Box::new(StopReason::OutOfMemory))
    }

    /// An internal error.
    #[cold]
    pub(crate) fn bug(what: impl Into<String>) -> Stop {
        Stop(Box::new(StopReason::Bug(what.into())))
    }

    pub(crate) fn into_reason(self) -> StopReason {
        *self.0
    }

    /// The refusal; an error if the walk stops for another reason.
    pub(crate) fn into_refused(self) -> Check<Refused> {
        match *self.0 {
            StopReason::Reject(refused) => Ok(refused),
            reason => Err(Stop(Box::new(reason))),
        }
    }

    pub(crate) fn as_refused(&self) -> Option<&Refused> {
        match &*self.0 {
            StopReason::Reject(refused) => Some(refused),
            _ => None,
        }
    }

    pub(crate) fn as_refused_mut(&mut self) -> Option<&mut Refused> {
        match &mut *self.0 {
            StopReason::Reject(refused) => Some(refused),
            _ => None,
        }
    }

    /// A refusal; use through `reject!`.
    #[cold]
    pub(crate) fn refuse(errno: i32, kind: impl Into<RejectKind>) -> Stop {
        Stop::new(errno, kind.into(), LogForm::Line)
    }

    /// A refusal whose line the kernel does not end.
    #[cold]
    pub(crate) fn refuse_open_line(errno: i32, kind: impl Into<RejectKind>) -> Stop {
        Stop::new(errno, kind.into(), LogForm::OpenLine)
    }

    /// A refusal that is not written to the log.
    #[cold]
    pub(crate) fn refuse_silently(errno: i32, kind: impl Into<RejectKind>) -> Stop {
        Stop::new(errno, kind.into(), LogForm::Nothing)
    }

    /// The same refusal with an additional line: what the error led to.
    #[cold]
    pub(crate) fn led_to(mut self, kind: impl Into<RejectKind>) -> Stop {
        if let Some(refused) = self.as_refused_mut() {
            refused.led_to.push(kind.into());
        }
        self
    }

    /// The same refusal with its reason.
    #[cold]
    pub(crate) fn because(mut self, kind: Option<RejectKind>) -> Stop {
        if let Some(refused) = self.as_refused_mut() {
            refused.because = kind;
        }
        self
    }

    /// The same refusal with another `errno`.
    #[cold]
    pub(crate) fn with_errno(mut self, errno: i32) -> Stop {
        if let Some(refused) = self.as_refused_mut() {
            refused.errno = errno;
        }
        self
    }
}

/// Ends the walk with an error, which is logged on its own line.
macro_rules! reject {
    ($errno:ident, $kind:expr) => {
        return Err(crate::rejection::Stop::refuse(skep_uapi::errno::$errno, $kind))
    };
}
pub(crate) use reject;

/// Result of everything that may end the walk.
pub(crate) type Check<T = ()> = Result<T, Stop>;

/// `not supported yet: what`.
pub(crate) fn unsupported<T>(what: impl Into<String>) -> Check<T> {
    Err(Stop::unsupported(what))
}

//! Exit codes: the three kinds of failure, never mixed.

/// How a run ended; later variants take precedence.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exit {
    /// Success.
    #[default]
    Success,
    /// A program was rejected.
    Refused,
    /// An error of the input or the host, or an unsupported feature.
    Input,
    /// The user interrupted the run (SIGINT); the results so far are shown.
    Interrupted,
    /// A bug in skep.
    Bug,
}

impl Exit {
    /// The process's exit code.
    pub fn code(self) -> u8 {
        match self {
            Exit::Success => 0,
            Exit::Refused => 1,
            Exit::Input => 2,
            // As in shells: 128 plus the signal number.
            Exit::Interrupted => 130,
            Exit::Bug => 101,
        }
    }

    /// For a program that may not run.
    #[cfg(all(feature = "run", target_os = "linux"))]
    pub(crate) fn of_reason(reason: &skep::Reason) -> Exit {
        use skep::Reason;
        match reason {
            Reason::Rejected(_) => Exit::Refused,
            Reason::Unsupported(_) | Reason::OutOfMemory => Exit::Input,
            Reason::Bug(_) => Exit::Bug,
        }
    }

    /// Raises the exit code to another one, if that is worse.
    pub fn raise(&mut self, other: Exit) {
        *self = (*self).max(other);
    }
}

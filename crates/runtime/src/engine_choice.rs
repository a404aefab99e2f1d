//! `Engine`: how to run a program.

/// What runs a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Engine {
    /// The interpreter, which checks every access; the default on processors other than x86-64.
    #[cfg_attr(not(target_arch = "x86_64"), default)]
    Interpreter,
    /// Machine code, for x86-64.
    #[cfg_attr(target_arch = "x86_64", default)]
    MachineCode,
}

impl std::fmt::Display for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Engine::Interpreter => "interpreter",
            Engine::MachineCode => "machine code",
        })
    }
}

//! Operands that are one of several errors with a text of their own, for kinds that share a code.

use super::row::{AsOperand, Name, Operand, Regno, Word};

/// Defines such an operand: `Variant { operand: type } "text";`.
macro_rules! variants {
    ($(#[$doc:meta])* $variants:ident { $(
        $variant:ident $({ $($operand:ident: $ty:ty),* $(,)? })? $text:literal;
    )* }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        #[allow(missing_docs)]
        pub enum $variants {
            $(#[doc = concat!("`", $text, "`")] $variant $({ $($operand: $ty),* })?,)*
        }

        impl AsOperand for $variants {
            fn regno(&self) -> Option<Regno> {
                match self {
                    $(Self::$variant $({ $($operand),* })? => {
                        let regnos: &[Option<Regno>] = &[$($($operand.regno()),*)?];
                        regnos.iter().copied().flatten().next()
                    })*
                }
            }

            fn push(&self, _name: &'static str, _to: &mut Vec<Operand>) {
                match self {
                    $(Self::$variant $({ $($operand),* })? => {
                        $($($operand.push(stringify!($operand), _to);)*)?
                    })*
                }
            }
        }

        impl std::fmt::Display for $variants {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                match self { $(Self::$variant $({ $($operand),* })? => write!(f, $text),)* }
            }
        }
    };
}

variants! {
    /// A rule of another kernel that 6.18 does not have.
    OtherRule {
        SleepsWithLocks
            "sleepable progs cannot use bpf_spin_lock yet";
        ConstantIntoCtx { regno: Regno }
            "BPF_ST stores into R{regno} ctx is not allowed";
        AllocationSize { regno: Regno }
            "R{regno} allocation size exceeds u32 max";
        CallbackOfSeveralMaps
            "tail_call abusing map_ptr";
        GlobalCallWithPreemptOff
            "global function calls are not allowed with preemption disabled,\n\
             use static function instead";
        GlobalCallWithIrqsOff
            "global function calls are not allowed with IRQs disabled,\n\
             use static function instead";
        SeveralTags { i: u32 }
            "arg#{i} type's tag fetching failure: -17";
        NoKfuncs
            "BPF_CALL uses reserved fields";
        PacketLoadInCallback
            "cannot use BPF_LD_[ABS|IND] within callback";
        DropInNmi { name: Word }
            "{name} cannot be used in tracing programs on types with NMI unsafe fields";
    }
}

variants! {
    /// Why a kernel function can be called neither by a trampoline nor by a program.
    PrototypeFault {
        TooManyArguments { name: Name, count: usize }
            "The function {name} has {count} arguments. Too many.";
        Result { name: Name, kind: Word }
            "The function {name} return type {kind} is unsupported.";
        VariableArguments { name: Name }
            "The function {name} with variable args is unsupported.";
        VoidArgument { name: Name }
            "The function {name} has malformed void argument.";
        Argument { name: Name, arg: usize, kind: Word }
            "The function {name} arg{arg} type {kind} is unsupported.";
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variant_knows_its_register_and_prints_its_operands() {
        let rule = OtherRule::ConstantIntoCtx { regno: Regno(1) };
        assert_eq!(rule.to_string(), "BPF_ST stores into R1 ctx is not allowed");
        assert_eq!(rule.regno(), Some(Regno(1)));
        let fault = PrototypeFault::Argument { name: "f".into(), arg: 2, kind: "STRUCT" };
        assert_eq!(fault.to_string(), "The function f arg2 type STRUCT is unsupported.");
        assert_eq!(fault.regno(), None);
    }
}

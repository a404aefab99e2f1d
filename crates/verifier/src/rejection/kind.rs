//! The kinds of errors for which a program is rejected: one variant each, with its operands.
//!
//! The tables of this folder have one row per kind: its variant and operands, its stable code, the
//! kernel's text. The text is only printed; it is never parsed.
//!
//! # Invariants
//! 1. A code belongs to one kind, and stays the same when the text changes
//!    (`codes_are_told_apart`).
//! 2. A kind prints the kernel's text, byte for byte, without the final newline.

use super::attach::AttachFault;
use super::call::CallFault;
use super::flow::FlowFault;
use super::func::FuncFault;
use super::insn::InsnFault;
use super::kfunc::KfuncFault;
use super::mem::MemFault;
use super::row::{KindRow, Operand, Regno};
use super::variant::OtherRule;
use skep_uapi::words::Words;
use std::fmt;

/// The tables of kinds.
macro_rules! tables {
    ($($(#[$doc:meta])* $table:ident($kinds:ident);)*) => {
        /// The reason for a rejection. Its `Display` is the kernel's text.
        #[derive(Clone, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum RejectKind { $($(#[$doc])* $table($kinds),)* }

        impl RejectKind {
            /// The rows of all tables.
            pub fn rows() -> impl Iterator<Item = &'static KindRow> {
                [$($kinds::ROWS),*].into_iter().flatten()
            }

            /// Stable name of the kind, such as `leaked-reference`.
            pub fn code(&self) -> &'static str {
                match self { $(Self::$table(kind) => kind.code(),)* }
            }

            /// The message in the wording of a kernel.
            pub(crate) fn text(&self, words: Words) -> String {
                let text = self.to_string();
                let text_there = match self {
                    $(Self::$table(kind) => {
                        words.text(kind.code(), &text, |name| kind.operand(name))
                    })*
                };
                text_there.unwrap_or(text)
            }

            /// Its operands, in the order of the table.
            pub fn operands(&self) -> Vec<Operand> {
                match self { $(Self::$table(kind) => kind.operands(),)* }
            }

            /// The registers that the error is about.
            pub fn regnos(&self) -> Vec<Regno> {
                match self { $(Self::$table(kind) => kind.regnos(),)* }
            }
        }

        impl fmt::Display for RejectKind {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self { $(Self::$table(kind) => kind.fmt(f),)* }
            }
        }

        $(impl From<$kinds> for RejectKind {
            fn from(kind: $kinds) -> RejectKind {
                RejectKind::$table(kind)
            }
        })*
    };
}

tables! {
    /// A load or store, or memory passed to a helper.
    Mem(MemFault);
    /// The call of a helper, or of a function of the program.
    Call(CallFault);
    /// The call of a kernel function.
    Kfunc(KfuncFault);
    /// An insn: its encoding, or its use of registers.
    Insn(InsnFault);
    /// Control flow: jumps, loops, exits, limits.
    Flow(FlowFault);
    /// A function of the program: its prototype, its BTF, its arguments.
    Func(FuncFault);
    /// The program's attach target and its maps.
    Attach(AttachFault);
}

impl From<OtherRule> for RejectKind {
    fn from(rule: OtherRule) -> RejectKind {
        FlowFault::OtherRule { rule }.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rejection::row::OperandValue;
    use crate::state::reg_type::RegType;

    #[test]
    fn codes_are_told_apart() {
        let mut codes: Vec<_> = RejectKind::rows().map(|row| row.code).collect();
        assert!(codes.len() > 300);
        codes.sort_unstable();
        let twice: Vec<_> = codes.windows(2).filter(|two| two[0] == two[1]).collect();
        assert_eq!(twice, [[""; 2]; 0]);
        let is_kebab = |code: &str| code.bytes().all(|b| b.is_ascii_lowercase() || b == b'-');
        assert!(codes.iter().all(|code| is_kebab(code)));
    }

    #[test]
    fn a_kind_knows_its_register_and_prints_its_operands() {
        let ty = RegType::SCALAR;
        let kind = RejectKind::from(MemFault::NotMemory { regno: Regno(3), ty });
        assert_eq!(kind.to_string(), "R3 invalid mem access 'scalar'");
        assert_eq!((kind.code(), kind.regnos()), ("not-a-pointer-to-memory", vec![Regno(3)]));
        let regno = Operand { name: "regno", value: OperandValue::Number(3) };
        let ty = Operand { name: "ty", value: OperandValue::Text("scalar".into()) };
        assert_eq!(kind.operands(), [regno, ty]);
    }
}

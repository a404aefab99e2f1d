//! The macro for the tables of error kinds, and the types used in them.

use crate::state::reg_type::RegType;
use skep_btf::WalkError;
use skep_domain::Tnum;
use skep_uapi::ProgType;
use std::fmt;

/// Number of a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Regno(pub u8);

impl fmt::Display for Regno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A name from the program or the kernel: of a function, a type, a map.
pub type Name = Box<str>;

/// One of a few fixed strings of the kernel.
pub type Word = &'static str;

/// A row of a table of kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct KindRow {
    /// Stable name of the kind, such as `leaked-reference`.
    pub code: &'static str,
    /// The kernel's text, with the names of operands in braces; empty if it prints nothing.
    pub text: &'static str,
}

/// An operand of an error, such as the offset of an access.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operand {
    /// Its name in the table of kinds: `off`, `size`, `regno`, `ty`.
    pub name: &'static str,
    /// Its value.
    pub value: OperandValue,
}

/// The value of an [`Operand`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OperandValue {
    /// A number; that of a register, too.
    Number(i64),
    /// A name, a type, a set of values: as the kernel prints it.
    Text(Box<str>),
}

/// What can be an operand of an error.
pub(super) trait AsOperand {
    /// The register that it names.
    fn regno(&self) -> Option<Regno> {
        None
    }

    /// Appends it, or what it consists of.
    fn push(&self, name: &'static str, to: &mut Vec<Operand>);
}

impl AsOperand for Regno {
    fn regno(&self) -> Option<Regno> {
        Some(*self)
    }

    fn push(&self, name: &'static str, to: &mut Vec<Operand>) {
        self.0.push(name, to);
    }
}

macro_rules! numbers {
    ($($ty:ty),* $(,)?) => { $(impl AsOperand for $ty {
        fn push(&self, name: &'static str, to: &mut Vec<Operand>) {
            let value = match i64::try_from(*self) {
                Ok(number) => OperandValue::Number(number),
                Err(_) => OperandValue::Text(self.to_string().into()),
            };
            to.push(Operand { name, value });
        }
    })* };
}
numbers!(u8, u16, u32, u64, usize, i32, i64);

macro_rules! texts {
    ($($ty:ty),* $(,)?) => { $(impl AsOperand for $ty {
        fn push(&self, name: &'static str, to: &mut Vec<Operand>) {
            to.push(Operand { name, value: OperandValue::Text(self.to_string().into()) });
        }
    })* };
}
texts!(Name, Word, Tnum, RegType, WalkError, ProgType, Unreleased, KnownRange, CallChain);

/// Defines a table of kinds: `Variant { operand: type } "code" "text";`.
macro_rules! kinds {
    ($(#[$doc:meta])* $kinds:ident { $(
        $kind:ident $({ $($operand:ident: $ty:ty),* $(,)? })? $code:literal $text:literal;
    )* }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        #[allow(missing_docs)]
        pub enum $kinds {
            $(#[doc = concat!("`", $code, "`: ", $text)] $kind $({ $($operand: $ty),* })?,)*
        }

        impl $kinds {
            /// All kinds of the table.
            pub const ROWS: &'static [$crate::rejection::row::KindRow] =
                &[$($crate::rejection::row::KindRow { code: $code, text: $text }),*];

            /// Stable name of the kind.
            pub fn code(&self) -> &'static str {
                match self { $(Self::$kind { .. } => $code,)* }
            }

            /// The registers that the error is about.
            pub fn regnos(&self) -> Vec<$crate::rejection::row::Regno> {
                #[allow(unused_imports)]
                use $crate::rejection::row::AsOperand as _;
                match self {
                    $(Self::$kind $({ $($operand),* })? => {
                        [None, $($($operand.regno()),*)?].into_iter().flatten().collect()
                    })*
                }
            }

            /// Its operands, in the order of the table.
            pub fn operands(&self) -> Vec<$crate::rejection::row::Operand> {
                #[allow(unused_imports)]
                use $crate::rejection::row::AsOperand as _;
                #[allow(unused_mut)] // Kinds without operands.
                let mut all = Vec::new();
                match self {
                    $(Self::$kind $({ $($operand),* })? => {
                        $($($operand.push(stringify!($operand), &mut all);)*)?
                    })*
                }
                all
            }
        }

        impl $kinds {
            /// The text of an operand.
            pub(crate) fn operand(&self, name: &str) -> Option<String> {
                match self {
                    $(Self::$kind $({ $($operand),* })? => {
                        let known: &[(&str, &dyn std::fmt::Display)] =
                            &[$($((stringify!($operand), $operand)),*)?];
                        let found = known.iter().find(|it| it.0 == name);
                        found.map(|it| it.1.to_string())
                    })*
                }
            }
        }

        impl std::fmt::Display for $kinds {
            #[allow(unused_variables)] // Operands of other kernels' texts.
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                match self { $(Self::$kind $({ $($operand),* })? => write!(f, $text),)* }
            }
        }
    };
}
pub(super) use kinds;

/// Unreleased references.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreleased(pub Vec<Acquired>);

/// A reference and where it was acquired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acquired {
    /// Its id in the log.
    pub id: u32,
    /// The insn that acquired it.
    pub insn_idx: u32,
}

impl fmt::Display for Unreleased {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|Acquired { id, insn_idx }| {
            writeln!(f, "Unreleased reference id={id} alloc_insn={insn_idx}")
        })
    }
}

/// A call chain, outermost function first. No kernel prints it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallChain(pub Vec<ChainFrame>);

/// A function of a call chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChainFrame {
    /// Its first insn.
    pub start: u32,
    /// The insn that calls the next function; none for the last one.
    pub call: Option<u32>,
    /// Its share of the common stack, in bytes.
    pub stack_bytes: u32,
}

impl fmt::Display for CallChain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let starts: Vec<String> = self.0.iter().map(|frame| frame.start.to_string()).collect();
        f.write_str(&starts.join(" > "))
    }
}

/// The bounds of a scalar that should have been in a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownRange {
    /// Its signed minimum, if there is one.
    pub smin: Option<i64>,
    /// Its signed maximum.
    pub smax: Option<i64>,
}

impl fmt::Display for KnownRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(smin) = self.smin {
            write!(f, " smin={smin}")?;
        }
        if let Some(smax) = self.smax {
            write!(f, " smax={smax}")?;
        }
        match (self.smin, self.smax) {
            (None, None) => f.write_str(" unknown scalar value"),
            _ => Ok(()),
        }
    }
}

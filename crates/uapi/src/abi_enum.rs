//! `abi_enum!`: an enumeration of the kernel's headers as one table.
//!
//! Each row is a variant, its number and its name. Rows are in numeric order, from 0 and without
//! gaps, which the compiler checks. `abi_enum_spelled!` adds the spelling used in the headers.

/// An enum of numbers that the ABI counts from 0, with their names.
macro_rules! abi_enum {
    (
        $(#[$meta:meta])*
        pub enum $Type:ident {
            $($(#[$row_meta:meta])* $Variant:ident = $number:literal, $name:expr;)*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum $Type {
            $($(#[$row_meta])* $Variant = $number,)*
        }

        impl $Type {
            const ROWS: &'static [($Type, &'static str)] = &[$(($Type::$Variant, $name),)*];

            /// How many values there are.
            pub const COUNT: usize = Self::ROWS.len();

            /// The value with this number in the ABI; `None` if the kernel has none.
            pub fn from_number(number: u32) -> Option<$Type> {
                Self::ROWS.get(number as usize).map(|row| row.0)
            }

            /// Every value, in the order of the ABI.
            pub fn all() -> impl Iterator<Item = $Type> {
                Self::ROWS.iter().map(|row| row.0)
            }

            /// The number in the ABI.
            pub const fn number(self) -> u32 {
                self as u32
            }

            /// The number as a table index, below `COUNT`.
            pub const fn index(self) -> usize {
                self as usize
            }

            /// The name, as bpftool and the logs print it.
            pub const fn name(self) -> &'static str {
                Self::ROWS[self.index()].1
            }
        }

        impl std::fmt::Display for $Type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }

        const _: () = {
            let mut at = 0;
            while at < $Type::COUNT {
                assert!($Type::ROWS[at].0.index() == at, "rows are in the order of the ABI");
                at += 1;
            }
        };
    };
}

/// The same, for values that the headers spell differently from the tools.
macro_rules! abi_enum_spelled {
    (
        $(#[$meta:meta])*
        pub enum $Type:ident {
            $(
                $(#[$row_meta:meta])*
                $Variant:ident = $number:literal, $name:literal, $kernel_name:literal;
            )*
        }
    ) => {
        abi_enum! {
            $(#[$meta])*
            pub enum $Type {
                $(
                    #[doc = concat!("`", $kernel_name, "`.")]
                    $(#[$row_meta])*
                    $Variant = $number, $name;
                )*
            }
        }

        impl $Type {
            const KERNEL_NAMES: &'static [&'static str] = &[$($kernel_name,)*];

            /// The value with this name, in the spelling of tools or of the kernel's headers.
            pub fn from_name(name: &str) -> Option<$Type> {
                Self::all().find(|value| value.name() == name || value.kernel_name() == name)
            }

            /// The spelling of the kernel's headers.
            pub const fn kernel_name(self) -> &'static str {
                Self::KERNEL_NAMES[self.index()]
            }
        }
    };
}

pub(crate) use {abi_enum, abi_enum_spelled};

#[cfg(test)]
mod tests {
    use crate::{AttachType, MapType, ProgType};

    macro_rules! names_agree {
        ($Type:ident, $prefix:literal) => {
            for value in $Type::all() {
                let kernel_name = value.kernel_name();
                assert_eq!(kernel_name.strip_prefix($prefix).unwrap().to_lowercase(), value.name());
                assert_eq!($Type::from_number(value.number()), Some(value));
                assert_eq!($Type::from_name(value.name()), Some(value));
                assert_eq!($Type::from_name(kernel_name), Some(value));
            }
            assert_eq!($Type::from_number($Type::COUNT as u32), None);
            assert_eq!($Type::from_name("no_such_name"), None);
        };
    }

    #[test]
    fn both_spellings_of_types_agree() {
        names_agree!(MapType, "BPF_MAP_TYPE_");
        names_agree!(ProgType, "BPF_PROG_TYPE_");
        names_agree!(AttachType, "BPF_");
    }
}

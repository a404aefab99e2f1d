//! What is wrong with a kernel file, an image or BTF.

use super::Item;
use skep_uapi::since::Release;
use std::error::Error;
use std::fmt;

/// Why something is no kernel, or none that can be used.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Fault {
    // Of the file.
    NotAKernelFile,
    OtherVersion {
        version: String,
    },
    Damaged,
    NotToBeRead {
        what: &'static str,
    },
    NoKernelAtAll,
    Object,
    OtherMachine,
    NoBtf,
    OtherRelease {
        told: String,
    },
    NoRelease,
    /// The text that should state the release does not, for this reason.
    Release(&'static str),

    // Of its BTF.
    Btf(skep_btf::Error),
    BigEndian,
    NotOfAKernel,
    OtherRegisters,
    NoHelpers,
    Lacks {
        version: Release,
        item: Item,
    },
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::NotAKernelFile => {
                f.write_str("not a kernel file; skep kernel import creates one")
            }
            Fault::OtherVersion { version } => {
                write!(f, "a kernel file of another version of skep: '{version}'")
            }
            Fault::Damaged => f.write_str("the file is cut short or damaged"),
            Fault::NotToBeRead { what } => {
                write!(f, "{what} cannot be read directly; use skep kernel import")
            }
            Fault::NoKernelAtAll => {
                f.write_str("neither a package (deb, rpm), vmlinuz, vmlinux nor BTF")
            }
            Fault::Object => f.write_str("a BPF object, no kernel"),
            Fault::OtherMachine => {
                f.write_str("not supported yet: a kernel of another architecture")
            }
            Fault::NoBtf => {
                f.write_str("no section .BTF: not a kernel, or built without CONFIG_DEBUG_INFO_BTF")
            }
            Fault::OtherRelease { told } => {
                write!(f, "it is the kernel {}, not that of --release", told.escape_default())
            }
            Fault::NoRelease => {
                f.write_str("BTF does not contain the kernel's release; use --release")
            }
            Fault::Release(why) => f.write_str(why),
            Fault::Btf(why) => why.fmt(f),
            Fault::BigEndian => {
                f.write_str("not supported yet: BTF of a big-endian machine; only x86-64 is")
            }
            Fault::NotOfAKernel => f.write_str("this is not a kernel's BTF: it has no task_struct"),
            Fault::OtherRegisters => f.write_str(
                "not supported yet: BTF of another architecture, whose struct pt_regs is not that \
                 of x86-64",
            ),
            Fault::NoHelpers => {
                f.write_str("this is not the BTF of a kernel with BPF: it has no enum bpf_func_id")
            }
            Fault::Lacks { version, item } => {
                write!(f, "this is not the BTF of a kernel {version}: it lacks {item}")
            }
        }
    }
}

impl Error for Fault {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Fault::Btf(why) => Some(why),
            _ => None,
        }
    }
}

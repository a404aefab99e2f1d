//! `Program`: everything that is passed to BPF_PROG_LOAD, with maps and BTF instead of descriptors.
//!
//! # Invariants
//! 1. A `ld_imm64` with `src` `BPF_PSEUDO_MAP_FD` or `BPF_PSEUDO_MAP_VALUE` contains in `imm` a
//!    [`MapIdx`] (an index in `maps`), and in the next slot's `imm` the offset in the value, in
//!    bytes. An insn that contains a descriptor number in the file itself, without a relocation,
//!    contains `!fd` (negative).
//! 2. A kfunc call (`BPF_PSEUDO_KFUNC_CALL`) contains in `imm` the BTF id of the function in
//!    `kernel_btf` and 0 in `off`. A call of a weak kfunc that does not exist keeps libbpf's poison
//!    (a helper number that no kernel has).
//! 3. A `ld_imm64` with `BPF_PSEUDO_BTF_ID` contains the BTF id of a `VAR` in `kernel_btf`.
//! 4. Calls of and references to subprogs are relative, as in the kernel's ABI.
//! 5. `func_info` and `line_info` ascend by `insn_off` and lie inside `insns`.
//! 6. There is no `fd_array`: a `ld_imm64` that refers to a map by its index there, and a kfunc
//!    whose `off` is such an index, are rejected as the kernel does without the array.
//!
//! For a malformed file, the creator of a `Program` need not ensure 1 to 5: the verifier checks
//! every index and every row again.

use crate::map_def::cut_name;
use crate::{FuncInfo, LineInfo, MapDef, MapIdx, UnloadedInfo, Unresolved};
use skep_btf::Btf;
use skep_insn::Insn;
use skep_uapi::{AttachType, ProgFlags, ProgType};
use std::sync::Arc;

/// A program's attach target, as far as loading needs it (`attach_btf_id`, `attach_prog_fd`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum AttachTarget {
    /// Nothing relevant for loading.
    #[default]
    None,
    /// The object names a target (without prefix such as `bpf_lsm_`) that is not in the kernel BTF,
    /// or there is no kernel BTF, or it belongs to another program that was not given.
    Unresolved(String),
    /// A type of the kernel BTF: a function, a `btf_trace_*` typedef, a struct_ops struct.
    Kernel {
        /// BTF id in `Program::kernel_btf`.
        btf_id: u32,
        /// Name of the target as in the section name.
        name: String,
    },
    /// A function of another program, which this one replaces (`freplace`); verified as type `ext`.
    Function(Arc<TargetFunction>),
}

/// A function of a program that was verified and loaded before (`attach_prog_fd`).
#[derive(Clone, Debug)]
pub struct TargetFunction {
    /// The program, as it is loaded.
    pub program: Program,
    /// The function in the program's BTF.
    pub btf_id: u32,
}

impl PartialEq for TargetFunction {
    fn eq(&self, other: &TargetFunction) -> bool {
        (self.btf_id, &self.program.name) == (other.btf_id, &other.program.name)
            && self.program.insns == other.program.insns
    }
}

impl Eq for TargetFunction {}

/// One program: the first subprog is the entry function, followed by the functions that it calls.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// Name of the entry function; the kernel's is `kernel_name()`.
    pub name: String,
    /// Its ELF section (or `SEC()` text).
    pub section: String,
    /// `BPF_PROG_TYPE_*`; unspecified if the section name does not determine it.
    pub prog_type: ProgType,
    /// `expected_attach_type` as passed to the kernel: a `BPF_*` attach type, or for struct_ops the
    /// index of the member in its struct.
    pub expected_attach_type: u32,
    /// Target that the load names.
    pub attach: AttachTarget,
    /// Flags of the load: `SLEEPABLE` and `XDP_HAS_FRAGS` from the section name; callers add test
    /// flags.
    pub prog_flags: ProgFlags,
    /// Licence string, empty if the object has none.
    pub license: String,
    /// `kern_version`: `LINUX_VERSION_CODE` of the object or the caller, 0 if none.
    pub kern_version: u32,
    /// Loaded by default (`false` for `SEC("?...")`).
    pub autoload: bool,
    /// All insns, entry function first, subprogs appended.
    pub insns: Vec<Insn>,
    /// Maps of the whole object, shared by its programs.
    pub maps: Arc<[MapDef]>,
    /// BTF of the object as passed to BPF_BTF_LOAD (section sizes and variable offsets filled in).
    pub btf: Option<Arc<Btf>>,
    /// Where subprogs start and what their types are; empty if the object has none.
    pub func_info: Vec<FuncInfo>,
    /// Where insns come from; empty if the object has none.
    pub line_info: Vec<LineInfo>,
    /// What the object has in place of these, if the kernel does not load its BTF.
    pub unloaded: Option<Arc<UnloadedInfo>>,
    /// BTF of the kernel that the program was relocated against.
    pub kernel_btf: Option<Arc<Btf>>,
    /// Insns that replace unresolved references, in ascending order.
    pub unresolved: Vec<Unresolved>,
}

impl Program {
    /// The map that an insn's `imm` refers to (invariant 1), `None` if there is no such map.
    pub fn map(&self, idx: MapIdx) -> Option<&MapDef> {
        self.maps.get(idx.0 as usize)
    }

    /// `expected_attach_type` as a `BPF_*` attach type; meaningless for struct_ops.
    pub fn attach_type(&self) -> Option<AttachType> {
        AttachType::from_number(self.expected_attach_type)
    }

    /// The name truncated to what the kernel stores.
    pub fn kernel_name(&self) -> &str {
        cut_name(&self.name)
    }

    /// The reference at an insn that the loader could not resolve.
    pub fn unresolved_at(&self, insn: usize) -> Option<&Unresolved> {
        self.unresolved.iter().find(|unresolved| unresolved.insn.index() == insn)
    }
}

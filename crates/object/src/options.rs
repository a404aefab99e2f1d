//! `OpenOptions`: what the caller knows about the kernel, and how to read the file.

use crate::loader::Loader;
use skep_btf::{Btf, Kind};
use skep_program::Program;
use std::sync::Arc;

/// Maps the name of a kernel symbol to its address.
pub type SymbolLookup = Arc<dyn Fn(&str) -> Option<u64> + Send + Sync>;

/// What the caller knows about the target kernel, and how to read the file.
#[derive(Clone, Default)]
pub struct OpenOptions {
    /// Base name of the file (the part after the first dot is ignored): first part of the names of
    /// the data maps.
    pub name: String,
    /// BTF of the kernel; without it CO-RE, kfuncs and attach targets stay unresolved.
    pub kernel_btf: Option<Arc<Btf>>,
    /// Text of the kernel's configuration (`CONFIG_X=y` lines), for `.kconfig` externs.
    pub kconfig: Option<Arc<str>>,
    /// Address of a kernel symbol, for untyped `.ksyms` externs.
    pub kallsyms: Option<SymbolLookup>,
    /// `LINUX_VERSION_CODE` of the kernel, for the extern `LINUX_KERNEL_VERSION`.
    pub kernel_version: u32,
    /// Whether the kernel has the helper `bpf_get_attach_cookie`, for the extern
    /// `LINUX_HAS_BPF_COOKIE`; `None`: as the version tells.
    pub has_bpf_cookie: Option<bool>,
    /// Number of possible CPUs: `max_entries` of perf event arrays that do not set it.
    pub cpus: u32,
    /// NUMA nodes that are online; only node 0 if there are none here.
    pub numa_nodes: Arc<[u32]>,
    /// `max_entries` for maps that have none (tools such as veristat use 1, so that the maps can be
    /// created); 0 leaves them alone, as libbpf does. Local storage needs none.
    pub empty_map_entries: u32,
    /// The loader whose rules apply.
    pub loader: Loader,
    /// The program whose functions `freplace` programs replace, as it is loaded; it has been
    /// verified.
    pub target: Option<Arc<Program>>,
    /// Give `freplace` programs the type that their context suggests, as veristat does, if there is
    /// no `target`: they cannot be loaded without one.
    pub guess_ext_types: bool,
    /// Keep everything that needs a kernel as it is in the file (CO-RE relocations, externs, attach
    /// targets), and reject nothing: for inspection.
    pub as_in_file: bool,
    /// Treat data not given here as unknown rather than absent, so that weak externs that depend on
    /// them do not resolve to 0.
    pub is_partial: bool,
    /// BTF kinds that the kernel does not know: types of these kinds are replaced by others.
    pub absent_btf_kinds: Arc<[Kind]>,
    /// Page size in bytes, a power of two; 0 means 4096.
    pub page_size_bytes: u32,
}

impl OpenOptions {
    /// Whether the object is loaded by libbpf's rules, not only inspected.
    pub(crate) fn as_libbpf(&self) -> bool {
        self.loader == Loader::Libbpf && !self.as_in_file
    }

    pub(crate) fn page_size(&self) -> u64 {
        if self.page_size_bytes == 0 { 4096 } else { u64::from(self.page_size_bytes) }
    }
}

//! `OpenOptions`: what the caller knows of the kernel, and how to read the file.

use crate::loader::Loader;
use skep_btf::{Btf, Kind};
use skep_program::Program;
use std::sync::Arc;

/// From the name of a kernel symbol to its address.
pub type SymbolLookup = Arc<dyn Fn(&str) -> Option<u64> + Send + Sync>;

/// What the caller knows about the target kernel, and how to read the file.
#[derive(Clone, Default)]
pub struct OpenOptions {
    /// Base name of the file (what follows the first dot does not matter): first part of the names
    /// of the data maps.
    pub name: String,
    /// BTF of the kernel; without it CO-RE, kfuncs and attach targets stay unresolved.
    pub kernel_btf: Option<Arc<Btf>>,
    /// Text of the kernel's configuration (`CONFIG_X=y` lines), for `.kconfig` externs.
    pub kconfig: Option<Arc<str>>,
    /// Address of a kernel symbol, for untyped `.ksyms` externs.
    pub kallsyms: Option<SymbolLookup>,
    /// `LINUX_VERSION_CODE` of the kernel, for the extern `LINUX_KERNEL_VERSION`.
    pub kernel_version: u32,
    /// Number of possible CPUs: `max_entries` of perf event arrays that do not set it.
    pub cpus: u32,
    /// `max_entries` for maps that have none (tools such as veristat use 1, so that the maps can be
    /// created); 0 leaves them alone, as libbpf does. Local storage rightly has none.
    pub empty_map_entries: u32,
    /// Whose rules decide what can be loaded.
    pub loader: Loader,
    /// The program whose functions `freplace` programs replace, as it is loaded; it has been
    /// verified.
    pub target: Option<Arc<Program>>,
    /// Give `freplace` programs the type that their context suggests, as veristat does, if there is
    /// no `target`: they cannot be loaded alone.
    pub guess_ext_types: bool,
    /// Leave what needs a kernel as the file has it (CO-RE relocations, externs, attach targets),
    /// and refuse nothing: for reading.
    pub as_in_file: bool,
    /// What is not given here is not known, rather than absent: weak externs that it would decide
    /// do not resolve to nothing.
    pub is_partial: bool,
    /// Kinds of BTF that the kernel does not know: types of these kinds become others.
    pub absent_btf_kinds: Arc<[Kind]>,
    /// Page size in bytes, a power of two; 0 means 4096.
    pub page_size_bytes: u32,
}

impl OpenOptions {
    pub(crate) fn page_size(&self) -> u64 {
        if self.page_size_bytes == 0 { 4096 } else { u64::from(self.page_size_bytes) }
    }
}

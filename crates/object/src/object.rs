//! `Object`: what a `.bpf.o` file holds, ready to verify.

use crate::Error;
use skep_program::{Btf, MapDef, Program};
use std::sync::Arc;

/// What the caller knows of the kernel that the object is loaded for, and how to read the file.
#[derive(Clone, Default)]
pub struct OpenOptions {
    /// Name of the object, first part of the names of its data maps: the file name up to its first
    /// dot if empty in the file's path. libbpf takes the base name without `.o`.
    pub name: String,
    /// BTF of the kernel; without it CO-RE, kfuncs and attach targets stay unresolved.
    pub kernel_btf: Option<Arc<Btf>>,
    /// Text of the kernel's configuration (`CONFIG_X=y` lines), for `.kconfig` externs.
    pub kconfig: Option<Arc<str>>,
    /// Address of a kernel symbol, for untyped `.ksyms` externs.
    pub kallsyms: Option<Arc<dyn Fn(&str) -> Option<u64> + Send + Sync>>,
    /// `LINUX_VERSION_CODE` of the kernel, for the extern `LINUX_KERNEL_VERSION`.
    pub kernel_version: u32,
    /// Number of possible CPUs: `max_entries` of perf event arrays that do not say it.
    pub cpus: u32,
    /// Page size in bytes, a power of two; 0 means 4096.
    pub page_size_bytes: u32,
}

/// One program of an object: its name is known even where its relocation failed.
#[derive(Clone, Debug)]
pub struct ObjectProgram {
    /// Name of the entry function.
    pub name: String,
    /// Text of `SEC()`.
    pub section: String,
    /// Loaded by default.
    pub autoload: bool,
    /// The program, or why it could not be made.
    pub program: Result<Program, Error>,
}

/// An object file: programs in the order in which libbpf iterates over them.
#[derive(Clone, Debug, Default)]
pub struct Object {
    /// Name, as in [`OpenOptions::name`].
    pub name: String,
    /// Entry programs.
    pub programs: Vec<ObjectProgram>,
    /// Maps, in libbpf's order; programs refer to them by index.
    pub maps: Arc<[MapDef]>,
    /// BTF as it is given to the kernel.
    pub btf: Option<Arc<Btf>>,
}

impl Object {
    /// Reads an ELF object, and relocates its programs for the kernel that `options` describes.
    pub fn open(bytes: &[u8], options: &OpenOptions) -> Result<Object, Error> {
        let _ = (bytes, options);
        Err(Error::new("not supported yet: ELF objects"))
    }
}

//! The options in a `toml` block of a suite.

use serde::Deserialize;
use std::collections::BTreeMap;

/// Options of a case.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// Program type, in libbpf's spelling.
    pub prog_type: String,
    /// `expected_attach_type`, in libbpf's spelling, or a number; default 0.
    pub attach_type: Option<String>,
    /// The function or tracepoint in the kernel's BTF to attach to: its name, its number, `struct
    /// NAME`, `typedef NAME`; `(anon)` is the first type without a name.
    pub attach: Option<String>,
    /// errno of the rejection, by name; not checked if absent.
    pub errno: Option<String>,
    /// Program flags without `BPF_F_`, in lower case: `test_state_freq`, `strict_alignment`.
    pub flags: Vec<String>,
    /// License.
    pub license: String,
    /// Privileges of the loading process: `root`, `bpf` (CAP_BPF without CAP_PERFMON: no pointer
    /// leaks, speculative paths are walked), or `nobody` (neither: no loops, no calls).
    pub privileges: Loader,
    /// Log level of the `log` transcript and of facts.
    pub log_level: u32,
    /// Why our verifier is known to fail this case. The case must then fail.
    pub known_gap: Option<String>,
    /// The host kernel loads the programs but has no test run for their type; the text says where
    /// the `run` block comes from, and the kernel's trial checks that it refuses to run them.
    /// Without a `run` block: the host cannot judge the program; the text says who did.
    pub unjudged: Option<String>,
    /// Generate BTF with a function for each subprog, even if nothing requires it.
    pub btf: bool,
    /// Func info that replaces the correct one: insn, and the number of the function whose type is
    /// used, from 1; 0 for none.
    pub func_rows: Vec<[u32; 2]>,
    /// Line info: insn, string offsets of file and line, line and column in one number.
    pub lines: Vec<[u32; 4]>,
    /// Structs of the program's BTF by name, with the fields that a map's value may have; the text
    /// names their ids: `type[node]`.
    pub r#struct: BTreeMap<String, Vec<String>>,
    /// Maps by name.
    pub map: BTreeMap<String, MapOptions>,
    /// Subprogs by label; `main` is the entry.
    pub func: BTreeMap<String, FuncOptions>,
    /// Runs: the context of each, as 64-bit words.
    pub words: Vec<Vec<String>>,
    /// Runs: the packet of each, in hexadecimal.
    pub packets: Vec<String>,
    /// Programs of the same type that slots of prog arrays may contain.
    pub target: BTreeMap<String, String>,
    /// The function of another program that this one, of type `ext`, replaces.
    pub replaces: Option<Box<Replaces>>,
}

/// A function of another program.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Replaces {
    /// Its label, or `main`; or a name in `of.func` that is not a label.
    pub func: String,
    /// The other program.
    pub bpf: String,
    /// The other program's options.
    pub of: Options,
}

/// The loading process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Loader {
    /// All capabilities.
    Root,
    /// CAP_BPF and CAP_NET_ADMIN only.
    Bpf,
    /// No capabilities.
    Nobody,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            prog_type: "socket_filter".to_owned(),
            attach_type: None,
            attach: None,
            errno: None,
            flags: Vec::new(),
            license: "GPL".to_owned(),
            privileges: Loader::Root,
            log_level: 2,
            known_gap: None,
            unjudged: None,
            btf: false,
            func_rows: Vec::new(),
            lines: Vec::new(),
            r#struct: BTreeMap::new(),
            map: BTreeMap::new(),
            func: BTreeMap::new(),
            words: Vec::new(),
            packets: Vec::new(),
            target: BTreeMap::new(),
            replaces: None,
        }
    }
}

impl Options {
    /// From the tables of all headings, merged.
    pub fn from_table(table: &toml::Table) -> Result<Options, String> {
        table.clone().try_into().map_err(|e: toml::de::Error| e.message().to_owned())
    }
}

/// A map of a case.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MapOptions {
    /// Map type, in libbpf's spelling.
    pub r#type: String,
    /// Key size, bytes.
    pub key: u32,
    /// Value size, bytes; 0 with `fields`, which determine it.
    pub value: u32,
    /// Entries.
    pub max: u32,
    /// Flags without `BPF_F_`, in lower case: `rdonly_prog`, `no_prealloc`.
    pub flags: Vec<String>,
    /// `map_extra`.
    pub extra: u64,
    /// Name of the map that is the template of inner maps.
    pub inner: Option<String>,
    /// Members of the value: `lock: bpf_spin_lock`, `n: u64`, `name: u8[16]`, `p: kptr plain` (also
    /// `percpu_kptr`, `kptr_untrusted`), `head: bpf_list_head node:member`.
    pub fields: Vec<String>,
    /// Initial value, in hexadecimal.
    pub contents: String,
    /// Whether it is frozen after it was filled.
    pub frozen: bool,
    /// Contents of slots, by index from 0: names of maps or targets, `main`, or empty.
    pub slots: Vec<String>,
    /// Keys and values before the first run, in hexadecimal.
    pub entries: Vec<[String; 2]>,
    /// Whether the transcript of runs shows its contents at the end.
    pub dump: bool,
}

impl Default for MapOptions {
    fn default() -> Self {
        MapOptions {
            r#type: "array".to_owned(),
            key: 4,
            value: 8,
            max: 1,
            flags: Vec::new(),
            extra: 0,
            inner: None,
            fields: Vec::new(),
            contents: String::new(),
            frozen: false,
            slots: Vec::new(),
            entries: Vec::new(),
            dump: false,
        }
    }
}

/// BTF of a subprog.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FuncOptions {
    /// Whether it is a global function, verified on its own.
    pub global: bool,
    /// For `main`: labels of functions declared as exception callbacks; a name that is not a label
    /// is not in the BTF.
    pub exception_callbacks: Vec<String>,
    /// Types of the arguments: `int`, `u64`, `ctx`, `ctx:xdp` (that of another type), `char*`,
    /// `mem:16` (pointer to a struct of this many bytes), `kernel:task_struct` (pointer to a kernel
    /// struct), each optionally followed by tags: `mem:16 nonnull`, `void* ctx`.
    pub args: Vec<String>,
    /// Whether it returns void instead of int.
    pub void: bool,
}

//! What a `toml` block of a suite may say.

use serde::Deserialize;
use std::collections::BTreeMap;

/// Options of a case.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// Program type, in libbpf's spelling.
    pub prog_type: String,
    /// `expected_attach_type`, in libbpf's spelling, or a number; none is 0.
    pub attach_type: Option<String>,
    /// Name of a function or tracepoint of the kernel's BTF to attach to, its number, `struct
    /// NAME`, `typedef NAME`; `(anon)`, the first type without a name.
    pub attach: Option<String>,
    /// errno of the refusal, by name; not looked at if it is not said.
    pub errno: Option<String>,
    /// Program flags without `BPF_F_`, small letters: `test_state_freq`, `strict_alignment`.
    pub flags: Vec<String>,
    /// License.
    pub license: String,
    /// What the loading process may do: `root`, `bpf` (CAP_BPF without CAP_PERFMON: pointers may
    /// not leak, speculative paths are walked), or `nobody` (without either: no loops, no calls).
    pub privileges: Loader,
    /// Log level of the `log` transcript, and of facts.
    pub log_level: u32,
    /// Our verifier is known not to do this, and why. The case then has to fail on it.
    pub known_gap: Option<String>,
    /// The host kernel loads the programs but has no test run for their type, and who has seen what
    /// the `run` block says; the kernel's trial then is that it does refuse to run them. Without a
    /// `run` block: the host may not judge the program, and who did.
    pub unjudged: Option<String>,
    /// Give the program BTF with a function for each subprog, even where nothing asks for it.
    pub btf: bool,
    /// Rows of func info in place of those that are right: insn, and the type of which function,
    /// from 1; 0 is no function's.
    pub func_rows: Vec<[u32; 2]>,
    /// Line info: insn, where the names of file and line are in the strings of the BTF, line and
    /// column in one number.
    pub lines: Vec<[u32; 4]>,
    /// Maps by name.
    pub map: BTreeMap<String, MapOptions>,
    /// Subprogs by label; `main` is the entry.
    pub func: BTreeMap<String, FuncOptions>,
    /// Runs: the words (64 bits) that the context of each consists of.
    pub words: Vec<Vec<String>>,
    /// Runs: the packet of each, in hexadecimal.
    pub packets: Vec<String>,
    /// Programs that slots of prog arrays name, of the same type.
    pub target: BTreeMap<String, String>,
    /// The function of another program that this one, of type `ext`, replaces.
    pub replaces: Option<Box<Replaces>>,
}

/// A function of another program.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Replaces {
    /// Its label, or `main`; or a name of `of.func` that is no label.
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
    /// Value size, bytes; 0 with `fields`, which say it.
    pub value: u32,
    /// Entries.
    pub max: u32,
    /// Flags without `BPF_F_`, small letters: `rdonly_prog`, `no_prealloc`.
    pub flags: Vec<String>,
    /// `map_extra`.
    pub extra: u64,
    /// Name of the map that inner maps look like.
    pub inner: Option<String>,
    /// Members of the value: `lock: bpf_spin_lock`, `n: u64`, `name: u8[16]`, `p: kptr plain`.
    pub fields: Vec<String>,
    /// First value, in hexadecimal.
    pub contents: String,
    /// Frozen after it was filled.
    pub frozen: bool,
    /// What slots hold, by index from 0: names of maps or targets, `main`, or nothing.
    pub slots: Vec<String>,
    /// Keys and values before the first run, in hexadecimal.
    pub entries: Vec<[String; 2]>,
    /// The transcript of runs shows what it holds at the end.
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
    /// Verified by itself, by its types.
    pub global: bool,
    /// Of `main`: labels of the functions that it names as those that run when an exception is
    /// thrown; one that is no label is in no BTF.
    pub exception_callbacks: Vec<String>,
    /// Types of the arguments: `int`, `u64`, `ctx`, `ctx:xdp` (that of another type), `char*`,
    /// `mem:16` (pointer to a struct of so many bytes), `kernel:task_struct` (pointer to a struct
    /// of the kernel), each with tags behind it: `mem:16 nonnull`, `void* ctx`.
    pub args: Vec<String>,
    /// Returns nothing, instead of an int.
    pub void: bool,
}

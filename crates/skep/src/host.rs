//! What programs are loaded against, read from the running machine: BTF, configuration, symbols,
//! version, CPUs.
//!
//! All crates below get these as plain values, so results depend on nothing else. What the machine
//! lacks is omitted; only a file named by the user must exist.

use crate::error::Error;
use crate::error_injection::{self, Functions};
use crate::kallsyms::Symbols;
use crate::kernel::{Calls, build};
use skep_btf::waited::made_once;
use skep_btf::{Btf, Kind, LATER_KINDS, TypeId};
use skep_object::OpenOptions;
use skep_uapi::ctx::{CtxFields, LaterField};
use skep_uapi::since::{Insns, Release};
use skep_uapi::words::Words;
use skep_uapi::{Behaviour, Behaviours, KernelProfile, Neighbour};
use skep_verifier::{Config, ErrorInjection, KernelSymbols};
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

const KERNEL_BTF_PATH: &str = "/sys/kernel/btf/vmlinux";
/// A kernel's configuration is under 1 MB; anything larger is not one.
const KCONFIG_BYTES_MAX: u64 = 16 << 20;
/// The NUMA nodes that are online.
const NODES_PATH: &str = "/sys/devices/system/node/online";
/// Numbers of nodes are below 1,024.
const NODES_MAX: u32 = 1023;
/// vmlinux BTF is under 10 MB, but an image with debug information may be larger.
const BTF_FILE_BYTES_MAX: u64 = 1 << 30;

/// Where to get the kernel's BTF.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum KernelBtf {
    /// The running kernel's, if available.
    #[default]
    Running,
    /// A file with raw BTF.
    File(PathBuf),
    /// No BTF: CO-RE, kfuncs and attach targets stay unresolved.
    Absent,
}

type SymbolAddress = Arc<dyn Fn(&str) -> Option<u64> + Send + Sync>;

/// What an object is loaded against.
#[derive(Clone, Default)]
pub struct Host {
    /// The kernel's BTF, parsed once and shared by all objects.
    pub kernel_btf: Option<Arc<Btf>>,
    /// The kernel's configuration, as text.
    pub kconfig: Option<Arc<str>>,
    /// Addresses of kernel symbols; the list is read on first use.
    pub kallsyms: Option<SymbolAddress>,
    /// Functions that allow error injection; read on first use.
    pub error_injection: Option<ErrorInjection>,
    /// `LINUX_VERSION_CODE`.
    pub kernel_version: u32,
    /// Whether it has the helper `bpf_get_attach_cookie`; `None`: as its version tells.
    pub has_bpf_cookie: Option<bool>,
    /// Number of possible CPUs.
    pub cpus: u32,
    /// Whether missing data mean "not known" rather than "absent".
    pub is_partial: bool,
    /// BTF kinds that the kernel does not know.
    pub absent_btf_kinds: Arc<[Kind]>,
    /// Its NUMA nodes that are online; only node 0 if there are none here.
    pub numa_nodes: Arc<[u32]>,
    /// The rules of its verifier; by default those of Linux 6.18.
    pub behaviours: Behaviours,
    /// For a release between tested kernels: all whose rules it may have, with `behaviours` last.
    pub neighbours: Arc<[Neighbour]>,
    /// Its texts.
    pub words: Words,
    /// The context fields that it has, of those that not every kernel has.
    pub ctx_fields: CtxFields,
    /// The insns that it has, of those that not every kernel has.
    pub insns: Insns,
    /// The calls of helpers that it refuses, if that differs from Linux 6.18.
    pub calls: Option<Calls>,
    /// Helpers with this number or a higher one do not exist.
    pub helpers_end: Option<u32>,
    /// Attach types with this number or a higher one do not exist.
    pub attach_end: Option<u32>,
}

impl Host {
    /// Data of another kernel, from a directory with copies of its files: `btf/vmlinux` (from
    /// `/sys/kernel/btf`), `kallsyms.gz` or `kallsyms`, `config`, `error_injection` (its list),
    /// `release` (`uname -r`), `cpus` (the possible ones), `nodes` (NUMA nodes that are
    /// online), `modules` (names, one per line, in load
    /// order; their BTF is next to the kernel's), `btf_absent` (BTF kinds that the kernel rejects,
    /// one per line). Only the kernel's BTF must exist.
    ///
    /// # Errors
    ///
    /// The BTF cannot be read or is malformed.
    pub fn read_folder(dir: &Path) -> Result<Host, Error> {
        let text = |name: &str| fs::read_to_string(dir.join(name)).ok();
        let packed = dir.join("kallsyms.gz");
        let plain = dir.join("kallsyms");
        let symbols_file = if packed.exists() { packed } else { plain };
        let kconfig: Option<Arc<str>> = text("config").map(Arc::from);
        let has_symbols = symbols_file.exists();
        let symbols = symbols(move || Symbols::read_file(&symbols_file).unwrap_or_default());
        let list = dir.join("error_injection");
        let vmlinux = read_btf(&dir.join("btf/vmlinux"))?;
        let modules = text("modules").unwrap_or_default();
        let btf = with_modules(dir, Arc::clone(&vmlinux), &modules)?;
        let ctx_fields = CtxFields::those(|field| has_field(&btf, field).unwrap_or(true));
        // As `uname -r` prints it, with a newline.
        let release = text("release").map(|release| release.trim().to_owned());
        let version: Option<Release> = release.as_ref().and_then(|release| release.parse().ok());
        let calls = release.as_ref().map(|release| Calls::of_release(release));
        let release = release.unwrap_or_default();
        let by_build = |rule: &Behaviour| build::holds(rule, &vmlinux);
        let (behaviours, neighbours) = build::rules(&release, by_build);
        Ok(Host {
            kernel_btf: Some(btf),
            error_injection: Some(injection(list, Arc::clone(&symbols), kconfig.clone())),
            kconfig,
            kallsyms: has_symbols.then(|| address_of(symbols)),
            kernel_version: version_code(&release),
            has_bpf_cookie: None,
            cpus: text("cpus").map_or(1, |list| highest_cpu(&list)),
            is_partial: false,
            absent_btf_kinds: kinds(&text("btf_absent").unwrap_or_default()),
            numa_nodes: numbers(&text("nodes").unwrap_or_default()),
            behaviours,
            neighbours: neighbours.into(),
            ctx_fields,
            insns: Insns::of_release(&release),
            calls,
            words: Words::of_release(&release),
            helpers_end: version.map(skep_uapi::since::helpers_end),
            attach_end: version.map(skep_uapi::since::attach_end),
        })
    }

    /// Reads the running machine, with the chosen BTF.
    ///
    /// # Errors
    ///
    /// A BTF file named by the user cannot be read or is not BTF, or the running kernel's BTF is
    /// malformed.
    pub fn read(kernel_btf: &KernelBtf) -> Result<Host, Error> {
        let kernel_btf = match kernel_btf {
            KernelBtf::Absent => None,
            KernelBtf::File(path) => Some(read_btf(path)?),
            KernelBtf::Running => {
                let path = Path::new(KERNEL_BTF_PATH);
                if path.exists() { Some(read_btf(path)?) } else { None }
            }
        };
        let release = release().unwrap_or_default();
        let kconfig: Option<Arc<str>> = kconfig(&release).map(Arc::from);
        let symbols = symbols(Symbols::read);
        let list = PathBuf::from(error_injection::LIST_PATH);
        Ok(Host {
            kernel_btf,
            error_injection: Some(injection(list, Arc::clone(&symbols), kconfig.clone())),
            kconfig,
            kallsyms: Some(address_of(symbols)),
            kernel_version: version_code(&release),
            has_bpf_cookie: None,
            cpus: possible_cpus(),
            is_partial: false,
            absent_btf_kinds: Arc::default(),
            numa_nodes: numbers(&fs::read_to_string(NODES_PATH).unwrap_or_default()),
            behaviours: Behaviours::default(),
            neighbours: Arc::default(),
            ctx_fields: CtxFields::all(),
            insns: Insns::all(),
            calls: None,
            words: Words::default(),
            helpers_end: None,
            attach_end: None,
        })
    }

    /// Which symbols the kernel has an address for; `None` if unknown.
    pub fn kernel_symbols(&self) -> Option<KernelSymbols> {
        let address_of = self.kallsyms.clone()?;
        Some(KernelSymbols(Arc::new(move |name: &str| address_of(name).is_some())))
    }

    /// The configuration, supplemented by data of this kernel.
    pub fn configure(&self, config: Config) -> Config {
        Config {
            kernel_symbols: self.kernel_symbols(),
            error_injection: self.error_injection.clone(),
            refused_calls: self.calls.clone().map(Calls::refused),
            profile: KernelProfile {
                behaviours: self.behaviours,
                ctx_fields: self.ctx_fields,
                insns: self.insns,
                words: self.words,
                helpers_end: self.helpers_end.unwrap_or(u32::MAX),
                attach_end: self.attach_end.unwrap_or(u32::MAX),
                ..config.profile
            },
            nr_cpu_ids: if self.cpus == 0 { config.nr_cpu_ids } else { self.cpus },
            ..config
        }
    }

    /// Options for opening the object in `path`, or one embedded in it.
    pub fn open_options(&self, path: &Path) -> OpenOptions {
        OpenOptions {
            name: object_name(path),
            kernel_btf: self.kernel_btf.clone(),
            kconfig: self.kconfig.clone(),
            kallsyms: self.kallsyms.clone(),
            kernel_version: self.kernel_version,
            has_bpf_cookie: self.has_bpf_cookie,
            cpus: self.cpus.max(1),
            page_size_bytes: 4096,
            empty_map_entries: 1,
            guess_ext_types: true,
            is_partial: self.is_partial,
            absent_btf_kinds: Arc::clone(&self.absent_btf_kinds),
            numa_nodes: Arc::clone(&self.numa_nodes),
            ..OpenOptions::default()
        }
    }
}

/// libbpf's name for the object in this file: the base name without `.o`.
fn object_name(path: &Path) -> String {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    name.strip_suffix(".o").unwrap_or(&name).to_owned()
}

fn read_btf(path: &Path) -> Result<Arc<Btf>, Error> {
    const STEP: &str = "reading kernel BTF";
    let bytes = read_bounded(path, BTF_FILE_BYTES_MAX).map_err(|e| Error::io(path, STEP, e))?;
    if bytes.starts_with(b"\x7fELF") {
        let hint = "an ELF image; extract its .BTF section (objcopy -O binary --only-section=.BTF)";
        return Err(Error::new(path, STEP, hint));
    }
    let btf = Btf::parse(&bytes).map_err(|e| Error::of(path, STEP, e))?;
    Ok(Arc::new(btf))
}

/// The kernel's BTF followed by that of its modules.
fn with_modules(dir: &Path, mut btf: Arc<Btf>, names: &str) -> Result<Arc<Btf>, Error> {
    for name in names.lines().filter(|name| !name.is_empty()) {
        let path = dir.join("btf").join(name);
        const STEP: &str = "reading a module's BTF";
        let bytes =
            read_bounded(&path, BTF_FILE_BYTES_MAX).map_err(|e| Error::io(&path, STEP, e))?;
        let module = Btf::parse_module(btf, name, &bytes);
        btf = Arc::new(module.map_err(|e| Error::of(&path, STEP, e))?);
    }
    Ok(btf)
}

/// Whether the kernel's BTF has a context field; `None` if it does not say.
pub(crate) fn has_field(btf: &Btf, field: &LaterField) -> Option<bool> {
    let id = btf.root().find_by_name_kind(field.of, Kind::Struct)?;
    (field.whole_bytes == 0).then(|| has_member(btf, 4, id, field.field))
}

/// Whether the struct, or an anonymous union in it, has the member, down to a depth limit.
fn has_member(btf: &Btf, levels: u32, id: TypeId, name: &str) -> bool {
    let inside = |id| levels > 0 && has_member(btf, levels - 1, id, name);
    btf.ty(id).members().any(|it| it.name() == name || (it.name().is_empty() && inside(it.ty)))
}

/// The whole file, or an error if it is longer than `bytes_max`.
pub(crate) fn read_bounded(path: &Path, bytes_max: u64) -> std::io::Result<Vec<u8>> {
    let file = fs::File::open(path)?;
    // Files with a known size are read into a buffer of that size.
    let stated = file.metadata().map_or(0, |metadata| metadata.len().min(bytes_max));
    let mut bytes = Vec::with_capacity(usize::try_from(stated).unwrap_or(0).saturating_add(1));
    file.take(bytes_max + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > bytes_max {
        return Err(std::io::Error::other(format!("more than {bytes_max} bytes")));
    }
    Ok(bytes)
}

/// BTF kinds by name, one per line.
fn kinds(text: &str) -> Arc<[Kind]> {
    let named = |kind: &Kind| text.lines().any(|line| line == kind.name());
    LATER_KINDS.into_iter().filter(named).collect()
}

pub(crate) fn release() -> Option<String> {
    Some(fs::read_to_string("/proc/sys/kernel/osrelease").ok()?.trim().to_owned())
}

/// `LINUX_VERSION_CODE` of a release such as `6.18.44-foo`: the patch level counts up to 255.
fn version_code(release: &str) -> u32 {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(|n| n.parse().unwrap_or(0));
    let mut next = || numbers.next().unwrap_or(0u32);
    let (major, minor, patch) = (next(), next(), next());
    (major.min(255) << 16) + (minor.min(255) << 8) + patch.min(255)
}

/// The running kernel's configuration: beside its image, or its own copy.
fn kconfig(release: &str) -> Option<String> {
    if let Ok(text) = fs::read_to_string(format!("/boot/config-{release}")) {
        return Some(text);
    }
    let packed = fs::File::open("/proc/config.gz").ok()?;
    let mut text = String::new();
    let plain = flate2::read::GzDecoder::new(packed);
    plain.take(KCONFIG_BYTES_MAX).read_to_string(&mut text).ok()?;
    Some(text)
}

/// The running kernel, as configured for loading programs to compare with: without BTF, which the
/// programs bring.
pub fn host_facts() -> Host {
    Host::read(&KernelBtf::Absent).unwrap_or_default()
}

/// Symbols, read on first use.
type LazySymbols = Arc<dyn Fn() -> Arc<Symbols> + Send + Sync>;

fn symbols(read: impl Fn() -> Symbols + Send + Sync + 'static) -> LazySymbols {
    let symbols: OnceLock<Arc<Symbols>> = OnceLock::new();
    Arc::new(move || Arc::clone(made_once(&symbols, || Arc::new(read()))))
}

fn address_of(symbols: LazySymbols) -> SymbolAddress {
    Arc::new(move |name: &str| symbols().address(name))
}

fn injection(list: PathBuf, symbols: LazySymbols, kconfig: Option<Arc<str>>) -> ErrorInjection {
    let functions: OnceLock<Functions> = OnceLock::new();
    ErrorInjection(Arc::new(move |name: &str| {
        let symbols = symbols();
        let read = || Functions::read(&list, &symbols, kconfig.as_deref());
        made_once(&functions, read).has(name, &symbols)
    }))
}

/// Highest possible CPU number, plus one; it never changes on a machine.
pub fn possible_cpus() -> u32 {
    static CPUS: OnceLock<u32> = OnceLock::new();
    *CPUS.get_or_init(read_possible_cpus)
}

fn read_possible_cpus() -> u32 {
    highest_cpu(&fs::read_to_string("/sys/devices/system/cpu/possible").unwrap_or_default())
}

/// The numbers of a list like `0-3,8`; at most the kernel's number of nodes.
fn numbers(list: &str) -> Arc<[u32]> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.parse::<u32>().ok()?..=last.parse::<u32>().ok()?.min(NODES_MAX))
    };
    list.trim().split(',').filter_map(range).flatten().collect()
}

/// One more than the highest CPU number of a list like `0-3,8`.
fn highest_cpu(list: &str) -> u32 {
    let last = list.trim().rsplit([',', '-']).next().and_then(|n| n.parse::<u32>().ok());
    last.map_or(1, |n| n.saturating_add(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_codes() {
        assert_eq!(version_code("6.18.44-fc"), (6 << 16) + (18 << 8) + 44);
        assert_eq!(version_code("5.4.300"), (5 << 16) + (4 << 8) + 255);
        assert_eq!(version_code(""), 0);
    }

    #[test]
    fn lists_of_numbers() {
        assert_eq!(*numbers("0\n"), [0]);
        assert_eq!(*numbers("0-2,5\n"), [0, 1, 2, 5]);
        assert!(numbers("").is_empty());
    }

    #[test]
    fn names_of_objects() {
        assert_eq!(object_name(Path::new("a/xdp.bpf.o")), "xdp.bpf");
        assert_eq!(object_name(Path::new("a/tool")), "tool");
    }

    #[test]
    fn a_btf_file_that_is_none_is_an_error_with_its_path() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.btf");
        let read = || Host::read(&KernelBtf::File(path.clone())).err().unwrap().to_string();
        assert!(read().ends_with("x.btf: while reading kernel BTF: no such file or directory"));
        fs::write(&path, b"not BTF").unwrap();
        assert!(read().contains("x.btf: while reading kernel BTF: "));
        assert!(Host::read(&KernelBtf::Absent).unwrap().kernel_btf.is_none());
    }
}

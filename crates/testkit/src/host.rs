//! What the host knows and `skep-object` must be told: its BTF, configuration, symbols and version.
//!
//! Every part is optional: what cannot be read is left out, as on a machine without it.

use skep::object::OpenOptions;
use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

/// Options that describe the running kernel; `name` is left empty.
pub fn open_options() -> OpenOptions {
    OpenOptions {
        name: String::new(),
        kernel_btf: kernel_btf(),
        kconfig: kconfig().map(Arc::from),
        kallsyms: kallsyms(),
        kernel_version: kernel_version(),
        cpus: possible_cpus(),
        page_size_bytes: 4096,
    }
}

/// The name that libbpf gives to the object in this file: the base name without `.o`.
pub fn object_name(path: &Path) -> String {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
    let name = name.unwrap_or_default();
    name.strip_suffix(".o").unwrap_or(&name).to_owned()
}

/// BTF of the running kernel.
pub fn kernel_btf() -> Option<Arc<skep::program::Btf>> {
    Some(Arc::new(skep::program::Btf::parse(&fs::read("/sys/kernel/btf/vmlinux").ok()?).ok()?))
}

fn release() -> Option<String> {
    Some(fs::read_to_string("/proc/sys/kernel/osrelease").ok()?.trim().to_owned())
}

/// `LINUX_VERSION_CODE` of the running kernel: major, minor and patch in a byte each.
fn kernel_version() -> u32 {
    let release = release().unwrap_or_default();
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(|n| n.parse().unwrap_or(0));
    let mut next = || numbers.next().unwrap_or(0u32);
    let (major, minor, patch) = (next(), next(), next());
    (major << 16) + (minor << 8) + patch.min(255)
}

fn kconfig() -> Option<String> {
    let boot = format!("/boot/config-{}", release()?);
    if let Ok(text) = fs::read_to_string(boot) {
        return Some(text);
    }
    let zcat = Command::new("zcat").arg("/proc/config.gz").output().ok()?;
    zcat.status.success().then(|| String::from_utf8_lossy(&zcat.stdout).into_owned())
}

type SymbolAddress = Arc<dyn Fn(&str) -> Option<u64> + Send + Sync>;

fn kallsyms() -> Option<SymbolAddress> {
    let text = fs::read_to_string("/proc/kallsyms").ok()?;
    let mut symbols: HashMap<String, u64> = HashMap::new();
    for line in text.lines() {
        let mut words = line.split_ascii_whitespace();
        let address = words.next().and_then(|word| u64::from_str_radix(word, 16).ok());
        if let (Some(address), Some(_), Some(name)) = (address, words.next(), words.next()) {
            symbols.entry(name.to_owned()).or_insert(address);
        }
    }
    Some(Arc::new(move |name: &str| symbols.get(name).copied()))
}

/// Highest possible CPU number, plus one.
fn possible_cpus() -> u32 {
    let list = fs::read_to_string("/sys/devices/system/cpu/possible").unwrap_or_default();
    let last = list.trim().rsplit([',', '-']).next().and_then(|n| n.parse::<u32>().ok());
    last.map_or(1, |n| n + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_cut_at_the_last_dot_o_only() {
        assert_eq!(object_name(Path::new("a/tcp.bpf.o")), "tcp.bpf");
        assert_eq!(object_name(Path::new("xdp-dispatcher.o")), "xdp-dispatcher");
    }
}

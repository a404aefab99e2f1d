//! The guest's initial file system: our init, and the modules to load, in order.

use super::machine::Machine;
use std::error::Error;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Modules to load: for the connection, and those with kfuncs, hooks or struct_ops that programs
/// use.
const WANTED: [&str; 14] = [
    "virtio_pci",
    "virtio_console",
    "ipv6",
    "nf_conntrack",
    "nf_nat",
    "nf_flow_table",
    "nf_tables",
    "xfrm_interface",
    "xfrm_user",
    "tcp_bbr",
    "tcp_dctcp",
    "veth",
    "fuse",
    "bpf_crypto_skcipher",
];

/// An archive in the format that kernels unpack (cpio, "newc").
#[derive(Default)]
struct Archive {
    bytes: Vec<u8>,
    files: u32,
}

impl Archive {
    fn add(&mut self, name: &str, mode: u32, content: &[u8]) {
        self.files += 1;
        // Number, mode, owner, group, links, time, size, four of devices, length of the name, sum.
        let fields = [self.files, mode, 0, 0, 1, 0, content.len() as u32, 0, 0, 0, 0];
        let _ = write!(self.bytes, "070701");
        for field in fields.into_iter().chain([name.len() as u32 + 1, 0]) {
            let _ = write!(self.bytes, "{field:08x}");
        }
        self.bytes.extend([name.as_bytes(), &[0]].concat());
        self.pad();
        self.bytes.extend(content);
        self.pad();
    }

    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }

    fn folder(&mut self, name: &str) {
        self.add(name, 0o040_755, &[]);
    }

    fn file(&mut self, name: &str, content: &[u8]) {
        self.add(name, 0o100_755, content);
    }
}

/// The archive's bytes.
pub(super) fn build(machine: &Machine, init: &[u8]) -> Result<Vec<u8>, Box<dyn Error>> {
    let mut archive = Archive::default();
    ["dev", "proc", "sys", "mods"].into_iter().for_each(|name| archive.folder(name));
    archive.file("init", init);
    let mut order = String::new();
    for path in modules(machine)?.iter().chain(&machine.module) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let name = name.trim_end_matches(".xz").trim_end_matches(".zst");
        archive.file(&format!("mods/{name}"), &unpacked(path)?);
        order.extend([name, "\n"]);
    }
    archive.file("mods/order", order.as_bytes());
    archive.add("TRAILER!!!", 0, &[]);
    Ok(archive.bytes)
}

/// Files of the wanted modules with what they need, in the order of loading.
fn modules(machine: &Machine) -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let release = &machine.kernel;
    let Some(of_release) = modules_folder(machine) else { return Ok(Vec::new()) };
    // modprobe needs the folder in its usual place, with depmod's files.
    let root = tempfile::tempdir()?;
    let lib = root.path().join("lib/modules");
    fs::create_dir_all(&lib)?;
    std::os::unix::fs::symlink(fs::canonicalize(&of_release)?, lib.join(release))?;
    if !of_release.join("modules.dep.bin").exists() {
        let made = Command::new("depmod").arg("-b").arg(root.path()).arg(release).status()?;
        if !made.success() {
            return Err(format!("depmod of {release}: {made}").into());
        }
    }
    let mut files = Vec::new();
    for name in WANTED {
        let shown = Command::new("modprobe")
            .args(["-S", release, "--show-depends", name, "-d"])
            .arg(root.path())
            .stderr(Stdio::null())
            .output()?;
        for line in String::from_utf8_lossy(&shown.stdout).lines() {
            let Some(path) = line.strip_prefix("insmod ") else { continue };
            let path = fs::canonicalize(path.trim())?;
            if !files.contains(&path) {
                files.push(path);
            }
        }
    }
    Ok(files)
}

/// The folder of a package's modules: two places are in use.
pub(super) fn modules_folder(machine: &Machine) -> Option<PathBuf> {
    let package = machine.cache.join(&machine.kernel);
    let places = ["lib/modules", "usr/lib/modules"];
    places
        .map(|place| package.join(place).join(&machine.kernel))
        .into_iter()
        .find(|path| path.join("kernel").is_dir())
}

fn unpacked(path: &Path) -> Result<Vec<u8>, Box<dyn Error>> {
    let tool = match path.extension().and_then(|end| end.to_str()) {
        Some("xz") => "xz",
        Some("zst") => "zstd",
        _ => return Ok(fs::read(path)?),
    };
    let output = Command::new(tool).arg("-dc").arg(path).output()?;
    match output.status.success() {
        true => Ok(output.stdout),
        false => Err(format!("{tool} -dc {}: {}", path.display(), output.status).into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_archive_has_each_file_at_a_multiple_of_four() {
        let mut archive = Archive::default();
        archive.file("abc", b"hello");
        archive.add("TRAILER!!!", 0, &[]);
        let text = String::from_utf8_lossy(&archive.bytes).into_owned();
        assert!(text.starts_with("070701"));
        // 110 bytes of header, then the name, then the content.
        assert_eq!(&archive.bytes[110..114], b"abc\0");
        assert_eq!(&archive.bytes[116..121], b"hello");
        assert_eq!(text.rfind("070701"), Some(124));
    }
}

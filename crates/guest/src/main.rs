//! The init process of a virtual machine whose kernel judges programs (`cargo xtask kernels`).
//!
//! It mounts the file systems that describe the kernel, loads the modules that were packed with it,
//! and answers requests until one of them is to turn the machine off. Programs are loaded and
//! closed, never run or attached. Steps that fail are reported on the console and skipped.
//!
//! Tests: the messages are tested in `skep_kernel::wire`; the rest needs a machine.

#![forbid(unsafe_code)]
#![allow(clippy::print_stdout)]

use rustix::mount::{MountFlags, mount};
use rustix::process::{Resource, Rlimit, setrlimit};
use rustix::system::{RebootCommand, finit_module, reboot};
use skep_btf::Btf;
use skep_kernel::bpf;
use skep_kernel::wire::{Reply, Request};
use std::fs::{self, File};
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// File systems and their mount points, which are created if they do not exist.
const MOUNTS: [(&str, &str); 6] = [
    ("proc", "/proc"),
    ("sysfs", "/sys"),
    ("devtmpfs", "/dev"),
    ("securityfs", "/sys/kernel/security"),
    ("debugfs", "/sys/kernel/debug"),
    ("tracefs", "/sys/kernel/tracing"),
];

/// Settings: show the addresses of symbols, compile programs.
const SETTINGS: [(&str, &str); 2] =
    [("/proc/sys/kernel/kptr_restrict", "0"), ("/proc/sys/net/core/bpf_jit_enable", "1")];

/// Where requests arrive: the first port of the virtio console.
const PORT: &str = "/dev/vport0p1";

fn main() {
    for (kind, at) in MOUNTS {
        let _ = fs::create_dir_all(at);
        let flags = MountFlags::empty();
        note(at, mount(kind, at, kind, flags, None).map_err(io::Error::from));
    }
    for name in fs::read_to_string("/mods/order").unwrap_or_default().lines() {
        let module = File::open(format!("/mods/{name}"));
        let loaded = module.and_then(|file| Ok(finit_module(&file, c"", 0)?));
        note(name, loaded);
    }
    for (path, value) in SETTINGS {
        note(path, fs::write(path, value));
    }
    // Before 5.11 maps and programs count as locked memory.
    let unlimited = Rlimit { current: None, maximum: None };
    note("memlock", setrlimit(Resource::Memlock, unlimited).map_err(io::Error::from));
    note("requests", serve());
    note("off", reboot(RebootCommand::PowerOff).map_err(io::Error::from));
    // An init that ends takes the kernel with it, which turns the machine off too.
}

fn note(what: &str, result: io::Result<()>) {
    if let Err(why) = result {
        println!("guest: {what}: {why}");
    }
}

/// Answers requests until [`Request::Quit`].
fn serve() -> io::Result<()> {
    let mut line = port()?;
    Reply::Ready(bpf::release()).send(&mut line)?;
    let mut btf = None;
    loop {
        let reply = match Request::receive(&mut line, btf.as_ref())? {
            Request::Read(path) => Reply::Bytes(fs::read(path).ok()),
            Request::List(path) => Reply::Bytes(names(&path)),
            Request::Btf(bytes) => {
                btf = Btf::parse(&bytes).ok().map(Arc::new);
                continue;
            }
            Request::Load(load) => Reply::Loaded(Box::new(load.load_here())),
            Request::Quit => return Ok(()),
        };
        reply.send(&mut line)?;
    }
}

/// The port; its device appears a moment after its module.
fn port() -> io::Result<File> {
    let mut tried = 0;
    loop {
        match File::options().read(true).write(true).open(PORT) {
            Err(_) if tried < 100 => tried += 1,
            opened => return opened,
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Names in a folder, sorted, one a line.
fn names(path: &str) -> Option<Vec<u8>> {
    let entries = fs::read_dir(path).ok()?;
    let mut names: Vec<_> =
        entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
    names.sort();
    Some(names.join("\n").into_bytes())
}

//! A booted guest: a qemu process, and the connection to our init in it.

use super::initrd;
use super::machine::Machine;
use crate::targets::MUSL;
use skep::btf::Btf;
use skep_kernel::wire::{Load, LoadResult, Reply, Request};
use std::error::Error;
use std::io;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{fs, thread};

/// Time limit from the start of qemu to the first message of our init.
const BOOT_MAX: Duration = Duration::from_secs(240);
/// Time limit for reading a file.
const FILE_MAX: Duration = Duration::from_secs(120);

/// Ended on drop.
pub(super) struct Guest {
    qemu: Child,
    line: UnixStream,
    /// The guest's `uname -r`.
    pub(super) release: String,
    /// The BTF sent last.
    btf: Option<Arc<Btf>>,
    _folder: tempfile::TempDir,
}

impl Guest {
    /// Boots a kernel; its console goes to the file `console`.
    pub(super) fn boot(machine: &Machine, console: &Path) -> Result<Guest, Box<dyn Error>> {
        let folder = tempfile::tempdir()?;
        let init = machine.guest.clone().unwrap_or_else(built);
        let init = fs::read(&init).map_err(|e| format!("{}: {e}; {BUILD}", init.display()))?;
        let archive = folder.path().join("initrd");
        fs::write(&archive, initrd::build(machine, &init)?)?;
        let socket = folder.path().join("line");
        let mut qemu = qemu(machine, [&archive, &socket, console])?.spawn()?;
        let (line, release) = match greeted(&socket, &mut qemu) {
            Ok(greeted) => greeted,
            Err(why) => {
                let _ = qemu.kill();
                let _ = qemu.wait();
                let said = fs::read_to_string(console).unwrap_or_default();
                return Err(format!("{} does not answer: {why}\n{said}", machine.kernel).into());
            }
        };
        Ok(Guest { qemu, line, release, btf: None, _folder: folder })
    }

    fn ask(&mut self, request: &Request, limit: Duration) -> io::Result<Reply> {
        self.line.set_read_timeout(Some(limit))?;
        request.send(&mut self.line)?;
        Reply::receive(&mut self.line)
    }

    /// A file of the guest.
    pub(super) fn read(&mut self, path: &str) -> io::Result<Option<Vec<u8>>> {
        self.bytes(&Request::Read(path.to_owned()))
    }

    /// The names in a folder of the guest.
    pub(super) fn list(&mut self, path: &str) -> io::Result<Vec<String>> {
        let names = self.bytes(&Request::List(path.to_owned()))?.unwrap_or_default();
        Ok(String::from_utf8_lossy(&names).lines().map(str::to_owned).collect())
    }

    fn bytes(&mut self, request: &Request) -> io::Result<Option<Vec<u8>>> {
        match self.ask(request, FILE_MAX)? {
            Reply::Bytes(bytes) => Ok(bytes),
            _ => Err(io::Error::other("another answer than was asked for")),
        }
    }

    /// The guest kernel's result for a program whose BTF is `btf`.
    pub(super) fn load(
        &mut self,
        load: Load,
        btf: Option<&Arc<Btf>>,
        limit: Duration,
    ) -> io::Result<LoadResult> {
        let has = |btf: &Arc<Btf>| self.btf.as_ref().is_some_and(|sent| Arc::ptr_eq(sent, btf));
        if let Some(btf) = btf.filter(|btf| !has(btf)) {
            Request::Btf(btf.to_bytes(skep::btf::Endian::NATIVE)).send(&mut self.line)?;
            self.btf = Some(Arc::clone(btf));
        }
        match self.ask(&Request::Load(Box::new(load)), limit)? {
            Reply::Loaded(told) => Ok(*told),
            _ => Err(io::Error::other("another answer than was asked for")),
        }
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        if Request::Quit.send(&mut self.line).is_ok() {
            let start = Instant::now();
            while start.elapsed() < Duration::from_secs(3) {
                if let Ok(Some(_)) = self.qemu.try_wait() {
                    return;
                }
                thread::sleep(Duration::from_millis(50));
            }
        }
        let _ = self.qemu.kill();
        let _ = self.qemu.wait();
    }
}

const BUILD: &str =
    "build it: cargo build --release --target x86_64-unknown-linux-musl -p skep-guest";

/// The path of the guest's init built by cargo: relative to this program's folder.
fn built() -> PathBuf {
    let own = std::env::current_exe().unwrap_or_default();
    let target = own.parent().and_then(Path::parent).unwrap_or(Path::new("target"));
    target.join(MUSL).join("release/skep-guest")
}

/// Emulation is twice as fast without AVX and fast string instructions.
fn qemu(machine: &Machine, paths: [&Path; 3]) -> Result<Command, String> {
    let [archive, socket, console] = paths.map(Path::display);
    let mut command = Command::new("setsid");
    let memory = machine.memory_mib.to_string();
    // A signal that ends this process ends the guest, too.
    command.args(["setpriv", "--pdeathsig", "KILL", "nice", "-n", "10", "qemu-system-x86_64"]);
    command.args(["-accel", "tcg,thread=multi,tb-size=256", "-cpu", "Nehalem", "-M", "pc"]);
    command.args(["-m", &memory, "-smp", "1", "-display", "none", "-monitor", "none"]);
    command.args(["-nodefaults", "-no-reboot", "-kernel"]).arg(image(machine)?);
    command.args(["-initrd", &archive.to_string()]);
    command.args([
        "-append",
        "console=ttyS0 panic=-1 nokaslr mitigations=off quiet loglevel=4 rdinit=/init",
    ]);
    command.args(["-serial", &format!("file:{console}")]);
    command.args(["-device", "virtio-serial-pci,max_ports=2"]);
    command.args(["-chardev", &format!("socket,id=line,path={socket},server=on,wait=off")]);
    command.args(["-device", "virtserialport,chardev=line,nr=1"]);
    command.stdin(Stdio::null()).stdout(Stdio::null());
    Ok(command)
}

/// The package's kernel image.
fn image(machine: &Machine) -> Result<PathBuf, String> {
    let package = machine.cache.join(&machine.kernel);
    let boot = package.join("boot");
    let folders = [Some(boot), initrd::modules_folder(machine)];
    for folder in folders.into_iter().flatten() {
        let names = fs::read_dir(&folder).into_iter().flatten().filter_map(Result::ok);
        let found = names
            .map(|entry| entry.path())
            .find(|path| path.file_name().unwrap_or_default().to_string_lossy().starts_with("vml"));
        if let Some(path) = found {
            return Ok(path);
        }
    }
    Err(format!("no kernel image in {}; `cargo xtask kernels fetch` it", package.display()))
}

/// Waits for the first message of our init.
fn greeted(socket: &Path, qemu: &mut Child) -> io::Result<(UnixStream, String)> {
    let start = Instant::now();
    let mut line = loop {
        match UnixStream::connect(socket) {
            Ok(line) => break line,
            Err(why) if start.elapsed() > BOOT_MAX => return Err(why),
            Err(_) => thread::sleep(Duration::from_millis(50)),
        }
        if let Some(status) = qemu.try_wait()? {
            return Err(io::Error::other(format!("qemu: {status}")));
        }
    };
    line.set_read_timeout(Some(BOOT_MAX))?;
    match Reply::receive(&mut line)? {
        Reply::Ready(release) => Ok((line, release)),
        _ => Err(io::Error::other("another word than expected")),
    }
}

//! The host kernel through bpf(2): only the commands needed to judge programs.
//!
//! The one file of this crate with `unsafe`. It wraps the commands that create, read and test
//! objects (maps, BTF, programs); there is no function that attaches, pins, or changes a setting,
//! on purpose.
//!
//! # Invariants
//! 1. Every pointer written into an `Attr` comes from a slice that outlives the call, with that
//!    slice's length beside it.
//! 2. Every fd that the kernel hands out is in an [`OwnedFd`] before anything else happens.
//! 3. Every buffer that the kernel fills (log, test data, info) is as long as the attribute says.
//!
//! Kernel: `union bpf_attr` of include/uapi/linux/bpf.h, 6.18. Offsets are literal numbers, each
//! used once.

#![allow(unsafe_code)]

use std::cell::RefCell;
use std::fmt;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// A failed bpf(2) command and its errno.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Errno {
    /// The command, as spelled in the manual (`BPF_MAP_CREATE`).
    pub command: &'static str,
    /// The errno, positive.
    pub errno: i32,
}

impl fmt::Display for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.command, errno_name(self.errno))
    }
}

impl std::error::Error for Errno {}

/// The symbolic name of an errno that bpf(2) uses, or its number.
pub fn errno_name(errno: i32) -> String {
    let name = match errno {
        0 => "OK",
        libc::EPERM => "EPERM",
        libc::ENOENT => "ENOENT",
        libc::ESRCH => "ESRCH",
        libc::E2BIG => "E2BIG",
        libc::EBADF => "EBADF",
        libc::EAGAIN => "EAGAIN",
        libc::ENOMEM => "ENOMEM",
        libc::EACCES => "EACCES",
        libc::EFAULT => "EFAULT",
        libc::EBUSY => "EBUSY",
        libc::EEXIST => "EEXIST",
        libc::EINVAL => "EINVAL",
        libc::ENOSPC => "ENOSPC",
        libc::ERANGE => "ERANGE",
        libc::ENOSYS => "ENOSYS",
        libc::EOPNOTSUPP => "EOPNOTSUPP",
        libc::ELOOP => "ELOOP",
        libc::EPROTO => "EPROTO",
        524 => "ENOTSUPP",
        other => return format!("errno {other}"),
    };
    name.to_owned()
}

/// The `bpf_cmd` values used here.
#[derive(Clone, Copy)]
enum Command {
    MapCreate = 0,
    MapLookupElem = 1,
    MapUpdateElem = 2,
    MapDeleteElem = 3,
    MapGetNextKey = 4,
    ProgLoad = 5,
    ProgTestRun = 10,
    ObjGetInfoByFd = 15,
    BtfLoad = 18,
    BtfGetFdById = 19,
    MapLookupAndDeleteElem = 21,
    MapFreeze = 22,
    BtfGetNextId = 23,
}

impl Command {
    fn name(self) -> &'static str {
        match self {
            Command::MapCreate => "BPF_MAP_CREATE",
            Command::MapLookupElem => "BPF_MAP_LOOKUP_ELEM",
            Command::MapDeleteElem => "BPF_MAP_DELETE_ELEM",
            Command::MapGetNextKey => "BPF_MAP_GET_NEXT_KEY",
            Command::MapLookupAndDeleteElem => "BPF_MAP_LOOKUP_AND_DELETE_ELEM",
            Command::MapUpdateElem => "BPF_MAP_UPDATE_ELEM",
            Command::ProgLoad => "BPF_PROG_LOAD",
            Command::ProgTestRun => "BPF_PROG_TEST_RUN",
            Command::ObjGetInfoByFd => "BPF_OBJ_GET_INFO_BY_FD",
            Command::BtfLoad => "BPF_BTF_LOAD",
            Command::BtfGetFdById => "BPF_BTF_GET_FD_BY_ID",
            Command::BtfGetNextId => "BPF_BTF_GET_NEXT_ID",
            Command::MapFreeze => "BPF_MAP_FREEZE",
        }
    }
}

/// `union bpf_attr` as bytes: 160 cover what is set here, the rest is zero as the kernel requires.
#[repr(C, align(8))]
struct Attr([u8; 160]);

impl Attr {
    fn new() -> Self {
        Attr([0; 160])
    }

    fn bytes(&mut self, at: usize, bytes: &[u8]) {
        if let Some(to) = self.0.get_mut(at..at + bytes.len()) {
            to.copy_from_slice(bytes);
        }
    }

    fn u32(&mut self, at: usize, value: u32) -> &mut Self {
        self.bytes(at, &value.to_ne_bytes());
        self
    }

    fn u64(&mut self, at: usize, value: u64) -> &mut Self {
        self.bytes(at, &value.to_ne_bytes());
        self
    }

    fn fd(&mut self, at: usize, fd: Option<RawFd>) -> &mut Self {
        self.bytes(at, &fd.unwrap_or(0).to_ne_bytes());
        self
    }

    /// The address of a slice, or null for an empty one.
    fn ptr(&mut self, at: usize, bytes: &[u8]) -> &mut Self {
        self.u64(at, if bytes.is_empty() { 0 } else { bytes.as_ptr() as u64 })
    }

    /// The address of a buffer that the kernel writes.
    fn out(&mut self, at: usize, bytes: &mut [u8]) -> &mut Self {
        self.u64(at, if bytes.is_empty() { 0 } else { bytes.as_mut_ptr() as u64 })
    }

    /// `BPF_OBJ_NAME_LEN` bytes: 15 characters allowed in names, and a NUL.
    fn name(&mut self, at: usize, name: &str) -> &mut Self {
        let ok = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
        let name: String = name.chars().map(|c| if ok(c) { c } else { '_' }).take(15).collect();
        self.bytes(at, name.as_bytes());
        self
    }

    fn read_u32(&self, at: usize) -> u32 {
        let bytes = self.0.get(at..at + 4).and_then(|b| b.try_into().ok());
        u32::from_ne_bytes(bytes.unwrap_or_default())
    }

    fn call(&mut self, command: Command) -> Result<i64, Errno> {
        for _ in 0..5 {
            // SAFETY: the attribute is 160 bytes long, and by invariant 1 every pointer in it is
            // valid for its length for the duration of this call.
            let ret = unsafe {
                libc::syscall(libc::SYS_bpf, command as libc::c_long, self.0.as_mut_ptr(), 160usize)
            };
            if ret >= 0 {
                return Ok(ret);
            }
            // The kernel may return a number that is not an errno (docs/kernel-findings.md).
            let is_errno = ret == -1;
            let errno = std::io::Error::last_os_error().raw_os_error().unwrap_or(0);
            let errno = if is_errno { errno } else { libc::EINVAL };
            if errno != libc::EAGAIN {
                return Err(Errno { command: command.name(), errno });
            }
        }
        Err(Errno { command: command.name(), errno: libc::EAGAIN })
    }

    fn call_for_fd(&mut self, command: Command) -> Result<OwnedFd, Errno> {
        let fd = self.call(command)?;
        // SAFETY: these commands return a new descriptor, owned by no one else.
        Ok(numbered_high(unsafe { OwnedFd::from_raw_fd(fd as RawFd) }))
    }
}

/// Lowest number of the descriptors of maps, BTF and programs.
const FD_MIN: RawFd = 700;

/// Moves the descriptor to a high number: small numbers that appear in an object's insns must stay
/// closed, as they are for the first program that loads the object.
fn numbered_high(fd: OwnedFd) -> OwnedFd {
    // SAFETY: the call takes no pointer, and the descriptor is open.
    let high = unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_DUPFD_CLOEXEC, FD_MIN) };
    match high {
        // The process may not have more descriptors.
        ..0 => fd,
        // SAFETY: the new descriptor is owned by no one else.
        high => unsafe { OwnedFd::from_raw_fd(high) },
    }
}

/// What BPF_MAP_CREATE takes.
#[derive(Debug, Clone, Default)]
pub struct MapCreate<'a> {
    /// `enum bpf_map_type`.
    pub map_type: u32,
    /// Key size, bytes.
    pub key_size: u32,
    /// Value size, bytes.
    pub value_size: u32,
    /// Number of entries.
    pub max_entries: u32,
    /// `BPF_F_*` of maps.
    pub flags: u32,
    /// The template of a map-in-map.
    pub inner_map: Option<RawFd>,
    /// NUMA node, looked at with `BPF_F_NUMA_NODE`.
    pub numa_node: u32,
    /// Name; characters that the kernel rejects become `_`, truncated to 15.
    pub name: &'a str,
    /// BTF that describes key and value.
    pub btf: Option<RawFd>,
    /// Type of the key in `btf`.
    pub btf_key_type_id: u32,
    /// Type of the value in `btf`.
    pub btf_value_type_id: u32,
    /// struct_ops only: the value's type in the kernel's BTF.
    pub btf_vmlinux_value_type_id: u32,
    /// Bloom filter hashes, arena address.
    pub map_extra: u64,
}

/// A map of the host kernel, closed on drop.
#[derive(Debug)]
pub struct Map {
    fd: OwnedFd,
    key_size: usize,
    value_size: usize,
}

impl Map {
    /// BPF_MAP_CREATE.
    pub fn create(spec: &MapCreate<'_>) -> Result<Map, Errno> {
        let mut attr = Attr::new();
        attr.u32(0, spec.map_type).u32(4, spec.key_size).u32(8, spec.value_size);
        attr.u32(12, spec.max_entries)
            .u32(16, spec.flags)
            .fd(20, spec.inner_map)
            .u32(24, spec.numa_node);
        attr.name(28, spec.name).fd(48, spec.btf);
        attr.u32(52, spec.btf_key_type_id).u32(56, spec.btf_value_type_id);
        attr.u32(60, spec.btf_vmlinux_value_type_id).u64(64, spec.map_extra);
        let fd = attr.call_for_fd(Command::MapCreate)?;
        Ok(Map { fd, key_size: spec.key_size as usize, value_size: spec.value_size as usize })
    }

    /// The descriptor, for other attributes.
    pub fn fd(&self) -> RawFd {
        self.fd.as_raw_fd()
    }

    /// BPF_MAP_UPDATE_ELEM with `BPF_ANY`; the slices are padded with zeros to the map's sizes.
    /// Not for per-CPU maps, whose values are longer.
    pub fn update(&self, key: &[u8], value: &[u8]) -> Result<(), Errno> {
        let pad = |bytes: &[u8], len: usize| {
            let mut v = bytes.to_vec();
            v.resize(len.max(bytes.len()), 0);
            v
        };
        let (key, value) = (pad(key, self.key_size), pad(value, self.value_size));
        let mut attr = Attr::new();
        attr.fd(0, Some(self.fd())).ptr(8, &key).ptr(16, &value);
        attr.call(Command::MapUpdateElem).map(drop)
    }

    /// BPF_MAP_UPDATE_ELEM with flags and unpadded slices.
    pub fn update_with(&self, key: &[u8], value: &[u8], flags: u64) -> Result<(), Errno> {
        let mut attr = Attr::new();
        attr.fd(0, Some(self.fd())).ptr(8, key).ptr(16, value).u64(24, flags);
        attr.call(Command::MapUpdateElem).map(drop)
    }

    /// BPF_MAP_LOOKUP_ELEM, or with `delete` BPF_MAP_LOOKUP_AND_DELETE_ELEM. `value` is as long as
    /// the kernel's result: all CPUs' values for per-CPU maps. For a bloom filter it is an input.
    pub fn lookup(&self, key: &[u8], value: &mut [u8], delete: bool) -> Result<(), Errno> {
        let mut attr = Attr::new();
        attr.fd(0, Some(self.fd())).ptr(8, key).out(16, value);
        let command = if delete { Command::MapLookupAndDeleteElem } else { Command::MapLookupElem };
        attr.call(command).map(drop)
    }

    /// BPF_MAP_DELETE_ELEM.
    pub fn delete(&self, key: &[u8]) -> Result<(), Errno> {
        Attr::new().fd(0, Some(self.fd())).ptr(8, key).call(Command::MapDeleteElem).map(drop)
    }

    /// BPF_MAP_GET_NEXT_KEY: the first key if the slice is empty.
    pub fn next_key(&self, key: &[u8]) -> Result<Vec<u8>, Errno> {
        let mut next = vec![0; self.key_size];
        let mut attr = Attr::new();
        attr.fd(0, Some(self.fd())).ptr(8, key).out(16, &mut next);
        attr.call(Command::MapGetNextKey)?;
        Ok(next)
    }

    /// BPF_MAP_FREEZE: user space can no longer write, so the verifier may read constants from it.
    pub fn freeze(&self) -> Result<(), Errno> {
        Attr::new().fd(0, Some(self.fd())).call(Command::MapFreeze).map(drop)
    }
}

/// BPF_BTF_LOAD. The second part of the error is the kernel's reason.
pub fn btf_load(btf: &[u8]) -> Result<OwnedFd, (Errno, String)> {
    let load = |log: &mut [u8]| {
        let mut attr = Attr::new();
        attr.ptr(0, btf).u32(16, btf.len() as u32);
        if !log.is_empty() {
            attr.out(8, log).u32(20, log.len() as u32).u32(24, 1);
        }
        attr.call_for_fd(Command::BtfLoad)
    };
    match load(&mut []) {
        Ok(fd) => Ok(fd),
        Err(errno) => {
            let mut log = vec![0u8; 1 << 20];
            match load(&mut log) {
                Ok(fd) => Ok(fd),
                Err(_) => Err((errno, text(log))),
            }
        }
    }
}

/// BPF_BTF_GET_NEXT_ID: the id of the next BTF object after `id`.
pub fn btf_next_id(id: u32) -> Result<u32, Errno> {
    let mut attr = Attr::new();
    attr.u32(0, id).call(Command::BtfGetNextId)?;
    Ok(attr.read_u32(4))
}

/// BPF_BTF_GET_FD_BY_ID.
pub fn btf_by_id(id: u32) -> Result<OwnedFd, Errno> {
    Attr::new().u32(0, id).call_for_fd(Command::BtfGetFdById)
}

/// The name of the kernel's or a module's BTF; empty for a program's.
pub fn btf_name(btf: &OwnedFd) -> Result<String, Errno> {
    let mut name = vec![0u8; 64];
    let mut info = Attr::new();
    info.out(16, &mut name).u32(24, 64);
    let mut attr = Attr::new();
    attr.fd(0, Some(btf.as_raw_fd())).u32(4, 32).out(8, &mut info.0);
    attr.call(Command::ObjGetInfoByFd)?;
    Ok(text(name))
}

/// Records of one kind, in the kernel's layout.
#[derive(Debug, Clone, Copy, Default)]
pub struct Records<'a> {
    /// One after another.
    pub bytes: &'a [u8],
    /// Bytes of each.
    pub record_bytes: u32,
}

impl Records<'_> {
    fn count(&self) -> u32 {
        (self.bytes.len() as u32).checked_div(self.record_bytes).unwrap_or(0)
    }
}

/// Input of BPF_PROG_LOAD. Insns, records and fds are in the kernel's own layout.
#[derive(Debug, Clone, Default)]
pub struct ProgLoad<'a> {
    /// `enum bpf_prog_type`.
    pub prog_type: u32,
    /// `enum bpf_attach_type`.
    pub expected_attach_type: u32,
    /// `BPF_F_*` of programs.
    pub prog_flags: u32,
    /// Name; truncated and cleaned like a map's.
    pub name: &'a str,
    /// License, without the NUL.
    pub license: &'a str,
    /// `LINUX_VERSION_CODE`; 0 but for old kprobes.
    pub kern_version: u32,
    /// 8 bytes an insn, native order.
    pub insns: &'a [u8],
    /// BTF of the program.
    pub btf: Option<RawFd>,
    /// `bpf_func_info`.
    pub func_info: Records<'a>,
    /// `bpf_line_info`.
    pub line_info: Records<'a>,
    /// The attach target's type, in the kernel's BTF or that of `attach_obj`.
    pub attach_btf_id: u32,
    /// A program or BTF that contains the target.
    pub attach_obj: Option<RawFd>,
    /// Descriptors of maps and module BTFs that insns refer to by index.
    pub fd_array: &'a [RawFd],
    /// 0 none, 1 branches, 2 every insn, + 4 statistics.
    pub log_level: u32,
}

/// The result of BPF_PROG_LOAD.
#[derive(Debug)]
pub struct Loaded {
    /// The program, or why not.
    pub result: Result<OwnedFd, Errno>,
    /// The verifier's log.
    pub log: String,
    /// The log exceeded the largest buffer that the kernel allows; `log` is its end.
    pub log_truncated: bool,
}

/// Initial log buffer; for a longer log, the load is repeated with the true size.
const LOG_SIZE_FIRST: usize = 16 << 20;
/// The kernel's limit: `UINT_MAX >> 2`.
const LOG_SIZE_MAX: usize = (u32::MAX >> 2) as usize;

/// BPF_PROG_LOAD; repeated with a larger log buffer if the first one was too small.
pub fn prog_load(spec: &ProgLoad<'_>) -> Loaded {
    if spec.log_level == 0 {
        let (result, _) = prog_load_once(spec, &mut []);
        return Loaded { result, log: String::new(), log_truncated: false };
    }
    FIRST_LOG.with_borrow_mut(|log| {
        log.resize(LOG_SIZE_FIRST, 0);
        // A kernel that does not report the size (before 6.4) terminates the text with a NUL.
        log[0] = 0;
        let (result, true_size) = prog_load_once(spec, log);
        if is_short(&result, true_size, log.len()) {
            return prog_load_long(spec, true_size);
        }
        // The rest belongs to an earlier program.
        let end = if true_size == 0 { LOG_SIZE_FIRST } else { true_size.min(LOG_SIZE_FIRST) };
        let end = log[..end].iter().position(|&byte| byte == 0).unwrap_or(end);
        let log = text(log[..end].to_vec());
        Loaded { result, log, log_truncated: false }
    })
}

thread_local! {
    /// The initial log buffer is reused, because page faults are the expensive part.
    static FIRST_LOG: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

fn prog_load_long(spec: &ProgLoad<'_>, mut true_size: usize) -> Loaded {
    let mut size = LOG_SIZE_FIRST;
    loop {
        size = size.saturating_mul(if true_size == 0 { 4 } else { 1 });
        size = size.max(true_size.saturating_add(1 << 16)).min(LOG_SIZE_MAX);
        let mut log = vec![0u8; size];
        let result;
        (result, true_size) = prog_load_once(spec, &mut log);
        let short = is_short(&result, true_size, size);
        if !short || size == LOG_SIZE_MAX {
            return Loaded { result, log: text(log), log_truncated: short };
        }
    }
}

/// The buffer was too small for the log; 0 means that the kernel does not report the size.
fn is_short(result: &Result<OwnedFd, Errno>, true_size: usize, size: usize) -> bool {
    let unfit = true_size > size || true_size == 0;
    matches!(result, Err(Errno { errno: libc::ENOSPC, .. })) && unfit
}

fn prog_load_once(spec: &ProgLoad<'_>, log: &mut [u8]) -> (Result<OwnedFd, Errno>, usize) {
    let license = [spec.license.as_bytes(), &[0]].concat();
    let fds: Vec<u8> = spec.fd_array.iter().flat_map(|fd| fd.to_ne_bytes()).collect();
    let mut attr = Attr::new();
    attr.u32(0, spec.prog_type).u32(4, (spec.insns.len() / 8) as u32).ptr(8, spec.insns);
    attr.ptr(16, &license).u32(24, spec.log_level).u32(28, log.len() as u32).out(32, log);
    attr.u32(40, spec.kern_version).u32(44, spec.prog_flags).name(48, spec.name);
    attr.u32(68, spec.expected_attach_type).fd(72, spec.btf);
    attr.u32(76, spec.func_info.record_bytes).ptr(80, spec.func_info.bytes);
    attr.u32(88, spec.func_info.count());
    attr.u32(92, spec.line_info.record_bytes).ptr(96, spec.line_info.bytes);
    attr.u32(104, spec.line_info.count());
    attr.u32(108, spec.attach_btf_id).fd(112, spec.attach_obj).ptr(120, &fds);
    let result = attr.call_for_fd(Command::ProgLoad);
    (result, attr.read_u32(140) as usize)
}

/// The bytes before the first NUL, as text; invalid bytes become `?`, as in skep's log.
fn text(mut bytes: Vec<u8>) -> String {
    let len = bytes.iter().position(|&b| b == 0).unwrap_or(bytes.len());
    bytes.truncate(len);
    String::from_utf8(bytes).unwrap_or_else(|e| {
        let chunks = e.as_bytes().utf8_chunks();
        chunks.map(|chunk| chunk.valid().to_string() + &"?".repeat(chunk.invalid().len())).collect()
    })
}

/// `verified_insns` of `struct bpf_prog_info`.
pub fn verified_insns(prog: &OwnedFd) -> Result<u32, Errno> {
    let info = prog_info(prog)?;
    let at = info.get(216..220).and_then(|b| b.try_into().ok());
    Ok(u32::from_ne_bytes(at.unwrap_or_default()))
}

/// Insns after all rewrites: `xlated_prog_len` of `struct bpf_prog_info`.
pub fn xlated_insns(prog: &OwnedFd) -> Result<u32, Errno> {
    let info = prog_info(prog)?;
    let at = info.get(20..24).and_then(|b| b.try_into().ok());
    Ok(u32::from_ne_bytes(at.unwrap_or_default()) / 8)
}

/// `tag` of `struct bpf_prog_info`.
pub fn tag(prog: &OwnedFd) -> Result<[u8; 8], Errno> {
    let info = prog_info(prog)?;
    Ok(std::array::from_fn(|i| info[8 + i]))
}

fn prog_info(prog: &OwnedFd) -> Result<[u8; 232], Errno> {
    let mut info = [0u8; 232];
    let mut attr = Attr::new();
    attr.fd(0, Some(prog.as_raw_fd())).u32(4, info.len() as u32).out(8, &mut info);
    attr.call(Command::ObjGetInfoByFd)?;
    Ok(info)
}

/// Input of BPF_PROG_TEST_RUN; slices may be empty.
#[derive(Debug, Clone, Copy, Default)]
pub struct RunInput<'a> {
    /// Packet.
    pub data: &'a [u8],
    /// Context, in the UAPI layout.
    pub ctx: &'a [u8],
    /// Whether the kernel returns the context separately (skb and xdp; syscall modifies it in
    /// place).
    pub ctx_out: bool,
    /// Repetitions; the kernel treats 0 as 1, and some types only allow 0.
    pub repeat: u32,
}

/// The result of one BPF_PROG_TEST_RUN.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestRun {
    /// What the program returned.
    pub retval: u32,
    /// The packet after the run.
    pub data: Vec<u8>,
    /// The context after the run.
    pub ctx: Vec<u8>,
    /// The kernel's own measurement of one run, ns.
    pub duration_ns: u32,
}

/// The most by which programs make a packet longer (`SKB_MAX_ALLOC`).
const GROWTH_MAX: usize = 1 << 14;

/// BPF_PROG_TEST_RUN.
pub fn test_run(prog: &OwnedFd, input: &RunInput<'_>) -> Result<TestRun, Errno> {
    let mut out = vec![0u8; if input.data.is_empty() { 0 } else { input.data.len() + GROWTH_MAX }];
    let mut ctx = input.ctx.to_vec();
    let mut ctx_out = vec![0u8; if input.ctx_out { input.ctx.len() } else { 0 }];
    let mut attr = Attr::new();
    attr.fd(0, Some(prog.as_raw_fd())).u32(8, input.data.len() as u32).ptr(16, input.data);
    attr.u32(12, out.len() as u32).out(24, &mut out);
    attr.u32(32, input.repeat).u32(40, ctx.len() as u32).out(48, &mut ctx);
    attr.u32(44, ctx_out.len() as u32).out(56, &mut ctx_out);
    attr.call(Command::ProgTestRun)?;
    out.truncate(attr.read_u32(12) as usize);
    Ok(TestRun {
        retval: attr.read_u32(4),
        data: out,
        ctx: if input.ctx_out { ctx_out } else { ctx },
        duration_ns: attr.read_u32(36),
    })
}

/// Whether bpf(2) works here: root (or CAP_BPF and friends), and allowed by the kernel.
pub fn available() -> Result<(), Errno> {
    let spec =
        MapCreate { map_type: 2, key_size: 4, value_size: 8, max_entries: 1, ..Default::default() };
    Map::create(&spec).map(drop)
}

/// The release of the running kernel, as in `uname -r`; empty if unknown.
pub fn release() -> String {
    // SAFETY: all zeros is a `utsname`, of empty strings.
    let mut names: libc::utsname = unsafe { std::mem::zeroed() };
    // SAFETY: uname fills the one structure it is given.
    if unsafe { libc::uname(&mut names) } != 0 {
        return String::new();
    }
    let bytes = names.release.map(|c| c as u8);
    let text = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(text).into_owned()
}

/// `_LINUX_CAPABILITY_VERSION_3`.
const CAPABILITY_VERSION: u32 = 0x2008_0522;
/// CAP_NET_ADMIN and CAP_BPF: may load network programs, but not leak pointers (no CAP_PERFMON, no
/// CAP_SYS_ADMIN).
const CAPS_BPF: u64 = 1 << 12 | 1 << 39;

/// Runs `f` in a separate thread whose capabilities are `CAPS_BPF` only.
pub fn with_cap_bpf_only<T: Send>(f: impl FnOnce() -> T + Send) -> Result<T, Errno> {
    let run = || {
        drop_caps(CAPS_BPF)?;
        Ok(f())
    };
    std::thread::scope(|scope| match scope.spawn(run).join() {
        Ok(result) => result,
        Err(panic) => std::panic::resume_unwind(panic),
    })
}

/// Runs `f` on this thread with `CAPS_BPF` only, and restores its capabilities.
///
/// # Errors
///
/// The capabilities could not be changed.
pub fn lowered_to_cap_bpf<T>(f: impl FnOnce() -> T) -> Result<T, Errno> {
    let had = drop_caps(CAPS_BPF)?;
    let result = f();
    drop_caps(had)?;
    Ok(result)
}

/// Restricts the effective set of the calling thread to the permitted capabilities in `keep`, and
/// returns the previous effective set; the permitted set stays, nothing is inherited.
fn drop_caps(keep: u64) -> Result<u64, Errno> {
    let mut header = [CAPABILITY_VERSION, 0];
    let mut sets = [0u32; 6];
    // SAFETY: version 3 reads and writes a header of two words and two times three words of sets.
    let got = unsafe { libc::syscall(libc::SYS_capget, header.as_mut_ptr(), sets.as_mut_ptr()) };
    let failed = |command| {
        let errno = std::io::Error::last_os_error().raw_os_error().unwrap_or(0);
        Errno { command, errno }
    };
    if got != 0 {
        return Err(failed("capget"));
    }
    let had = u64::from(sets[0]) | u64::from(sets[3]) << 32;
    sets = [sets[1] & keep as u32, sets[1], 0, sets[4] & (keep >> 32) as u32, sets[4], 0];
    // SAFETY: as above; the raw call changes the calling thread only.
    let set = unsafe { libc::syscall(libc::SYS_capset, header.as_mut_ptr(), sets.as_ptr()) };
    if set == 0 { Ok(had) } else { Err(failed("capset")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every kernel accepts `r0 = 0; exit` as a socket filter; none does without the exit.
    #[test]
    fn the_kernel_answers_or_says_why_not() {
        if available().is_err() {
            return;
        }
        let insns = [0xb7, 0, 0, 0, 0, 0, 0, 0, 0x95, 0, 0, 0, 0, 0, 0, 0];
        let spec = ProgLoad {
            prog_type: 1,
            license: "GPL",
            insns: &insns,
            log_level: 6,
            ..Default::default()
        };
        let ok = prog_load(&spec);
        assert!(ok.log.contains("processed 2 insns"), "{}", ok.log);
        assert_eq!(verified_insns(&ok.result.expect("accepted")), Ok(2));
        let bad = prog_load(&ProgLoad { insns: &insns[..8], ..spec });
        assert_eq!(bad.result.expect_err("refused").errno, libc::EINVAL);
        assert!(!bad.log.is_empty() && !bad.log_truncated);
    }

    #[test]
    fn a_map_holds_what_was_put_and_freezes() {
        if available().is_err() {
            return;
        }
        let spec = MapCreate {
            map_type: 2,
            key_size: 4,
            value_size: 8,
            max_entries: 1,
            ..Default::default()
        };
        let map = Map::create(&spec).expect("array");
        map.update(&[0; 4], &[7]).expect("update");
        map.freeze().expect("freeze");
        assert_eq!(map.update(&[0; 4], &[8]).expect_err("frozen").errno, libc::EPERM);
    }
}

//! Helpers about this process: its cgroup, its pid namespace.
//!
//! Kernel: `bpf_get_current_cgroup_id` and siblings (6.18). The id of a cgroup is the inode of its
//! directory.

use crate::Errno;
use crate::run::Call;
use std::ffi::CString;
use std::path::{Path, PathBuf};

/// The id of the root cgroup.
const ROOT: u64 = 1;

/// Mount point of cgroup v2.
fn mount() -> Option<PathBuf> {
    let mounts = std::fs::read_to_string("/proc/self/mounts").ok()?;
    let of = |line: &str| {
        let mut words = line.split(' ').skip(1);
        let (at, kind) = (words.next()?, words.next()?);
        (kind == "cgroup2").then(|| PathBuf::from(at))
    };
    mounts.lines().find_map(of)
}

fn inode(path: &Path) -> Option<(u64, u64)> {
    let path = CString::new(path.as_os_str().as_encoded_bytes()).ok()?;
    let stat = rustix::fs::stat(path.as_c_str()).ok()?;
    Some((stat.st_dev, stat.st_ino))
}

/// The process's cgroup path; `/` if there is none.
fn path() -> String {
    let groups = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let unified = groups.lines().find_map(|line| line.strip_prefix("0::"));
    unified.unwrap_or("/").to_owned()
}

/// The cgroup at a depth of the process's path; 0 is the root.
fn ancestor(level: usize) -> Option<u64> {
    if level == 0 {
        return Some(ROOT);
    }
    let path = path();
    let mut parts = path.split('/').filter(|part| !part.is_empty());
    let mut group = mount()?;
    for _ in 0..level {
        group.push(parts.next()?);
    }
    inode(&group).map(|(_, number)| number)
}

/// `u64 bpf_get_current_cgroup_id(void)`.
pub(super) fn get_current_cgroup_id(_: &Call) -> u64 {
    let depth = path().split('/').filter(|part| !part.is_empty()).count();
    ancestor(depth).unwrap_or_default()
}

/// `u64 bpf_get_current_ancestor_cgroup_id(int ancestor_level)`.
pub(super) fn get_current_ancestor_cgroup_id(call: &Call) -> u64 {
    usize::try_from(call.int(0)).ok().and_then(ancestor).unwrap_or_default()
}

/// `sizeof(struct bpf_pidns_info)`: pid and tgid.
const PIDNS_INFO_BYTES: u32 = 8;

/// `long bpf_get_ns_current_pid_tgid(dev, ino, nsdata, size)`: for this process, if the namespace
/// is its own.
pub(super) fn get_ns_current_pid_tgid(call: &Call) -> u64 {
    let (dev, number, size) = (call.arg(0), call.arg(1), call.arg(3) as u32);
    call.zero(2, size as usize);
    if size != PIDNS_INFO_BYTES || inode(Path::new("/proc/self/ns/pid")) != Some((dev, number)) {
        return Errno::EINVAL.as_ret();
    }
    let thread = rustix::thread::gettid().as_raw_nonzero().get();
    call.write(2, &[thread as u32, std::process::id()].map(u32::to_ne_bytes).concat());
    0
}

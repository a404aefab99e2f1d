//! A memory control group, and what the kernel charges to it while a program loads.
//!
//! Version 1 counts kernel memory separately (`memory.kmem.*`); version 2 counts all memory of a
//! group, so that mappings made by the process during a load are included. Both record a peak that
//! can be reset. No limit is set.

use std::fs;
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

/// The version of the control groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Version {
    /// `memory.kmem.max_usage_in_bytes`.
    One,
    /// `memory.peak`.
    Two,
}

impl Version {
    /// Files of the current value and the peak.
    fn counters(self) -> [&'static str; 2] {
        match self {
            Version::One => ["memory.kmem.usage_in_bytes", "memory.kmem.max_usage_in_bytes"],
            Version::Two => ["memory.current", "memory.peak"],
        }
    }

    /// The counter's name, for table captions.
    pub(super) fn name(self) -> &'static str {
        match self {
            Version::One => "cgroup v1, memory.kmem.max_usage_in_bytes",
            Version::Two => "cgroup v2, memory.peak",
        }
    }
}

/// A control group, removed on drop.
#[derive(Debug)]
pub(super) struct Group {
    folder: PathBuf,
    version: Version,
}

impl Group {
    /// Creates a group.
    ///
    /// # Errors
    ///
    /// No memory controller is mounted, or no group can be created.
    pub(super) fn new() -> Result<Group, String> {
        let mounts =
            fs::read_to_string("/proc/mounts").map_err(|e| format!("/proc/mounts: {e}"))?;
        let (root, version) = find(&mounts).ok_or("no memory controller is mounted")?;
        let folder = root.join(format!("skep-bench-{}", std::process::id()));
        fs::create_dir(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        let group = Group { folder, version };
        match version.counters().iter().find(|counter| !group.folder.join(counter).exists()) {
            Some(counter) => Err(format!("{}: no {counter}", group.folder.display())),
            None => Ok(group),
        }
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(super) fn version(&self) -> Version {
        self.version
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // The processes in it have ended; if removal fails, an empty group remains.
        let _ = fs::remove_dir(&self.folder);
    }
}

/// Finds where memory control groups can be created, from the lines of `/proc/mounts`.
fn find(mounts: &str) -> Option<(PathBuf, Version)> {
    mounts.lines().find_map(|line| {
        let mut words = line.split(' ').skip(1);
        let (folder, kind, options) = (words.next()?, words.next()?, words.next()?);
        let folder = PathBuf::from(folder);
        match kind {
            "cgroup" if options.split(',').any(|option| option == "memory") => {
                Some((folder, Version::One))
            }
            "cgroup2" => {
                let handed_down = fs::read_to_string(folder.join("cgroup.subtree_control")).ok()?;
                let memory = handed_down.split_whitespace().any(|name| name == "memory");
                memory.then_some((folder, Version::Two))
            }
            _ => None,
        }
    })
}

/// The counters of a group that this process has joined.
#[derive(Debug)]
pub(super) struct Meter {
    now: PathBuf,
    peak: fs::File,
}

impl Meter {
    /// Joins a group.
    ///
    /// # Errors
    ///
    /// The group does not exist, or this process may not join it.
    pub(super) fn join(folder: &Path) -> std::io::Result<Meter> {
        fs::write(folder.join("cgroup.procs"), std::process::id().to_string())?;
        let there = |version: &Version| folder.join(version.counters()[1]).exists();
        let found = [Version::One, Version::Two].into_iter().find(there);
        let [now, peak] = found.ok_or(std::io::ErrorKind::NotFound)?.counters();
        let peak = fs::OpenOptions::new().read(true).write(true).open(folder.join(peak))?;
        Ok(Meter { now: folder.join(now), peak })
    }

    /// The peak during `work`, in bytes above the value before it.
    ///
    /// # Errors
    ///
    /// A counter cannot be read, or the peak cannot be reset (Linux before 6.12 with version 2).
    pub(super) fn most_of(&mut self, work: impl FnOnce()) -> std::io::Result<u64> {
        self.peak.write_all(b"0\n")?;
        let before = number(&fs::read_to_string(&self.now)?)?;
        work();
        let mut text = String::new();
        self.peak.seek(SeekFrom::Start(0))?;
        self.peak.read_to_string(&mut text)?;
        Ok(number(&text)?.saturating_sub(before))
    }
}

fn number(text: &str) -> std::io::Result<u64> {
    text.trim().parse().map_err(std::io::Error::other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_memory_controller_is_found_among_the_mounts() {
        let mounts = "proc /proc proc rw 0 0\n\
                      cgroup /sys/fs/cgroup/cpu cgroup rw,cpu 0 0\n\
                      cgroup /sys/fs/cgroup/memory cgroup rw,relatime,memory 0 0\n";
        assert_eq!(find(mounts), Some(("/sys/fs/cgroup/memory".into(), Version::One)));
        assert_eq!(find("cgroup2 /no/such/folder cgroup2 rw 0 0\n"), None);
        assert_eq!(find(""), None);
    }
}

//! Attempts to make code writable, all of which must be refused.

use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;

fn last() -> i32 {
    std::io::Error::last_os_error().raw_os_error().unwrap_or_default()
}

/// Whether `mseal` is supported.
pub(super) fn mseal_is_there() -> bool {
    // SAFETY: accesses no memory.
    unsafe { libc::syscall(462, 0, 0, 0) == 0 }
}

/// All ways to write to code at an address.
pub(super) fn attack(at: u64) {
    let page = (at & !4095) as *mut libc::c_void;
    // SAFETY: the page keeps its contents; every call is expected to be refused.
    unsafe {
        for prot in [libc::PROT_WRITE, libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC] {
            assert_eq!(libc::mprotect(page, 4096, prot), -1);
            assert!([libc::EACCES, libc::EPERM].contains(&last()));
        }
    }
    let memory = std::fs::OpenOptions::new().read(true).write(true).open("/proc/self/mem");
    assert!(memory.unwrap().write_at(&[0xcc], at).is_err());
    attack_files();
    if !mseal_is_there() {
        return;
    }
    // SAFETY: as above.
    unsafe {
        let write = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
        assert_eq!(libc::mmap(page, 4096, write, flags, -1, 0), libc::MAP_FAILED);
        assert_eq!((libc::munmap(page, 4096), last()), (-1, libc::EPERM));
        let moved = libc::mremap(page, 4096, 8192, libc::MREMAP_MAYMOVE);
        assert_eq!((moved, last()), (libc::MAP_FAILED, libc::EPERM));
    }
}

/// The file behind the code: no descriptor is left, and if opened through its mappings, where that
/// is permitted, it is sealed.
fn attack_files() {
    let ours = |folder: &str| {
        let files = std::fs::read_dir(folder).unwrap().flatten();
        let is_ours = |file: &std::fs::DirEntry| {
            let to = std::fs::read_link(file.path()).unwrap_or_default();
            to.to_string_lossy().contains("memfd:skep-jit")
        };
        files.filter(is_ours).collect::<Vec<_>>()
    };
    assert_eq!(ours("/proc/self/fd").len(), 0);
    for file in ours("/proc/self/map_files") {
        let file = std::fs::OpenOptions::new().read(true).write(true).open(file.path());
        let Ok(file) = file else { continue };
        let refused = file.write_at(&[0xcc], 0).unwrap_err();
        assert_eq!(refused.raw_os_error(), Some(libc::EPERM));
        assert!(file.set_len(0).is_err() && file.set_len(1 << 30).is_err());
        let fd = file.as_raw_fd();
        // SAFETY: new mappings; the writable ones are expected to be refused.
        unsafe {
            let hole = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
            assert_eq!(libc::fallocate(fd, hole, 0, 4096), -1);
            let shared = libc::MAP_SHARED;
            let map = |prot| libc::mmap(std::ptr::null_mut(), 4096, prot, shared, fd, 0);
            let write = libc::PROT_READ | libc::PROT_WRITE;
            assert_eq!(map(write), libc::MAP_FAILED);
            assert_eq!(map(write | libc::PROT_EXEC), libc::MAP_FAILED);
            let read = map(libc::PROT_READ);
            assert_ne!(read, libc::MAP_FAILED);
            assert_eq!(libc::mprotect(read, 4096, write), -1);
            assert_eq!(libc::fcntl(fd, libc::F_ADD_SEALS, libc::F_SEAL_EXEC), -1);
            libc::munmap(read, 4096);
        }
    }
}

/// The writable mapping of the code cannot be made executable where mappings are sealed.
pub(super) fn attack_alias(at: *mut u8) {
    let page = (at as u64 & !4095) as *mut libc::c_void;
    let all = libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC;
    // SAFETY: nobody writes to the page now; where it does become executable, the protection is
    // restored at once.
    unsafe {
        for prot in [libc::PROT_READ | libc::PROT_EXEC, all] {
            let got = libc::mprotect(page, 4096, prot);
            if mseal_is_there() {
                assert_eq!((got, last()), (-1, libc::EPERM));
            } else {
                // A known gap: older kernels do not prevent this.
                assert_eq!(got, 0);
                libc::mprotect(page, 4096, libc::PROT_READ | libc::PROT_WRITE);
            }
        }
    }
}

/// A known gap: before 6.10 nothing prevents anonymous memory from becoming writable again, but it
/// cannot be written through `/proc/self/mem`.
pub(super) fn attack_unsealed(at: u64) {
    let page = (at & !4095) as *mut libc::c_void;
    // SAFETY: the page keeps its contents, and its protection is restored.
    unsafe {
        assert_eq!(libc::mprotect(page, 4096, libc::PROT_READ | libc::PROT_WRITE), 0);
        assert_eq!(libc::mprotect(page, 4096, libc::PROT_READ | libc::PROT_EXEC), 0);
    }
    let memory = std::fs::OpenOptions::new().read(true).write(true).open("/proc/self/mem");
    assert!(memory.unwrap().write_at(&[0xcc], at).is_err());
}

/// A known gap: processes that may open the files behind mappings (`CAP_CHECKPOINT_RESTORE`) can
/// open one for anonymous memory, too, and it has no seals. When that changes, this test fails.
pub(super) fn attack_backing(at: u64) {
    let files = std::fs::read_dir("/proc/self/map_files").unwrap().flatten();
    let range = |name: &str| {
        let (start, end) = name.split_once('-')?;
        let start = u64::from_str_radix(start, 16).ok()?;
        Some(start..u64::from_str_radix(end, 16).ok()?)
    };
    let of_code = |file: std::fs::DirEntry| {
        let range = range(&file.file_name().to_string_lossy())?;
        range.contains(&at).then(|| (file.path(), at - range.start))
    };
    let (path, off) = files.filter_map(of_code).next().unwrap();
    let Ok(file) = std::fs::OpenOptions::new().read(true).write(true).open(path) else { return };
    let mut byte = [0];
    assert_eq!(file.read_at(&mut byte, off).unwrap(), 1);
    assert_eq!(file.write_at(&byte, off).unwrap(), 1);
}

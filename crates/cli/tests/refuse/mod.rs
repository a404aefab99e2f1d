//! System calls that a process may not make: a seccomp filter, as a container has it.

/// Has a system call fail with EPERM from now on.
pub(super) fn refuse(call: libc::c_long) -> std::io::Result<()> {
    let statement =
        |code: u32, k: u32, jf: u8| libc::sock_filter { code: code as u16, jt: 0, jf, k };
    let returns = libc::BPF_RET | libc::BPF_K;
    let mut filter = [
        statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0),
        statement(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, call as u32, 1),
        statement(returns, libc::SECCOMP_RET_ERRNO | libc::EPERM as u32, 0),
        statement(returns, libc::SECCOMP_RET_ALLOW, 0),
    ];
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    // SAFETY: the filter is read during the call; both change this process alone.
    let refused = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0
            || libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program) != 0
    };
    if refused { Err(std::io::Error::last_os_error()) } else { Ok(()) }
}

//! The int3 protocol, for comparison only: a breakpoint on each site, the rest of the insn, its
//! first byte, each followed by a synchronisation of all cores; the signal handler of a thread that
//! hits a breakpoint emulates the new insn, and holds a reference to the batch meanwhile.
//!
//! The reference counter is one for all, as in older kernels, or one per CPU, as in newer ones.
//!
//! # Invariants
//! 1. The handler reads [`ACTIVE`], which is null or a batch that is never freed.
//! 2. Breakpoints of the batch exist only while its references are not 0: [`Int3::put`] holds one
//!    from before the first to after the last synchronisation.
//! 3. A trap after that is retried: the whole new insn is in place by then.

#![allow(unsafe_code)]

use super::code::{INSN_BYTES, Sites};
use skep_cli::Error;
use std::hint::spin_loop;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::Once;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

/// `int3`.
const TRAP: u8 = 0xcc;
/// A counter on a pair of cache lines of its own.
#[repr(align(128))]
#[derive(Debug, Default)]
struct Line(AtomicU32);

/// Data of the handler.
#[derive(Debug)]
struct Active {
    start: u64,
    stride: u64,
    count: u64,
    /// Distance from the end of the new insn to where it jumps.
    skips: AtomicU32,
    refs: Vec<Line>,
    traps: AtomicU64,
}

static ACTIVE: AtomicPtr<Active> = AtomicPtr::new(ptr::null_mut());

/// Patches sites with breakpoints.
#[derive(Debug)]
pub(super) struct Int3 {
    active: &'static Active,
}

impl Int3 {
    /// For these sites, nops or jumps; one at a time. The handler's data is never freed.
    pub(super) fn new(sites: &Sites, per_cpu: bool) -> Int3 {
        static HANDLER: Once = Once::new();
        HANDLER.call_once(install);
        let (start, stride, count) = sites.layout();
        let lines = if per_cpu { cpus() } else { 1 };
        let active = Box::leak(Box::new(Active {
            start,
            stride,
            count,
            skips: AtomicU32::new(0),
            refs: (0..lines).map(|_| Line::default()).collect(),
            traps: AtomicU64::new(0),
        }));
        ACTIVE.store(active, Ordering::SeqCst);
        Int3 { active }
    }

    /// Traps so far.
    pub(super) fn traps(&self) -> u64 {
        self.active.traps.load(Ordering::Relaxed)
    }

    /// Puts all sites into a state.
    ///
    /// # Errors
    ///
    /// The host does not synchronise cores.
    pub(super) fn put(&self, sites: &Sites, state: u32) -> Result<(), Error> {
        let insn = sites.insn(state);
        let synchronise = || skep_mem::barrier::synchronise().map_err(Error::caused);
        self.active.skips.store(sites.skips(state), Ordering::SeqCst);
        self.active.refs.iter().for_each(|line| line.0.store(1, Ordering::SeqCst));
        (0..sites.len()).for_each(|n| sites.write(n, 0, &[TRAP]));
        synchronise()?;
        (0..sites.len()).for_each(|n| sites.write(n, 1, &insn[1..]));
        synchronise()?;
        (0..sites.len()).for_each(|n| sites.write(n, 0, &insn[..1]));
        synchronise()?;
        for line in &self.active.refs {
            line.0.fetch_sub(1, Ordering::AcqRel);
            while line.0.load(Ordering::Acquire) != 0 {
                spin_loop();
            }
        }
        Ok(())
    }
}

impl Active {
    /// Takes a reference; `None` if the batch is over.
    fn reference(&self) -> Option<&AtomicU32> {
        let cpu = if self.refs.len() == 1 {
            0
        } else {
            // SAFETY: returns the number of a CPU; async-signal-safe.
            unsafe { libc::sched_getcpu() }.max(0) as usize % self.refs.len()
        };
        let count = &self.refs.get(cpu)?.0;
        let taken = |n: u32| (n != 0).then(|| n + 1);
        count.fetch_update(Ordering::AcqRel, Ordering::Relaxed, taken).ok().map(|_| count)
    }

    /// Where to continue after a breakpoint at `at`; `None` if it is not of this batch.
    fn after(&self, at: u64) -> Option<u64> {
        let distance = at.checked_sub(self.start)?;
        if distance % self.stride != 0 || distance / self.stride >= self.count {
            return None;
        }
        self.traps.fetch_add(1, Ordering::Relaxed);
        let Some(count) = self.reference() else { return Some(at) };
        let over = u64::from(self.skips.load(Ordering::Acquire));
        count.fetch_sub(1, Ordering::AcqRel);
        Some(at + u64::from(INSN_BYTES) + over)
    }
}

/// CPUs of the machine.
fn cpus() -> usize {
    // SAFETY: returns a number.
    let cpus = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_CONF) };
    usize::try_from(cpus).unwrap_or(1).max(1)
}

fn install() {
    // SAFETY: a zeroed `sigaction` is valid; the handler is async-signal-safe: it uses atomics and
    // memory that is never freed (1).
    unsafe {
        let mut action: libc::sigaction = MaybeUninit::zeroed().assume_init();
        action.sa_sigaction = trapped as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_NODEFER;
        libc::sigaction(libc::SIGTRAP, &action, ptr::null_mut());
    }
}

extern "C" fn trapped(_: i32, _: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the kernel passes the registers of the interrupted thread; the batch is null or never
    // freed (1).
    unsafe {
        let rip =
            &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs[libc::REG_RIP as usize];
        let at = (*rip as u64).wrapping_sub(1);
        let active = ACTIVE.load(Ordering::Acquire).as_ref();
        match active.and_then(|active| active.after(at)) {
            Some(to) => *rip = to as i64,
            // Not a breakpoint of this batch: as if there were no handler.
            None => {
                libc::signal(libc::SIGTRAP, libc::SIG_DFL);
                *rip = at as i64;
            }
        }
    }
}

//! Code for the models: each site is a word that loom tracks, in a separate text.

use super::super::{HOST, heavy_barrier};
use super::atomic::Ordering::{Relaxed, Release};
use super::atomic::{AtomicU8, AtomicU32};
use super::sites::{RetargetSite, SwitchSite};
use loom::sync::{Mutex, MutexGuard};
use rustix::io::Errno;
use std::sync::Arc;

loom::lazy_static! {
    static ref TEXT: Mutex<()> = Mutex::new(());
}

/// The address to which a jump's displacement is added.
const NEXT: u32 = 8;

pub(super) struct Text {
    site: AtomicU32,
    pub(super) executable: u64,
}

impl std::fmt::Debug for Text {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:#x}", self.executable)
    }
}

impl Text {
    fn new(word: u32, executable: u64) -> Arc<Text> {
        Arc::new(Text { site: AtomicU32::new(word), executable })
    }

    pub(super) fn site(&self) -> &AtomicU32 {
        &self.site
    }

    pub(super) fn is_freed(&self) -> bool {
        false
    }

    pub(super) fn flag(&self, _number: u32) -> Option<&AtomicU8> {
        None
    }
}

#[derive(Clone, Debug)]
pub(super) struct Switch {
    pub(super) text: Arc<Text>,
    pub(super) site: SwitchSite,
}

impl Switch {
    pub(super) fn new(on: bool) -> Switch {
        let byte = if on { SwitchSite::ON } else { SwitchSite::OFF };
        Switch { text: Text::new(byte.into(), 0), site: SwitchSite::new(0) }
    }

    /// The word, for callers that know that nobody changes it.
    pub(super) fn word(&self) -> u32 {
        self.text.site.load(Relaxed)
    }
}

#[derive(Clone, Debug)]
pub(super) struct Jump {
    pub(super) text: Arc<Text>,
    pub(super) site: RetargetSite,
}

impl Jump {
    pub(super) fn to(target: &Target) -> Jump {
        let disp = target.address() as u32 - NEXT;
        Jump { text: Text::new(disp, 0), site: RetargetSite::new(NEXT - 5) }
    }

    /// The index of the target to which it jumps.
    pub(super) fn target(&self, disp: u32, targets: &[Target; 2]) -> usize {
        let goes_to = |target: &Target| target.address() == u64::from(disp + NEXT);
        targets.iter().position(goes_to).expect("a target")
    }
}

#[derive(Clone, Debug)]
pub(super) struct Target {
    pub(super) text: Arc<Text>,
}

impl Target {
    pub(super) fn two() -> [Target; 2] {
        [4096, 8192].map(|at| Target { text: Text::new(0, at) })
    }

    pub(super) fn address(&self) -> u64 {
        self.text.executable
    }
}

pub(super) struct TailCall {
    pub(super) map: u32,
    pub(super) index: u32,
    pub(super) vacant: Switch,
    pub(super) jump: Jump,
}

/// A program with one tail call.
pub(super) struct MachineCode {
    pub(super) vacant: Switch,
    pub(super) jump: Jump,
}

impl MachineCode {
    pub(super) fn new(vacant: Switch, jump: Jump) -> MachineCode {
        MachineCode { vacant, jump }
    }

    pub(super) fn address(&self) -> u64 {
        0
    }

    /// # Safety
    ///
    /// None: as the product's.
    pub(super) unsafe fn tail_calls(&self) -> [TailCall; 1] {
        [TailCall { map: 0, index: 0, vacant: self.vacant.clone(), jump: self.jump.clone() }]
    }
}

pub(super) struct TextLock {
    _held: MutexGuard<'static, ()>,
}

impl TextLock {
    pub(super) fn take() -> TextLock {
        TextLock { _held: TEXT.lock().unwrap() }
    }

    pub(super) fn load(&self, text: &Text, _place: Place) -> Option<u32> {
        Some(text.site.load(Relaxed))
    }

    pub(super) fn store(&self, text: &Text, _place: Place, value: u32) {
        text.site.store(value, Release);
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Byte(u32),
    Half(u32),
    Word(u32),
}

pub(super) fn synchronise() -> Result<(), Errno> {
    heavy_barrier();
    if HOST.get().refuses { Err(Errno::PERM) } else { Ok(()) }
}

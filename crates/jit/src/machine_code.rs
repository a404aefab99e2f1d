//! `MachineCode`: the machine code of a program.

#![allow(unsafe_code)]

use crate::image::Image;
use crate::pc_map::PcMap;
use crate::perf::Symbol;
use crate::sites::{PatchKind, PatchSite, SwitchSite, TailCallSite};
use crate::stats::StatsSites;
use crate::text::{Jump, Switch, Target};
use crate::{PokeMode, Prologue, RunEnv};

/// The signature of machine code.
pub type EntryFn = unsafe extern "C" fn(ctx: *mut u8, env: *mut RunEnv) -> u64;

/// Machine code of one program. Freed when dropped: at that time no thread may be executing it, and
/// no prog array may contain its entry.
#[derive(Debug)]
pub struct MachineCode {
    pub(crate) image: Image,
    pub(crate) entry: u32,
    pub(crate) tail_entry: u32,
    pub(crate) pc_map: PcMap,
    pub(crate) stats: StatsSites,
    pub(crate) tail_calls: Vec<TailCallSite>,
    pub(crate) poke: PokeMode,
    pub(crate) symbols: Vec<Symbol>,
    pub(crate) prologue: Prologue,
    pub(crate) fuel: bool,
}

impl MachineCode {
    /// Address of the code.
    pub fn address(&self) -> u64 {
        self.image.address()
    }

    /// A copy of the code.
    pub fn bytes(&self) -> Vec<u8> {
        self.image.bytes()
    }

    /// Address of the host's entry point; see [`MachineCode::entry`].
    pub fn entry_address(&self) -> u64 {
        self.image.address() + u64::from(self.entry)
    }

    /// Offset of the host's entry point in the code.
    pub fn entry_off(&self) -> u32 {
        self.entry
    }

    /// Address of the entry point of tail calls: the contents of a prog array slot.
    pub fn tail_entry(&self) -> u64 {
        self.image.address() + u64::from(self.tail_entry)
    }

    /// The insn to which each byte of the code belongs.
    pub fn pc_map(&self) -> &PcMap {
        &self.pc_map
    }

    /// The functions, in order, and the stubs of the statistics.
    pub fn symbols(&self) -> &[Symbol] {
        &self.symbols
    }

    /// The switches for its statistics: the entry, if runs can be counted, and the tail calls. The
    /// latter must be on before the entry is, and until every counted run has ended. The program
    /// behaves the same in each state.
    ///
    /// # Safety
    ///
    /// While the entry is on, and until every run has ended that began in that time, the
    /// [`crate::stats::StatsLink`] with which the program was linked is valid, and each thread that
    /// runs it has a slot of its own ([`crate::thread_word::set`]).
    pub unsafe fn stats_switches(&self) -> (Option<Switch>, Vec<Switch>) {
        let switch = |site: &SwitchSite| Switch { text: self.image.text().clone(), site: *site };
        (self.stats.entry.as_ref().map(switch), self.stats.tail_calls.iter().map(switch).collect())
    }

    /// Patched tail calls: those with a constant index whose arrays were linked as
    /// [`crate::ProgArrayLink::patched`]. Initially all are vacant.
    pub fn tail_call_sites(&self) -> &[TailCallSite] {
        &self.tail_calls
    }

    /// All patch sites, in code order.
    pub fn patch_sites(&self) -> Vec<PatchSite> {
        let site = |site: &SwitchSite, kind| PatchSite { off: site.off(), kind };
        let entry = self.stats.entry.iter().map(|s| site(s, PatchKind::StatsEntry));
        let ends = self.stats.tail_calls.iter().map(|s| site(s, PatchKind::StatsTailCall));
        let calls = self.tail_calls.iter().flat_map(|call| {
            let vacant = site(&call.vacant, PatchKind::TailCallVacant(call.map, call.index));
            let kind = PatchKind::TailCallJump(call.map, call.index);
            [vacant, PatchSite { off: call.jump.disp_off() - 1, kind }]
        });
        let mut sites: Vec<PatchSite> = entry.chain(ends).chain(calls).collect();
        sites.sort_unstable();
        sites
    }

    /// Patched tail calls, for edits: map, index, the switch that jumps over the call, the jump.
    ///
    /// # Safety
    ///
    /// As for [`MachineCode::switch`] and [`MachineCode::jump`].
    pub unsafe fn tail_calls(&self) -> impl Iterator<Item = (u32, u32, Switch, Jump)> {
        let text = self.image.text();
        self.tail_calls.iter().map(|site| {
            let vacant = Switch { text: text.clone(), site: site.vacant };
            (site.map, site.index, vacant, Jump { text: text.clone(), site: site.jump })
        })
    }

    /// How its switches are implemented, which may differ from the request.
    pub fn poke_mode(&self) -> PokeMode {
        self.poke
    }

    /// A switch of this program, for edits.
    ///
    /// # Safety
    ///
    /// The site must belong to this program. The caller that turns it is responsible for what the
    /// program then does.
    pub unsafe fn switch(&self, site: SwitchSite) -> Switch {
        Switch { text: self.image.text().clone(), site }
    }

    /// A jump of this program, for edits.
    ///
    /// # Safety
    ///
    /// The site must belong to this program. Its targets must be valid for it, and exist as long as
    /// a thread may jump to them.
    pub unsafe fn jump(&self, site: crate::RetargetSite) -> Jump {
        Jump { text: self.image.text().clone(), site }
    }

    /// Where tail calls enter, for edits.
    pub fn tail_target(&self) -> Target {
        Target { text: self.image.text().clone(), off: self.tail_entry }
    }

    /// The compilation options on which programs that tail call each other must agree.
    pub fn convention(&self) -> (Prologue, bool) {
        (self.prologue, self.fuel)
    }

    /// The program as a function.
    ///
    /// # Safety
    ///
    /// The caller must ensure that the program was verified (or is known to be as safe); `ctx`
    /// points to the context it was verified for, with every pointer in it valid, and no one else
    /// accesses the context or its packet meanwhile; the linked maps, helpers and prog arrays
    /// exist; `env` is valid if the program was compiled with fuel; the `MachineCode` is not
    /// dropped meanwhile; and no helper unwinds.
    pub unsafe fn entry(&self) -> EntryFn {
        let address = (self.image.address() + u64::from(self.entry)) as *const u8;
        // SAFETY: the address is that of code written for this signature.
        unsafe { std::mem::transmute::<*const u8, EntryFn>(address) }
    }
}

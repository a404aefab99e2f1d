//! `MachineCode`: the machine code of a program.

#![allow(unsafe_code)]

use crate::error::Error;
use crate::image::Image;
use crate::memory::{self, patching_is_refused};
use crate::text::{FlagLine, Jump, Switch, TailCall, Target, Text};
use skep_jit::{CodeInfo, Compiled, Linkage, PatchSite, PcMap, PokeMode, Prologue, RetargetSite};
use skep_jit::{RunEnv, SwitchSite, Symbol, TailCallSite, Tuning};
use skep_verifier::Xlated;

/// The signature of machine code.
pub type EntryFn = unsafe extern "C" fn(ctx: *mut u8, env: *mut RunEnv) -> u64;

/// Machine code of one program. Freed when dropped: at that time no thread may be executing it, and
/// no prog array may contain its entry.
#[derive(Debug)]
pub struct MachineCode {
    image: Image,
    info: CodeInfo,
}

/// Compiles a program ([`skep_jit::compile`]) and places its code in memory.
///
/// # Errors
///
/// Something is not supported yet or not linked, or the host refuses memory. Neither the safety of
/// the program nor the features of this processor are checked here.
pub fn compile(xlated: &Xlated, linkage: &Linkage, tuning: &Tuning) -> Result<MachineCode, Error> {
    let poke = match patching_is_refused() {
        None => tuning.poke,
        Some(_) => PokeMode::Flag,
    };
    let tuning = Tuning { poke, ..tuning.clone() };
    let compiled = skep_jit::compile(xlated, linkage, &tuning, memory::reach()?)?;
    MachineCode::place(compiled)
}

impl MachineCode {
    fn place(compiled: Compiled) -> Result<MachineCode, Error> {
        let Compiled { mut code, relocations, info } = compiled;
        // Boxed before an address in it is taken.
        let lines = relocations.flags().div_ceil(64);
        let flags: Box<[FlagLine]> = (0..lines).map(|_| FlagLine::off()).collect();
        let addresses: Vec<u64> =
            (0..relocations.flags()).map(|flag| Text::flag_address(&flags, flag)).collect();
        let flag = |number: u32| addresses[number as usize];
        let fill = |code: &mut [u8], address: u64| relocations.apply(code, address, flag);
        let image = Image::new(&mut code, flags, &fill)?;
        Ok(MachineCode { image, info })
    }

    /// Address of the code.
    pub fn address(&self) -> u64 {
        self.image.address()
    }

    /// A copy of the code.
    pub fn bytes(&self) -> Vec<u8> {
        self.image.bytes()
    }

    /// Length of the code in bytes.
    pub fn len_bytes(&self) -> usize {
        self.image.text().len as usize
    }

    /// Address of the host's entry point; see [`MachineCode::entry`].
    pub fn entry_address(&self) -> u64 {
        self.image.address() + u64::from(self.info.entry)
    }

    /// Offset of the host's entry point in the code.
    pub fn entry_off(&self) -> u32 {
        self.info.entry
    }

    /// Address of the entry point of tail calls: the contents of a prog array slot.
    pub fn tail_entry(&self) -> u64 {
        self.image.address() + u64::from(self.info.tail_entry)
    }

    /// The insn to which each byte of the code belongs.
    pub fn pc_map(&self) -> &PcMap {
        &self.info.pc_map
    }

    /// The functions, in order, and the stubs of the statistics.
    pub fn symbols(&self) -> &[Symbol] {
        &self.info.symbols
    }

    /// The switches for its statistics: the entry, if runs can be counted, and the tail calls. The
    /// latter must be on before the entry is, and until every counted run has ended. The program
    /// behaves the same in each state.
    ///
    /// # Safety
    ///
    /// While the entry is on, and until every run has ended that began in that time, the
    /// `skep_jit::stats::StatsLink` with which the program was linked is valid, and each thread
    /// that runs it has a slot of its own ([`skep_mem::thread_word::set`]).
    pub unsafe fn stats_switches(&self) -> (Option<Switch>, Vec<Switch>) {
        let switch = |site: &SwitchSite| Switch { text: self.image.text().clone(), site: *site };
        let entry = self.info.stats_entry();
        (entry.as_ref().map(switch), self.info.stats_tail_calls().iter().map(switch).collect())
    }

    /// Patched tail calls: those with a constant index whose arrays were linked as
    /// [`skep_jit::ProgArrayLink::patched`]. Initially all are vacant.
    pub fn tail_call_sites(&self) -> &[TailCallSite] {
        &self.info.tail_calls
    }

    /// All patch sites, in code order.
    pub fn patch_sites(&self) -> Vec<PatchSite> {
        self.info.patch_sites()
    }

    /// Patched tail calls, for edits.
    ///
    /// # Safety
    ///
    /// As for [`MachineCode::switch`] and [`MachineCode::jump`].
    pub unsafe fn tail_calls(&self) -> impl Iterator<Item = TailCall> {
        let text = self.image.text();
        self.info.tail_calls.iter().map(|site| {
            let vacant = Switch { text: text.clone(), site: site.vacant };
            let jump = Jump { text: text.clone(), site: site.jump };
            TailCall { map: site.map, index: site.index, vacant, jump }
        })
    }

    /// How its switches are implemented, which may differ from the request.
    pub fn poke_mode(&self) -> PokeMode {
        self.info.poke
    }

    /// A switch of this program, for edits.
    ///
    /// # Safety
    ///
    /// The site must belong to this program. The caller that switches it is responsible for the
    /// resulting behaviour.
    pub unsafe fn switch(&self, site: SwitchSite) -> Switch {
        Switch { text: self.image.text().clone(), site }
    }

    /// A jump of this program, for edits.
    ///
    /// # Safety
    ///
    /// The site must belong to this program. Its targets must be valid for it, and exist as long as
    /// a thread may jump to them.
    pub unsafe fn jump(&self, site: RetargetSite) -> Jump {
        Jump { text: self.image.text().clone(), site }
    }

    /// The entry point for tail calls, for edits.
    pub fn tail_target(&self) -> Target {
        Target { text: self.image.text().clone(), off: self.info.tail_entry }
    }

    /// The compilation options on which programs that tail call each other must agree.
    pub fn convention(&self) -> (Prologue, bool) {
        (self.info.prologue, self.info.fuel)
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
        let address = (self.image.address() + u64::from(self.info.entry)) as *const u8;
        // SAFETY: the address is that of code with this signature.
        unsafe { std::mem::transmute::<*const u8, EntryFn>(address) }
    }
}

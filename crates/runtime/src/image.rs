//! `ProgImage`: a program with everything that it refers to, ready to run.
//!
//! # Invariants
//! 1. The maps that the insns and the machine code refer to by address are in `maps`, and live as
//!    long as the image.

use crate::coverage::Counting;
use crate::engine_choice::Engine;
use crate::map::Map;
use crate::map::ctx_need::CtxNeed;
use crate::map::prog_owner::ProgOwner;
use crate::map::prog_registry::TailTarget;
use crate::prog_info::{Facts, ProgInfo};
use crate::stats::{Clock, Counted, Counters};
use crate::{Error, engine, helper, processor};
use rustc_hash::FxHashMap;
use skep_insn::Insn;
use skep_insn::code::{BPF_CALL, BPF_JMP, BPF_PSEUDO_KFUNC_CALL};
use skep_interp::Linked;
use skep_jit::coverage::Coverage;
use skep_jit::{ArrayLink, Linkage, PercpuLink, ProgArrayLink, Tuning};
use skep_program::Program;
use skep_text::MachineCode;
use skep_text::poke::{Switch, Target};
use skep_uapi::ProgType;
use skep_uapi::helper::HelperId;
use skep_verifier::{OwnHelper, VerifiedProgram, Xlated};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Addresses of interpreted programs' functions start here; there is no memory at them.
static NEXT_FUNC_BASE: AtomicU64 = AtomicU64::new(0xffff_0000_0000_0000);

/// How a program is to be executed.
pub(crate) struct Execution<'a> {
    pub(crate) engine: &'a Engine,
    pub(crate) tuning: &'a Tuning,
    /// The clock of its statistics.
    pub(crate) clock: Clock,
    /// Its execution counters, if it has any.
    pub(crate) counting: Option<Counting>,
}

/// A program whose requirements on a runtime, besides maps, have been checked.
pub(crate) struct Checked<'a> {
    program: &'a Program,
    pub(crate) xlated: Arc<Xlated>,
    /// Ids of its kfuncs, and their indices in the table.
    kfuncs: Vec<(u32, u32)>,
}

impl Checked<'_> {
    /// The runtime has this many CPUs.
    pub(crate) fn new(program: &VerifiedProgram, cpus: u32) -> Result<Checked<'_>, Error> {
        let xlated = program.insns_to_run().map_err(|e| Error::unsupported(&e.what))?.clone();
        check_cpus(&xlated, program.nr_cpu_ids(), cpus)?;
        let kfuncs = check_calls(program.program(), &xlated)?;
        Ok(Checked { program: program.program(), xlated, kfuncs })
    }
}

/// Memory is counted in pages.
const PAGE_BYTES: u64 = skep_uapi::limits::PAGE_SIZE_BYTES as u64;

pub(crate) struct ProgImage {
    pub(crate) id: u32,
    pub(crate) name: String,
    pub(crate) prog_type: ProgType,
    owner: ProgOwner,
    /// Bytes of the context that the program may access.
    pub(crate) ctx_bytes: usize,
    /// The same for a run, including what it tail calls.
    pub(crate) ctx_need: Arc<CtxNeed>,
    pub(crate) linked: Arc<Linked>,
    pub(crate) code: Option<MachineCode>,
    code_bytes: u64,
    /// Prog arrays that the code's direct tail calls follow, by `MapIdx`.
    connected: Vec<Arc<Map>>,
    /// Data that machine code refers to, with the same lifetime.
    pub(crate) counters: Arc<Counters>,
    /// The execution counters.
    pub(crate) counting: Option<Counting>,
    facts: Facts,
    /// Kept alive: invariant 1.
    maps: Vec<Arc<Map>>,
}

impl ProgImage {
    /// Whether the program, or one that it tail calls, may throw an exception.
    pub(crate) fn may_throw(&self) -> bool {
        let xlated = &self.linked.xlated;
        let tail_calls =
            |insn: &Insn| insn.is_helper_call() && insn.imm == HelperId::TailCall as i32;
        xlated.subprogs().iter().any(|facts| facts.is_exception_cb)
            || xlated.insns().iter().any(tail_calls)
    }

    /// Links a program with its maps, by `MapIdx`.
    pub(crate) fn new(
        id: u32,
        checked: Checked<'_>,
        maps: &[Option<Arc<Map>>],
        execution: Execution<'_>,
    ) -> Result<ProgImage, Error> {
        let Checked { program, xlated, kfuncs } = checked;
        let Execution { engine, tuning, clock, counting } = execution;
        let linked = Arc::new(Linked {
            maps: maps.iter().map(interp_link).collect(),
            kfuncs,
            func_base: NEXT_FUNC_BASE.fetch_add(8 * xlated.insns().len() as u64, Ordering::Relaxed),
            xlated: xlated.clone(),
            hits: counting.as_ref().map(|counting| counting.hits.clone()),
        });
        let counters = Arc::new(Counters::new(clock)?);
        let code = match engine {
            Engine::Interpreter => None,
            Engine::MachineCode => {
                let coverage = counting.as_ref().map_or(Ok(None), Counting::link)?;
                Some(compile(&linked, maps, tuning, &counters, coverage)?)
            }
        };
        let mut image = ProgImage {
            id,
            name: program.name.clone(),
            prog_type: program.prog_type,
            owner: ProgOwner::new(program, engine, tuning.fuel),
            ctx_bytes: xlated.ctx_bytes() as usize,
            ctx_need: CtxNeed::new(xlated.ctx_bytes() as usize),
            linked,
            code_bytes: code.as_ref().map_or(0, |code| code.len_bytes() as u64),
            code,
            connected: Vec::new(),
            counters,
            counting,
            facts: Facts::new(program),
            maps: maps.iter().flatten().cloned().collect(),
        };
        image.refer()?;
        image.connect(maps)?;
        Ok(image)
    }

    /// All prog arrays that it refers to, whether or not it calls through them, only accept
    /// compatible programs.
    fn refer(&self) -> Result<(), Error> {
        for map in &self.maps {
            let Some(array) = map.prog_array() else { continue };
            array.refer(self).map_err(|e| e.context(format!("prog array '{}'", map.name())))?;
        }
        Ok(())
    }

    /// Connects direct tail calls to their prog arrays.
    fn connect(&mut self, maps: &[Option<Arc<Map>>]) -> Result<(), Error> {
        let Some(code) = &self.code else { return Ok(()) };
        for site in code.tail_call_sites() {
            let Some(map) = maps.get(site.map as usize).and_then(Option::as_ref) else { continue };
            let Some(array) = map.prog_array() else { continue };
            if self.connected.iter().any(|other| Arc::ptr_eq(other, map)) {
                continue;
            }
            let is_mine = |number: u32| {
                let other = maps.get(number as usize).and_then(Option::as_ref);
                other.is_some_and(|other| Arc::ptr_eq(other, map))
            };
            self.connected.push(map.clone());
            array.connect(code, is_mine).map_err(|why| Error::bug(why.to_string()).because(why))?;
        }
        Ok(())
    }
}

impl Drop for ProgImage {
    fn drop(&mut self) {
        let Some(code) = &self.code else { return };
        for array in self.connected.iter().filter_map(|map| map.prog_array()) {
            array.disconnect(code);
        }
    }
}

impl Counted for ProgImage {
    fn id(&self) -> u32 {
        self.id
    }
    fn counters(&self) -> &Counters {
        &self.counters
    }
    fn switches(&self) -> (Option<Switch>, Vec<Switch>) {
        self.code.as_ref().map(engine::stats_switches).unwrap_or_default()
    }
    fn info(&self) -> ProgInfo {
        let bytes_xlated = 8 * self.linked.xlated.insns().len() as u64;
        let pages = (bytes_xlated + self.code_bytes).div_ceil(PAGE_BYTES);
        ProgInfo {
            id: self.id,
            prog_type: self.prog_type,
            name: self.name.clone(),
            tag: self.facts.tag,
            gpl_compatible: self.facts.gpl_compatible,
            loaded_at: self.facts.loaded_at,
            bytes_xlated,
            bytes_jited: self.code.as_ref().map(|_| self.code_bytes),
            bytes_memlock: pages * PAGE_BYTES,
            map_ids: self.maps.iter().map(|map| map.id()).collect(),
            stats: self.counters.read(),
        }
    }
}

impl TailTarget for ProgImage {
    fn id(&self) -> u32 {
        self.id
    }
    fn owner(&self) -> &ProgOwner {
        &self.owner
    }
    fn ctx_need(&self) -> Option<&Arc<CtxNeed>> {
        (!crate::ctx::takes_packet(self.prog_type)).then_some(&self.ctx_need)
    }
    fn tail_entry(&self) -> u64 {
        self.code.as_ref().map_or(0, MachineCode::tail_entry)
    }
    fn tail_target(&self) -> Option<Target> {
        self.code.as_ref().map(MachineCode::tail_target)
    }
    fn linked(&self) -> &Arc<Linked> {
        &self.linked
    }
    fn counters(&self) -> &Arc<Counters> {
        &self.counters
    }
    fn has_function(&self, addr: u64) -> bool {
        match &self.code {
            Some(code) => (code.address()..code.address() + self.code_bytes).contains(&addr),
            None => {
                let bytes = 8 * self.linked.xlated.insns().len() as u64;
                (self.linked.func_base..self.linked.func_base + bytes).contains(&addr)
            }
        }
    }
    fn wants_fuel(&self) -> bool {
        self.code.as_ref().is_some_and(|code| code.convention().1)
    }
}

/// The verifier bounds the result of `bpf_get_smp_processor_id`, which programs use as an index, so
/// the runtime must not have more CPUs than that.
fn check_cpus(xlated: &Xlated, verified: u32, cpus: u32) -> Result<(), Error> {
    let asks = |insn: &Insn| {
        insn.code == BPF_JMP | BPF_CALL
            && insn.src == 0
            && insn.imm == HelperId::GetSmpProcessorId as i32
    };
    if cpus <= verified || !xlated.insns().iter().any(asks) {
        return Ok(());
    }
    Err(Error::input(format!(
        "the runtime has {cpus} CPUs, but the program was verified for {verified} \
         (bpf_get_smp_processor_id)"
    )))
}

/// The id of a called kfunc, and its index in the table.
fn find_kfunc(program: &Program, insn: &Insn) -> Result<(u32, u32), Error> {
    let (btf, id) = (program.kernel_btf.as_deref(), insn.imm as u32);
    let missing = |what: String| Error::unsupported(format!("kfunc {what}"));
    let Some(btf) = btf else { return Err(missing(id.to_string())) };
    let func = skep_btf::TypeId(id);
    let name = btf.ty(func).name();
    // Those of modules have ids of their own.
    let found = helper::find_kfunc(name).filter(|_| insn.off == 0);
    let place = found.ok_or_else(|| missing(name.to_owned()))?;
    let here = helper::KFUNCS[place].prototype;
    // The verifier checked the arguments against the prototype in the BTF.
    helper::compare_prototype(here, btf, func)
        .map_err(|there| missing(format!("{name} as '{there}' instead of '{here}'")))?;
    Ok((id, place as u32))
}

/// Checks that every called helper and kfunc exists; returns the kfuncs' ids and indices in the
/// table.
fn check_calls(program: &Program, xlated: &Xlated) -> Result<Vec<(u32, u32)>, Error> {
    let mut kfuncs = Vec::new();
    for insn in xlated.insns().iter().filter(|insn| insn.code == BPF_JMP | BPF_CALL) {
        if insn.src == BPF_PSEUDO_KFUNC_CALL {
            kfuncs.push(find_kfunc(program, insn)?);
            continue;
        }
        let engines_own = [HelperId::TailCall as i32, OwnHelper::Throw as i32].contains(&insn.imm);
        let known = engines_own || helper::find(insn.imm).is_some();
        if insn.src == 0 && !known {
            let name = skep_uapi::helper::func_id_name(insn.imm as u32);
            return Err(Error::unsupported(format!("helper {name}")));
        }
    }
    Ok(kfuncs)
}

/// The value that programs receive for a map.
pub(crate) fn handle(map: &Arc<Map>) -> u64 {
    Arc::as_ptr(map) as u64
}

fn interp_link(map: &Option<Arc<Map>>) -> skep_interp::MapLink {
    let Some(map) = map else { return skep_interp::MapLink::default() };
    let values = map.kind().direct().map_or(0, |direct| direct.base);
    skep_interp::MapLink { handle: handle(map), values }
}

fn machine_link(map: &Option<Arc<Map>>) -> skep_jit::MapLink {
    let Some(map) = map else { return skep_jit::MapLink::default() };
    let direct = map.kind().direct();
    let prog_array = map.prog_array().map(|array| {
        let (slots, max_entries) = array.words();
        ProgArrayLink { slots, max_entries, patched: true }
    });
    skep_jit::MapLink {
        handle: handle(map),
        values: direct.map_or(0, |direct| direct.base),
        array: direct.map(|d| ArrayLink { max_entries: d.count, stride_bytes: d.stride }),
        percpu: map.kind().direct_percpu().map(|(d, cpu_stride_bytes, cpus)| PercpuLink {
            values: d.base,
            array: ArrayLink { max_entries: d.count, stride_bytes: d.stride },
            cpu_stride_bytes,
            cpus,
            cpu_word: skep_mem::thread_word::cpu_offset(),
        }),
        lookup: helper::direct_lookup(map),
        update: helper::direct_update(map),
        prog_array,
    }
}

fn compile(
    linked: &Linked,
    maps: &[Option<Arc<Map>>],
    tuning: &Tuning,
    counters: &Counters,
    coverage: Option<Coverage>,
) -> Result<MachineCode, Error> {
    if !processor::IS_RUN_HERE {
        return Err(Error::unsupported("machine code on processors other than x86-64"));
    }
    let helpers: FxHashMap<i32, u64> = helper::addresses().collect();
    let entry = |&(id, place): &(u32, u32)| {
        let kfunc = helper::KFUNCS.get(place as usize)?;
        Some((id, kfunc.entry as *const () as u64))
    };
    let linkage = Linkage {
        kfuncs: linked.kfuncs.iter().filter_map(entry).collect(),
        helpers,
        maps: maps.iter().map(machine_link).collect(),
        tail_call_lookup: helper::tail_call_lookup(),
        probe: helper::probe(),
        stats: Some(counters.link()),
        coverage,
    };
    skep_text::compile(&linked.xlated, &linkage, tuning).map_err(|e| match e.is_unsupported() {
        true => Error::missing(e.to_string()).because(e),
        false if e.is_memory() => Error::memory(e.to_string()).because(e),
        false => Error::bug(e.to_string()).because(e),
    })
}

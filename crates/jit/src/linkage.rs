//! `Linkage`: the addresses of everything that a program refers to by number.
//!
//! Created by the runtime; the machine code contains the addresses. The caller that runs the code
//! must ensure that they outlive it (see [`crate::MachineCode::entry`]).
//!
//! # Conventions of machine code
//!
//! The C calling convention is that of x86-64 Linux (System V); no other system runs the code.
//!
//! - A program is `extern "C" fn(ctx: *mut u8, env: *mut RunEnv) -> u64`. `env` is read only
//!   if [`crate::Tuning::fuel`] is set.
//! - A helper is `extern "C" fn(r1, r2, r3, r4, r5) -> u64`. It must not unwind.
//! - A callback, whose address a program passes to a helper, is `extern "C" fn(r1, r2, r3, r4, r5,
//!   env: *mut RunEnv) -> u64`; the helper passes the `env` of the run (null without fuel). When
//!   fuel is exhausted in it, it returns 1.
//! - A tail call jumps to the address in a slot of a prog array: [`crate::MachineCode::tail_entry`]
//!   of the target. A program leaves its own frame before it jumps, and the target creates its own,
//!   so they may differ in `prologue`; programs that call each other this way must agree in `fuel`.

use crate::coverage::Coverage;
use crate::stats::StatsLink;
use rustc_hash::FxHashMap;
use skep_insn::code::{BPF_CALL, BPF_JMP, BPF_PSEUDO_KFUNC_CALL};
use skep_program::MapDef;
use skep_uapi::MapType;
pub use skep_uapi::limits::MAX_TAIL_CALL_CNT;
use skep_verifier::Xlated;
use std::sync::atomic::{AtomicI64, AtomicU32, AtomicU64};

/// The addresses for a program's helper, kfunc and map numbers.
#[derive(Clone, Debug, Default)]
pub struct Linkage {
    /// Helpers by number; negative ones are skep's own.
    pub helpers: FxHashMap<i32, u64>,
    /// Kfuncs by their ids in the kernel's BTF, called like helpers.
    pub kfuncs: FxHashMap<u32, u64>,
    /// Maps by `MapIdx`.
    pub maps: Vec<MapLink>,
    /// `extern "C" fn(map handle, index: u32) -> u64`: looks up the tail entry in a slot of a prog
    /// array that is known only at run time; returns 0 if the slot is empty or out of range. 0 if
    /// there are no such calls.
    pub tail_call_lookup: u64,
    /// `extern "C" fn(address, bytes: u32) -> u64`: loads 1, 2, 4 or 8 bytes, or returns 0 if they
    /// cannot be read. 0 if there are no loads that may fault.
    pub probe: u64,
    /// The statistics of the program; without them, no statistics sites are emitted.
    pub stats: Option<StatsLink>,
    /// The execution counters; without them, no counters are emitted.
    pub coverage: Option<Coverage>,
}

impl Linkage {
    /// Placeholder addresses for everything a program refers to, so that its code can be printed.
    /// It must not be run.
    pub fn placeholder(xlated: &Xlated, maps: &[MapDef]) -> Linkage {
        let stats = StatsLink {
            slots: 5 << 40,
            control: (5 << 40) + (1 << 32),
            thread_word: 0,
            clock: 0,
            timed: 1 << 40,
        };
        let (tail_call_lookup, stats) = (1 << 40, Some(stats));
        let probe = tail_call_lookup + (1 << 20);
        let mut linkage = Linkage { tail_call_lookup, probe, stats, ..Linkage::default() };
        for insn in xlated.insns().iter().filter(|insn| insn.code == BPF_JMP | BPF_CALL) {
            let address = (1u64 << 40).wrapping_add_signed(i64::from(insn.imm) << 4);
            match insn.src {
                BPF_PSEUDO_KFUNC_CALL => linkage.kfuncs.insert(insn.imm as u32, address),
                _ => linkage.helpers.insert(insn.imm, address),
            };
        }
        for (number, def) in maps.iter().enumerate() {
            let (handle, values) = ((2 << 40) + ((number as u64) << 12), (3 << 40));
            let values = values + ((number as u64) << 32);
            let stride_bytes = def.value_size.next_multiple_of(8);
            let max_entries = def.max_entries;
            let is = |map_type| def.map_type == map_type;
            let hashes = is(MapType::Hash) || is(MapType::LruHash);
            let direct = |address: u64| if hashes { address } else { 0 };
            linkage.maps.push(MapLink {
                handle,
                values: if is(MapType::Array) { values } else { 0 },
                array: is(MapType::Array).then_some(ArrayLink { max_entries, stride_bytes }),
                percpu: is(MapType::PercpuArray).then_some(PercpuLink {
                    values,
                    array: ArrayLink { max_entries, stride_bytes },
                    cpu_stride_bytes: 4096,
                    cpus: 2,
                    cpu_word: 8,
                }),
                lookup: direct(4 << 40),
                update: direct((4 << 40) + 16),
                prog_array: is(MapType::ProgArray).then_some(ProgArrayLink {
                    slots: values,
                    max_entries,
                    patched: true,
                }),
            });
        }
        linkage
    }

    /// The address of a helper.
    pub fn helper(&self, number: i32) -> Option<u64> {
        self.helpers.get(&number).copied().filter(|address| *address != 0)
    }
}

/// One map, as machine code sees it. All zeros means not linked.
#[derive(Clone, Copy, Debug, Default)]
pub struct MapLink {
    /// The value that helpers receive as `struct bpf_map *`.
    pub handle: u64,
    /// Address of the first value, for maps with direct value access (`BPF_PSEUDO_MAP_VALUE`); else
    /// 0.
    pub values: u64,
    /// Present for arrays (not per-CPU ones) whose lookups are to be inlined.
    pub array: Option<ArrayLink>,
    /// Present for per-CPU arrays whose lookups are to be inlined.
    pub percpu: Option<PercpuLink>,
    /// `extern "C" fn(handle, key) -> value` that replaces `bpf_map_lookup_elem` for this map;
    /// 0 if there is none.
    pub lookup: u64,
    /// `extern "C" fn(handle, key, value, flags) -> i64` that replaces `bpf_map_update_elem`;
    /// 0 if there is none.
    pub update: u64,
    /// Present for prog arrays.
    pub prog_array: Option<ProgArrayLink>,
}

/// An array map's geometry; its values start at [`MapLink::values`].
#[derive(Clone, Copy, Debug)]
pub struct ArrayLink {
    /// Number of elements.
    pub max_entries: u32,
    /// Distance between values, in bytes.
    pub stride_bytes: u32,
}

/// Layout of a per-CPU array. A thread selects its CPU's values with its word at
/// `skep_mem::thread_word::cpu_offset`.
#[derive(Clone, Copy, Debug)]
pub struct PercpuLink {
    /// Address of the first value of CPU 0.
    pub values: u64,
    /// Geometry of one CPU's values.
    pub array: ArrayLink,
    /// Distance between the values of consecutive CPUs, in bytes.
    pub cpu_stride_bytes: u32,
    /// Number of CPUs.
    pub cpus: u32,
    /// Where each thread keeps the number of the CPU whose values it uses: this far from its thread
    /// pointer (`fs`).
    pub cpu_word: i32,
}

/// A prog array: `max_entries` aligned 64-bit words, each a program's tail entry or 0, replaced
/// atomically; only of programs that agree with this one in having fuel.
#[derive(Clone, Copy, Debug)]
pub struct ProgArrayLink {
    /// Address of the first word (`AtomicU64`).
    pub slots: u64,
    /// Number of words.
    pub max_entries: u32,
    /// The caller keeps `MachineCode::tail_call_sites` up to date with the slots, so that
    /// calls with a constant index need not load theirs. Ignored if code is not patched.
    pub patched: bool,
}

/// State shared by a run with fuel and its machine code. There is one per run, not per program.
/// The fields are atomic because machine code and other threads change them at any time, not for
/// their order: all accesses are relaxed.
#[repr(C)]
#[derive(Debug, Default)]
pub struct RunEnv {
    /// Remaining units: each back-edge taken, subprog call, or callback (counted by the helper)
    /// costs one. The run stops when this becomes negative.
    pub fuel: AtomicI64,
    /// Other threads may set it to a non-zero value to stop the run at its
    /// next unit of fuel.
    pub interrupt: AtomicU32,
    /// Set to 1 when the run was stopped; r0 is meaningless then. A helper that sets it stops the
    /// run on return.
    pub stopped: AtomicU32,
    /// Stack pointer to unwind to when stopping; written by machine code.
    pub stop_sp: AtomicU64,
    /// Stack pointer of the main program that catches exceptions; written by machine code.
    pub throw_sp: AtomicU64,
    /// Address of the record of the innermost run being timed ([`crate::stats`]), or 0; written by
    /// machine code.
    pub record: AtomicU64,
}

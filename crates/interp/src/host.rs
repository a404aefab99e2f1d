//! What the interpreter asks of whoever runs it: memory, maps, helpers, tail calls.
//!
//! Addresses are the host's own: it gives out those of the context, the stack, maps and packets,
//! and gets them back from the program. All methods take `&self`: a helper may run callbacks,
//! which use the same memory.

use crate::{Fault, Hits, Vm};
use skep_verifier::Xlated;
use std::sync::Arc;

/// A program with the addresses of what it refers to.
#[derive(Clone, Debug)]
pub struct Linked {
    /// The insns.
    pub xlated: Arc<Xlated>,
    /// By `MapIdx`: the maps of the program; unused ones may be zero.
    pub maps: Vec<MapLink>,
    /// Kfuncs that are called: ids in the kernel's BTF, and the host's numbers for them.
    pub kfuncs: Vec<(u32, u32)>,
    /// Added to 8 times the index of its first insn, gives the address of a function: what a
    /// program passes to helpers as a callback. Different for every program that may run in one
    /// run.
    pub func_base: u64,
    /// Where it is counted what runs, if it is ([`Hits::of_insns`]).
    pub hits: Option<Arc<Hits>>,
}

/// Addresses of a map.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MapLink {
    /// What helpers are given for `struct bpf_map *`.
    pub handle: u64,
    /// First byte of the values, for direct access; 0 if the map has none.
    pub values: u64,
}

/// The region that frames are taken from, from its end downwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stack {
    /// Lowest address.
    pub base: u64,
    /// Bytes; a multiple of 16.
    pub bytes: u64,
}

/// What an atomic insn does to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtomicOp {
    /// Adds.
    Add,
    /// Ors.
    Or,
    /// Ands.
    And,
    /// Xors.
    Xor,
    /// Replaces.
    Xchg,
    /// Replaces if the old value is this.
    Cmpxchg(u64),
}

/// An atomic access; only the low `size` bytes of values count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AtomicAccess {
    /// What to do.
    pub op: AtomicOp,
    /// 4 or 8 bytes.
    pub size: u32,
    /// The operand.
    pub value: u64,
}

/// What a run needs besides insns.
pub trait Host {
    /// Loads `size` bytes (1, 2, 4, 8), little endian, zero extended.
    fn load(&self, addr: u64, size: u32) -> Result<u64, Fault>;
    /// Stores the low `size` bytes of `value`.
    fn store(&self, addr: u64, size: u32, value: u64) -> Result<(), Fault>;
    /// Changes memory in one step; the old value, zero extended.
    fn atomic(&self, addr: u64, access: AtomicAccess) -> Result<u64, Fault>;
    /// Calls a helper; `vm` runs callbacks that it was given. Negative numbers are
    /// [`skep_verifier::OwnHelper`]s.
    fn helper(&self, vm: &mut Vm<'_>, number: i32, args: [u64; 5]) -> Result<u64, Fault>;
    /// Calls a kfunc by the host's own number of it.
    fn kfunc(&self, _vm: &mut Vm<'_>, number: u32, _args: [u64; 5]) -> Result<u64, Fault> {
        Err(Fault::not_supported(format!("kfunc {number}")))
    }
    /// The program in a slot of a prog array; `None` if it is empty or outside.
    fn tail_call(&self, handle: u64, index: u32) -> Result<Option<Arc<Linked>>, Fault>;
    /// The program that was asked for last goes on in place of the program that called it, or, if
    /// not `from_main`, of a function or callback: whose caller goes on behind it, after
    /// [`Host::tail_ended`].
    fn tail_called(&self, _from_main: bool) {}
    /// A program that went on in place of a function or callback has ended, or what went on in its
    /// place. Nobody says so of a run that ends with a fault.
    fn tail_ended(&self) {}
    /// Whether the run is to end; asked at each unit of fuel
    /// ([`crate::Limits::fuel`]).
    fn is_interrupted(&self) -> bool {
        false
    }
    /// Which CPU the run is on, for what is counted ([`Linked::hits`]); asked once a run.
    fn cpu(&self) -> u32 {
        0
    }
    /// Where frames go; asked once a run.
    fn stack(&self) -> Stack;
}

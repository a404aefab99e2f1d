//! What the interpreter needs from its host: memory, maps, helpers, tail calls. The host's helpers
//! get the run in progress, [`Vm`], which `machine` executes.
//!
//! Addresses are chosen by the host: it supplies those of the context, the stack, maps and packets,
//! and receives them back from the program. All methods take `&self`, because a helper may run
//! callbacks, which use the same memory.

use crate::{Fault, Hits};
use skep_verifier::Xlated;
use std::sync::Arc;

/// A program with the addresses of what it refers to.
#[derive(Clone, Debug)]
pub struct Linked {
    /// The insns.
    pub xlated: Arc<Xlated>,
    /// By `MapIdx`: the maps of the program; unused ones may be zero.
    pub maps: Vec<MapLink>,
    /// The called kfuncs: their ids in the kernel's BTF, and the host's numbers for them.
    pub kfuncs: Vec<(u32, u32)>,
    /// Base of function addresses: plus 8 times the index of its first insn, this is the address of
    /// a function, as passed to helpers for callbacks. Different for every program that may take
    /// part in one run.
    pub func_base: u64,
    /// The execution counters, if enabled ([`Hits::of_insns`]).
    pub hits: Option<Arc<Hits>>,
}

/// Addresses of a map.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MapLink {
    /// The value that helpers receive for `struct bpf_map *`.
    pub handle: u64,
    /// First byte of the values, for direct access; 0 if the map has none.
    pub values: u64,
}

/// The stack region, used from its end downwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stack {
    /// Lowest address.
    pub base: u64,
    /// Bytes; a multiple of 16.
    pub bytes: u64,
}

/// The operation of an atomic insn.
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
    /// Replaces if the old value equals this.
    Cmpxchg(u64),
}

/// An atomic access; only the low `size` bytes of values are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AtomicAccess {
    /// What to do.
    pub op: AtomicOp,
    /// 4 or 8 bytes.
    pub size: u32,
    /// The operand.
    pub value: u64,
}

/// A run in progress, as seen by helpers.
pub struct Vm<'a> {
    pub(crate) host: &'a dyn Host,
    /// The remaining units of `fuel`.
    pub(crate) fuel: u64,
    pub(crate) insns: u64,
    pub(crate) tail_calls: u32,
    pub(crate) callback_depth: u32,
    pub(crate) stack_base: u64,
    pub(crate) sp: u64,
    /// Programs entered so far, for the addresses of their functions.
    pub(crate) programs: Vec<Arc<Linked>>,
    /// The execution counters.
    pub(crate) cpu: u32,
}

/// What a run needs besides insns.
pub trait Host {
    /// Loads `size` bytes (1, 2, 4, 8), little endian, zero extended.
    fn load(&self, addr: u64, size: u32) -> Result<u64, Fault>;
    /// Stores the low `size` bytes of `value`.
    fn store(&self, addr: u64, size: u32, value: u64) -> Result<(), Fault>;
    /// Atomically modifies memory; returns the old value, zero extended.
    fn atomic(&self, addr: u64, access: AtomicAccess) -> Result<u64, Fault>;
    /// Calls a helper; `vm` runs the callbacks passed to it. Negative numbers are
    /// [`skep_verifier::OwnHelper`]s.
    fn helper(&self, vm: &mut Vm<'_>, number: i32, args: [u64; 5]) -> Result<u64, Fault>;
    /// Calls a kfunc by the host's number for it.
    fn kfunc(&self, _vm: &mut Vm<'_>, number: u32, _args: [u64; 5]) -> Result<u64, Fault> {
        Err(Fault::not_supported(format!("kfunc {number}")))
    }
    /// The program in a slot of a prog array; `None` if it is empty or outside.
    fn tail_call(&self, handle: u64, index: u32) -> Result<Option<Arc<Linked>>, Fault>;
    /// The program looked up last replaces the calling program, or, if not `from_main`, the calling
    /// function or callback, whose caller continues afterwards, after [`Host::tail_ended`].
    fn tail_called(&self, _from_main: bool) {}
    /// A program that replaced a function or callback has ended, or its own replacement has. Not
    /// called if the run ends with a fault.
    fn tail_ended(&self) {}
    /// Whether the run must stop; called for each unit of fuel ([`crate::Limits::fuel`]).
    fn is_interrupted(&self) -> bool {
        false
    }
    /// The CPU of the run, for counters ([`Linked::hits`]); called once per run.
    fn cpu(&self) -> u32 {
        0
    }
    /// The stack region for frames; called once per run.
    fn stack(&self) -> Stack;
}

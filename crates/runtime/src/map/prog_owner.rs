//! `ProgOwner`: the properties shared by the programs of a prog array and those that refer to it.
//!
//! Determined by the first program that is stored in the array, or loaded with a reference to it,
//! for the array's lifetime; others are rejected with EINVAL. Machine code jumps between them with
//! the caller's context and registers, without checks.
//!
//! Kernel: `bpf_prog_map_compatible` (6.18; compared with bpf(2): the type, the expected attach
//! type and `BPF_F_XDP_HAS_FRAGS` must be equal, `BPF_F_SLEEPABLE` need not; the prototype of the
//! traced function could not be tested). Here also whether runs have fuel, which does not exist in
//! the kernel.

use crate::engine_choice::Engine;
use skep_btf::{Kind, TypeId};
use skep_program::{AttachTarget, Program};
use skep_uapi::{ProgFlags, ProgType};
use std::fmt;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ProgOwner {
    prog_type: ProgType,
    expected_attach_type: u32,
    xdp_has_frags: bool,
    /// BTF id of the prototype of its attach target.
    attach_proto: Option<u32>,
    engine: Engine,
    fuel: bool,
}

impl ProgOwner {
    pub(crate) fn new(program: &Program, engine: &Engine, fuel: bool) -> ProgOwner {
        ProgOwner {
            prog_type: program.prog_type,
            expected_attach_type: program.expected_attach_type,
            xdp_has_frags: program.prog_flags.contains(ProgFlags::XDP_HAS_FRAGS),
            attach_proto: attach_proto(program),
            engine: engine.clone(),
            fuel,
        }
    }
}

/// Maps functions and typedefs of tracepoints to their prototypes.
fn attach_proto(program: &Program) -> Option<u32> {
    let AttachTarget::Kernel { btf_id, .. } = &program.attach else { return None };
    let mut ty = program.kernel_btf.as_deref()?.ty(TypeId(*btf_id));
    while matches!(ty.kind(), Kind::Func | Kind::Typedef | Kind::Ptr) {
        ty = ty.target();
    }
    Some(ty.id().0)
}

impl fmt::Display for ProgOwner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let engine = match self.engine {
            Engine::Interpreter => "interpreted",
            Engine::MachineCode => "machine code",
        };
        let fuel = if self.fuel { "with" } else { "without" };
        let frags = if self.xdp_has_frags { ", fragments" } else { "" };
        let (prog_type, attach) = (self.prog_type, self.expected_attach_type);
        let proto = self.attach_proto.map(|id| format!(", prototype {id}")).unwrap_or_default();
        write!(f, "{prog_type}, attach type {attach}{proto}{frags}, {engine}, {fuel} fuel")
    }
}

//! A random tracing program: loads through kernel types, starting from a tracepoint's arguments.
//!
//! # Invariants
//! 1. The same seed and kernel give the same program.

use super::generate::insn;
use skep::btf::{Btf, Kind, TypeId};
use skep::insn::code::*;
use skep::program::{AttachTarget, Program};
use skep::uapi::{AttachType, ProgType};
use skep_testkit::rng::Rng;
use std::sync::Arc;

const PREFIX: &str = "btf_trace_";

/// The typedefs of all tracepoints.
pub(crate) fn tracepoints(btf: &Btf) -> Vec<TypeId> {
    let is_tp =
        |ty: &skep::btf::Type<'_>| ty.kind() == Kind::Typedef && ty.name().starts_with(PREFIX);
    btf.iter().filter(is_tp).map(|ty| ty.id()).collect()
}

/// The program of that seed.
pub(crate) fn program(seed: u64, btf: &Arc<Btf>, tracepoints: &[TypeId]) -> Program {
    let mut rng = Rng::new(seed);
    let target = rng.pick(tracepoints);
    let name = btf.ty(target).name();
    let mut insns = vec![insn(BPF_ALU64 | BPF_MOV | BPF_X, 6, 1, 0, 0)];
    let args = 1 + rng.below(4) as i16;
    for _ in 0..1 + rng.below(3) {
        let arg = 8 * (rng.below(5) as i16 % args);
        insns.push(insn(BPF_LDX | BPF_MEM | BPF_DW, 2, 6, arg, 0));
        for _ in 0..1 + rng.below(5) {
            if rng.chance(30) {
                insns.push(insn(BPF_JMP | BPF_JEQ, 2, 0, 3, 0));
            }
            if rng.chance(5) {
                insns.push(insn(BPF_ALU64 | BPF_ADD, 2, 0, 0, 8));
            }
            let dst = if rng.chance(60) { 2 } else { 3 };
            let (size, bytes) = rng.pick(&[(BPF_DW, 8), (BPF_DW, 8), (BPF_W, 4), (BPF_H, 2)]);
            let far = rng.pick(&[64, 256, 2048]);
            let off = (rng.below(far) / bytes * bytes) as i16;
            insns.push(insn(BPF_LDX | BPF_MEM | size, dst, 2, off, 0));
            insns.push(insn(BPF_ALU64 | BPF_MOV, 4, 0, 0, 0));
        }
    }
    for _ in 0..4 {
        insns.push(insn(BPF_ALU64 | BPF_MOV, 0, 0, 0, 0));
    }
    insns.push(insn(BPF_JMP | BPF_EXIT, 0, 0, 0, 0));
    Program {
        name: format!("seed_{seed}"),
        prog_type: ProgType::Tracing,
        expected_attach_type: AttachType::TraceRawTp.number(),
        attach: AttachTarget::Kernel {
            btf_id: target.0,
            name: name.strip_prefix(PREFIX).unwrap_or(name).to_owned(),
        },
        license: "GPL".to_owned(),
        autoload: true,
        insns,
        kernel_btf: Some(Arc::clone(btf)),
        ..Program::default()
    }
}

//! Runs a case on the interpreter, or as machine code, without the runtime: no maps, no helpers
//! except `bpf_loop`. For cases that only compute.

use super::Native;
use super::input::{Input, inputs};
use super::text::{Output, run_line};
use crate::engine;
use crate::suite::Case;
use skep::program::Program;
use skep_interp::{FlatMemory, Limits, Linked, run};
use skep_jit::Tuning;
use std::sync::Arc;

/// More insns than any case executes.
const FUEL: u64 = 100_000_000;

/// The text of a case's runs on the interpreter; `None` if the case needs more.
pub fn on_interp(case: &Case, programs: &[Program]) -> Result<Option<String>, String> {
    let [program] = programs else { return Ok(None) };
    let verified = engine::verified(program)?;
    let xlated = verified.insns_to_run().map_err(|e| e.to_string())?;
    let linked = Arc::new(Linked {
        xlated: Arc::clone(xlated),
        maps: Vec::new(),
        kfuncs: Vec::new(),
        func_base: 1 << 40,
        hits: None,
    });
    if !program.maps.is_empty() || needs_runtime(program) {
        return Ok(None);
    }
    let mut text = String::new();
    for input in inputs(case)? {
        let Input::Words(words) = &input else { return Ok(None) };
        let ctx: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let memory = FlatMemory::new(&ctx);
        let exit = run(&linked, &memory, FlatMemory::CTX, Limits { fuel: FUEL });
        let r0 = exit.map_err(|fault| fault.to_string())?.r0 as u32;
        run_line(&mut text, &input, &Output { r0, bytes: memory.ctx() });
    }
    Ok(Some(text))
}

/// Kfuncs and helpers need the runtime.
fn needs_runtime(program: &Program) -> bool {
    use skep::insn::code::{BPF_CALL, BPF_JMP, BPF_PSEUDO_KFUNC_CALL};
    use skep::uapi::helper::HelperId;
    program.insns.iter().any(|insn| match (insn.code == BPF_JMP | BPF_CALL, insn.src) {
        (true, BPF_PSEUDO_KFUNC_CALL) => true,
        (true, 0) => insn.imm != HelperId::Loop as i32,
        _ => false,
    })
}

/// The same for machine code.
pub fn on_jit(
    case: &Case,
    programs: &[Program],
    tuning: &Tuning,
) -> Result<Option<String>, String> {
    let [program] = programs else { return Ok(None) };
    if needs_runtime(program) {
        return Ok(None);
    }
    let verified = engine::verified(program)?;
    let Some(native) = Native::new(&verified, tuning)? else { return Ok(None) };
    let mut text = String::new();
    for input in inputs(case)? {
        let Input::Words(words) = &input else { return Ok(None) };
        let mut ctx: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let r0 = native.run(&mut ctx)? as u32;
        run_line(&mut text, &input, &Output { r0, bytes: ctx });
    }
    Ok(Some(text))
}

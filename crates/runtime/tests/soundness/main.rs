//! Guarantees regardless of what an embedder does: programs get the maps that they were verified
//! with, and stopped runs leave nothing behind.

mod bounds;
mod frames;
mod other_kernels;
mod other_maps;
mod readers;

use skep_insn::asm::assemble;
use skep_program::{MapDef, Program};
use skep_runtime::{Engine, Options, Runtime};
use skep_uapi::helper::HelperId;
use skep_uapi::{KernelProfile, MapType, ProgType};
use skep_verifier::{Config, Verdict, VerifiedProgram, verify};
use std::sync::Arc;

const ENGINES: [Engine; 2] = [Engine::Interpreter, Engine::MachineCode];

fn runtime() -> Runtime {
    Runtime::new(Options { cpus: 8, ..Options::default() }).unwrap()
}

fn map(name: &str, map_type: MapType, key_size: u32, value_size: u32, max_entries: u32) -> MapDef {
    MapDef { name: name.into(), map_type, key_size, value_size, max_entries, ..MapDef::default() }
}

/// Assembles and verifies an XDP program with these maps.
fn program(text: &str, maps: &Arc<[MapDef]>) -> VerifiedProgram {
    of_type(ProgType::Xdp, text, maps)
}

fn of_type(prog_type: ProgType, text: &str, maps: &Arc<[MapDef]>) -> VerifiedProgram {
    let helper = |name: &str| HelperId::from_name(name).map(|id| id as u32);
    let mut assembly = assemble(text, &helper).unwrap();
    for reference in &assembly.map_refs {
        let index = maps.iter().position(|map| map.name == reference.name).unwrap();
        assembly.insns[reference.insn.index()].imm = index as i32;
    }
    let (insns, maps) = (assembly.insns, maps.clone());
    let (name, license) = ("prog".to_owned(), "GPL".to_owned());
    verified(&Program { name, prog_type, license, insns, maps, ..Program::default() })
}

fn verified(program: &Program) -> VerifiedProgram {
    match verify(program, &Config::privileged(KernelProfile::v6_18())).verdict {
        Verdict::Accepted(program) => *program,
        other => panic!("{}: {other:?}", program.name),
    }
}

//! sbpf's JIT, with what it does for its users by default (every address translated, every insn
//! counted), and without.

use crate::{Ctx, Run};
use solana_sbpf::aligned_memory::AlignedMemory;
use solana_sbpf::ebpf::{HOST_ALIGN, MM_HEAP_START, MM_INPUT_START, MM_STACK_START};
use solana_sbpf::elf::Executable;
use solana_sbpf::memory_region::{MemoryMapping, MemoryRegion};
use solana_sbpf::program::{BuiltinProgram, FunctionRegistry, SBPFVersion};
use solana_sbpf::verifier::RequisiteVerifier;
use solana_sbpf::vm::{CallFrame, Config, ContextObject, EbpfVm, ExecutionMode};
use std::ptr::NonNull;
use std::sync::Arc;

struct Meter {
    remaining: u64,
    mapping: MemoryMapping,
}

impl ContextObject for Meter {
    fn consume(&mut self, amount: u64) {
        self.remaining = self.remaining.saturating_sub(amount);
    }
    fn get_remaining(&self) -> u64 {
        self.remaining
    }
    fn active_mapping_ptr(&mut self) -> NonNull<MemoryMapping> {
        NonNull::from(&mut self.mapping)
    }
}

pub(crate) fn load_bare(code: Vec<u8>, data: Vec<u8>, expected: u64) -> Result<Run, String> {
    let config = Config {
        enable_address_translation: false,
        enable_instruction_meter: false,
        noop_instruction_rate: 0,
        sanitize_user_provided_values: false,
        ..config()
    };
    any_version(code, data, config, expected)
}

pub(crate) fn load_default(code: Vec<u8>, data: Vec<u8>, expected: u64) -> Result<Run, String> {
    any_version(code, data, config(), expected)
}

fn config() -> Config {
    Config { enabled_sbpf_versions: SBPFVersion::V0..=SBPFVersion::V4, ..Config::default() }
}

/// Its versions read the same insns differently: the first that takes the program and gives the
/// right result is measured.
fn any_version(code: Vec<u8>, data: Vec<u8>, config: Config, expected: u64) -> Result<Run, String> {
    let mut reasons: Vec<String> = Vec::new();
    for version in [SBPFVersion::V3, SBPFVersion::V4, SBPFVersion::V0] {
        let tried = crate::contained(|| {
            let mut run = load(&code, data.clone(), config.clone(), version)?;
            match run()? {
                result if result == expected => Ok(run),
                result => Err(format!("it gives {result:#x}, not {expected:#x}")),
            }
        });
        match tried {
            Ok(run) => return Ok(run),
            Err(why) => reasons.push(format!("{version:?}: {why}")),
        }
    }
    Err(reasons.join("; "))
}

fn load(code: &[u8], data: Vec<u8>, config: Config, version: SBPFVersion) -> Result<Run, String> {
    let text = |e: &dyn std::fmt::Display| e.to_string();
    let translated = config.enable_address_translation;
    let loader = Arc::new(BuiltinProgram::new_loader(config));
    let mut registry = FunctionRegistry::default();
    let calls = code.chunks(8).filter(|insn| insn[0] == 0x85).count();
    if calls > 0 {
        registry.register_function(0, *b"entrypoint", 0).map_err(|e| text(&e))?;
    }
    let executable = Executable::<Meter>::from_text_bytes(code, loader.clone(), version, registry)
        .map_err(|e| text(&e))?;
    executable.verify::<RequisiteVerifier>().map_err(|e| text(&e))?;
    executable.jit_compile().map_err(|e| text(&e))?;

    // The process ends with the benchmark: what a run refers to stays.
    let executable: &'static Executable<Meter> = Box::leak(Box::new(executable));
    let config = executable.get_config();
    let stack: &'static mut AlignedMemory<HOST_ALIGN> =
        Box::leak(Box::new(AlignedMemory::zero_filled(config.stack_size())));
    let heap: &'static mut AlignedMemory<HOST_ALIGN> =
        Box::leak(Box::new(AlignedMemory::with_capacity(0)));
    let stack_len = stack.len();
    let stack_top = stack.as_slice().as_ptr() as u64 + config.stack_frame_size as u64;

    // The context, then the bytes that it points to.
    let head = size_of::<Ctx>();
    let mut input = AlignedMemory::<HOST_ALIGN>::zero_filled(head + data.len());
    let host = input.as_slice().as_ptr() as u64;
    let base = if translated { MM_INPUT_START } else { host };
    let start = base + head as u64;
    let end = start + data.len() as u64;
    let bytes = input.as_slice_mut();
    bytes[..8].copy_from_slice(&start.to_le_bytes());
    bytes[8..16].copy_from_slice(&end.to_le_bytes());
    bytes[head..].copy_from_slice(&data);
    let input: &'static mut AlignedMemory<HOST_ALIGN> = Box::leak(Box::new(input));

    let regions = vec![
        executable.get_ro_region(),
        MemoryRegion::new(&mut *stack, MM_STACK_START),
        MemoryRegion::new(&mut *heap, MM_HEAP_START),
        MemoryRegion::new(&mut *input, MM_INPUT_START),
    ];
    // SAFETY: the memory of the regions is never freed.
    let mapping = unsafe { MemoryMapping::new(regions, config, version) }.map_err(|e| text(&e))?;
    let meter: &'static mut Meter = Box::leak(Box::new(Meter { remaining: u64::MAX, mapping }));
    let mut vm = EbpfVm::new(loader, version, meter, stack_len);
    let mut frames = vec![CallFrame::default(); config.max_call_depth];
    let frame_pointer = vm.registers[10];
    Ok(Box::new(move || {
        vm.context().remaining = 1 << 40;
        vm.registers[1] = base;
        vm.registers[10] = if translated { frame_pointer } else { stack_top };
        let mut mode = ExecutionMode::Jit;
        let (_, result) = vm.execute_program(executable, &mut mode, &mut frames);
        let result: Result<u64, _> = result.into();
        result.map_err(|e| e.to_string())
    }))
}

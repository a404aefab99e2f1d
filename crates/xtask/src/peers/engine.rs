//! Who runs the compute programs: skep's machine code, the same C compiled natively, rbpf's JIT,
//! the host kernel's test run. Each is a function that runs its program some number of times.

#![allow(unsafe_code)]

use super::Kind;
use rbpf::EbpfVmRaw;
use skep_jit::{Linkage, MachineCode, Tuning};
use skep_kernel::bpf::RunInput;
use skep_kernel::run::Loaded;
use skep_verifier::VerifiedProgram;
use std::ffi::CString;
use std::time::Instant;

/// Bytes of input and scratch.
pub(super) const DATA_BYTES: usize = 2048;

/// What a program is given: the layout of skep's XDP context starts like that of the native one.
#[repr(C)]
struct Ctx {
    data: u64,
    data_end: u64,
    data_meta: u64,
    rest: [u64; 8],
}

/// The bytes that all programs work on, the same ones for every engine.
pub(super) struct Data {
    bytes: Vec<u8>,
}

impl Data {
    pub(super) fn new() -> Data {
        let mut bytes = vec![0; DATA_BYTES];
        let mut state = 0x9e37_79b9_7f4a_7c15u64;
        for byte in &mut bytes[..1024] {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            *byte = (state >> 32) as u8;
        }
        packets(&mut bytes);
        Data { bytes }
    }

    fn for_kind(&self, kind: &Kind) -> Data {
        let mut bytes = self.bytes.clone();
        match kind.name {
            "memcmp" => bytes.copy_within(0..500, 512),
            "dfa" => text(&mut bytes),
            _ => {}
        }
        Data { bytes }
    }

    fn ctx(&mut self) -> Ctx {
        let data = self.bytes.as_mut_ptr() as u64;
        Ctx { data, data_end: data + DATA_BYTES as u64, data_meta: data, rest: [0; 8] }
    }
}

/// Headers at each 128 bytes: IPv4 and IPv6, TCP and UDP, some behind a VLAN tag.
fn packets(bytes: &mut [u8]) {
    for (i, packet) in bytes[..1024].chunks_mut(128).enumerate() {
        let mut at = 12;
        if i % 3 == 0 {
            packet[at..at + 2].copy_from_slice(&[0x81, 0x00]);
            at += 4;
        }
        let proto = if i % 2 == 0 { 6 } else { 17 };
        if i % 4 == 1 {
            packet[at..at + 2].copy_from_slice(&[0x86, 0xdd]);
            packet[at + 8] = proto;
        } else {
            packet[at..at + 3].copy_from_slice(&[0x08, 0x00, 0x45]);
            packet[at + 11] = proto;
        }
    }
}

fn text(bytes: &mut [u8]) {
    let text = b"the quick \"brown fox\" jumps over 13 lazy dogs, 7 times; x86 and \"9p\" 2026. ";
    for (byte, from) in bytes[..512].iter_mut().zip(text.iter().cycle()) {
        *byte = *from;
    }
}

/// Runs a program `n` times; the last result and the time, ns a run.
pub(super) type Run<'a> = Box<dyn FnMut(u32) -> Result<(u64, f64), String> + 'a>;

type Entry = unsafe extern "sysv64" fn(*mut u8, *mut skep_jit::RunEnv) -> u64;

fn timed(n: u32, mut run: impl FnMut() -> u64) -> (u64, f64) {
    let started = Instant::now();
    let mut result = 0;
    for _ in 0..n {
        result = run();
    }
    (result, started.elapsed().as_nanos() as f64 / f64::from(n))
}

fn run_entry<'a>(entry: Entry, mut data: Data, keep: impl Sized + 'a) -> Run<'a> {
    Box::new(move |n| {
        let _keep = &keep;
        let mut ctx = data.ctx();
        let ctx = (&raw mut ctx).cast();
        // SAFETY: `entry` is a program of this benchmark, which stays inside the data of its
        // context (skep's was verified, the others are the same source).
        Ok(timed(n, || unsafe { entry(ctx, std::ptr::null_mut()) }))
    })
}

/// skep's machine code.
pub(super) fn skep<'a>(
    kind: &Kind,
    verified: &VerifiedProgram,
    tuning: &Tuning,
    data: &Data,
) -> Result<Run<'a>, String> {
    let xlated = verified.xlated().map_err(|e| e.to_string())?;
    let code = skep_jit::compile(xlated, &Linkage::default(), tuning).map_err(|e| e.to_string())?;
    let code: Box<MachineCode> = Box::new(code);
    // SAFETY: the program was verified; `run_entry` keeps the code and gives it its context.
    let entry = unsafe { code.entry() };
    Ok(run_entry(entry, data.for_kind(kind), code))
}

/// A shared library that `clang -O2` made of the same source.
pub(super) fn native<'a>(kind: &Kind, library: &str, data: &Data) -> Result<Run<'a>, String> {
    let path = CString::new(library).map_err(|e| e.to_string())?;
    let symbol = CString::new(kind.symbol).map_err(|e| e.to_string())?;
    // SAFETY: the library is one of ours without initialisers; it stays open.
    let address = unsafe {
        let handle = libc::dlopen(path.as_ptr(), libc::RTLD_NOW);
        if handle.is_null() {
            return Err(format!("{library}: cannot be opened"));
        }
        libc::dlsym(handle, symbol.as_ptr())
    };
    if address.is_null() {
        return Err(format!("{library}: no {}", kind.symbol));
    }
    // SAFETY: the symbol is a function of one pointer; the second argument is ignored.
    let entry = unsafe { std::mem::transmute::<*mut libc::c_void, Entry>(address) };
    Ok(run_entry(entry, data.for_kind(kind), ()))
}

/// rbpf's JIT, on bytecode whose context has pointers of 64 bits.
pub(super) fn rbpf<'a>(kind: &Kind, code: &'a [u8], data: &Data) -> Result<Run<'a>, String> {
    let compile = || {
        let mut vm = EbpfVmRaw::new(Some(code)).map_err(|e| e.to_string())?;
        vm.jit_compile().map_err(|e| e.to_string())?;
        Ok::<_, String>(vm)
    };
    // It panics on long programs, whose code is longer than it thinks.
    let vm = skep::contain_panic(compile)??;
    let mut data = data.for_kind(kind);
    Ok(Box::new(move |n| {
        let mut ctx = data.ctx();
        // SAFETY: the bytes of a plain struct of integers.
        let bytes = unsafe {
            std::slice::from_raw_parts_mut((&raw mut ctx).cast::<u8>(), size_of::<Ctx>())
        };
        let vm = &vm;
        // SAFETY: the program stays inside its data, as the verifier found of the same source.
        let mut run = || unsafe { vm.execute_program_jit(bytes) }.unwrap_or(u64::MAX);
        Ok(timed(n, &mut run))
    }))
}

/// The host kernel's test run, by its own clock.
pub(super) fn kernel<'a>(kind: &Kind, loaded: Loaded, data: &Data) -> Run<'a> {
    let data = data.for_kind(kind);
    Box::new(move |n| {
        let input = RunInput { data: &data.bytes, repeat: n, ..RunInput::default() };
        let run = loaded.run(&input).map_err(|e| e.to_string())?;
        // Whole nanoseconds are too coarse for the shortest programs; nothing better is told.
        Ok((u64::from(run.retval), f64::from(run.duration_ns)))
    })
}

//! Machine code called as a function: skep's, and clang's for the same source.
//!
//! # Invariants
//! 1. A function that is called here is a compute program: it stays inside the data of its context
//!    (skep's was verified, native code is the same source) and reads nothing else of its
//!    arguments; or it is of `maps.native.c`, whose functions look at no argument.
//! 2. The holder of an entry holds its code: a [`MachineCode`], or a library that is never closed.

#![allow(unsafe_code)]

use super::data::DATA_BYTES;
use super::engines::{PLACES, Runner, in_turn};
use super::{Kind, data_of};
use skep_cli::Error;
use skep_interp::Hits;
use skep_jit::coverage::{Coverage, Plan};
use skep_jit::{Linkage, MapLink, RunEnv, Tuning};
use skep_mem::PAGE_BYTES;
use skep_program::MapDef;
use skep_runtime::{Instance, placed_code};
use skep_text::MachineCode;
use skep_uapi::MapType;
use skep_verifier::{VerifiedProgram, Xlated};
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// Context of a program: skep's XDP context begins like that of the native one.
#[repr(C)]
struct Ctx {
    data: u64,
    data_end: u64,
    data_meta: u64,
    rest: [u64; 8],
}

type Entry = unsafe extern "C" fn(*mut u8, *mut RunEnv) -> u64;

/// Distance from the stack of the call to the data, within a page: more than the call's frame.
/// Addresses with the same offset in a page may conflict in the caches.
const AWAY: usize = 512;
/// Maximum number of CPUs, as the library counts them.
const CPUS_MAX: u32 = skep_runtime::THREADS_MAX as u32;

/// A place for the data at a constant distance from the stack, modulo the page size: otherwise the
/// same program may take twice the time.
fn place(bytes: &[u8], stack: usize) -> (Vec<u8>, usize) {
    let mut room = vec![0; bytes.len() + PAGE_BYTES];
    let wanted = stack.wrapping_add(AWAY).wrapping_sub(room.as_ptr() as usize) % PAGE_BYTES;
    room[wanted..wanted + bytes.len()].copy_from_slice(bytes);
    (room, wanted)
}

fn runner<'a>(entry: Entry, data: Vec<u8>, keep: impl Sized + 'a) -> Runner<'a> {
    debug_assert_eq!(data.len(), DATA_BYTES);
    let mut placed: Option<(Vec<u8>, usize)> = None;
    Box::new(move |runs| {
        let _keep = &keep;
        let stack = &raw const runs as usize;
        let (room, at) = placed.get_or_insert_with(|| place(&data, stack));
        let start = room[*at..*at + DATA_BYTES].as_mut_ptr() as u64;
        let end = start + DATA_BYTES as u64;
        let mut ctx = Ctx { data: start, data_end: end, data_meta: start, rest: [0; 8] };
        let ctx = (&raw mut ctx).cast();
        let mut env = RunEnv { fuel: i64::MAX.into(), ..RunEnv::default() };
        let mut result = 0;
        let started = Instant::now();
        for _ in 0..runs {
            // SAFETY: the context, its data and the environment (used by programs with fuel only)
            // live; so does the code (2), which is a program (1).
            result = unsafe { entry(ctx, &raw mut env) };
        }
        Ok((result, started.elapsed().as_nanos() as f64 / f64::from(runs)))
    })
}

/// The global variables of a program: arrays of one value.
pub(super) struct Globals {
    pub(super) linkage: Linkage,
    _values: Vec<Box<[u64]>>,
    /// Of code with coverage counters.
    hits: Option<Hits>,
}

impl Globals {
    /// # Errors
    ///
    /// A map is not such an array.
    pub(super) fn new(maps: &[MapDef]) -> Result<Globals, Error> {
        let (mut linkage, mut values) = (Linkage::default(), Vec::new());
        for map in maps {
            if map.map_type != MapType::Array || map.max_entries != 1 {
                return Err(format!("{}: not a section of global variables", map.name).into());
            }
            let mut value = vec![0u64; map.value_size.div_ceil(8) as usize].into_boxed_slice();
            for (word, bytes) in value.iter_mut().zip(map.contents.chunks(8)) {
                let mut whole = [0; 8];
                whole[..bytes.len()].copy_from_slice(bytes);
                *word = u64::from_ne_bytes(whole);
            }
            let address = value.as_mut_ptr() as u64;
            linkage.maps.push(MapLink { handle: 1, values: address, ..MapLink::default() });
            values.push(value);
        }
        Ok(Globals { linkage, _values: values, hits: None })
    }
}

/// skep's machine code, at several addresses in turn.
///
/// # Errors
///
/// The compiler's.
pub fn skep<'a>(
    kind: &Kind,
    verified: &VerifiedProgram,
    maps: &[MapDef],
    tuning: &Tuning,
) -> Result<Runner<'a>, Error> {
    let xlated = verified.insns_to_run().map_err(|e| e.to_string())?;
    let copy = |_| placed(kind, xlated, Globals::new(maps)?, tuning);
    Ok(in_turn((0..PLACES).map(copy).collect::<Result<_, Error>>()?))
}

/// The same with coverage counters.
///
/// # Errors
///
/// The compiler's.
pub fn counting<'a>(
    kind: &Kind,
    verified: &VerifiedProgram,
    maps: &[MapDef],
    tuning: &Tuning,
) -> Result<Runner<'a>, Error> {
    let xlated = verified.insns_to_run().map_err(|e| e.to_string())?;
    let plan = Arc::new(Plan::new(xlated, tuning.fuel));
    let copy = |_| {
        let mut globals = Globals::new(maps)?;
        let hits = Hits::new(CPUS_MAX, plan.counters()).ok_or("no memory")?;
        let (address, stride_bytes) = (hits.address(), hits.stride_bytes() as u32);
        let plan = Arc::clone(&plan);
        globals.linkage.coverage = Some(Coverage {
            plan,
            address,
            stride_bytes,
            cpu_word: skep_mem::thread_word::cpu_offset(),
        });
        globals.hits = Some(hits);
        placed(kind, xlated, globals, tuning)
    };
    Ok(in_turn((0..PLACES).map(copy).collect::<Result<_, Error>>()?))
}

/// One copy of a program.
fn placed<'a>(
    kind: &Kind,
    xlated: &Xlated,
    globals: Globals,
    tuning: &Tuning,
) -> Result<Runner<'a>, Error> {
    let code = skep_text::compile(xlated, &globals.linkage, tuning);
    let code: Box<MachineCode> = Box::new(code.map_err(Error::caused)?);
    // SAFETY: the program was verified; the runner keeps the code and its globals (2), and gives
    // it its context.
    let entry = unsafe { code.entry() };
    Ok(runner(entry, data_of(kind), (code, globals)))
}

/// The machine code of an instance, without the library's work around a run. A thread that has run
/// a program through the library uses its own counters, otherwise those of the first thread that
/// did.
///
/// # Errors
///
/// It is interpreted.
pub fn entered<'a>(kind: &Kind, instance: &Instance) -> Result<Runner<'a>, Error> {
    let instance = instance.clone();
    let code = placed_code(&instance).ok_or("interpreted")?;
    // SAFETY: the program was verified; the runner keeps the instance and so the code (2).
    let entry = unsafe { code.entry() };
    Ok(runner(entry, data_of(kind), instance))
}

/// A shared library that clang built from the same source.
///
/// # Errors
///
/// It cannot be opened, or has no such function.
pub fn native<'a>(kind: &Kind, library: &Path) -> Result<Runner<'a>, Error> {
    let path = CString::new(library.as_os_str().as_bytes()).map_err(Error::caused)?;
    let symbol = CString::new(kind.symbol).map_err(Error::caused)?;
    // SAFETY: the library is ours, without initialisers; it stays open (2).
    let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW) };
    if handle.is_null() {
        return Err(format!("{}: cannot be opened", library.display()).into());
    }
    // SAFETY: an open library and a string.
    let address = unsafe { libc::dlsym(handle, symbol.as_ptr()) };
    if address.is_null() {
        return Err(format!("{}: no {}", library.display(), kind.symbol).into());
    }
    // SAFETY: the symbol is a function of one pointer (1); the second argument is ignored.
    let entry = unsafe { std::mem::transmute::<*mut libc::c_void, Entry>(address) };
    Ok(runner(entry, data_of(kind), ()))
}

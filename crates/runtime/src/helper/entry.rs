//! Entry points of helpers, for machine code and for the interpreter.

#![allow(unsafe_code)]

use super::call::call_machine_code;
use crate::current::Frames;
use crate::map::Map;
use crate::processor::knowing_its_caller;
use crate::run::{Call, Func, ret};
use crate::{current, run};
use skep_interp::{Fault, Vm};
use skep_mem::Mem;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What machine code calls.
pub(crate) type Entry = unsafe extern "C" fn(u64, u64, u64, u64, u64) -> u64;

/// What a helper does.
#[derive(Clone, Copy)]
pub(crate) enum Body {
    /// It only uses its arguments.
    Plain(fn(&Call) -> u64),
    /// A helper that calls functions of the program.
    Calling(fn(&Call, &mut dyn Callbacks) -> u64),
}

/// The functions of the running program.
pub(crate) trait Callbacks {
    /// Calls one of them; `None` if the run must stop.
    fn call(&mut self, func: Func, args: [u64; 5]) -> Option<u64>;
}

/// Functions that were compiled.
struct MachineCallbacks;

impl Callbacks for MachineCallbacks {
    fn call(&mut self, func: Func, args: [u64; 5]) -> Option<u64> {
        current::with(|current| {
            let env = current.env();
            if !run::spend(env) {
                return None;
            }
            let call = |frames: &Frames| {
                // SAFETY: the calling program passes the function to the helper, which passes the
                // arguments that its prototype specifies for the callback.
                unsafe { call_machine_code(func, args, env, frames) }
            };
            let Some(r0) = current.call_back(call) else {
                run::stop(env);
                return None;
            };
            (!run::is_stopped(env)).then_some(r0)
        })?
    }
}

/// Functions that are interpreted.
struct InterpretedCallbacks<'a, 'b> {
    vm: &'a mut Vm<'b>,
    fault: Option<Fault>,
}

impl Callbacks for InterpretedCallbacks<'_, '_> {
    fn call(&mut self, func: Func, args: [u64; 5]) -> Option<u64> {
        match self.vm.callback(func.addr(), args) {
            Ok(r0) => Some(r0),
            Err(fault) => {
                self.fault = Some(fault);
                None
            }
        }
    }
}

/// Calls a helper or kfunc for an interpreted program.
pub(crate) fn call_interpreted(body: &Body, vm: &mut Vm<'_>, args: [u64; 5]) -> Result<u64, Fault> {
    // SAFETY: the program was verified, and interpreted programs use the same addresses as compiled
    // ones.
    let call = unsafe { Call::new(args) };
    match *body {
        Body::Plain(body) => Ok(guarded(|| body(&call))),
        Body::Calling(body) => {
            let mut callbacks = InterpretedCallbacks { vm, fault: None };
            let r0 = guarded(|| body(&call, &mut callbacks));
            callbacks.fault.map_or(Ok(r0), Err)
        }
    }
}

/// Runs a helper; a panic is recorded in the run, and the result is 0.
#[inline]
fn guarded(body: impl FnOnce() -> u64) -> u64 {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(r0) => r0,
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
            note(text.unwrap_or("without a message"));
            0
        }
    }
}

#[cold]
fn note(text: &str) {
    current::with(|current| {
        if let Ok(mut failure) = current.ctx.effects.failure.try_borrow_mut() {
            *failure = Some(format!("panic in a helper: {text}"));
        }
    });
}

/// Releases what the thread's run has acquired and can no longer release itself.
#[cold]
pub(crate) fn release_held() {
    let held = current::with(|current| current.ctx.effects.held.take()).unwrap_or_default();
    for (what, release) in held.into_iter().rev() {
        // SAFETY: the run acquired it through a helper, still holds it, and has not been left yet:
        // the map or object is alive.
        let call = unsafe { Call::new([what, 0, 0, 0, 0]) };
        guarded(|| release(&call));
    }
}

/// The word in a slot of a prog array, 0 if it is empty: `skep_jit::Linkage::tail_call_lookup`.
pub(super) unsafe extern "C" fn tail_call_lookup(map: u64, index: u32) -> u64 {
    // SAFETY: machine code of a verified program passes the handle of a prog array.
    let map = unsafe { &*(map as *const Map) };
    guarded(|| map.prog_array().map_or(0, |array| array.word(index)))
}

// The bytes at an address, or 0 if the run cannot read them: `skep_jit::Linkage::probe`.
knowing_its_caller!(pub(super) probe[](addr: u64, bytes: u32), "rdx", probe_at);

unsafe extern "C" fn probe_at(addr: u64, bytes: u32, stack_pointer: u64) -> u64 {
    current::called_at(stack_pointer);
    guarded(|| super::probe::load(addr, bytes as usize))
}

/// `bpf_map_lookup_elem` of a hash map whose keys have `N` bytes: `skep_jit::MapLink::lookup`.
unsafe extern "C" fn hash_lookup<const N: usize>(map: u64, key: u64) -> u64 {
    // SAFETY: machine code of a verified program passes the map's handle and a key of its size.
    let (map, key) = unsafe { (&*(map as *const Map), Mem::new(key, N)) };
    guarded(|| map.hash().map_or(0, |hash| hash.find_value(&key.array::<N>())))
}

/// `bpf_map_update_elem` of a hash map whose keys have `K` and whose values have `V` bytes:
/// `skep_jit::MapLink::update`.
unsafe extern "C" fn hash_update<const K: usize, const V: usize>(
    map: u64,
    key: u64,
    value: u64,
    flags: u64,
) -> u64 {
    // SAFETY: as above, and a value of the map's size.
    let (map, key, value) =
        unsafe { (&*(map as *const Map), Mem::new(key, K), Mem::new(value, V)) };
    guarded(|| {
        let Some(hash) = map.hash() else { return 0 };
        ret(hash.update_entry(&key.array::<K>(), &value.array::<V>(), flags))
    })
}

/// The function to call instead of `bpf_map_update_elem`, 0 if there is no better one.
pub(crate) fn direct_update(map: &Map) -> u64 {
    match (map.hash(), map.shape().key_size, map.shape().value_size) {
        (Some(_), 4, 4) => hash_update::<4, 4> as *const () as u64,
        (Some(_), 4, 8) => hash_update::<4, 8> as *const () as u64,
        (Some(_), 8, 4) => hash_update::<8, 4> as *const () as u64,
        (Some(_), 8, 8) => hash_update::<8, 8> as *const () as u64,
        _ => 0,
    }
}

/// The function to call instead of `bpf_map_lookup_elem`, 0 if there is no better one.
pub(crate) fn direct_lookup(map: &Map) -> u64 {
    match (map.hash(), map.shape().key_size) {
        (Some(_), 4) => hash_lookup::<4> as *const () as u64,
        (Some(_), 8) => hash_lookup::<8> as *const () as u64,
        (Some(_), 16) => hash_lookup::<16> as *const () as u64,
        _ => 0,
    }
}

/// A function of the runtime, by its type, which has no data: each is another type.
pub(super) trait Item: Copy + Send + 'static {
    /// The function.
    ///
    /// # Safety
    ///
    /// There has been a value of this type.
    unsafe fn get() -> Self {
        const { assert!(size_of::<Self>() == 0) };
        // SAFETY: a copy of that value, which has no bytes.
        unsafe { std::mem::zeroed() }
    }
}

impl<F: Copy + Send + 'static> Item for F {}

/// What machine code calls for a helper.
pub(super) const fn plain<F: Item + Fn(&Call) -> u64>(_: F) -> Entry {
    plain_entry::<F>
}

unsafe extern "C" fn plain_entry<F: Item + Fn(&Call) -> u64>(
    r1: u64,
    r2: u64,
    r3: u64,
    r4: u64,
    r5: u64,
) -> u64 {
    // SAFETY: machine code of a verified program calls the helper that it names, whose function
    // `plain` was passed.
    let (call, body) = unsafe { (Call::new([r1, r2, r3, r4, r5]), F::get()) };
    guarded(|| body(&call))
}

/// The same for one that looks at the run's frames: it is told the address where these end.
pub(super) const fn probing<F: Item + Fn(&Call) -> u64>(_: F) -> Entry {
    probing_entry::<F>
}

knowing_its_caller!(
    probing_entry[F: Item + Fn(&Call) -> u64](r1: u64, r2: u64, r3: u64, r4: u64, r5: u64),
    "r9",
    probing_body::<F>
);

unsafe extern "C" fn probing_body<F: Item + Fn(&Call) -> u64>(
    r1: u64,
    r2: u64,
    r3: u64,
    r4: u64,
    r5: u64,
    stack_pointer: u64,
) -> u64 {
    current::called_at(stack_pointer);
    // SAFETY: machine code of a verified program calls the helper that it names, whose function
    // `probing` was passed.
    let (call, body) = unsafe { (Call::new([r1, r2, r3, r4, r5]), F::get()) };
    guarded(|| body(&call))
}

/// The same for one that calls functions of the program.
pub(super) const fn calling<F: Item + Fn(&Call, &mut dyn Callbacks) -> u64>(_: F) -> Entry {
    calling_entry::<F>
}

knowing_its_caller!(
    calling_entry[F: Item + Fn(&Call, &mut dyn Callbacks) -> u64](
        r1: u64, r2: u64, r3: u64, r4: u64, r5: u64
    ),
    "r9",
    calling_body::<F>
);

unsafe extern "C" fn calling_body<F: Item + Fn(&Call, &mut dyn Callbacks) -> u64>(
    r1: u64,
    r2: u64,
    r3: u64,
    r4: u64,
    r5: u64,
    stack_pointer: u64,
) -> u64 {
    current::called_at(stack_pointer);
    // SAFETY: machine code of a verified program calls the helper that it names, whose function
    // `calling` was passed.
    let (call, body) = unsafe { (Call::new([r1, r2, r3, r4, r5]), F::get()) };
    guarded(|| body(&call, &mut MachineCallbacks))
}

/// The two entry points of a helper.
macro_rules! entry {
    (plain $f:path) => {
        ($crate::helper::entry::Body::Plain($f), $crate::helper::entry::plain($f))
    };
    (probing $f:path) => {
        ($crate::helper::entry::Body::Plain($f), $crate::helper::entry::probing($f))
    };
    (calling $f:path) => {
        ($crate::helper::entry::Body::Calling($f), $crate::helper::entry::calling($f))
    };
}

/// Rows of the table of helpers.
macro_rules! helpers {
    ($($id:ident: $how:ident $f:path,)*) => {
        &[$({
            let (body, entry) = $crate::helper::entry::entry!($how $f);
            Helper { number: Id::$id as i32, body, entry }
        },)*]
    };
}

/// Rows of the table of skep's own helpers.
macro_rules! own_helpers {
    ($($id:ident: $how:ident $f:path,)*) => {
        &[$({
            let (body, entry) = $crate::helper::entry::entry!($how $f);
            Helper { number: OwnHelper::$id as i32, body, entry }
        },)*]
    };
}

/// Rows of the table of kfuncs.
macro_rules! kfuncs {
    ($($name:ident $prototype:literal: $how:ident $f:path,)*) => {
        &[$({
            let (body, entry) = $crate::helper::entry::entry!($how $f);
            Kfunc { name: stringify!($name), prototype: $prototype, body, entry }
        },)*]
    };
}

pub(super) use {entry, helpers, kfuncs, own_helpers};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ctx::Ctx;
    use crate::current::{Current, RunBy};
    use crate::map::UpdateFlags;
    use crate::runtime::{Options, Runtime};
    use crate::shared::Shared;
    use skep_program::MapDef;
    use skep_uapi::{MapType, ProgType};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

    /// Machine code calls helpers through such functions, which must not unwind.
    #[test]
    fn a_panic_in_a_helper_ends_in_an_error_of_the_run() {
        fn broken(_: &Call) -> u64 {
            let empty: [u8; 0] = [];
            empty.iter().map(|byte| u64::from(*byte)).max().expect("a helper of ours is wrong")
        }
        let (_, entry): (Body, Entry) = entry!(plain broken);
        let ctx = Ctx::raw(ProgType::Syscall, &[0; 8]).unwrap();
        let shared = Arc::new(Shared::new(
            1,
            crate::stats::Clock::Monotonic,
            skep_mem::Budget::new(usize::MAX),
        ));
        let current = Current::new(&ctx, &shared, 0, RunBy::MachineCode(None));
        // SAFETY: the helper uses no argument.
        let r0 = current::enter(&current, || unsafe { entry(0, 0, 0, 0, 0) });
        let failure = ctx.effects.take_failure().unwrap();
        assert_eq!((r0, &*failure), (0, "panic in a helper: a helper of ours is wrong"));
    }

    /// Waiting for a lock can be interrupted on both engines; the run's resources are released.
    #[test]
    fn waiting_for_a_lock_can_be_interrupted() {
        let shared = Arc::new(Shared::new(
            1,
            crate::stats::Clock::Monotonic,
            skep_mem::Budget::new(usize::MAX),
        ));
        for interpreted in [false, true] {
            let ctx = Ctx::raw(ProgType::Syscall, &[0; 8]).unwrap();
            let by = match interpreted {
                true => RunBy::Interpreter,
                false => RunBy::MachineCode(ctx.env.prepare(Some(1000))),
            };
            let current = Current::new(&ctx, &shared, 0, by);
            let lock = AtomicU32::new(1);
            let lock_it = || {
                // SAFETY: a lock.
                let call = unsafe { Call::new([lock.as_ptr() as u64, 0, 0, 0, 0]) };
                crate::helper::sync::spin_lock(&call);
            };
            let interrupter = ctx.interrupter();
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    std::thread::sleep(std::time::Duration::from_millis(20));
                    interrupter.interrupt();
                });
                current::enter(&current, lock_it);
            });
            match interpreted {
                true => assert!(ctx.effects.stopped.take()),
                false => assert_eq!(ctx.env.outcome().unwrap_err().to_string(), "interrupted"),
            }
            // The owner of the lock still holds it.
            current::enter(&current, release_held);
            assert_eq!(lock.swap(0, Relaxed), 1);
            current::enter(&current, lock_it);
            assert_eq!(lock.load(Relaxed), 1);
            current::enter(&current, release_held);
            assert_eq!(lock.load(Relaxed), 0);
        }
    }

    /// The ways around the table's entries, with a map whose memory is broken.
    #[test]
    fn a_panic_in_a_direct_lookup_is_noted_too() {
        let runtime = Runtime::new(Options::default()).unwrap();
        let def = MapDef { map_type: MapType::Hash, max_entries: 1, ..MapDef::default() };
        let def = MapDef { key_size: 4, value_size: 8, ..def };
        let map = runtime.create_map(&def, None).unwrap();
        map.update(&[1; 4], &[0; 8], UpdateFlags::Any).unwrap();
        let value = map.shared().kind().lookup(&[1; 4]);
        // SAFETY: the header of the only element, 16 bytes in front of its key of 8.
        unsafe { (value as *mut u32).byte_sub(24).write(u32::MAX / 2) };
        let (ctx, shared) = (
            Ctx::raw(ProgType::Syscall, &[0; 8]).unwrap(),
            Arc::new(Shared::new(
                1,
                crate::stats::Clock::Monotonic,
                skep_mem::Budget::new(usize::MAX),
            )),
        );
        let current = Current::new(&ctx, &shared, 0, RunBy::MachineCode(None));
        let (handle, mut key) = (Arc::as_ptr(map.shared()) as u64, [2u8; 4]);
        // As for a program, which may write to its keys.
        let key = key.as_mut_ptr() as u64;
        // SAFETY: a map and a key of its size.
        let r0 = current::enter(&current, || unsafe { hash_lookup::<4>(handle, key) });
        let failure = ctx.effects.take_failure().unwrap();
        assert_eq!((r0, failure.starts_with("panic in a helper: ")), (0, true));
    }
}

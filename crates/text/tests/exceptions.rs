//! Exceptions: the frame that catches them, and what is left of the frames above it.

use iced_x86::{Decoder, DecoderOptions, Formatter, IntelFormatter};
use skep_jit::{CpuFeatures, Linkage, Passes, Prologue, RunEnv, Tuning};
use skep_text::{MachineCode, compile};
use skep_uapi::helper::HelperId;
use skep_verifier::{OwnHelper, Xlated};
use std::cell::Cell;

/// A helper of these tests: calls its second argument.
const CALL_BACK: u32 = 1000;

fn xlated(text: &str) -> Xlated {
    let helper = |name: &str| match name {
        "throw" => Some(OwnHelper::Throw as i32 as u32),
        "bpf_tail_call" => Some(HelperId::TailCall.number()),
        "call_back" => Some(CALL_BACK),
        _ => None,
    };
    let assembly = skep_insn::asm::assemble(text, &helper).expect(text);
    Xlated::bare(&assembly.insns).expect(text)
}

fn compiled(text: &str, tuning: &Tuning) -> MachineCode {
    let mut linkage =
        Linkage { tail_call_lookup: lookup as *const () as u64, ..Linkage::default() };
    linkage.helpers.insert(CALL_BACK as i32, call_back as *const () as u64);
    compile(&xlated(text), &linkage, tuning).expect(text)
}

fn run(code: &MachineCode, ctx: u64, env: &mut RunEnv) -> u64 {
    // SAFETY: the programs of these tests do not touch their context.
    unsafe { code.entry()(ctx as *mut u8, env) }
}

fn env(fuel: i64) -> RunEnv {
    RunEnv { fuel: fuel.into(), ..RunEnv::default() }
}

fn tunings() -> Vec<Tuning> {
    let base = Tuning { checked: true, ..Tuning::default() };
    vec![
        base.clone(),
        Tuning { passes: Passes::NONE, ..base.clone() },
        Tuning { prologue: Prologue::Full, ..base.clone() },
        Tuning { fuel: true, ..base.clone() },
        Tuning { cpu: CpuFeatures::default(), fuel: true, passes: Passes::NONE, ..base },
    ]
}

thread_local! {
    static TARGET: Cell<u64> = const { Cell::new(0) };
    static ENV: Cell<*mut RunEnv> = const { Cell::new(std::ptr::null_mut()) };
}

/// What is in each slot of each prog array.
extern "C" fn lookup(_: u64, _: u64) -> u64 {
    TARGET.get()
}

extern "C" fn call_back(cookie: u64, callback: u64) -> u64 {
    type Callback = extern "C" fn(u64, u64, u64, u64, u64, *mut RunEnv) -> u64;
    // SAFETY: the program passes the address of a function of its own.
    let callback = unsafe { std::mem::transmute::<*const (), Callback>(callback as *const ()) };
    callback(cookie, 0, 0, 0, 0, ENV.get())
}

/// Each function uses what its caller keeps in registers and on the stack.
const DEEP: &str = "r6 = r1\n\
     r7 = 1000\n\
     *(u64 *)(r10 - 8) = r7\n\
     r1 = r6\n\
     call one\n\
     r0 += r7\n\
     exit\n\
     one:\n\
     r6 = r1\n\
     r7 = 1\n\
     r8 = 2\n\
     r9 = 3\n\
     *(u64 *)(r10 - 64) = r6\n\
     call two\n\
     r0 += r7\n\
     r0 += r8\n\
     r0 += r9\n\
     exit\n\
     two:\n\
     r6 = 5\n\
     if r1 == 0 goto fine\n\
     r1 += r6\n\
     call throw\n\
     fine:\n\
     r0 = r6\n\
     exit";

#[test]
fn thrown_or_not_the_result_is_that_of_the_program() {
    for tuning in tunings() {
        let code = compiled(DEEP, &tuning);
        let mut env = env(1000);
        for cookie in [0, 1, 1 << 40, u64::MAX] {
            let expected = if cookie == 0 { 1011 } else { cookie.wrapping_add(5) };
            assert_eq!(run(&code, cookie, &mut env), expected, "{tuning:?}");
        }
        assert_eq!(env.throw_sp.into_inner(), 0, "{tuning:?}");
    }
}

/// The text of `len` bytes of code at `off`.
fn listing(code: &MachineCode, off: u32, len: u32) -> String {
    let bytes = code.bytes();
    let bytes = &bytes[off as usize..(off + len) as usize];
    let mut formatter = IntelFormatter::new();
    let mut lines = String::new();
    for insn in Decoder::with_ip(64, bytes, u64::from(off), DecoderOptions::NONE) {
        formatter.format(&insn, &mut lines);
        lines += "\n";
    }
    lines
}

#[track_caller]
fn assert_layout(tuning: &Tuning, enter: &str, unwind: &str, leave: &str) {
    let code = compiled(DEEP, tuning);
    let symbol = |name: &str| code.symbols().iter().find(|symbol| symbol.name == name);
    // The code of the first insn begins with the prologue.
    let (from, to) = code.pc_map().code_of(0).unwrap();
    let prologue = listing(&code, from, to - from);
    assert!(prologue.starts_with(enter), "{prologue}");
    let throw = (0..code.pc_map().len()).filter_map(|insn| code.pc_map().code_of(insn));
    let throw: Vec<String> = throw.map(|(from, to)| listing(&code, from, to - from)).collect();
    assert!(throw.iter().any(|text| text.starts_with(unwind)), "{throw:?}");
    let landing = symbol("exception").unwrap();
    let landing = listing(&code, landing.off, landing.len);
    assert!(landing.starts_with("call "), "{landing}");
    assert_eq!(landing.split_once('\n').unwrap().1, leave);
}

/// The main program saves what its callees may have changed, though it uses two of them, and keeps
/// its frame's place in `rbp`, or in the environment where `rbp` is that.
#[test]
fn the_frame_that_catches() {
    let base = Tuning { sites: false, passes: Passes::NONE, ..Tuning::default() };
    let enter = "push rbp\npush rbx\npush r12\npush r13\npush r14\npush r15\nadd rsp,0FFFFFFFFFFFFFDF8h\n\
         mov rbp,rsp\n";
    let leave = "add rsp,208h\npop r15\npop r14\npop r13\npop r12\npop rbx\npop rbp\nret\n";
    assert_layout(&base, enter, "mov rsp,rbp\njmp ", leave);
    let enter = "push rbx\npush r13\npush r14\npush r15\npush qword ptr [rbp+18h]\n\
         add rsp,0FFFFFFFFFFFFFE00h\nmov [rbp+18h],rsp\n";
    let leave = "add rsp,200h\npop qword ptr [rbp+18h]\npop r15\npop r14\npop r13\npop rbx\nret\n";
    let fuel = Tuning { fuel: true, ..base };
    assert_layout(&fuel, enter, "mov rsp,[rbp+18h]\njmp ", leave);
}

/// `r12` counts tail calls: who throws does not put back what was counted.
#[test]
fn tail_calls_stay_counted() {
    let text = "r6 = r1\n\
         call chain\n\
         r1 = r0\n\
         call throw\n\
         exit\n\
         chain:\n\
         r2 = 0\n\
         r3 = 0\n\
         call bpf_tail_call\n\
         r0 = 77\n\
         exit";
    for tuning in tunings() {
        let code = compiled(text, &tuning);
        TARGET.set(code.tail_entry());
        let mut env = env(1000);
        assert_eq!(run(&code, 0, &mut env), 77, "{tuning:?}");
    }
    let code = compiled(text, &Tuning::default());
    let (from, to) = code.pc_map().code_of(0).unwrap();
    assert!(!listing(&code, from, to - from).contains("r12"));
}

/// A run out of fuel abandons, in a callback, a frame that would have caught; the program around it
/// has its own again.
#[test]
fn a_stop_in_a_callback_puts_the_catching_frame_back() {
    let outer = "r6 = r1\n\
         r2 = func[back]\n\
         call call_back\n\
         r1 = r6\n\
         call throw\n\
         exit\n\
         back:\n\
         r2 = 0\n\
         r3 = 0\n\
         call bpf_tail_call\n\
         r0 = 5\n\
         exit";
    let inner = "r6 = 0\n\
         again:\n\
         r6 += 1\n\
         if r6 != 0 goto again\n\
         r1 = 9\n\
         call throw\n\
         exit";
    let tuning = Tuning { fuel: true, ..Tuning::default() };
    let (outer, inner) = (compiled(outer, &tuning), compiled(inner, &tuning));
    TARGET.set(inner.tail_entry());
    let mut env = env(50);
    ENV.set(&raw mut env);
    // Which stops where the helper returns, before it throws.
    assert_eq!(run(&outer, 123, &mut env), 1);
    assert_eq!((env.stopped.into_inner(), env.throw_sp.into_inner()), (1, 0));
}

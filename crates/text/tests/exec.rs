//! Bare bytecode: what each group of the ISA gives for edge values, on several kinds of processor
//! and with each prologue. Expected values are the RFC's arithmetic, written out.

use skep_jit::{CpuFeatures, Linkage, Passes, Prologue, RunEnv, Tuning};
use skep_text::compile;
use skep_verifier::Xlated;

type Compare<T> = fn(T, T) -> bool;
type Combine = fn(u64, u64) -> u64;

/// Choices that must not change a result.
fn tunings() -> Vec<Tuning> {
    let plain = CpuFeatures::default();
    let base = Tuning { checked: true, ..Tuning::default() };
    vec![
        base.clone(),
        Tuning { passes: Passes::NONE, ..base.clone() },
        Tuning { cpu: plain, ..base.clone() },
        Tuning { prologue: Prologue::Full, sites: true, ..base.clone() },
        Tuning { fuel: true, ..base.clone() },
        Tuning { cpu: plain, passes: Passes::NONE, prologue: Prologue::Full, ..base },
    ]
}

fn xlated(text: &str) -> Xlated {
    let assembly = skep_insn::asm::assemble(text, &|_| None).expect(text);
    Xlated::bare(&assembly.insns).expect(text)
}

/// Runs a program on 64 bytes of context, with which it may do as it likes; r0 and the context.
fn run_with(text: &str, linkage: &Linkage, tuning: &Tuning) -> (u64, [u8; 64]) {
    let code = compile(&xlated(text), linkage, tuning).expect(text);
    let mut ctx = std::array::from_fn(|i| (i as u8).wrapping_mul(37) ^ 0x80);
    let mut env = RunEnv { fuel: (1 << 20).into(), ..RunEnv::default() };
    // SAFETY: each program here stays inside its context and its stack.
    let r0 = unsafe { code.entry()(ctx.as_mut_ptr(), &mut env) };
    assert_eq!(env.stopped.into_inner(), 0);
    (r0, ctx)
}

#[track_caller]
fn gives(text: &str, expected: u64) {
    for tuning in tunings() {
        let (r0, _) = run_with(text, &Linkage::default(), &tuning);
        assert_eq!(r0, expected, "{r0:#x} instead of {expected:#x}: {text}\n{tuning:?}");
    }
}

#[track_caller]
fn rows(rows: &[(&str, u64)]) {
    for (text, expected) in rows {
        gives(&format!("{text}\nexit"), *expected);
    }
}

#[test]
fn moves() {
    rows(&[
        ("r0 = -1", u64::MAX),
        ("w0 = -1", 0xffff_ffff),
        ("r0 = 0", 0),
        ("r0 = 0x123456789abcdef0 ll", 0x1234_5678_9abc_def0),
        ("r0 = 0xffffffff80000000 ll", 0xffff_ffff_8000_0000),
        ("r1 = -2\nw0 = w1", 0xffff_fffe),
        ("r1 = 0x80\nr0 = (s8)r1", 0xffff_ffff_ffff_ff80),
        ("r1 = 0x8000\nr0 = (s16)r1", 0xffff_ffff_ffff_8000),
        ("w1 = -2147483648\nr0 = (s32)r1", 0xffff_ffff_8000_0000),
        ("r1 = 0x80\nw0 = (s8)w1", 0xffff_ff80),
        ("r1 = 0x18000\nw0 = (s16)w1", 0xffff_8000),
    ]);
}

#[test]
fn arithmetic() {
    rows(&[
        ("r0 = -1\nr0 += 1", 0),
        ("r0 = -1\nw0 += 1", 0),
        ("r0 = -1\nw0 += 0", 0xffff_ffff),
        ("r0 = 0\nr0 -= 2147483647", 0u64.wrapping_sub(0x7fff_ffff)),
        ("r0 = 0\nw0 -= 1", 0xffff_ffff),
        ("r0 = -3\nr0 *= 5", (-15i64) as u64),
        ("r0 = -3\nw0 *= 1000", (-3000i32) as u32 as u64),
        ("r0 = 0xff\nr0 |= -256", u64::MAX),
        ("r0 = 0x123456789abcdef0 ll\nw0 &= -16", 0x9abc_def0),
        ("r0 = 0x123456789abcdef0 ll\nr0 &= -16", 0x1234_5678_9abc_def0),
        ("r0 = 0x123456789abcdef0 ll\nr0 ^= -1", !0x1234_5678_9abc_def0),
        ("r0 = 1\nr0 = -r0", u64::MAX),
        ("r0 = 1\nw0 = -w0", 0xffff_ffff),
        ("r8 = 7\nr9 = r8\nr9 *= r8\nr0 = r9", 49),
    ]);
}

#[test]
fn shifts() {
    for (by, bits) in [(0u32, 64u32), (1, 64), (31, 64), (32, 64), (63, 64), (64, 64), (65, 64)] {
        let value = 0x8123_4567_89ab_cdefu64;
        let m = by % bits;
        for (reg, r1) in [("r1", "r1"), ("r4", "r4"), ("r3", "r2")] {
            let start =
                |op: &str| format!("{reg} = 0\nr0 = {value} ll\n{r1} = {by}\nr0 {op} {r1}\nexit");
            gives(&start("<<="), value << m);
            gives(&start(">>="), value >> m);
            gives(&start("s>>="), ((value as i64) >> m) as u64);
        }
        let low = value as u32;
        let m = by % 32;
        let start = |op: &str, dst: u32, src: u32| {
            format!("r{dst} = {value} ll\nr{src} = {by}\nw{dst} {op} w{src}\nw0 = w{dst}\nexit")
        };
        for (dst, src) in [(4, 1), (1, 4), (0, 4), (6, 7), (2, 3)] {
            gives(&start("<<=", dst, src), u64::from(low << m));
            gives(&start(">>=", dst, src), u64::from(low >> m));
            gives(&start("s>>=", dst, src), u64::from(((low as i32) >> m) as u32));
        }
    }
    rows(&[
        ("r0 = -1\nw0 <<= 0", 0xffff_ffff),
        ("r0 = -1\nw0 >>= 0", 0xffff_ffff),
        ("r0 = -1\nr0 >>= 63", 1),
        ("r0 = -8\nr0 s>>= 2", (-2i64) as u64),
        ("r0 = -8\nw0 s>>= 2", 0xffff_fffe),
        ("r4 = 3\nr4 <<= r4\nr0 = r4", 24),
        ("r1 = -1\nr4 = 0\nw1 <<= w4\nr0 = r1", 0xffff_ffff),
    ]);
}

#[test]
fn divisions() {
    let signed = [0i64, 1, -1, 7, -7, i64::MAX, i64::MIN, 1 << 32, -(1 << 31)];
    for a in signed {
        for b in signed {
            let quotient = if b == 0 { 0 } else { a.wrapping_div(b) as u64 };
            let rest = if b == 0 { a } else { a.wrapping_rem(b) } as u64;
            let (ua, ub) = (a as u64, b as u64);
            let (a32, b32) = (a as i32, b as i32);
            let quotient32 = if b32 == 0 { 0 } else { a32.wrapping_div(b32) } as u32;
            let rest32 = if b32 == 0 { a32 } else { a32.wrapping_rem(b32) } as u32;
            let (ua32, ub32) = (a as u32, b as u32);
            let cases = [
                ("r", "s/=", quotient),
                ("r", "s%=", rest),
                ("r", "/=", ua.checked_div(ub).unwrap_or(0)),
                ("r", "%=", ua.checked_rem(ub).unwrap_or(ua)),
                ("w", "s/=", u64::from(quotient32)),
                ("w", "s%=", u64::from(rest32)),
                ("w", "/=", u64::from(ua32.checked_div(ub32).unwrap_or(0))),
                ("w", "%=", u64::from(ua32.checked_rem(ub32).unwrap_or(ua32))),
            ];
            for (class, op, expected) in cases {
                for (dst, src) in [(0, 3), (3, 0), (6, 1), (1, 4), (2, 7)] {
                    gives(
                        &format!(
                            "r{dst} = {ua} ll\nr{src} = {ub} ll\n{class}{dst} {op} {class}{src}
                             r0 = r{dst}\nexit"
                        ),
                        expected,
                    );
                }
            }
        }
    }
}

#[test]
fn divisions_by_constants_keep_other_registers() {
    for by in [1i32, 2, 3, 5, 7, 10, 16, 641, 1000, 65535, i32::MAX, -1, -2, -7, i32::MIN] {
        for a in [0u64, 1, 9, 10, 0xffff_ffff, 0x8000_0000, u64::MAX, 1 << 63, 0x1234_5678_9abc] {
            let wide = i64::from(by) as u64;
            let text = |op: &str, class: &str| {
                format!(
                    "r0 = 3\nr3 = 5\nr6 = {a} ll\n{class}6 {op} {by}\nr3 += r0\nr6 += r3\nr0 = r6
                     exit"
                )
            };
            let plus = |value: u64| value.wrapping_add(8);
            gives(&text("/=", "r"), plus(a / wide));
            gives(&text("%=", "r"), plus(a % wide));
            gives(&text("/=", "w"), plus(u64::from(a as u32 / by as u32)));
            gives(&text("%=", "w"), plus(u64::from(a as u32 % by as u32)));
            gives(&text("s/=", "r"), plus((a as i64).wrapping_div(i64::from(by)) as u64));
            gives(&text("s%=", "w"), plus(u64::from((a as i32).wrapping_rem(by) as u32)));
        }
    }
}

#[test]
fn byte_order() {
    rows(&[
        ("r0 = 0x123456789abcdef0 ll\nr0 = be16 r0", 0xf0de),
        ("r0 = 0x123456789abcdef0 ll\nr0 = be32 r0", 0xf0de_bc9a),
        ("r0 = 0x123456789abcdef0 ll\nr0 = be64 r0", 0xf0de_bc9a_7856_3412),
        ("r0 = 0x123456789abcdef0 ll\nr0 = le16 r0", 0xdef0),
        ("r0 = 0x123456789abcdef0 ll\nr0 = le32 r0", 0x9abc_def0),
        ("r0 = 0x123456789abcdef0 ll\nr0 = le64 r0", 0x1234_5678_9abc_def0),
        ("r8 = 0x123456789abcdef0 ll\nr8 = bswap16 r8\nr0 = r8", 0xf0de),
        ("r8 = 0x123456789abcdef0 ll\nr8 = bswap32 r8\nr0 = r8", 0xf0de_bc9a),
        ("r8 = 0x123456789abcdef0 ll\nr8 = bswap64 r8\nr0 = r8", 0xf0de_bc9a_7856_3412),
    ]);
}

#[test]
fn jumps() {
    let values = [0i64, 1, -1, i64::MAX, i64::MIN, 0x8000_0000, -0x8000_0000, 0x1_0000_0000];
    let conds: [(&str, Compare<i64>, Compare<i32>); 11] = [
        ("==", |a, b| a == b, |a, b| a == b),
        ("!=", |a, b| a != b, |a, b| a != b),
        (">", |a, b| a as u64 > b as u64, |a, b| a as u32 > b as u32),
        (">=", |a, b| a as u64 >= b as u64, |a, b| a as u32 >= b as u32),
        ("<", |a, b| (a as u64) < b as u64, |a, b| (a as u32) < b as u32),
        ("<=", |a, b| a as u64 <= b as u64, |a, b| a as u32 <= b as u32),
        ("s>", |a, b| a > b, |a, b| a > b),
        ("s>=", |a, b| a >= b, |a, b| a >= b),
        ("s<", |a, b| a < b, |a, b| a < b),
        ("s<=", |a, b| a <= b, |a, b| a <= b),
        ("&", |a, b| a & b != 0, |a, b| a & b != 0),
    ];
    for (op, wide, narrow) in conds {
        for a in values {
            for b in values {
                let text = |class: &str, operand: &str| {
                    format!(
                        "r6 = {} ll\nr2 = {} ll\nr0 = 1\nif {class}6 {op} {operand} goto yes
                         r0 = 0\nyes:\nexit",
                        a as u64, b as u64,
                    )
                };
                gives(&text("r", "r2"), u64::from(wide(a, b)));
                gives(&text("w", "w2"), u64::from(narrow(a as i32, b as i32)));
                if let Ok(imm) = i32::try_from(b) {
                    gives(&text("r", &imm.to_string()), u64::from(wide(a, i64::from(imm))));
                    gives(&text("w", &imm.to_string()), u64::from(narrow(a as i32, imm)));
                }
            }
        }
    }
}

#[test]
fn loops_and_long_jumps() {
    gives("r0 = 0\nr1 = 10\nagain:\nr0 += r1\nr1 += -1\nif r1 != 0 goto again\nexit", 55);
    gives("gotol far\nr0 = 1\nexit\nfar:\nr0 = 2\nexit", 2);
    // Forward over more than 127 bytes, and backwards.
    let body = "r0 += 1000000\nr0 ^= 77\n".repeat(40);
    let text = format!(
        "r0 = 0\nr6 = 3\nagain:\nif r6 == 1 goto over\n{body}over:\nr6 -= 1\nif r6 != 0 goto again
         r0 = r6\nexit"
    );
    gives(&text, 0);
    // What a loop runs on its way out, but for a jump over the end, to what turns out to be no op.
    gives(
        "r0 = 0
         again:
         r0 += 1
         if r0 != 5 goto more
         r2 = 7
         if r1 != 9 goto tail
         r0 = 100
         exit
         tail:
         r5 = 3
         more:
         if r0 != 11 goto again
         exit",
        11,
    );
}

fn ctx_byte(i: usize) -> u64 {
    u64::from((i as u8).wrapping_mul(37) ^ 0x80)
}

fn ctx_word(at: usize, bytes: usize) -> u64 {
    (0..bytes).rev().fold(0, |value, i| value << 8 | ctx_byte(at + i))
}

#[test]
fn loads_and_stores() {
    for at in [0usize, 3, 8, 40] {
        for (size, bytes) in [("u8", 1), ("u16", 2), ("u32", 4), ("u64", 8)] {
            let value = ctx_word(at, bytes);
            gives(&format!("r0 = *({size} *)(r1 +{at})\nexit"), value);
            let shift = 64 - 8 * bytes as u32;
            let signed = (((value << shift) as i64) >> shift) as u64;
            if bytes < 8 {
                let size = size.replace('u', "s");
                gives(&format!("r0 = *({size} *)(r1 +{at})\nexit"), signed);
            }
            let low = 0x8877_6655_4433_2211u64 << shift >> shift;
            for (dst, src) in [(7, 6), (10, 4), (10, 2), (5, 0), (8, 1)] {
                let base = if dst == 10 { String::new() } else { format!("r{dst} = r10\n") };
                gives(
                    &format!(
                        "{base}r{src} = 0x8877665544332211 ll\n*(u64 *)(r10 -8) = 0
                         *({size} *)(r{dst} -8) = r{src}\nr0 = *(u64 *)(r10 -8)\nexit"
                    ),
                    low,
                );
            }
            gives(
                &format!(
                    "*(u64 *)(r10 -512) = 0\n*({size} *)(r10 -512) = -2
                          r0 = *(u64 *)(r10 -512)\nexit"
                ),
                ((u64::MAX - 1) << shift) >> shift,
            );
        }
    }
}

#[test]
fn atomics() {
    let old = 0xf0f0_1234_8000_0001u64;
    let operand = 0x0ff0_0000_8000_00ffu64;
    let ops: [(&str, &str, Combine); 4] = [
        ("+=", "add", |a, b| a.wrapping_add(b)),
        ("|=", "or", |a, b| a | b),
        ("&=", "and", |a, b| a & b),
        ("^=", "xor", |a, b| a ^ b),
    ];
    for (op, name, f) in ops {
        for src in [0, 1, 3, 6] {
            let start = format!("r{src} = {operand} ll\nr9 = {old} ll\n*(u64 *)(r10 -8) = r9\n");
            let load = "r0 = *(u64 *)(r10 -8)\nexit";
            let (low, high) = (0xffff_ffffu64, old & !0xffff_ffff);
            gives(&format!("{start}lock *(u64 *)(r10 -8) {op} r{src}\n{load}"), f(old, operand));
            let narrow = f(old & low, operand & low) & low;
            gives(&format!("{start}lock *(u32 *)(r10 -8) {op} r{src}\n{load}"), high | narrow);
            let fetch = format!("r{src} = atomic64_fetch_{name}((u64 *)(r10 -8), r{src})\n");
            gives(&format!("{start}{fetch}{load}"), f(old, operand));
            gives(&format!("{start}{fetch}r0 = r{src}\nexit"), old);
            let fetch = format!("r{src} = atomic_fetch_{name}((u32 *)(r10 -8), r{src})\n");
            gives(&format!("{start}{fetch}r0 = r{src}\nexit"), old & low);
            gives(&format!("{start}{fetch}{load}"), high | narrow);
        }
    }
    let start = format!("r6 = {old} ll\n*(u64 *)(r10 -8) = r6\nr7 = {operand} ll\n");
    let load = "r0 = *(u64 *)(r10 -8)\nexit";
    gives(&format!("{start}r7 = atomic64_xchg((u64 *)(r10 -8), r7)\nr0 = r7\nexit"), old);
    gives(&format!("{start}r7 = atomic64_xchg((u64 *)(r10 -8), r7)\n{load}"), operand);
    gives(&format!("{start}r7 = atomic_xchg((u32 *)(r10 -8), r7)\nr0 = r7\nexit"), 0x8000_0001);
    let cmpxchg = "r0 = atomic64_cmpxchg((u64 *)(r10 -8), r0, r7)";
    gives(&format!("{start}r0 = r6\n{cmpxchg}\n{load}"), operand);
    gives(&format!("{start}r0 = r6\n{cmpxchg}\nexit"), old);
    gives(&format!("{start}r0 = 1\n{cmpxchg}\n{load}"), old);
    gives(&format!("{start}r0 = 1\n{cmpxchg}\nexit"), old);
    let cmpxchg = "r0 = atomic_cmpxchg((u32 *)(r10 -8), r0, r7)";
    gives(&format!("{start}r0 = -2147483647\n{cmpxchg}\nexit"), 0x8000_0001);
    gives(&format!("{start}r0 = 5\n{cmpxchg}\nexit"), 0x8000_0001);
    gives(&format!("{start}r0 = load_acquire((u64 *)(r10 -8))\nexit"), old);
    gives(&format!("{start}store_release((u32 *)(r10 -8), r7)\n{load}"), 0xf0f0_1234_8000_00ff);
}

#[test]
fn functions_keep_their_callers_registers_and_stack() {
    gives(
        "r6 = 1\nr7 = 2\nr8 = 3\nr9 = 4\nr1 = 5\n*(u64 *)(r10 -8) = r1\ncall sub
         r0 += r6\nr0 += r7\nr0 += r8\nr0 += r9\nr1 = *(u64 *)(r10 -8)\nr0 += r1\nexit
         sub:\nr6 = 100\nr7 = 100\nr8 = 100\nr9 = 100\n*(u64 *)(r10 -8) = r6\ncall leaf
         exit\nleaf:\nr9 = 7\nr0 = r1\nr0 *= 10\nexit",
        // The callees' r0 and what the caller had saved.
        5 * 10 + 1 + 2 + 3 + 4 + 5,
    );
}

extern "C" fn sum_of_five(a: u64, b: u64, c: u64, d: u64, e: u64) -> u64 {
    a + 10 * b + 100 * c + 1000 * d + 10000 * e
}

/// Calls `callback(i, ctx)` until it gives something; wants an aligned stack, as compiled code may.
extern "C" fn repeat(nr: u64, callback: u64, ctx: u64, env: u64, _: u64) -> u64 {
    type Callback = extern "C" fn(u64, u64, u64, u64, u64, u64) -> u64;
    // SAFETY: the tests pass addresses of callbacks only.
    let callback = unsafe { std::mem::transmute::<u64, Callback>(callback) };
    (0..nr).take_while(|i| callback(*i, ctx, 0, 0, 0, env) == 0).count() as u64
}

fn helpers() -> Linkage {
    let mut linkage = Linkage::default();
    linkage.helpers.insert(1, sum_of_five as *const () as u64);
    linkage.helpers.insert(2, repeat as *const () as u64);
    linkage
}

#[test]
fn helpers_get_their_arguments_and_keep_registers() {
    let text = "r6 = r1\nr9 = 9\nr1 = 1\nr2 = 2\nr3 = 3\nr4 = 4\nr5 = 5\ncall 1\nr0 += r9\nexit";
    for tuning in tunings() {
        assert_eq!(run_with(text, &helpers(), &tuning).0, 54321 + 9);
    }
    let missing = xlated("call 77\nexit");
    let error = compile(&missing, &helpers(), &Tuning::default()).unwrap_err();
    assert_eq!(error.to_string(), "while compiling insn 0: helper 77 is not linked");
}

#[test]
fn callbacks_work_on_the_callers_stack() {
    let text =
        "*(u64 *)(r10 -8) = 0\nr8 = 70\nr1 = 20\nr2 = func[body]\nr3 = r10\nr3 += -8\nr4 = ENV
        call 2\nr1 = *(u64 *)(r10 -8)\nr1 *= 1000\nr0 += r1\nr0 += r8\nexit
        body:\nr8 = r1\nr6 = *(u64 *)(r2 +0)\nr6 += r1\n*(u64 *)(r2 +0) = r6\nr0 = 0
        if r8 != 10 goto out\nr0 = 1\nout:\nexit";
    for tuning in tunings() {
        let mut env = RunEnv { fuel: (1 << 20).into(), ..RunEnv::default() };
        let text = text.replace("ENV", &format!("{} ll", &raw mut env as u64));
        let code = compile(&xlated(&text), &helpers(), &tuning).expect("compiles");
        // SAFETY: the program does not look at its context.
        let r0 = unsafe { code.entry()(std::ptr::null_mut(), &mut env) };
        assert_eq!(r0, 55 * 1000 + 10 + 70, "{tuning:?}");
    }
}

#[test]
fn fuel_ends_what_does_not_end() {
    let tuning = Tuning { fuel: true, ..Tuning::default() };
    let endless = [
        "again:\ngoto again\nr0 = 0\nexit",
        "r6 = 1\ncall sub\nexit\nsub:\nr7 = 1\n*(u64 *)(r10 -8) = r7\nagain:\ngoto again\nexit",
        "r4 = r2\nr6 = 0\nr1 = 9\nr2 = func[body]\nr4 = ENV\ncall 2\nagain:\nr6 += 1\nif r6 != 0 goto again
         exit\nbody:\nagain2:\ngoto again2\nexit",
    ];
    for text in endless {
        for (fuel, interrupt) in [(1000, 0), (1 << 60, 1)] {
            let mut env =
                RunEnv { fuel: fuel.into(), interrupt: interrupt.into(), ..RunEnv::default() };
            let text = text.replace("ENV", &format!("{} ll", &raw mut env as u64));
            let code = compile(&xlated(&text), &helpers(), &tuning).expect("compiles");
            // SAFETY: the program does not look at its context.
            unsafe { code.entry()(std::ptr::null_mut(), &mut env) };
            assert_eq!((env.stopped.into_inner(), env.stop_sp.into_inner()), (1, 0), "{text}");
        }
    }
}

/// Programs that a lookup finds by index; the map's handle is the address of this.
struct Programs([u64; 4]);

extern "C" fn find(handle: u64, index: u64, _: u64, _: u64, _: u64) -> u64 {
    // SAFETY: the tests pass the address of a `Programs` that lives as long as they run.
    let programs = unsafe { &*(handle as *const Programs) };
    programs.0.get(index as u32 as usize).copied().unwrap_or(0)
}

/// Counts itself in the context, then calls the next program by what the context holds at 8.
const LINK: &str = "r6 = r1\nr7 = 1\nr8 = 2\n*(u64 *)(r10 -64) = r7\nr9 = *(u64 *)(r6 +0)\nr9 += 1
    *(u64 *)(r6 +0) = r9\nr3 = *(u64 *)(r6 +8)\nr4 = r3\nr4 ^= 1\n*(u64 *)(r6 +8) = r4
    r2 = HANDLE\nr0 = 77\ncall 12\nr0 += r7\nexit";

/// The same from inside a function, whose caller adds 1,000 to what it gives.
const LINK_IN_CALLEE: &str = "r9 = 1000\ncall sub\nr0 += r9\nexit\nsub:
    r6 = r1\nr9 = *(u64 *)(r6 +0)\nr9 += 1\n*(u64 *)(r6 +0) = r9\nr3 = *(u64 *)(r6 +8)\nr4 = r3\nr4 ^= 1
    *(u64 *)(r6 +8) = r4\nr2 = HANDLE\nr0 = 77\n*(u64 *)(r10 -8) = r6\ncall 12\nexit";

fn run_chain(texts: [&str; 2], tunings: [&Tuning; 2], first_index: u64) -> (u64, u64) {
    let mut programs = Box::new(Programs([0; 4]));
    let handle = format!("{} ll", &raw const *programs as u64);
    let address = find as *const () as u64;
    let linkage = Linkage { tail_call_lookup: address, ..Linkage::default() };
    let codes: Vec<_> = (0..2)
        .map(|i| {
            let text = texts[i].replace("HANDLE", &handle);
            compile(&xlated(&text), &linkage, tunings[i]).expect("compiles")
        })
        .collect();
    programs.0[0] = codes[0].tail_entry();
    programs.0[1] = codes[1].tail_entry();
    let mut ctx = [0, first_index];
    let mut env = RunEnv { fuel: 1000.into(), ..RunEnv::default() };
    // SAFETY: the programs use 16 bytes of context.
    let r0 = unsafe { codes[0].entry()(ctx.as_mut_ptr().cast(), &mut env) };
    (r0, ctx[0])
}

#[test]
fn tail_calls_end_at_their_limit_whatever_the_prologues() {
    let minimal = Tuning::default();
    let full = Tuning { prologue: Prologue::Full, ..minimal.clone() };
    let plain = Tuning { passes: Passes::NONE, ..minimal.clone() };
    for a in [&minimal, &full, &plain] {
        for b in [&minimal, &full, &plain] {
            // 34 programs run; the last one's call does not happen and leaves r0.
            assert_eq!(run_chain([LINK, LINK], [a, b], 1), (78, 34));
            // An index without a program: r0 is as it was.
            assert_eq!(run_chain([LINK, LINK], [a, b], 3), (78, 1));
            assert_eq!(run_chain([LINK, LINK], [a, b], u64::from(u32::MAX)), (78, 1));
            // The caller of the function gets the result of whatever ends the chain.
            let half = run_chain([LINK, LINK_IN_CALLEE], [a, b], 1);
            assert_eq!(half, (17 * 1000 + 77, 34));
            let all = run_chain([LINK_IN_CALLEE, LINK_IN_CALLEE], [a, b], 1);
            assert_eq!(all, (34 * 1000 + 77, 34));
        }
    }
    let fuel = Tuning { fuel: true, ..minimal };
    assert_eq!(run_chain([LINK, LINK_IN_CALLEE], [&fuel, &fuel], 1), (17 * 1000 + 77, 34));
}

#[test]
fn functions_that_call_back_share_the_count() {
    // Each of two functions starts the program again: 2^33 runs, were the count not shared.
    let text =
        "r6 = r1\nr9 = *(u64 *)(r6 +0)\nr9 += 1\n*(u64 *)(r6 +0) = r9\ncall sub\nr1 = r6\ncall sub
        r0 = 5\nexit\nsub:\nr2 = HANDLE\nr3 = 0\nr0 = 1\ncall 12\nexit";
    let tuning = Tuning::default();
    assert_eq!(run_chain([text, text], [&tuning, &tuning], 0), (5, 34));
}

#[test]
fn a_function_may_begin_with_a_loop() {
    gives(
        "r1 = 3\nr6 = 9\ncall f\nr0 += r6\nexit\n\
         f:\nr6 = r1\n*(u64 *)(r10 - 8) = r6\nr1 -= 1\nif r1 != 0 goto f\n\
         r0 = *(u64 *)(r10 - 8)\nexit",
        10,
    );
}

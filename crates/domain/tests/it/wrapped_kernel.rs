//! Equality with kernels whose ranges wrap: short programs, insn by insn, as `wrapped_vectors.txt`
//! has them.

use crate::notation::{number, scalar};
use skep_domain::{
    AluOp, ByteOrder, Division, JmpOp, Scalar, Wrapped, alu_wrapped, byte_order_wrapped,
    divide_wrapped, fork_sign_mask, is_taken_wrapped, neg_wrapped, refine_wrapped,
};
use std::collections::BTreeMap;

type Regs = BTreeMap<u32, Scalar>;

/// `r3` or `w3`: whether it is the whole register, and its number.
fn register(text: &str) -> Option<(bool, u32)> {
    let wide = text.starts_with('r');
    let number = text.strip_prefix(['r', 'w'])?.parse().ok()?;
    Some((wide, number))
}

fn operand(regs: &Regs, text: &str) -> Option<Scalar> {
    if let Some((_, r)) = register(text) {
        return regs.get(&r).copied();
    }
    Some(Scalar::constant(number(text)? as i32 as i64 as u64))
}

/// A constant prints as its value alone, and ranges that wrap are not printed.
fn same(ours: &Scalar, kernel: &str) -> bool {
    match scalar(kernel) {
        Some(k) if !kernel.starts_with("scalar") => ours.var_off == k.var_off,
        Some(k) => Scalar { wrapped: Wrapped::NONE, ..*ours } == k,
        None => false,
    }
}

/// `R0=... R1=...`: the first that is another.
fn compare(regs: &Regs, states: &str) -> Result<(), String> {
    for state in states.split(" R") {
        let Some((name, value)) = state.split_once('=') else { continue };
        let number = name.trim_start_matches('R').parse().map_err(|_| "no register")?;
        match regs.get(&number) {
            Some(ours) if !same(ours, value) => return Err(format!("R{number}: ours {ours:x?}")),
            _ => {}
        }
    }
    Ok(())
}

/// Bounds that contradict each other are forgotten.
fn sane(mut s: Scalar) -> Scalar {
    if s.violation().is_some() {
        s.mark_unbounded();
    }
    s
}

fn comparison(text: &str) -> Option<JmpOp> {
    const OPS: [(&str, JmpOp); 11] = [
        ("==", JmpOp::Eq),
        ("!=", JmpOp::Ne),
        ("<", JmpOp::Lt),
        ("<=", JmpOp::Le),
        (">", JmpOp::Gt),
        (">=", JmpOp::Ge),
        ("s<", JmpOp::Slt),
        ("s<=", JmpOp::Sle),
        ("s>", JmpOp::Sgt),
        ("s>=", JmpOp::Sge),
        ("&", JmpOp::Set),
    ];
    OPS.iter().find(|(name, _)| *name == text).map(|(_, op)| *op)
}

fn operation(text: &str) -> Option<AluOp> {
    const OPS: [(&str, AluOp); 11] = [
        ("+=", AluOp::Add),
        ("-=", AluOp::Sub),
        ("*=", AluOp::Mul),
        ("/=", AluOp::Div),
        ("%=", AluOp::Mod),
        ("|=", AluOp::Or),
        ("&=", AluOp::And),
        ("^=", AluOp::Xor),
        ("<<=", AluOp::Lsh),
        (">>=", AluOp::Rsh),
        ("s>>=", AluOp::Arsh),
    ];
    let text = if matches!(text, "s/=" | "s%=") { &text[1..] } else { text };
    OPS.iter().find(|(name, _)| *name == text).map(|(_, op)| *op)
}

/// `r1 = ...`: what it becomes.
fn moved(regs: &Regs, wide: bool, from: &[&str], kernel: &str) -> Option<Scalar> {
    let &[first, ..] = from else { return None };
    if let Some(negated) = first.strip_prefix('-').filter(|it| register(it).is_some()) {
        let mut s = operand(regs, negated)?;
        neg_wrapped(wide, &mut s);
        return Some(s);
    }
    if let (Some((_, r)), &[_]) = (register(first), from) {
        let mut s = *regs.get(&r)?;
        if !wide {
            s.zext_wrapped();
            s.sync_wrapped();
        }
        return Some(s);
    }
    if let Some((bits, r)) = first.strip_prefix("(s").and_then(|it| it.split_once(')')) {
        let (mut s, bits) = (operand(regs, r)?, bits.parse().ok()?);
        if wide {
            s.sign_extend_wrapped(bits);
        } else {
            s.sign_extend_half_wrapped(bits);
            s.zext_wrapped();
            s.sync_wrapped();
        }
        return Some(s);
    }
    if let (&[name, r], false) = (from, first.starts_with('*')) {
        let mut s = operand(regs, r)?;
        let bits = name.trim_start_matches(|c: char| !c.is_ascii_digit()).parse().ok()?;
        let keeps = name.starts_with("le");
        byte_order_wrapped(if keeps { ByteOrder::Keep } else { ByteOrder::Swap }, bits, &mut s);
        return Some(s);
    }
    scalar(kernel.split_once('=')?.1)
}

fn computed(dst: Scalar, src: Scalar, wide: bool, op: &str) -> Option<Scalar> {
    let mut out = dst;
    let signed = op.starts_with('s');
    let op = operation(op)?;
    if matches!(op, AluOp::Div | AluOp::Mod) {
        let how = Division { remainder: op == AluOp::Mod, signed, wide };
        let known = divide_wrapped(how, &mut out, src.var_off.value);
        return Some(if known { out } else { Scalar::unknown() });
    }
    if let Some((ones, _)) = fork_sign_mask(op, &out, &src) {
        out = ones;
    }
    alu_wrapped(op, wide, &mut out, &src);
    Some(out)
}

/// Both sides of a jump; false if the walk does not go on.
fn jump(regs: &mut Regs, text: &[&str], [falls, jumps]: [&str; 2]) -> Result<bool, String> {
    let &[left, op, right] = text else { return Err("no comparison".into()) };
    let ((wide, l), op) =
        register(left).zip(comparison(op)).ok_or_else(|| format!("no comparison: {op}"))?;
    let (a, b) = operand(regs, left).zip(operand(regs, right)).ok_or("no operand")?;
    let walked = match (falls, jumps) {
        (_, "always") => Some(true),
        (_, "-") => Some(false),
        _ => None,
    };
    let ours = is_taken_wrapped(&a, &b, op, !wide);
    if ours != walked {
        return Err(format!("taken: ours {ours:?}"));
    }
    if let Some(taken) = walked {
        return Ok(!taken);
    }
    let side = |op: JmpOp, want: &str| {
        let (mut x, mut y) = (a, b);
        refine_wrapped(op, !wide, &mut x, &mut y);
        let mut after = regs.clone();
        after.insert(l, sane(x));
        if let Some((_, r)) = register(right) {
            after.insert(r, sane(y));
        }
        compare(&after, want).map(|()| after)
    };
    side(op, jumps)?;
    let after = side(op.negated(), falls)?;
    *regs = after;
    Ok(true)
}

/// One line; false if the walk does not go on.
fn step(regs: &mut Regs, line: &str) -> Result<bool, String> {
    let columns: Vec<&str> = line.split(" | ").map(str::trim).collect();
    let words: Vec<&str> = columns[0].split(' ').collect();
    if let (["if", rest @ ..], &[_, falls, jumps]) = (words.as_slice(), columns.as_slice()) {
        return jump(regs, rest, [falls, jumps]);
    }
    let (&[dst, op, ref from @ ..], &[_, kernel]) = (words.as_slice(), columns.as_slice()) else {
        return Err("cannot be read".into());
    };
    let (wide, r) = register(dst).ok_or("no register")?;
    let value = match op {
        "=" => moved(regs, wide, from, kernel),
        _ => {
            let by = from.first().and_then(|it| operand(regs, it));
            let dst = regs.get(&r).copied();
            dst.zip(by).and_then(|(dst, src)| computed(dst, src, wide, op))
        }
    };
    regs.insert(r, sane(value.ok_or("cannot be computed")?));
    compare(regs, kernel).map(|()| true)
}

#[test]
fn programs_are_walked_as_by_the_kernels() {
    let text = include_str!("wrapped_vectors.txt");
    let (mut regs, mut ended, mut seen, mut wrong) = (Regs::new(), false, 0, Vec::new());
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        if line.is_empty() {
            regs.clear();
            ended = false;
        } else if !ended {
            seen += 1;
            match step(&mut regs, line) {
                Ok(goes_on) => ended = !goes_on,
                Err(why) => {
                    ended = true;
                    wrong.push(format!("{line}\n    {why}"));
                }
            }
        }
    }
    assert!(seen > 3_000, "only {seen} lines");
    assert!(wrong.is_empty(), "{} of {seen} differ:\n{}", wrong.len(), wrong.join("\n"));
}

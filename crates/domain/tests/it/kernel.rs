//! Equality with the host kernel: every recorded operand gives the recorded result, bound for
//! bound.
//!
//! `kernel_vectors.txt` says in its header how it was recorded. A file named by
//! `SKEP_DOMAIN_VECTORS` is judged instead.

use crate::notation::scalar;
use skep_domain::{
    AluOp, ByteOrder::*, JmpOp, Scalar, alu, byte_order, fork_sign_mask, is_branch_taken, neg,
    refine_branches, refine_same,
};

/// A constant prints as its value alone, so only that can be compared.
fn same(ours: &Scalar, kernel: &str) -> bool {
    match scalar(kernel) {
        Some(k) if k.is_const() && !kernel.starts_with("scalar") => ours.var_off == k.var_off,
        Some(k) => *ours == k,
        None => false,
    }
}

/// Splits `lsh32` into `lsh` and whether it is the 64-bit form.
fn name_and_width(op: &str) -> Option<(&str, bool)> {
    match op.split_at_checked(op.len().checked_sub(2)?)? {
        (name, "64") => Some((name, true)),
        (name, "32") => Some((name, false)),
        _ => None,
    }
}

fn alu_op(name: &str) -> Option<AluOp> {
    const OPS: [(&str, AluOp); 11] = [
        ("add", AluOp::Add),
        ("sub", AluOp::Sub),
        ("mul", AluOp::Mul),
        ("div", AluOp::Div),
        ("or", AluOp::Or),
        ("and", AluOp::And),
        ("lsh", AluOp::Lsh),
        ("rsh", AluOp::Rsh),
        ("mod", AluOp::Mod),
        ("xor", AluOp::Xor),
        ("arsh", AluOp::Arsh),
    ];
    OPS.iter().find(|(n, _)| *n == name).map(|(_, op)| *op)
}

fn jmp_op(name: &str) -> Option<JmpOp> {
    const OPS: [(&str, JmpOp); 11] = [
        ("jeq", JmpOp::Eq),
        ("jne", JmpOp::Ne),
        ("jgt", JmpOp::Gt),
        ("jge", JmpOp::Ge),
        ("jlt", JmpOp::Lt),
        ("jle", JmpOp::Le),
        ("jsgt", JmpOp::Sgt),
        ("jsge", JmpOp::Sge),
        ("jslt", JmpOp::Slt),
        ("jsle", JmpOp::Sle),
        ("jset", JmpOp::Set),
    ];
    OPS.iter().find(|(n, _)| *n == name).map(|(_, op)| *op)
}

/// Insns with one operand: `neg`, byte swaps, moves and loads that change the width.
fn unary(op: &str, mut s: Scalar) -> Option<Scalar> {
    match op {
        "neg64" => neg(true, &mut s),
        "neg32" => neg(false, &mut s),
        "ld8" => s.coerce_to_size(1),
        "ld16" => s.coerce_to_size(2),
        "ld32" => s.coerce_to_size(4),
        "ld64" => {}
        "ldsx8" | "movsx8to64" => s.coerce_to_size_sx(1),
        "ldsx16" | "movsx16to64" => s.coerce_to_size_sx(2),
        "ldsx32" | "movsx32to64" => s.coerce_to_size_sx(4),
        "movsx8to32" | "movsx16to32" => {
            s.coerce_subreg_to_size_sx(if op == "movsx8to32" { 1 } else { 2 });
            s.zext_32_to_64();
            s.sync();
        }
        _ => {
            let bits = op.get(op.len().checked_sub(2)?..)?.parse().ok()?;
            byte_order(if op.starts_with("le") { Keep } else { Swap }, bits, &mut s);
        }
    }
    Some(s)
}

/// A register compared with itself (`same` in place of the right operand).
fn same_reg_side_differs(op: JmpOp, is_jmp32: bool, a: Scalar, side: &str) -> Option<String> {
    let mut x = a;
    refine_same(op, is_jmp32, &mut x);
    if x.violation().is_some() {
        x.mark_unbounded();
    }
    (!same(&x, side)).then(|| format!("{op:?}: ours {x:x?}"))
}

/// The sides of a jump: `-` if not walked, `a , b` after it, or `a` if the right operand was an
/// immediate.
fn side_differs(op: JmpOp, is_jmp32: bool, a: Scalar, b: Scalar, side: &str) -> Option<String> {
    if side == "-" || side == "always" {
        return None;
    }
    let (mut x, mut y) = (a, b);
    refine_branches(op, is_jmp32, &mut x, &mut y);
    // The kernel reports such a register as its own bug, forgets its bounds and goes on.
    for reg in [&mut x, &mut y] {
        if reg.violation().is_some() {
            reg.mark_unbounded();
        }
    }
    let (want_x, want_y) = side.split_once(" , ").map_or((side, None), |(p, q)| (p, Some(q)));
    let differs = !same(&x, want_x) || want_y.is_some_and(|w| !same(&y, w));
    differs.then(|| format!("{op:?}: ours {x:x?} , {y:x?}"))
}

fn jump_differs(name: &str, wide: bool, cols: &[&str]) -> Result<Option<String>, String> {
    let op = jmp_op(name).ok_or("unknown jump")?;
    let &[a, b, taken, fallthrough] = cols else { return Err("wants 4 columns".into()) };
    let a = scalar(a).ok_or("left operand")?;
    let is_same = b == "same";
    let b = if is_same { a } else { scalar(b).ok_or("right operand")? };
    let walked = match (taken, fallthrough) {
        ("always", _) => Some(true),
        ("-", _) => Some(false),
        _ => None,
    };
    let ours = is_branch_taken(&a, &b, op, !wide);
    if ours != walked {
        return Ok(Some(format!("ours is taken: {ours:?}")));
    }
    if walked.is_some() {
        return Ok(None);
    }
    if is_same {
        return Ok(same_reg_side_differs(op, !wide, a, taken)
            .or_else(|| same_reg_side_differs(op.negated(), !wide, a, fallthrough)));
    }
    Ok(side_differs(op, !wide, a, b, taken)
        .or_else(|| side_differs(op.negated(), !wide, a, b, fallthrough)))
}

/// `Ok(None)` if we agree, `Ok(Some(ours))` if not, `Err` if the line cannot be read.
fn differs(line: &str) -> Result<Option<String>, String> {
    let cols: Vec<&str> = line.split(" | ").map(str::trim).collect();
    let (&op, rest) = cols.split_first().ok_or("empty")?;
    if let Some((name, wide)) = name_and_width(op) {
        if name.starts_with('j') {
            return jump_differs(name, wide, rest);
        }
        if let Some(aluop) = alu_op(name) {
            let &[a, b, result] = rest else { return Err("wants 3 columns".into()) };
            let mut dst = scalar(a).ok_or("dst")?;
            let src = scalar(b).ok_or("src")?;
            if let Some((ones, _)) = fork_sign_mask(aluop, &dst, &src) {
                dst = ones;
            }
            alu(aluop, wide, &mut dst, &src);
            return Ok((!same(&dst, result)).then(|| format!("ours {dst:x?}")));
        }
    }
    let &[a, result] = rest else { return Err("wants 2 columns".into()) };
    let ours = unary(op, scalar(a).ok_or("operand")?).ok_or("unknown op")?;
    Ok((!same(&ours, result)).then(|| format!("ours {ours:x?}")))
}

#[test]
fn results_are_the_kernels() {
    let default = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/kernel_vectors.txt");
    let path = std::env::var("SKEP_DOMAIN_VECTORS").unwrap_or_else(|_| default.into());
    let text = std::fs::read_to_string(path).unwrap();
    let (mut seen, mut wrong) = (0, Vec::new());
    for line in text.lines().filter(|l| !l.is_empty() && !l.starts_with('#')) {
        seen += 1;
        match differs(line) {
            Ok(None) => {}
            Ok(Some(ours)) => wrong.push(format!("{line}\n    {ours}")),
            Err(e) => wrong.push(format!("{line}\n    unreadable: {e}")),
        }
    }
    assert!(seen > 3_000, "only {seen} vectors");
    assert!(wrong.is_empty(), "{} of {seen} differ:\n{}", wrong.len(), wrong.join("\n"));
}

//! Loads, stores, atomics, and the legacy packet loads.

use super::draft::{op_at, pick};
use super::operand::{Imm, RegName};
use super::token::Cursor;
use crate::code::*;
use crate::table::Form;
use crate::{Error, Insn, Reg};

/// The insn of a form with these size bits.
fn pick_sized(form: impl Fn(Form) -> bool, size: u8) -> Option<Insn> {
    pick(form, SIZE_MASK, size)
}

/// `*(u32 *)(r2 +4)` or `*(u8 *)skb[23]`, loaded into `dst`. As in LLVM's notation, `w1` may be the
/// destination of loads of up to 32 bits; the insn is the same.
pub(super) fn load(cursor: &mut Cursor<'_>, dst: RegName) -> Result<Insn, Error> {
    cursor.advance()?;
    cursor.expect("(")?;
    let start = cursor.clone();
    let (size, is_signed) = cursor.access_type()?;
    if !dst.is_wide && (is_signed || size == BPF_DW) {
        return Err(start.expected("`u8` to `u32` for a 32-bit register"));
    }
    if !is_signed && cursor.eat_word("skb")? {
        return packet_load(cursor, dst, size);
    }
    let form = if is_signed { Form::Ldsx } else { Form::Ldx };
    let Some(insn) = pick_sized(|other| other == form, size) else {
        return Err(start.expected("a type that can be loaded"));
    };
    let (src, off) = cursor.base_and_off()?;
    Ok(Insn { dst: dst.reg, src, off, ..insn })
}

/// `[23]` or `[r7 + 23]`
fn packet_load(cursor: &mut Cursor<'_>, dst: RegName, size: u8) -> Result<Insn, Error> {
    cursor.expect("[")?;
    let start = cursor.clone();
    let (form, src, imm) = if cursor.peek_reg().is_some() {
        let src = cursor.reg()?;
        (Form::LdInd, src, cursor.displacement(i32::MIN.into(), i32::MAX.into())? as i32)
    } else {
        (Form::LdAbs, 0, cursor.imm(Imm::Signed)?)
    };
    cursor.expect("]")?;
    match pick_sized(|other| other == form, size) {
        Some(insn) if dst.reg == 0 => Ok(Insn { src, imm, ..insn }),
        Some(_) => Err(start.error("loads from the packet are to r0")),
        None => Err(start.error("loads from the packet are of u8, u16 or u32")),
    }
}

/// `*(u32 *)(r1 +4) = r2`, `*(u32 *)(r1 +4) = 7`
pub(super) fn store(cursor: &mut Cursor<'_>) -> Result<Insn, Error> {
    cursor.advance()?;
    let at = cursor.address()?;
    cursor.expect("=")?;
    let form = if cursor.peek_reg().is_some() { Form::Stx } else { Form::St };
    let Some(insn) = pick_sized(|other| other == form, at.size) else {
        return Err(cursor.expected("a value of that size"));
    };
    let insn = Insn { dst: at.base, off: at.off, ..insn };
    if form == Form::Stx {
        let is_wide = at.size == BPF_DW || cursor.peek_reg().is_some_and(|reg| reg.is_wide);
        return Ok(Insn { src: cursor.reg_of(is_wide)?, ..insn });
    }
    let kind = if at.size == BPF_DW { Imm::Signed } else { Imm::Bits };
    Ok(Insn { imm: cursor.imm(kind)?, ..insn })
}

/// `*(u64 *)(r1 +4) += r2`, after `lock`.
pub(super) fn atomic_rmw(cursor: &mut Cursor<'_>) -> Result<Insn, Error> {
    cursor.expect("*")?;
    let start = cursor.clone();
    let at = cursor.address()?;
    let op = op_at(cursor).unwrap_or("");
    let is_op = |form| matches!(form, Form::AtomicRmw(other) if other == op);
    if pick(is_op, 0, 0).is_none() {
        return Err(cursor.expected("`+=`, `|=`, `&=` or `^=`"));
    }
    let Some(insn) = pick_sized(is_op, at.size) else { return Err(no_such_width(&start)) };
    cursor.advance()?;
    Ok(Insn { dst: at.base, off: at.off, src: cursor.reg()?, ..insn })
}

/// `((u64 *)(r1 +4), r2)`, after `store_release`.
pub(super) fn store_release(cursor: &mut Cursor<'_>) -> Result<Insn, Error> {
    cursor.expect("(")?;
    let start = cursor.clone();
    let at = cursor.address()?;
    let Some(insn) = pick_sized(|form| form == Form::StoreRelease, at.size) else {
        return Err(no_such_width(&start));
    };
    cursor.expect(",")?;
    let src = cursor.reg()?;
    cursor.expect(")")?;
    Ok(Insn { dst: at.base, off: at.off, src, ..insn })
}

/// `load_acquire(...)`, `atomic64_fetch_add(...)`, `atomic_xchg(...)`, `atomic64_cmpxchg(...)`;
/// `result` is the left-hand side.
pub(super) fn atomic_with_result(
    cursor: &mut Cursor<'_>,
    result: Reg,
    name: &str,
) -> Result<Insn, Error> {
    let start = cursor.clone();
    let is_64 = name.starts_with("atomic64_");
    let short = name.strip_prefix("atomic64_").or(name.strip_prefix("atomic_"));
    let form = match short {
        Some("xchg") => Form::AtomicXchg,
        Some("cmpxchg") => Form::AtomicCmpxchg,
        Some(fetch) => match fetch_form(fetch) {
            Some(form) => form,
            None => return Err(start.expected("an atomic operation")),
        },
        None if name == "load_acquire" => Form::LoadAcquire,
        None => return Err(start.expected("a value")),
    };
    cursor.advance()?;
    cursor.expect("(")?;
    let type_start = cursor.clone();
    let at = cursor.address()?;
    let is_named_right = form == Form::LoadAcquire || is_64 == (at.size == BPF_DW);
    let insn = match pick_sized(|other| other == form, at.size) {
        Some(insn) if is_named_right => insn,
        _ => return Err(no_such_width(&type_start)),
    };
    let insn = match form {
        Form::LoadAcquire => Insn { dst: result, src: at.base, off: at.off, ..insn },
        Form::AtomicCmpxchg if result != 0 => return Err(start.error("cmpxchg returns in r0")),
        Form::AtomicCmpxchg => {
            cursor.expect(",")?;
            cursor.same_reg(true, 0)?;
            cursor.expect(",")?;
            Insn { dst: at.base, off: at.off, src: cursor.reg()?, ..insn }
        }
        _ => {
            cursor.expect(",")?;
            cursor.same_reg(true, result)?;
            Insn { dst: at.base, off: at.off, src: result, ..insn }
        }
    };
    cursor.expect(")")?;
    Ok(insn)
}

fn fetch_form(name: &str) -> Option<Form> {
    let op = name.strip_prefix("fetch_")?;
    let is_op = |form: &Form| matches!(form, Form::AtomicFetch(other) if *other == op);
    crate::table::OPCODES.iter().map(|row| row.form).find(is_op)
}

fn no_such_width(at: &Cursor<'_>) -> Error {
    at.error("there is no such atomic of this width")
}

//! Insns that start with a register: ALU, loads, atomics with a result, and everything after `=`.

use super::draft::{Draft, Symbol, op_at, pick};
use super::operand::{Imm, RegName};
use super::token::{Cursor, Token};
use crate::code::*;
use crate::table::Form;
use crate::{Error, Insn, Reg};

const LD_IMM64: u8 = BPF_LD | BPF_IMM | BPF_DW;

/// Reads `rN OP ...`. `code` tells whether a number after `=` has 64 bits, which the notation does
/// not show.
pub(super) fn read<'a>(cursor: &mut Cursor<'a>, code: Option<u8>) -> Result<Draft<'a>, Error> {
    let dst = cursor.any_reg()?;
    let op = op_at(cursor).unwrap_or("");
    if op == "=" {
        cursor.advance()?;
        return value(cursor, dst, code);
    }
    let Some(insn) = pick_alu(dst, |form| matches!(form, Form::Alu(other) if other == op)) else {
        return Err(cursor.expected("`=` or an operator such as `+=`"));
    };
    cursor.advance()?;
    alu_operand(cursor, dst, insn)
}

/// The row with the immediate operand, for the width of `dst`.
fn pick_alu(dst: RegName, form: impl Fn(Form) -> bool) -> Option<Insn> {
    let class = if dst.is_wide { BPF_ALU64 } else { BPF_ALU };
    let insn = pick(form, CLASS_MASK, class)?;
    Some(Insn { code: insn.code & !BPF_X, dst: dst.reg, ..insn })
}

fn alu_operand<'a>(cursor: &mut Cursor<'a>, dst: RegName, insn: Insn) -> Result<Draft<'a>, Error> {
    if cursor.peek_reg().is_some() {
        let src = cursor.reg_of(dst.is_wide)?;
        return Ok(Insn { code: insn.code | BPF_X, src, ..insn }.into());
    }
    let kind = if dst.is_wide { Imm::Signed } else { Imm::Bits };
    Ok(Insn { imm: cursor.imm(kind)?, ..insn }.into())
}

/// The right-hand side of `=`.
fn value<'a>(cursor: &mut Cursor<'a>, dst: RegName, code: Option<u8>) -> Result<Draft<'a>, Error> {
    match cursor.token() {
        Token::Op("*") => Ok(super::memory::load(cursor, dst)?.into()),
        Token::Op("&") => Ok(percpu_addr(cursor, dst)?.into()),
        Token::Op("(") => Ok(sign_extend(cursor, dst)?.into()),
        Token::Op("-") => {
            let mut ahead = cursor.clone();
            ahead.advance()?;
            if ahead.peek_reg().is_none() {
                return number(cursor, dst, code);
            }
            *cursor = ahead;
            cursor.same_reg(dst.is_wide, dst.reg)?;
            let neg = pick_alu(dst, |form| form == Form::Neg);
            neg.map(Draft::from).ok_or_else(|| cursor.expected("a number"))
        }
        Token::Number { .. } => number(cursor, dst, code),
        Token::Word(word) if cursor.peek_reg().is_none() => named(cursor, dst, word),
        _ => match pick_alu(dst, |form| form == Form::Mov) {
            Some(insn) => alu_operand(cursor, dst, insn),
            None => Err(cursor.expected("a value")),
        },
    }
}

/// `rN = 5`, or with `ll` the insn of two slots.
fn number<'a>(cursor: &mut Cursor<'a>, dst: RegName, code: Option<u8>) -> Result<Draft<'a>, Error> {
    let mut ahead = cursor.clone();
    let (value, _) = ahead.number()?;
    let is_ll = ahead.eat_word("ll")?;
    if !is_ll && code != Some(LD_IMM64) {
        let mov = pick_alu(dst, |form| form == Form::Mov);
        return alu_operand(cursor, dst, mov.ok_or_else(|| cursor.expected("a register"))?);
    }
    let bits = match (u64::try_from(value), i64::try_from(value)) {
        (Ok(bits), _) => bits,
        (_, Ok(bits)) => bits as u64,
        _ => return Err(cursor.error("does not fit 64 bits")),
    };
    *cursor = ahead;
    wide(cursor, dst, 0, bits, None)
}

/// The two slots of `ld_imm64`.
fn wide<'a>(
    cursor: &Cursor<'a>,
    dst: RegName,
    src: u8,
    bits: u64,
    symbol: Option<Symbol<'a>>,
) -> Result<Draft<'a>, Error> {
    if !dst.is_wide {
        return Err(cursor.error("a value of 64 bits needs a 64-bit register"));
    }
    let [insn, second] = Insn::ld_imm64(dst.reg, src, bits);
    Ok(Draft { insn, second: Some(second), symbol })
}

/// A right-hand side that starts with a word that is not a register.
fn named<'a>(cursor: &mut Cursor<'a>, dst: RegName, word: &'a str) -> Result<Draft<'a>, Error> {
    let reference = match word {
        "map" => Some(BPF_PSEUDO_MAP_FD),
        "map_value" => Some(BPF_PSEUDO_MAP_VALUE),
        "ksym" => Some(BPF_PSEUDO_BTF_ID),
        "func" => Some(BPF_PSEUDO_FUNC),
        _ => None,
    };
    if let Some(kind) = reference {
        return symbolic(cursor, dst, kind);
    }
    if !dst.is_wide {
        return Err(cursor.expected("a value of 32 bits"));
    }
    if let Some(swap) = byte_swap(cursor, dst.reg, word)? {
        return Ok(swap.into());
    }
    if word == "addr_space_cast" {
        cursor.advance()?;
        return Ok(addr_space_cast(cursor, dst.reg)?.into());
    }
    Ok(super::memory::atomic_with_result(cursor, dst.reg, word)?.into())
}

/// `map[NAME]`, `map_value[NAME]+8`, `ksym[NAME]`, `func[label]`
fn symbolic<'a>(cursor: &mut Cursor<'a>, dst: RegName, kind: u8) -> Result<Draft<'a>, Error> {
    cursor.advance()?;
    let name = cursor.bracketed_name()?;
    let (symbol, off) = match kind {
        BPF_PSEUDO_FUNC => (Symbol::Func(name), 0),
        BPF_PSEUDO_BTF_ID => (Symbol::Ksym(name), 0),
        BPF_PSEUDO_MAP_VALUE => {
            (Symbol::Map(name), cursor.displacement(i32::MIN.into(), u32::MAX.into())?)
        }
        _ => (Symbol::Map(name), 0),
    };
    cursor.eat_word("ll")?;
    wide(cursor, dst, kind, (off as u64) << 32, Some(symbol))
}

/// `r1 = be16 r1`
fn byte_swap(cursor: &mut Cursor<'_>, dst: Reg, word: &str) -> Result<Option<Insn>, Error> {
    let name = word.trim_end_matches(|c: char| c.is_ascii_digit());
    let is_swap = |form| matches!(form, Form::Endian(other) if other == name);
    let (Some(insn), Ok(imm)) = (pick(is_swap, 0, 0), word[name.len()..].parse()) else {
        return Ok(None);
    };
    cursor.advance()?;
    cursor.same_reg(true, dst)?;
    Ok(Some(Insn { dst, imm, ..insn }))
}

/// `r1 = (s8)r2`
fn sign_extend(cursor: &mut Cursor<'_>, dst: RegName) -> Result<Insn, Error> {
    cursor.advance()?;
    let bits = match cursor.token() {
        Token::Word("s8") => 8,
        Token::Word("s16") => 16,
        Token::Word("s32") => 32,
        _ => 0,
    };
    let Some(insn) = pick_alu(dst, |form| form == Form::MovSx(bits)) else {
        return Err(cursor.expected("`s8`, `s16`, or for 64-bit registers `s32`"));
    };
    cursor.advance()?;
    cursor.expect(")")?;
    let src = cursor.reg_of(dst.is_wide)?;
    Ok(Insn { code: insn.code | BPF_X, src, ..insn })
}

/// `r1 = &(void __percpu *)(r2)`
fn percpu_addr(cursor: &mut Cursor<'_>, dst: RegName) -> Result<Insn, Error> {
    let Some(insn) = pick_alu(dst, |form| form == Form::PercpuAddr) else {
        return Err(cursor.expected("a value of 32 bits"));
    };
    cursor.advance()?;
    cursor.expect("(")?;
    if !(cursor.eat_word("void")? && cursor.eat_word("__percpu")?) {
        return Err(cursor.expected("`void __percpu *`"));
    }
    cursor.expect("*")?;
    cursor.expect(")")?;
    cursor.expect("(")?;
    let src = cursor.reg()?;
    cursor.expect(")")?;
    Ok(Insn { code: insn.code | BPF_X, src, ..insn })
}

/// `r1 = addr_space_cast(r2, 0, 1)`: destination and source address space.
fn addr_space_cast(cursor: &mut Cursor<'_>, dst: Reg) -> Result<Insn, Error> {
    let insn = pick(|form| form == Form::AddrSpaceCast, 0, 0).unwrap_or_default();
    cursor.expect("(")?;
    let src = cursor.reg()?;
    cursor.expect(",")?;
    let to = cursor.number_in(0, u16::MAX.into())? as u32;
    cursor.expect(",")?;
    let from = cursor.number_in(0, u16::MAX.into())? as u32;
    cursor.expect(")")?;
    Ok(Insn { dst, src, imm: (to << 16 | from) as i32, ..insn })
}

//! One insn of the notation: jumps, calls, and everything that starts with a keyword.
//!
//! Opcodes come from the table: a statement specifies the form and some bits of the opcode, and
//! takes the first row that matches.

use super::draft::{Draft, HelperId, Symbol, op_at, pick};
use super::operand::{Imm, Target};
use super::token::{Cursor, Token};
use crate::code::*;
use crate::table::Form;
use crate::{Error, Insn};

/// Reads the insn that is the rest of the line. `code` is the opcode that stood in parentheses
/// before it.
pub(super) fn read<'a>(
    cursor: &mut Cursor<'a>,
    code: Option<u8>,
    helper_id: HelperId<'_>,
) -> Result<Draft<'a>, Error> {
    let start = cursor.clone();
    let keyword = match cursor.token() {
        Token::Word(word) if cursor.peek_reg().is_none() => {
            cursor.advance()?;
            word
        }
        _ => "",
    };
    let draft = match keyword {
        "" if cursor.peek_reg().is_some() => super::assign::read(cursor, code)?,
        "" if op_at(cursor) == Some("*") => super::memory::store(cursor)?.into(),
        "exit" => row(Form::Exit).into(),
        "goto" => jump(cursor, row(Form::Goto))?,
        "may_goto" => jump(cursor, row(Form::MayGoto))?,
        "gotol" => long_jump(cursor)?,
        "if" => cond(cursor)?,
        "call" => call(cursor, helper_id)?,
        "lock" => super::memory::atomic_rmw(cursor)?.into(),
        "store_release" => super::memory::store_release(cursor)?.into(),
        ".insn" => raw(cursor)?.into(),
        _ => return Err(start.expected("an insn")),
    };
    if cursor.token() != Token::End {
        return Err(cursor.expected("the end of the insn"));
    }
    match code {
        Some(code) if code != draft.insn.code => {
            let own = draft.insn.code;
            Err(start.error(format!("this insn is ({own:02x}), not ({code:02x})")))
        }
        _ => Ok(draft),
    }
}

/// The insn of a form with a single row.
fn row(form: Form) -> Insn {
    pick(|other| other == form, 0, 0).unwrap_or_default()
}

fn jump<'a>(cursor: &mut Cursor<'a>, insn: Insn) -> Result<Draft<'a>, Error> {
    Ok(match cursor.target(i16::MIN.into(), i16::MAX.into())? {
        Target::Relative(off) => Insn { off: off as i16, ..insn }.into(),
        Target::Label(label) => Draft { symbol: Some(Symbol::Jump(label)), ..insn.into() },
    })
}

fn long_jump<'a>(cursor: &mut Cursor<'a>) -> Result<Draft<'a>, Error> {
    let insn = row(Form::Gotol);
    Ok(match cursor.target(i32::MIN, i32::MAX)? {
        Target::Relative(imm) => Insn { imm, ..insn }.into(),
        Target::Label(label) => Draft { symbol: Some(Symbol::LongJump(label)), ..insn.into() },
    })
}

/// `if r1 s< r2 goto out`
fn cond<'a>(cursor: &mut Cursor<'a>) -> Result<Draft<'a>, Error> {
    let left = cursor.any_reg()?;
    let op = op_at(cursor).unwrap_or("");
    let class = if left.is_wide { BPF_JMP } else { BPF_JMP32 };
    let is_op = |form| matches!(form, Form::Cond(other) if other == op);
    let Some(insn) = pick(is_op, CLASS_MASK | BPF_X, class) else {
        return Err(cursor.expected("a comparison"));
    };
    cursor.advance()?;
    let insn = match cursor.peek_reg() {
        Some(_) => {
            let src = cursor.reg_of(left.is_wide)?;
            Insn { code: insn.code | BPF_X, dst: left.reg, src, ..insn }
        }
        None => {
            let kind = if left.is_wide { Imm::SignedOrHexBits } else { Imm::Bits };
            Insn { dst: left.reg, imm: cursor.imm(kind)?, ..insn }
        }
    };
    if !cursor.eat_word("goto")? {
        return Err(cursor.expected("`goto`"));
    }
    jump(cursor, insn)
}

/// `call pc+2`, `call label`, `call bpf_loop`, `call bpf_loop#181`, `call 181`, `call kfunc[NAME]`
fn call<'a>(cursor: &mut Cursor<'a>, helper_id: HelperId<'_>) -> Result<Draft<'a>, Error> {
    let (helper, subprog, kfunc) =
        (row(Form::CallHelper), row(Form::CallSubprog), row(Form::CallKfunc));
    if op_at(cursor) == Some("#") {
        cursor.advance()?;
        return Ok(Insn { imm: cursor.imm(Imm::Bits)?, ..kfunc }.into());
    }
    if let Token::Number { .. } = cursor.token() {
        return Ok(Insn { imm: cursor.imm(Imm::Bits)?, ..helper }.into());
    }
    let start = cursor.clone();
    let name = match cursor.target(i32::MIN, i32::MAX)? {
        Target::Relative(imm) => return Ok(Insn { imm, ..subprog }.into()),
        Target::Label(name) => name,
    };
    match op_at(cursor) {
        Some("[") if name == "kfunc" => {
            let name = cursor.bracketed_name()?;
            Ok(Draft { symbol: Some(Symbol::Kfunc(name)), ..kfunc.into() })
        }
        Some("#") => {
            cursor.advance()?;
            let imm = cursor.imm(Imm::Signed)?;
            match helper_id(name) {
                None if name == "unknown" => Ok(Insn { imm, ..helper }.into()),
                None => Ok(Insn { imm, ..kfunc }.into()),
                Some(id) if id == imm as u32 => Ok(Insn { imm, ..helper }.into()),
                Some(id) => Err(start.error(format!("helper {name} has number {id}, not {imm}"))),
            }
        }
        _ => Ok(Draft { symbol: Some(Symbol::Call(name)), ..subprog.into() }),
    }
}

/// `.insn CODE DST SRC OFF IMM`, with or without commas.
fn raw(cursor: &mut Cursor<'_>) -> Result<Insn, Error> {
    let mut field = |is_last: bool, (min, max): (i64, i64)| {
        let value = cursor.number_in(min, max)?;
        if !is_last {
            cursor.eat(",")?;
        }
        Ok::<i64, Error>(value)
    };
    Ok(Insn {
        code: field(false, (0, 255))? as u8,
        dst: field(false, (0, 15))? as u8,
        src: field(false, (0, 15))? as u8,
        off: field(false, (i16::MIN.into(), i16::MAX.into()))? as i16,
        imm: field(true, (i32::MIN.into(), u32::MAX.into()))? as i32,
    })
}

//! Registers, immediates, addresses and jump targets.

use super::token::{Cursor, Token};
use crate::code::*;
use crate::{Error, Reg};

/// A register as written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RegName {
    /// `r1`, not `w1`.
    pub(super) is_wide: bool,
    pub(super) reg: Reg,
}

/// How to interpret an immediate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Imm {
    /// The insn extends the sign to 64 bits: a value must fit an `i32`.
    Signed,
    /// As `Signed`, but the kernel prints the bits in hexadecimal: `0xfffffffe` is -2.
    SignedOrHexBits,
    /// The insn works on 32 bits: either reading of them.
    Bits,
}

/// `(u32 *)(r1 +4)`
#[derive(Clone, Copy, Debug)]
pub(super) struct Address {
    /// Size bits of the opcode.
    pub(super) size: u8,
    pub(super) base: Reg,
    pub(super) off: i16,
}

/// The target of a jump or call.
#[derive(Clone, Copy, Debug)]
pub(super) enum Target<'a> {
    /// This many slots from the next insn.
    Relative(i32),
    /// To a label.
    Label(&'a str),
}

impl RegName {
    /// The register that `word` names: `r0` to `r15`, `w0` to `w15`.
    pub(super) fn parse(word: &str) -> Option<RegName> {
        let (is_wide, digits) = match word.strip_prefix('r') {
            Some(digits) => (true, digits),
            None => (false, word.strip_prefix('w')?),
        };
        let reg = digits.parse().ok().filter(|reg| *reg < 16)?;
        (digits == "0" || !digits.starts_with(['0', '+'])).then_some(RegName { is_wide, reg })
    }
}

impl<'a> Cursor<'a> {
    /// The register at the cursor, if there is one. Does not advance.
    pub(super) fn peek_reg(&self) -> Option<RegName> {
        match self.token() {
            Token::Word(word) => RegName::parse(word),
            _ => None,
        }
    }

    /// A register of either width.
    pub(super) fn any_reg(&mut self) -> Result<RegName, Error> {
        let reg = self.peek_reg().ok_or_else(|| self.expected("a register"))?;
        self.advance()?;
        Ok(reg)
    }

    /// A register of the given width.
    pub(super) fn reg_of(&mut self, is_wide: bool) -> Result<Reg, Error> {
        match self.peek_reg() {
            Some(name) if name.is_wide == is_wide => {
                self.advance()?;
                Ok(name.reg)
            }
            _ if is_wide => Err(self.expected("a 64-bit register (`r0`)")),
            _ => Err(self.expected("a 32-bit register (`w0`)")),
        }
    }

    /// A 64-bit register.
    pub(super) fn reg(&mut self) -> Result<Reg, Error> {
        self.reg_of(true)
    }

    /// The register `reg`, which the notation repeats.
    pub(super) fn same_reg(&mut self, is_wide: bool, reg: Reg) -> Result<(), Error> {
        if self.peek_reg() != Some(RegName { is_wide, reg }) {
            let width = if is_wide { 'r' } else { 'w' };
            return Err(self.expected(&format!("`{width}{reg}` again")));
        }
        self.advance()
    }

    /// A number with its sign, and whether it was written as bare hexadecimal.
    pub(super) fn number(&mut self) -> Result<(i128, bool), Error> {
        let is_negative = self.eat("-")?;
        let Token::Number { value, is_hex } = self.token() else {
            return Err(self.expected("a number"));
        };
        self.advance()?;
        let value = i128::from(value);
        Ok(if is_negative { (-value, false) } else { (value, is_hex) })
    }

    /// A number from `min` to `max`.
    pub(super) fn number_in(&mut self, min: i64, max: i64) -> Result<i64, Error> {
        let start = self.clone();
        let (value, _) = self.number()?;
        match i64::try_from(value) {
            Ok(value) if (min..=max).contains(&value) => Ok(value),
            _ => Err(start.error(format!("{value} is not in {min}..={max}"))),
        }
    }

    /// A 32-bit immediate.
    pub(super) fn imm(&mut self, kind: Imm) -> Result<i32, Error> {
        let start = self.clone();
        let (value, is_hex) = self.number()?;
        let may_be_bits = kind == Imm::Bits || kind == Imm::SignedOrHexBits && is_hex;
        let imm = match i32::try_from(value) {
            Ok(imm) => Some(imm),
            Err(_) if may_be_bits => u32::try_from(value).ok().map(|bits| bits as i32),
            Err(_) => None,
        };
        imm.ok_or_else(|| match kind {
            Imm::Signed => start.error("does not fit 32 bits with sign; `rN = VALUE ll` has 64"),
            _ => start.error("does not fit 32 bits"),
        })
    }

    /// `+4`, `- 4`, `+ -4` or nothing, from `min` to `max`.
    pub(super) fn displacement(&mut self, min: i64, max: i64) -> Result<i64, Error> {
        if self.eat("+")? || self.token() == Token::Op("-") {
            self.number_in(min, max)
        } else {
            Ok(0)
        }
    }

    /// `(u32 *)`: size bits, and whether signed. After the opening parenthesis.
    pub(super) fn access_type(&mut self) -> Result<(u8, bool), Error> {
        let (size, is_signed) = match self.token() {
            Token::Word("u8") => (BPF_B, false),
            Token::Word("u16") => (BPF_H, false),
            Token::Word("u32") => (BPF_W, false),
            Token::Word("u64") => (BPF_DW, false),
            Token::Word("s8") => (BPF_B, true),
            Token::Word("s16") => (BPF_H, true),
            Token::Word("s32") => (BPF_W, true),
            _ => return Err(self.expected("`u8` to `u64` or `s8` to `s32`")),
        };
        self.advance()?;
        self.expect("*")?;
        self.expect(")")?;
        Ok((size, is_signed))
    }

    /// `(r1 +4)`
    pub(super) fn base_and_off(&mut self) -> Result<(Reg, i16), Error> {
        self.expect("(")?;
        let base = self.reg()?;
        let off = self.displacement(i16::MIN.into(), i16::MAX.into())? as i16;
        self.expect(")")?;
        Ok((base, off))
    }

    /// `(u32 *)(r1 +4)`, unsigned.
    pub(super) fn address(&mut self) -> Result<Address, Error> {
        self.expect("(")?;
        let start = self.clone();
        let (size, is_signed) = self.access_type()?;
        if is_signed {
            return Err(start.expected("`u8` to `u64`"));
        }
        let (base, off) = self.base_and_off()?;
        Ok(Address { size, base, off })
    }

    /// `[NAME]`
    pub(super) fn bracketed_name(&mut self) -> Result<&'a str, Error> {
        self.expect("[")?;
        let name = self.word("a name")?;
        self.expect("]")?;
        Ok(name)
    }

    /// `pc+3`, `-2` or `out`; the distance from `min` to `max`.
    pub(super) fn target(&mut self, min: i32, max: i32) -> Result<Target<'a>, Error> {
        let start = self.clone();
        if self.eat_word("pc")? || matches!(self.token(), Token::Op("+" | "-")) {
            if !matches!(self.token(), Token::Op("+" | "-")) {
                return Err(self.expected("`+` or `-`"));
            }
            return Ok(Target::Relative(self.displacement(min.into(), max.into())? as i32));
        }
        match self.token() {
            Token::Word(name) if self.peek_reg().is_none() => {
                self.advance()?;
                Ok(Target::Label(name))
            }
            _ => Err(start.expected("a label, `pc+N` or `+N`")),
        }
    }
}

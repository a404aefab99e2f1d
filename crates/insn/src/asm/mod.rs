//! Parser of the printer's notation, with labels and symbolic references, for test suites.
//!
//! One insn, label or comment per line. Beyond the notation of the kernel's log:
//!
//! | | |
//! |---|---|
//! | `out:` | a label, alone or before an insn |
//! | `; text`, `// text` | a comment |
//! | `goto out`, `goto +3`, `goto pc+3` | the same for `gotol`, `may_goto`, `if ... goto` |
//! | `call out` | a subprog, if there is such a label |
//! | `call bpf_loop`, `call bpf_loop#181`, `call 181` | a helper |
//! | `call kfunc[NAME]`, `call NAME#65477` | a kfunc, by name or by BTF id |
//! | `r1 = 5 ll` | `ld_imm64`; without `ll` a move, whose value must fit an `i32` |
//! | `r1 = map[NAME]`, `r1 = map_value[NAME]+8` | `ld_imm64` of a map, of its first value |
//! | `r1 = ksym[NAME]`, `r1 = func[out]` | `ld_imm64` of a variable of the kernel, of a subprog |
//! | `.insn 0x07 1 0 0 -8` | `code dst src off imm`, for what has no notation |
//! | `(18) r1 = 0x5`, `12: (95) exit` | the opcode and the index, as in a log; both are checked |
//!
//! Spaces are insignificant. Hexadecimal numbers denote 32 bits where the kernel prints bits: after
//! a comparison, and in 32-bit insns.
//!
//! # Invariants
//! 1. The printed text of an insn with a form and clean reserved fields parses back to that insn,
//!    except for the kind of an `ld_imm64` and the module of a kfunc, which are not in the text.
//!
//! Tests: `tests/it/notation_round_trip.rs`, `tests/it/notation.rs`.

mod assembly;
mod assign;
mod draft;
mod memory;
mod operand;
mod resolve;
mod statement;
mod token;

pub use assembly::{Assembly, SymbolRef};

use crate::{Error, InsnIdx};
use operand::RegName;
use token::{Cursor, Token};

/// Reads a program. `helper_id` maps `bpf_get_prandom_u32` to 7, and what is no helper to `None`.
pub fn assemble(text: &str, helper_id: &dyn Fn(&str) -> Option<u32>) -> Result<Assembly, Error> {
    let mut assembly = Assembly::default();
    let mut pending = vec![];
    for (line, text) in (1..).zip(text.lines()) {
        let mut cursor = Cursor::new(line, text)?;
        let at = InsnIdx(assembly.insns.len() as u32);
        while let Some(name) = label(&mut cursor, &assembly)? {
            assembly.labels.push(SymbolRef { insn: at, name: name.to_owned() });
        }
        index(&mut cursor, at)?;
        if cursor.token() == Token::End {
            continue;
        }
        let code = opcode(&mut cursor)?;
        let start = cursor.clone();
        let draft = statement::read(&mut cursor, code, helper_id)?;
        assembly.push(line, draft);
        if let Some(symbol) = draft.symbol {
            pending.push(resolve::Pending { at, symbol, start });
        }
    }
    resolve::resolve(&mut assembly, &pending, helper_id)?;
    Ok(assembly)
}

/// Steps over `NAME:`.
fn label<'a>(cursor: &mut Cursor<'a>, assembly: &Assembly) -> Result<Option<&'a str>, Error> {
    let Token::Word(name) = cursor.token() else { return Ok(None) };
    let mut ahead = cursor.clone();
    ahead.advance()?;
    if !ahead.eat(":")? {
        return Ok(None);
    }
    if RegName::parse(name).is_some() {
        return Err(cursor.error(format!("`{name}` is a register and cannot be a label")));
    }
    if assembly.label(name).is_some() {
        return Err(cursor.error(format!("label `{name}` is defined twice")));
    }
    *cursor = ahead;
    Ok(Some(name))
}

/// Skips the index of an insn, `12:`, as in logs.
fn index(cursor: &mut Cursor<'_>, at: InsnIdx) -> Result<(), Error> {
    let Token::Number { value, .. } = cursor.token() else { return Ok(()) };
    if value != u64::from(at.0) {
        return Err(cursor.error(format!("this is insn {at}")));
    }
    cursor.advance()?;
    cursor.expect(":")
}

/// Skips the opcode in parentheses, `(b7)`, as in logs. No insn starts with a parenthesis.
fn opcode(cursor: &mut Cursor<'_>) -> Result<Option<u8>, Error> {
    let rest = cursor.rest();
    if !rest.starts_with('(') {
        return Ok(None);
    }
    let digits = rest.get(1..3).filter(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()));
    match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
        Some(code) if rest[3..].starts_with(')') => {
            cursor.skip(4)?;
            Ok(Some(code))
        }
        _ => Err(cursor.error("expected an opcode of two hexadecimal digits, as in `(b7)`")),
    }
}

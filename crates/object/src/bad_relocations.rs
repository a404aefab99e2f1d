//! Relocations for which libbpf refuses an object when it opens it, in whichever program they are.
//!
//! Behaviour: libbpf 1.5, asked by `cargo xtask load-diff` with symbols, offsets and insns of real
//! objects changed. The type of a relocation does not matter, only the insn at its place.

use crate::elf::{Binding, Relocation, Section, Symbol, SymbolKind};
use crate::error::{Error, Result};
use crate::image::Image;
use crate::loader::LoadClass;
use crate::relocate::CALL;
use crate::sections::{PROGBITS, SectionKind};
use skep_insn::{INSN_BYTES, Insn};
use skep_uapi::MapType;

/// The first of all sections with insns.
pub(crate) fn find(image: &Image<'_>) -> Result<()> {
    let text = image.text();
    // Also those of a section without any insn.
    let empty = |section: &Section<'_>, kind| {
        let holds = section.executable && section.number == PROGBITS && section.size_bytes == 0;
        holds && kind == SectionKind::Other
    };
    for (section, &kind) in image.elf.sections.iter().zip(&image.kinds) {
        let has_insns = kind == SectionKind::Code || empty(section, kind);
        // Those of maps are looked at one by one where the maps are read.
        if matches!(kind, SectionKind::BtfMaps | SectionKind::StructOps) {
            continue;
        }
        for relocation in &section.relocations {
            let offset = relocation.offset;
            let checked = match has_insns {
                true => check(image, section.index, relocation, text),
                false => check_place(section, offset),
            };
            checked.map_err(|error| {
                let error = error.context(format!("section {}, offset {offset:#x}", section.name));
                error.of_class(LoadClass::Open).placed(image.place(section.index, offset))
            })?;
        }
    }
    Ok(())
}

/// Relocations of a section with neither insns nor maps only have to be in it.
fn check_place(section: &Section<'_>, offset: u64) -> Result<()> {
    match offset.is_multiple_of(INSN_BYTES as u64) && offset < section.size_bytes {
        true => Ok(()),
        false => refuse("no insn begins here".to_owned()),
    }
}

/// Checks one relocation; `text` is the section of subprogs.
fn check(
    image: &Image<'_>,
    section: usize,
    relocation: &Relocation,
    text: Option<usize>,
) -> Result<()> {
    let number = relocation.symbol;
    let missing = || Error::new(format!("symbol {number} does not exist"));
    let symbol = image.elf.symbols.get(number).ok_or_else(missing)?;
    let name = &symbol.name;
    let insn = insn_at(image, section, relocation.offset)
        .ok_or_else(|| Error::new("no insn begins here"))?;
    if image.owner(section, relocation.offset).is_none() {
        return Ok(());
    }
    let calls = insn.code == CALL;
    if !calls && !insn.is_ld_imm64() {
        let code = insn.code;
        return refuse(format!("symbol {name}: an insn with opcode {code:#x} is not relocated"));
    }
    if image.externs.of_symbol(number).is_some() {
        return Ok(());
    }
    if calls && !insn.is_pseudo_call() {
        return refuse(format!("symbol {name}: the call has source register {}", insn.src));
    }
    let of = symbol.section.ok_or_else(|| Error::new(format!("symbol {name} is not defined")))?;
    let lies_in_text = Some(of) == text;
    if calls && !lies_in_text {
        // Functions in other sections are refused with a reason of their own.
        let is_code = image.kinds.get(of) == Some(&SectionKind::Code);
        return if is_code {
            Ok(())
        } else {
            refuse(format!("{name} is called, but is no function"))
        };
    }
    let has_address = matches!(
        (symbol.kind, symbol.binding),
        (SymbolKind::Section, Binding::Local) | (SymbolKind::Func, Binding::Global | Binding::Weak)
    );
    if lies_in_text && !calls && !has_address {
        return refuse(format!("the address of {name}, which is local"));
    }
    if lies_in_text {
        let apart = [symbol.value, u64::from(insn.imm as u32) * u64::from(!calls)];
        let whole = apart.iter().all(|at| at.is_multiple_of(INSN_BYTES as u64));
        return if whole { Ok(()) } else { refuse(format!("symbol {name}: no insn begins there")) };
    }
    check_target(image, insn, symbol, of)
}

fn refuse(text: String) -> Result<()> {
    Err(Error::new(text))
}

fn insn_at(image: &Image<'_>, section: usize, offset: u64) -> Option<Insn> {
    let whole = offset.is_multiple_of(INSN_BYTES as u64);
    let slot = usize::try_from(offset).ok()? / INSN_BYTES;
    image.functions.insns.get(section)?.get(slot).copied().filter(|_| whole)
}

/// Checks that an address is one of a map or of its value.
fn check_target(image: &Image<'_>, insn: Insn, symbol: &Symbol<'_>, of: usize) -> Result<()> {
    let (name, section) = (&symbol.name, &image.section(of).name);
    let holds = match image.kinds.get(of) {
        Some(SectionKind::Data | SectionKind::Rodata | SectionKind::Bss) => {
            image.maps.of_section(of).is_some()
        }
        Some(SectionKind::BtfMaps) => {
            image.maps.of_variable(of, symbol.referred(insn.imm)).is_some()
        }
        Some(SectionKind::Code | SectionKind::StructOps | SectionKind::Other) | None => false,
        Some(SectionKind::Arena) => {
            let arena = image.maps.defs.iter().any(|def| def.map_type == MapType::Arena);
            let text = format!("symbol {name} is of section {section}, and no map is an arena");
            return if arena { Ok(()) } else { refuse(text) };
        }
        // Legacy maps have a reason of their own.
        Some(_) => true,
    };
    if holds { Ok(()) } else { refuse(format!("symbol {name} is of section {section}, of no map")) }
}

//! An insn's text and source line, with the program's names.

use skep::btf::TypeId;
use skep::insn::code::{BPF_PSEUDO_MAP_FD, BPF_PSEUDO_MAP_VALUE};
use skep::insn::{Insn, InsnNames, write_insn};
use skep::object::SourcePlace;
use skep::program::{LineInfo, MapIdx, Program};
use skep::uapi::helper::HelperId;
use skep::verifier::OwnHelper;
use skep_report::SourceSpot;
use std::num::NonZeroU32;

/// Names for the printer.
struct Names<'a>(&'a Program);

impl InsnNames for Names<'_> {
    fn helper_name(&self, id: i32) -> Option<&str> {
        if let Some(own) = OwnHelper::from_number(id) {
            return Some(own.name());
        }
        HelperId::from_number(u32::try_from(id).ok()?).map(HelperId::name)
    }

    fn kfunc_name(&self, insn: Insn) -> Option<&str> {
        let id = TypeId(u32::try_from(insn.imm).ok()?);
        Some(self.0.kernel_btf.as_ref()?.get(id)?.name())
    }
}

/// The insn at `idx` in the kernel's notation; `None` outside of the program.
pub(crate) fn insn_text(program: &Program, idx: usize) -> Option<String> {
    let insns = program.insns.get(idx..)?;
    insns.first()?;
    Some(insn_text_of(program, insns))
}

/// The first of `insns`, which need not belong to the program, but call the same functions.
pub(crate) fn insn_text_of(program: &Program, insns: &[Insn]) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail.
    let _ = write_insn(&mut text, insns, &Names(program), true);
    text
}

/// The map that an insn loads, with the offset into its value.
pub(crate) fn map_text(program: &Program, idx: usize) -> Option<String> {
    let [first, second] = program.insns.get(idx..)?.get(..2)? else { return None };
    if !first.is_ld_imm64() {
        return None;
    }
    let map = |imm: i32| program.map(MapIdx(u32::try_from(imm).ok()?));
    match first.src {
        BPF_PSEUDO_MAP_FD => Some(format!("map[{}]", map(first.imm)?.name)),
        BPF_PSEUDO_MAP_VALUE => Some(format!("map[{}]+{}", map(first.imm)?.name, second.imm)),
        _ => None,
    }
}

/// The insn at `idx`, with the map's name in place of its address.
pub(crate) fn insn_with_map(program: &Program, idx: usize) -> Option<String> {
    let text = insn_text(program, idx)?;
    Some(match (map_text(program, idx), text.split_once(" = ")) {
        (Some(map), Some((left, _))) => format!("{left} = {map}"),
        _ => text,
    })
}

/// The line info row that covers an insn.
pub(crate) fn line_info(program: &Program, idx: usize) -> Option<&LineInfo> {
    let after = program.line_info.partition_point(|row| row.insn_off.index() <= idx);
    program.line_info.get(after.checked_sub(1)?)
}

/// A source place given by an object, as a [`SourceSpot`].
pub(crate) fn spot_of(place: &SourcePlace) -> SourceSpot {
    let SourcePlace { file, line, column, text, .. } = place.clone();
    SourceSpot { file: file.trim_start_matches("./").to_owned(), line, column, text }
}

/// The source line of an insn; `None` without line info. An insn that belongs to several lines has
/// line 0: then it is that of the last insn before it with a line.
pub(crate) fn source_spot(program: &Program, idx: usize) -> Option<SourceSpot> {
    let after = program.line_info.partition_point(|row| row.insn_off.index() <= idx);
    let rows = program.line_info.get(..after)?;
    let starts = program.func_info.iter().map(|row| row.insn_off.index());
    let start = starts.take_while(|&start| start <= idx).last().unwrap_or(0);
    let of_function = rows.iter().rev().take_while(|row| row.insn_off.index() >= start);
    let row = of_function.into_iter().find(|row| row.line() > 0).or(rows.last())?;
    let btf = program.btf.as_ref()?;
    let file = btf.try_str(row.file_name_off)?;
    Some(SourceSpot {
        file: file.strip_prefix("./").unwrap_or(file).to_owned(),
        line: row.line(),
        column: NonZeroU32::new(row.col()),
        text: btf.try_str(row.line_off)?.to_owned(),
    })
}

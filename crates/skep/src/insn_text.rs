//! The text of insns, and the names of functions, with the names that the program gives them.

use skep_btf::TypeId;
use skep_insn::code::{BPF_PSEUDO_MAP_FD, BPF_PSEUDO_MAP_VALUE};
use skep_insn::{Insn, InsnNames, write_insn};
use skep_program::{LineInfo, MapIdx, Program};
use skep_uapi::helper::HelperId;
use skep_verifier::OwnHelper;

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
pub fn insn_text(program: &Program, idx: usize) -> Option<String> {
    let insns = program.insns.get(idx..)?;
    insns.first()?;
    Some(insn_text_of(program, insns))
}

/// The first of `insns`, which need not belong to the program, but call the same functions.
pub fn insn_text_of(program: &Program, insns: &[Insn]) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail.
    let _ = write_insn(&mut text, insns, &Names(program), true);
    text
}

/// The map that an insn loads, with the offset into its value.
pub fn map_text(program: &Program, idx: usize) -> Option<String> {
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
pub fn insn_with_map(program: &Program, idx: usize) -> Option<String> {
    let text = insn_text(program, idx)?;
    Some(match (map_text(program, idx), text.split_once(" = ")) {
        (Some(map), Some((left, _))) => format!("{left} = {map}"),
        _ => text,
    })
}

/// The line info row that covers an insn.
pub fn line_info(program: &Program, idx: usize) -> Option<&LineInfo> {
    let after = program.line_info.partition_point(|row| row.insn_off.index() <= idx);
    program.line_info.get(after.checked_sub(1)?)
}

/// The name of the function of a program that starts at an insn.
pub fn function_name(program: &Program, start: usize) -> String {
    if start == 0 {
        return program.name.clone();
    }
    let (rows, btf) = program.source_functions();
    let row = rows.iter().find(|row| row.insn_off.index() == start);
    match row.and_then(|row| btf?.get(TypeId(row.type_id))) {
        Some(function) => function.name().to_owned(),
        None => format!("function at insn {start}"),
    }
}

//! Builds a [`Program`] from a case.

use super::case::Case;
use super::case_btf::{self, CaseBtf};
use super::options::{MapOptions, Options};
use skep::btf::{Btf, Kind};
use skep::insn::InsnIdx;
use skep::insn::asm::{Assembly, assemble};
use skep::program::{
    AttachTarget, FuncInfo, LineInfo, MapDef, MapIdx, MapSlot, Program, SlotTarget, TargetFunction,
};
use skep::uapi::{AttachType, MapFlags, MapType, ProgFlags, ProgType};
use std::sync::Arc;

/// Assembles a case. `kernel_btf` is used for kfuncs and attach targets; if a case needs it and it
/// is `None`, the error starts with `no kernel BTF`.
pub fn program(case: &Case, kernel_btf: Option<&Arc<Btf>>) -> Result<(Program, Assembly), String> {
    assembled("main", &case.bpf, &case.options, kernel_btf)
}

/// The case's program, then the targets of its tail calls.
pub fn programs(case: &Case, kernel_btf: Option<&Arc<Btf>>) -> Result<Vec<Program>, String> {
    let main = ("main", case.bpf.as_str());
    let targets = case.options.target.iter().map(|(name, bpf)| (name.as_str(), bpf.as_str()));
    let made =
        |(name, bpf)| assembled(name, bpf, &case.options, kernel_btf).map(|(program, _)| program);
    std::iter::once(main).chain(targets).map(made).collect()
}

/// Assembles a program with that name from its text.
pub fn assembled(
    name: &str,
    bpf: &str,
    options: &Options,
    kernel_btf: Option<&Arc<Btf>>,
) -> Result<(Program, Assembly), String> {
    let helper = |name: &str| skep::uapi::helper::HelperId::from_name(name).map(|id| id as u32);
    let bpf = case_btf::with_type_ids(bpf, options)?;
    let mut assembly = assemble(&bpf, &helper).map_err(|e| e.to_string())?;
    resolve(&mut assembly, options, kernel_btf)?;
    let built = case_btf::build(options, &assembly)?;
    let maps: Vec<MapDef> = options
        .map
        .iter()
        .map(|(name, map)| map_def(name, map, options, &built))
        .collect::<Result<_, String>>()?;
    let prog_type = ProgType::from_name(&options.prog_type)
        .ok_or_else(|| format!("no such program type: {}", options.prog_type))?;
    let attach_type = match &options.attach_type {
        None => 0,
        Some(name) => AttachType::from_name(name)
            .map(|named| named as u32)
            .or_else(|| name.parse().ok())
            .ok_or_else(|| format!("no such attach type: {name}"))?,
    };
    let program = Program {
        name: name.to_owned(),
        section: options.prog_type.clone(),
        prog_type,
        expected_attach_type: attach_type,
        attach: attach_target(options, kernel_btf)?,
        prog_flags: flags(&options.flags, ProgFlags::from_name)?,
        license: options.license.clone(),
        autoload: true,
        insns: assembly.insns.clone(),
        maps: maps.into(),
        btf: built.btf.map(Arc::new),
        func_info: func_info(&options.func_rows, built.func_info),
        line_info: options.lines.iter().map(line_info).collect(),
        kernel_btf: kernel_btf.cloned(),
        ..Program::default()
    };
    Ok((program, assembly))
}

/// Resolves names in the text: maps to indices, kernel functions and variables to BTF ids.
fn resolve(
    assembly: &mut Assembly,
    options: &Options,
    kernel_btf: Option<&Arc<Btf>>,
) -> Result<(), String> {
    for reference in &assembly.map_refs {
        let index = options.map.keys().position(|name| *name == reference.name);
        let index = index.ok_or_else(|| format!("no such map: {}", reference.name))?;
        if let Some(insn) = assembly.insns.get_mut(reference.insn.index()) {
            insn.imm = index as i32;
        }
    }
    let refs = [(&assembly.kfunc_refs, Kind::Func), (&assembly.ksym_refs, Kind::Var)];
    for (references, kind) in refs {
        for reference in references {
            let id = kernel_type(&reference.name, kind, kernel_btf)?;
            if let Some(insn) = assembly.insns.get_mut(reference.insn.index()) {
                insn.imm = id as i32;
            }
        }
    }
    Ok(())
}

fn kernel_type(name: &str, kind: Kind, btf: Option<&Arc<Btf>>) -> Result<u32, String> {
    let btf = btf.ok_or("no kernel BTF")?;
    let id = btf.find_by_name_kind(name, kind);
    id.map(|id| id.0).ok_or_else(|| format!("no such name in the kernel's BTF: {name}"))
}

fn func_info(rows: &[[u32; 2]], right: Vec<FuncInfo>) -> Vec<FuncInfo> {
    let row = |&[insn, nth]: &[u32; 2]| FuncInfo {
        insn_off: InsnIdx(insn),
        type_id: nth.checked_sub(1).and_then(|i| right.get(i as usize)).map_or(0, |f| f.type_id),
    };
    if rows.is_empty() { right } else { rows.iter().map(row).collect() }
}

fn line_info(&[insn, file_name_off, line_off, line_col]: &[u32; 4]) -> LineInfo {
    LineInfo { insn_off: InsnIdx(insn), file_name_off, line_off, line_col }
}

fn attach_target(options: &Options, btf: Option<&Arc<Btf>>) -> Result<AttachTarget, String> {
    if let Some(replaces) = &options.replaces {
        let (program, _) = assembled("other", &replaces.bpf, &replaces.of, btf)?;
        let find = |btf: &Arc<Btf>| btf.find_by_name_kind(&replaces.func, Kind::Func);
        let id = program.btf.as_ref().and_then(find);
        let btf_id = id.ok_or_else(|| format!("no such function: {}", replaces.func))?.0;
        return Ok(AttachTarget::Function(Arc::new(TargetFunction { program, btf_id })));
    }
    let Some(name) = &options.attach else { return Ok(AttachTarget::None) };
    let (name, kind) = match name.split_once(' ') {
        Some(("struct", name)) => (name, Kind::Struct),
        Some(("typedef", name)) => (name, Kind::Typedef),
        _ if name.starts_with("btf_trace_") => (name.as_str(), Kind::Typedef),
        _ => (name.as_str(), Kind::Func),
    };
    let unnamed = |btf: &Btf| btf.root().iter().find(|ty| ty.name().is_empty()).map(|ty| ty.id().0);
    let btf_id = match (name.parse(), btf) {
        (Ok(number), _) => number,
        (_, Some(btf)) if name == "(anon)" => unnamed(btf).ok_or("every type has a name")?,
        _ => kernel_type(name, kind, btf)?,
    };
    Ok(AttachTarget::Kernel { btf_id, name: name.to_owned() })
}

fn map_def(
    name: &str,
    map: &MapOptions,
    options: &Options,
    built: &CaseBtf,
) -> Result<MapDef, String> {
    let inner = match &map.inner {
        None => None,
        Some(inner) => {
            let inner_map = options.map.get(inner).filter(|inner| inner.inner.is_none());
            let inner_map = inner_map.ok_or_else(|| format!("no such inner map: {inner}"))?;
            Some(Box::new(map_def(inner, inner_map, options, built)?))
        }
    };
    let btf = built.maps.get(name);
    Ok(MapDef {
        name: name.to_owned(),
        map_type: MapType::from_name(&map.r#type)
            .ok_or_else(|| format!("no such map type: {}", map.r#type))?,
        key_size: map.key,
        value_size: btf.map_or(map.value, |btf| btf.2),
        max_entries: map.max,
        map_flags: flags(&map.flags, MapFlags::from_name)?,
        map_extra: map.extra,
        inner,
        btf_key_type_id: btf.map_or(0, |btf| btf.0.0),
        btf_value_type_id: btf.map_or(0, |btf| btf.1.0),
        contents: bytes(&map.contents)?,
        frozen: map.frozen,
        slots: slots(map, options)?,
        autocreate: true,
        ..MapDef::default()
    })
}

fn slots(map: &MapOptions, options: &Options) -> Result<Vec<MapSlot>, String> {
    let named = (0u32..).zip(&map.slots).filter(|(_, name)| !name.is_empty());
    let slot = |(index, name): (u32, &String)| {
        let inner = options.map.keys().position(|known| known == name);
        let target = match inner {
            Some(inner) => SlotTarget::Map(MapIdx(inner as u32)),
            None if name == "main" || options.target.contains_key(name) => {
                SlotTarget::Prog(name.clone())
            }
            None => return Err(format!("no such map or target: {name}")),
        };
        Ok(MapSlot { index, target })
    };
    named.map(slot).collect()
}

/// The union of flags by name.
fn flags<F: Default + std::ops::BitOr<Output = F>>(
    names: &[String],
    by_name: impl Fn(&str) -> Option<F>,
) -> Result<F, String> {
    names.iter().try_fold(F::default(), |sum, name| {
        let flag = by_name(&name.to_uppercase());
        flag.map(|flag| sum | flag).ok_or_else(|| format!("no such flag: {name}"))
    })
}

/// Hexadecimal digits; spaces between bytes are allowed.
pub(crate) fn bytes(text: &str) -> Result<Vec<u8>, String> {
    let digits: Vec<u32> = text
        .chars()
        .filter(|c| !c.is_whitespace())
        .map(|c| c.to_digit(16).ok_or_else(|| format!("not hexadecimal: {text}")))
        .collect::<Result<_, String>>()?;
    Ok(digits.chunks(2).map(|pair| pair.iter().fold(0, |sum, d| sum << 4 | *d as u8)).collect())
}

//! Reasons for which libbpf rejects an object as a whole, so that none of its programs is loaded.
//!
//! Behaviour: libbpf 1.7, checked by `cargo xtask load-diff`. Its order: errors on opening; the
//! byte order; externs; struct_ops; (each program's CO-RE relocations); maps.

use crate::bad_relocations;
use crate::elf::{Elf, Section, SymbolKind};
use crate::error::{Error, Result};
use crate::externs::{Extern, ExternKind, KCONFIG, KSYMS};
use crate::image::Image;
use crate::kernel_types::KernelTypes;
use crate::loader::{LoadClass, Loader};
use crate::map_creation;
use crate::map_slots;
use crate::options::OpenOptions;
use crate::sections::{BTF, BTF_EXT, LICENSE, MAPS, PROGBITS, SYMTAB, SectionKind, TEXT};
use crate::sections::{VERSION, VERSION_BYTES};
use rustc_hash::{FxHashMap, FxHashSet};
use skep_btf::{Kind, VarLinkage};
use skep_insn::{Endian, INSN_BYTES};
use skep_program::{MapDef, MapIdx, MapSlot, Program, SlotTarget, SourcePlace};
use skep_uapi::MapType;

/// The reasons, by when they are found.
pub(crate) struct Refusals {
    /// Before any program is relocated.
    pub(crate) first: Option<Error>,
    /// The first of `first` that is specific to libbpf.
    pub(crate) note: Option<Error>,
    /// A map that cannot be created.
    pub(crate) map: Option<Error>,
}

impl Refusals {
    /// Looks for the first of each.
    pub(crate) fn find(image: &Image<'_>) -> Refusals {
        if image.options.as_in_file {
            return Refusals { first: None, note: None, map: None };
        }
        let opens = check_open(image);
        match image.options.loader {
            Loader::Libbpf => {
                let first = opens
                    .and_then(|()| check_endian(&image.elf))
                    .and_then(|()| check_externs(image))
                    .and_then(|()| check_btf(image))
                    .and_then(|()| image.struct_ops_refused.clone().map_or(Ok(()), Err));
                let made = image.maps.defs.iter().enumerate().filter(|(_, def)| def.autocreate);
                let kernel = KernelTypes::new(image.options);
                let refused = |(index, def)| -> Option<Error> {
                    let (maps, btf) = (&image.maps.defs, image.fixed_btf.as_deref());
                    let error = map_creation::check(def, image.options)
                        .and_then(|()| map_creation::check_pointers(def, btf, &kernel))
                        .and_then(|()| map_creation::check_mapping(def, btf))
                        .and_then(|()| map_slots::check(maps, index, btf))
                        .err()?;
                    Some(error.placed(use_of_map(image, index)))
                };
                let unknown = image.maps.unknown_type.clone();
                let map = unknown.or_else(|| made.into_iter().find_map(refused));
                Refusals { first: first.err(), note: None, map }
            }
            Loader::Any => {
                let note = opens.and_then(|()| check_endian(&image.elf));
                let unknown = || image.maps.unknown_type.clone();
                Refusals { first: None, note: note.err().or_else(unknown), map: None }
            }
        }
    }
}

/// struct_ops maps are described by the object's BTF.
fn check_btf(image: &Image<'_>) -> Result<()> {
    let needed = image.kinds.contains(&SectionKind::StructOps);
    let refused = image.btf_refused.clone().filter(|_| needed);
    refused.map_or(Ok(()), |error| Err(error.of_class(LoadClass::StructOps)))
}

/// The maps that a program refers to, for loaders which create no others.
pub(crate) fn check_maps(program: &Program, options: &OpenOptions) -> Result<()> {
    let named = program.insns.iter().filter(|insn| insn.is_ld_imm64() && matches!(insn.src, 1 | 2));
    let mut seen = Vec::new();
    for insn in named {
        let Ok(index) = u32::try_from(insn.imm) else { continue };
        if seen.contains(&index) {
            continue;
        }
        seen.push(index);
        program.map(MapIdx(index)).map_or(Ok(()), |def| check_map(def, options))?;
    }
    Ok(())
}

fn check_map(def: &MapDef, options: &OpenOptions) -> Result<()> {
    if let Some(what) = map_creation::left_open(def) {
        let (name, map_type) = (&def.name, def.map_type);
        let text = format!("map {name} ({map_type}): the object's own loader must set {what}");
        return Err(Error::new(text));
    }
    map_creation::check(def, options)
}

fn check_open(image: &Image<'_>) -> Result<()> {
    check_ext(image)?;
    check_sizes(image)?;
    check_legacy_maps(image)?;
    check_arena(image)?;
    check_functions(image)?;
    check_slots(image)?;
    let of_open = |it: &&Error| it.class() == Some(LoadClass::Open);
    let unknown = image.maps.unknown_type.as_ref().filter(of_open);
    image.maps.refused.as_ref().or(unknown).map_or(Ok(()), |it| Err(it.clone()))?;
    check_datasecs(image)?;
    check_declared(image)?;
    check_linkage(image)?;
    check_calls(image)?;
    bad_relocations::find(image)?;
    if let Some(refused) = image.struct_ops_refused.as_ref().filter(of_open) {
        return Err(refused.clone());
    }
    let mut externs = image.externs.list.iter().enumerate();
    let refused = |(index, it): (usize, &Extern)| {
        let text = "libbpf only supports externs in .kconfig and .ksyms with BTF";
        let error = match &it.value {
            _ if it.kind == ExternKind::Unknown => {
                Error::load(LoadClass::Open, format!("extern {}: {text}", it.name))
            }
            Err(error) if error.class() == Some(LoadClass::Open) => error.clone(),
            _ => return None,
        };
        Some(error.placed(use_of_extern(image, index)))
    };
    externs.find_map(refused).map_or(Ok(()), Err)
}

/// What BTF describes needs all of it.
fn check_ext(image: &Image<'_>) -> Result<()> {
    let described = [SectionKind::BtfMaps, SectionKind::StructOps];
    let needed = image.kinds.iter().any(|kind| described.contains(kind));
    match image.ext_refused.clone().filter(|_| needed) {
        Some(error) => {
            Err(Error::from(error).context("section .BTF.ext").of_class(LoadClass::Open))
        }
        None => Ok(()),
    }
}

/// An object may have several of these sections; all must be what libbpf expects.
fn check_sizes(image: &Image<'_>) -> Result<()> {
    if !image.elf.sections.iter().any(|it| it.number == SYMTAB) {
        return refuse("the file has no symbol table".to_owned());
    }
    for section in &image.elf.sections {
        let bytes = section.data.len();
        match &*section.name {
            _ if !section.named => {
                return refuse(format!("section {}: it has no valid name", section.index));
            }
            _ if section.skipped => {}
            name @ (BTF | BTF_EXT) if section.number != PROGBITS => {
                let number = section.number;
                return refuse(format!("section {name}: its type is {number}, not PROGBITS"));
            }
            LICENSE if bytes == 0 => return refuse("section license: it is empty".to_owned()),
            VERSION if bytes != VERSION_BYTES => {
                let text = format!("it has {bytes} bytes, it must have {VERSION_BYTES}");
                return refuse(format!("section version: {text}"));
            }
            _ => {}
        }
    }
    Ok(())
}

fn refuse(text: String) -> Result<()> {
    Err(Error::load(LoadClass::Open, text))
}

/// `maps` is rejected; other such sections are not read, so nothing may refer to them.
fn check_legacy_maps(image: &Image<'_>) -> Result<()> {
    let of_kind = |wanted: SectionKind| image.sections_of(wanted);
    if of_kind(SectionKind::LegacyMaps).next().is_none() {
        return Ok(());
    }
    let symbols = of_kind(SectionKind::Code).flat_map(|code| image.applied(code));
    let named = |symbol: usize| image.elf.symbols.get(symbol)?.section;
    let used: FxHashSet<usize> = symbols.filter_map(|r| named(r.symbol)).collect();
    let refused = |s: &&Section<'_>| s.name == "maps" || used.contains(&s.index);
    let found = of_kind(SectionKind::LegacyMaps).find(refused);
    found.map_or(Ok(()), |section| {
        let text = "libbpf 1.x rejects map definitions without BTF; other loaders accept them";
        refuse(format!("section {}: {text}", section.name))
    })
}

/// Variables of an arena need one, which is large enough; and there may only be one.
fn check_arena(image: &Image<'_>) -> Result<()> {
    let mut arenas = image.maps.defs.iter().filter(|def| def.map_type == MapType::Arena);
    let arena = arenas.next();
    if let Some(second) = arenas.next() {
        return refuse(format!("map {}: libbpf supports one arena only", second.name));
    }
    let Some(section) = image.sections_of(SectionKind::Arena).next() else { return Ok(()) };
    // Without any map, it only matters if an insn refers to it.
    if image.sections_of(SectionKind::BtfMaps).next().is_none() {
        return Ok(());
    }
    let (name, bytes) = (&section.name, section.size_bytes);
    match arena {
        None => refuse(format!("section {name}: no map of section .maps is an arena")),
        Some(arena) if bytes > arena.mmap_size_bytes => {
            refuse(format!("section {name}: its {bytes} bytes do not fit into {}", arena.name))
        }
        Some(_) => Ok(()),
    }
}

/// A slot of a program array holds a program, not a function that programs call.
/// Each slot of a program array is set to a program. libbpf finds it by its name: of several that
/// have it, only the first can be set.
fn check_slots(image: &Image<'_>) -> Result<()> {
    let mut first = FxHashMap::default();
    for function in image.functions.list.iter().filter(|it| it.entry) {
        first.entry(&*function.name).or_insert((function.section, function.range.start));
    }
    let relocations = image.sections_of(SectionKind::BtfMaps).flat_map(|it| &it.relocations);
    let symbols = relocations.filter_map(|it| image.elf.symbols.get(it.symbol));
    for symbol in symbols.filter(|it| it.kind == SymbolKind::Func) {
        let found = first.get(&*symbol.name);
        let place = symbol.section.map(|of| (of, symbol.value as usize / INSN_BYTES));
        if found != place.as_ref() {
            let is_set = |slot: &MapSlot| slot.target == SlotTarget::Prog(symbol.name.to_string());
            let map = image.maps.defs.iter().find(|def| def.slots.iter().any(is_set));
            let map = map.map_or("", |def| &def.name);
            return refuse(format!("map {map}: {} is no program", symbol.name));
        }
    }
    Ok(())
}

fn check_functions(image: &Image<'_>) -> Result<()> {
    for symbol in image.elf.symbols.iter().filter(|it| it.kind == SymbolKind::Func) {
        let of = symbol.section.filter(|of| image.kinds.get(*of) == Some(&SectionKind::Code));
        let Some(section) = of.map(|of| &image.section(of).name) else { continue };
        let (name, value) = (&symbol.name, symbol.value);
        match symbol.size_bytes {
            0 => return refuse(format!("section {section}: function {name} has size 0")),
            _ if !symbol.named => {
                return refuse(format!(
                    "section {section}: the function at offset {value:#x} has no valid name"
                ));
            }
            _ => {}
        }
    }
    for function in &image.functions.list {
        let section = &image.section(function.section).name;
        if function.local && *section != TEXT {
            let name = &function.name;
            return refuse(format!("section {section}: libbpf rejects static program {name}"));
        }
    }
    Ok(())
}

/// Variables of a section that the file does not have.
fn check_datasecs(image: &Image<'_>) -> Result<()> {
    let Some(btf) = &image.btf else { return Ok(()) };
    for datasec in btf.iter().filter(|ty| ty.kind() == Kind::Datasec) {
        let name = datasec.name();
        let sized = datasec.stated_size() != Some(0) || [KCONFIG, KSYMS].contains(&name);
        let empty = |section: &Section<'_>| section.size_bytes == 0;
        if !sized && image.elf.section(name).is_none_or(empty) {
            return refuse(format!(
                "section {name}: BTF has variables in it, but the file does not have it"
            ));
        }
    }
    Ok(())
}

/// Each extern that BTF declares is a symbol.
fn check_declared(image: &Image<'_>) -> Result<()> {
    let Some(btf) = &image.btf else { return Ok(()) };
    let symbols: FxHashSet<&str> = image.externs.list.iter().map(|it| &*it.name).collect();
    let datasecs = btf.iter().filter(|ty| ty.kind() == Kind::Datasec);
    for datasec in datasecs.filter(|it| [KCONFIG, KSYMS].contains(&it.name())) {
        let mut names = datasec.vars().map(|it| btf.ty(it.ty).name());
        if let Some(name) = names.find(|name| !symbols.contains(name)) {
            let section = datasec.name();
            return refuse(format!("section {section}: no undefined symbol is called {name}"));
        }
    }
    Ok(())
}

/// Each variable is found by its symbol; maps are visible to other objects.
fn check_linkage(image: &Image<'_>) -> Result<()> {
    let Some(btf) = &image.btf else { return Ok(()) };
    let symbols = image.elf.global_variables();
    for datasec in btf.iter().filter(|ty| ty.kind() == Kind::Datasec) {
        let name = datasec.name();
        // Of a section that was removed after linking, too.
        if [KCONFIG, KSYMS].contains(&name) {
            continue;
        }
        for var in datasec.vars().map(|it| btf.ty(it.ty)) {
            if var.kind() != Kind::Var {
                let id = var.id();
                return refuse(format!("section {name}: type {id} of its DATASEC is no variable"));
            }
            let linkage = var.var_linkage();
            if name == MAPS && linkage > VarLinkage::Global as u32 {
                let name = var.name();
                return refuse(format!("map {name}: its linkage {linkage} is not supported"));
            }
            let hides = match linkage {
                linkage if linkage == VarLinkage::Static as u32 => true,
                _ => symbols.get(var.name()).map(|it| it.hidden).ok_or_else(|| {
                    let text = format!("no global symbol of an object has the name {}", var.name());
                    Error::load(LoadClass::Open, format!("section {name}: {text}"))
                })?,
            };
            if hides && name == MAPS {
                return refuse(format!(
                    "map {}: libbpf rejects static and hidden maps",
                    var.name()
                ));
            }
        }
    }
    Ok(())
}

/// Called functions are in `.text`; if several sections have that name, in the last one.
fn check_calls(image: &Image<'_>) -> Result<()> {
    let text = image.text();
    for section in image.sections_of(SectionKind::Code) {
        let insns = image.functions.insns.get(section.index).map_or(&[][..], |insns| insns);
        for relocation in image.applied(section) {
            let slot = relocation.offset as usize / INSN_BYTES;
            let calls = insns.get(slot).is_some_and(|insn| insn.is_pseudo_call());
            let symbol = image.elf.symbols.get(relocation.symbol).filter(|_| calls);
            let Some((symbol, of)) = symbol.and_then(|it| Some((it, it.section?))) else {
                continue;
            };
            if Some(of) != text && image.kinds.get(of) == Some(&SectionKind::Code) {
                let (name, of) = (&symbol.name, &image.section(of).name);
                let text = "libbpf only links functions of the last section .text";
                return refuse(format!("section {of}: {name} is called, but {text}"));
            }
        }
    }
    Ok(())
}

/// The kernel reads insns in the machine's byte order.
fn check_endian(elf: &Elf<'_>) -> Result<()> {
    match elf.endian {
        Endian::Little => Ok(()),
        Endian::Big => refuse("a big-endian object: the kernel's insns are little-endian".into()),
    }
}

/// All of them, used or not.
fn check_externs(image: &Image<'_>) -> Result<()> {
    for (index, external) in image.externs.list.iter().enumerate() {
        if let Err(error) = &external.value
            && error.class().is_some()
        {
            return Err(error.clone().placed(use_of_extern(image, index)));
        }
    }
    Ok(())
}

/// The first source line that uses an extern, since there is no line for its declaration.
fn use_of_extern(image: &Image<'_>, index: usize) -> Option<SourcePlace> {
    let name = image.externs.list.get(index).map_or("", |it| &it.name);
    first_use(image, name, |symbol| image.externs.of_symbol(symbol) == Some(index))
}

/// The same for a map.
fn use_of_map(image: &Image<'_>, index: usize) -> Option<SourcePlace> {
    let name = image.maps.defs.get(index).map_or("", |it| &it.name);
    first_use(image, name, |symbol| {
        let symbol = image.elf.symbols.get(symbol);
        let map = symbol.and_then(|it| image.maps.of_variable(it.section?, it.value));
        map.is_some_and(|map| map.0 as usize == index)
    })
}

/// The first source line with a relocation against a symbol. Compilers move the insn that loads an
/// address to the front: a line of the same function that has the `name` is preferred.
fn first_use(
    image: &Image<'_>,
    name: &str,
    is_symbol: impl Fn(usize) -> bool,
) -> Option<SourcePlace> {
    let code = image.sections_of(SectionKind::Code);
    code.flat_map(|section| section.relocations.iter().map(|at| (section.index, at)))
        .filter(|(_, at)| is_symbol(at.symbol))
        .find_map(|(section, at)| {
            let place = image.place(section, at.offset)?;
            image.named_beside(section, at.offset, name).or(Some(place))
        })
}

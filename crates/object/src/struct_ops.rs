//! `.struct_ops` sections: kernel structs of function pointers, filled with programs.
//!
//! Each variable is a map. Its struct has the object's layout; its members are moved to the
//! kernel's offsets, by name. A program that a member refers to attaches to the kernel's struct;
//! the index of the member is its expected attach type.

use crate::elf::Section;
use crate::error::{Context, Error, Result};
use crate::externs::essential;
use crate::functions::Functions;
use crate::loader::LoadClass;
use crate::maps::{MapSource, Maps, Origin};
use crate::sec_def::{self, TargetKind};
use crate::sections::SectionKind;
use rustc_hash::{FxHashMap, FxHashSet};
use skep_btf::{Btf, Kind, Member, Type, TypeId};
use skep_insn::INSN_BYTES;
use skep_program::{AttachTarget, MapDef, MapSlot, SlotTarget};
use skep_uapi::{MapFlags, MapType};

/// Prefix of the kernel's type of a struct_ops map's value.
const VALUE_PREFIX: &str = "bpf_struct_ops_";
/// Larger values are a corrupt BTF.
const VALUE_BYTES_MAX: u32 = 1 << 20;

/// How a program is attached: the struct, and the index of the member.
#[derive(Clone, Debug)]
pub(crate) struct StructOpsLink {
    pub(crate) target: AttachTarget,
    pub(crate) member: u32,
    /// By a map that libbpf creates.
    created: bool,
}

/// Programs in struct_ops maps, by index of their function.
pub(crate) type StructOpsLinks = FxHashMap<usize, StructOpsLink>;

/// The programs in struct_ops maps, and why the kernel rejects one of those maps.
#[derive(Default)]
pub(crate) struct StructOps {
    pub(crate) links: StructOpsLinks,
    pub(crate) refused: Option<Error>,
}

/// Adds the struct_ops maps.
pub(crate) fn read(
    source: &MapSource<'_, '_>,
    functions: &Functions,
    maps: &mut Maps,
) -> Result<StructOps> {
    let mut found = StructOps::default();
    for (section, kind) in source.elf.sections.iter().zip(source.kinds) {
        if *kind != SectionKind::StructOps || section.data.is_empty() {
            continue;
        }
        let datasec = source
            .btf
            .and_then(|btf| Some((btf, btf.find_by_name_kind(&section.name, Kind::Datasec)?)));
        let Some((btf, datasec)) = datasec else {
            return Err(Error::at(&section.name, 0, "BTF has no such DATASEC"));
        };
        let mut members: FxHashSet<u64> = FxHashSet::default();
        for (n, secvar) in btf.ty(datasec).vars().enumerate() {
            let var = btf.ty(secvar.ty);
            let offset = source.offset_of(section.index, var.name(), secvar.offset);
            let end = offset.saturating_add(u64::from(secvar.size));
            if end > section.data.len() as u64 {
                let text = format!("struct_ops map {} ends beyond it", var.name());
                return Err(Error::at(&section.name, offset, text).of_class(LoadClass::Open));
            }
            // Of several maps in an optional section, libbpf creates all but the first.
            let autocreate = n > 0 || !section.name.starts_with('?');
            let one = One { source, functions, section, btf, offset, autocreate };
            members.extend(one.members_at(var));
            let name = var.name();
            let place =
                || format!("section {}, offset {offset:#x}: struct_ops map {name}", section.name);
            let (def, refused) = one.read(var, &mut found.links).context(place)?;
            let matters = |it: &Error| def.autocreate || it.class() == Some(LoadClass::Open);
            if let Some(refused) = refused.filter(matters) {
                keep_first(&mut found.refused, refused.context(place()));
            }
            maps.push(def, Origin::Variable(section.index, offset));
        }
        if section.relocations.iter().any(|it| !members.contains(&it.offset)) {
            let text = "a relocation is of no member of a struct_ops map";
            return Err(Error::at(&section.name, 0, text).of_class(LoadClass::Open));
        }
    }
    Ok(found)
}

/// Keeps the reason that libbpf finds first: one of opening comes before the others.
fn keep_first(kept: &mut Option<Error>, other: Error) {
    let opens = |error: &Error| error.class() == Some(LoadClass::Open);
    if kept.as_ref().is_none_or(|kept| !opens(kept) && opens(&other)) {
        *kept = Some(other);
    }
}

/// One variable of a struct_ops section.
struct One<'i, 'a, 'o> {
    source: &'i MapSource<'a, 'o>,
    functions: &'i Functions,
    section: &'i Section<'a>,
    btf: &'i Btf,
    /// Its offset in the section, bytes.
    offset: u64,
    /// Whether libbpf creates its map.
    autocreate: bool,
}

/// The kernel's side of a struct_ops type.
struct KernelStruct<'k> {
    btf: &'k Btf,
    /// The struct itself.
    id: TypeId,
    /// The value's type, whose member `data` is the struct.
    value_id: TypeId,
    value_bytes: u32,
    data_offset: u32,
}

/// A struct_ops type in the object and, if it has it, in the kernel.
struct Sides<'k> {
    local: Type<'k>,
    kernel: Option<KernelStruct<'k>>,
}

impl One<'_, '_, '_> {
    /// The offsets of its members in the section: those of relocations must be among them.
    fn members_at(&self, var: Type<'_>) -> impl Iterator<Item = u64> {
        let local = self.btf.skip_modifiers(var.target_id());
        let size = u64::from(local.stated_size().unwrap_or(0));
        let offsets = local.members().map(|it| u64::from(it.bit_offset / 8));
        let start = self.offset;
        offsets.filter(move |at| *at < size).map(move |at| start.saturating_add(at))
    }

    /// The map; and why the kernel rejects it.
    fn read(&self, var: Type<'_>, links: &mut StructOpsLinks) -> Result<(MapDef, Option<Error>)> {
        let local = self.btf.skip_modifiers(var.target_id());
        if local.kind() != Kind::Struct {
            return Err(Error::new(format!("it is a {}, expected a struct", local.kind().name())));
        }
        if local.name().is_empty() {
            let text = "its type has no name";
            return Err(Error::load(LoadClass::Open, text));
        }
        let name = &*self.section.name;
        let linked = name.ends_with(".link");
        let mut def = MapDef {
            name: var.name().to_owned(),
            map_type: MapType::StructOps,
            key_size: 4,
            value_size: local.stated_size().unwrap_or(0),
            max_entries: 1,
            map_flags: if linked { MapFlags::LINK } else { MapFlags::empty() },
            autocreate: self.autocreate,
            ..MapDef::default()
        };
        let kernel_btf = self.source.options.kernel_btf.as_deref();
        let name = essential(local.name());
        let kernel = kernel_btf.and_then(|btf| kernel_struct(btf, name));
        let mut refused = (kernel_btf.is_some() && kernel.is_none()).then(|| {
            Error::load(LoadClass::StructOps, format!("the kernel has no struct_ops {name}"))
        });
        if let Some(kernel) = &kernel {
            def.btf_vmlinux_value_type_id = kernel.value_id.0;
            def.value_size = kernel.value_bytes;
            def.contents = vec![0; kernel.value_bytes as usize];
        }
        let sides = Sides { local, kernel };
        for member in local.members() {
            let read = self.read_member(&member, &sides, &mut def, links);
            match read.context(|| format!("member {}", member.name())) {
                Err(error) if error.class().is_some() => keep_first(&mut refused, error),
                other => other?,
            }
        }
        Ok((def, refused))
    }

    fn read_member(
        &self,
        member: &Member<'_>,
        sides: &Sides<'_>,
        def: &mut MapDef,
        links: &mut StructOpsLinks,
    ) -> Result<()> {
        let Sides { local, kernel } = sides;
        let at = self.offset.saturating_add(u64::from(member.bit_offset / 8));
        let size = self.btf.size_of(member.ty).unwrap_or(0);
        let start = usize::try_from(at).unwrap_or(usize::MAX);
        let end = start.saturating_add(size as usize);
        let data = self.section.data.get(start..end).unwrap_or(&[]);
        let program = self.program_at(at)?;
        if let Some((function, program)) = program {
            self.check_program(member, function, program)?;
        }
        let name = member.name();
        let target = kernel.as_ref().and_then(|k| {
            let mut members = k.btf.ty(k.id).members().enumerate();
            Some((k, members.find(|(_, m)| m.name() == name && !name.is_empty())?))
        });
        let Some((kernel, (index, theirs))) = target else {
            if let Some((function, _)) = program {
                let of = AttachTarget::Unresolved(format!("{}.{name}", essential(local.name())));
                links.entry(function).or_insert(StructOpsLink {
                    target: of,
                    member: 0,
                    created: false,
                });
            }
            let is_set = program.is_some() || data.iter().any(|&b| b != 0);
            if kernel.is_some() && is_set {
                let cause = "the kernel's struct has no such member, and it is not 0";
                return Err(Error::load(LoadClass::StructOps, cause));
            }
            return Ok(());
        };
        let plain = program.is_none().then_some(data);
        self.check_member(member, plain, kernel, &theirs)?;
        if let Some((function, program)) = program {
            let name = essential(local.name()).to_owned();
            let target = AttachTarget::Kernel { btf_id: kernel.id.0, name };
            let link = StructOpsLink { target, member: index as u32, created: self.autocreate };
            let before = links.get(&function).filter(|it| it.created);
            let differs =
                |it: &StructOpsLink| (&it.target, it.member) != (&link.target, link.member);
            if link.created && before.is_some_and(differs) {
                let cause = format!("program {program} is set for another member, too");
                return Err(Error::load(LoadClass::StructOps, cause));
            }
            if link.created || before.is_none() {
                links.insert(function, link);
            }
            let target = SlotTarget::Prog(program.to_owned());
            def.slots.push(MapSlot { index: index as u32, target });
            return Ok(());
        }
        let to = (kernel.data_offset + theirs.bit_offset / 8) as usize;
        if let Some(room) = def.contents.get_mut(to..to.saturating_add(data.len())) {
            room.copy_from_slice(data);
        }
        Ok(())
    }

    /// What libbpf wants of a member that the kernel's struct has, whether or not it is set: the
    /// same kind and size, no bitfield, in pointers nothing but programs. `data` is in the file,
    /// unless it is set to a program.
    fn check_member(
        &self,
        member: &Member<'_>,
        data: Option<&[u8]>,
        kernel: &KernelStruct<'_>,
        theirs: &Member<'_>,
    ) -> Result<()> {
        let refuse = |cause: String| Err(Error::load(LoadClass::StructOps, cause));
        let ours = self.btf.skip_modifiers(member.ty);
        let of_kernel = kernel.btf.skip_modifiers(theirs.ty);
        if member.bitfield_size != 0 || theirs.bitfield_size != 0 {
            return refuse("it is a bitfield".to_owned());
        }
        if ours.kind() != of_kernel.kind() {
            let (ours, kernel) = (ours.kind().name(), of_kernel.kind().name());
            return refuse(format!("it is of kind {ours}, the kernel's member of kind {kernel}"));
        }
        if ours.kind() != Kind::Ptr {
            let sizes = [self.btf.size_of(member.ty).ok(), kernel.btf.size_of(theirs.ty).ok()];
            return match sizes {
                [Some(ours), Some(kernel)] if ours == kernel => Ok(()),
                _ => refuse("its size differs from that of the kernel's member".to_owned()),
            };
        }
        let target = kernel.btf.skip_modifiers(of_kernel.target_id());
        match data {
            None if target.kind() != Kind::FuncProto => {
                refuse("the kernel's member is no pointer to a function".to_owned())
            }
            Some(data) if data.iter().any(|&byte| byte != 0) => {
                refuse("it is a pointer that is not 0, and no program".to_owned())
            }
            _ => Ok(()),
        }
    }

    /// libbpf sets pointers to functions only, and to programs of sections for that.
    fn check_program(&self, member: &Member<'_>, function: usize, program: &str) -> Result<()> {
        let pointer = self.btf.skip_modifiers(member.ty);
        let target = self.btf.skip_modifiers(pointer.target_id());
        if pointer.kind() != Kind::Ptr || target.kind() != Kind::FuncProto {
            let text = format!("it is set to {program}, but is no pointer to a function");
            return Err(Error::load(LoadClass::Open, text));
        }
        let of = self.functions.list.get(function);
        let section = of.and_then(|it| self.source.elf.sections.get(it.section));
        let section = section.map_or("", |it| &*it.name);
        let def = sec_def::find(section.strip_prefix('?').unwrap_or(section));
        if def.is_none_or(|def| def.target_kind != TargetKind::StructOps) {
            let text = format!("{program} is of section {section}, which is not of struct_ops");
            return Err(Error::load(LoadClass::Open, text));
        }
        Ok(())
    }

    /// The program whose address a relocation puts at an offset of the section.
    fn program_at(&self, offset: u64) -> Result<Option<(usize, &str)>> {
        let all = &self.section.relocations;
        let first = all.partition_point(|r| r.offset < offset);
        let here = all[first..].iter().take_while(|r| r.offset == offset);
        let mut found = None;
        for relocation in here {
            let symbol = self.source.elf.symbols.get(relocation.symbol);
            let function = symbol.and_then(|symbol| {
                let slot = usize::try_from(symbol.value / INSN_BYTES as u64).ok()?;
                self.functions.find(symbol.section?, slot)
            });
            let function = function.and_then(|index| {
                let function = self.functions.list.get(index)?;
                let is_known = function.typed || !self.source.options.as_libbpf();
                is_known.then_some((index, &*function.name))
            });
            let refuse = || Error::load(LoadClass::Open, "it does not point to a function");
            found = Some(function.ok_or_else(refuse)?);
        }
        Ok(found)
    }
}

fn kernel_struct<'k>(btf: &'k Btf, name: &str) -> Option<KernelStruct<'k>> {
    let id = btf.find_by_name_kind(name, Kind::Struct)?;
    let value_id = btf.find_by_name_kind(&format!("{VALUE_PREFIX}{name}"), Kind::Struct)?;
    let value = btf.ty(value_id);
    let data = value.members().find(|m| m.ty == id)?;
    let value_bytes = value.stated_size().filter(|&bytes| bytes <= VALUE_BYTES_MAX)?;
    Some(KernelStruct { btf, id, value_id, value_bytes, data_offset: data.bit_offset / 8 })
}

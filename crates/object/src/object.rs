//! `Object`: the contents of a `.bpf.o` file, ready to verify.

use crate::elf::Elf;
use crate::error::{Context, Error};
use crate::externs::Externs;
use crate::functions::Functions;
use crate::image::Image;
use crate::link_subprogs::Linker;
use crate::maps::{MapSource, Maps};
use crate::options::OpenOptions;
use crate::relocate::Relocator;
use crate::sections::SectionKind;
use crate::{attach, btf_fixup, btf_maps, data_maps, ext_info, guess, legacy_maps};
use crate::{sec_def, sections, struct_ops};
use skep_btf::{Btf, BtfExt};
use skep_program::{MapDef, Program};
use skep_uapi::ProgType;
use std::sync::Arc;

/// One program of an object; its name is known even if its relocation failed.
#[derive(Clone, Debug)]
pub struct ObjectProgram {
    /// Name of the entry function.
    pub name: String,
    /// Text of `SEC()`.
    pub section: String,
    /// Loaded by default.
    pub autoload: bool,
    /// The program, or why it could not be relocated.
    pub program: Result<Program, Error>,
}

/// An object file: programs in the order in which libbpf iterates over them.
#[derive(Clone, Debug, Default)]
pub struct Object {
    /// Name, as in [`OpenOptions::name`].
    pub name: String,
    /// Entry programs.
    pub programs: Vec<ObjectProgram>,
    /// Maps, in libbpf's order; programs refer to them by index.
    pub maps: Arc<[MapDef]>,
    /// BTF as passed to the kernel.
    pub btf: Option<Arc<Btf>>,
}

/// libbpf keeps this many bytes of an object's name.
const NAME_BYTES_MAX: usize = 15;

/// The name as libbpf cuts it: 15 bytes, then up to the first dot.
fn cut_name(name: &str) -> &str {
    let mut end = name.len().min(NAME_BYTES_MAX);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    let name = &name[..end];
    name.split_once('.').map_or(name, |(stem, _)| stem)
}

impl Object {
    /// Reads an ELF object and relocates its programs for the kernel that `options` describes.
    ///
    /// Fails if nothing in the file is usable. A problem with one program only (an unresolved
    /// extern, a relocation out of range) is that program's error.
    pub fn open(bytes: &[u8], options: &OpenOptions) -> Result<Object, Error> {
        let image = read_image(bytes, options)?;
        let btf = image.fixed_btf.clone();
        let maps: Arc<[MapDef]> = image.maps.defs.clone().into();
        let mut object = Object {
            name: cut_name(&options.name).to_owned(),
            programs: Vec::new(),
            maps: maps.clone(),
            btf: btf.clone(),
        };
        let template = Program {
            license: sections::license(&image.elf),
            kern_version: sections::version(&image.elf).unwrap_or(options.kernel_version),
            maps,
            btf,
            kernel_btf: options.kernel_btf.clone(),
            ..Program::default()
        };
        let mut linker = Linker::new(Relocator::new(&image));
        for (index, function) in image.functions.list.iter().enumerate() {
            if function.entry {
                object.programs.push(make_program(&image, &mut linker, &template, index));
            }
        }
        Ok(object)
    }
}

fn read_image<'a>(bytes: &'a [u8], options: &'a OpenOptions) -> Result<Image<'a>, Error> {
    let elf = Elf::parse(bytes)?;
    let kinds = sections::classify(&elf)?;
    let btf = read_btf(&elf, &kinds)?;
    let names: Vec<&str> = elf.sections.iter().map(|s| &*s.name).collect();
    let info = match (&btf, elf.section(".BTF.ext").filter(|s| !s.data.is_empty())) {
        (Some(btf), Some(section)) => {
            // As libbpf: a broken .BTF.ext is as none.
            let ext = BtfExt::parse(section.data).unwrap_or_default();
            ext_info::by_section(&ext, btf, &names)
        }
        _ => Vec::new(),
    };
    drop(names);
    let functions =
        Functions::read(&elf, &kinds, btf.as_ref()).context(|| "read programs".into())?;
    let externs = Externs::read(&elf, btf.as_ref(), options);
    let name = cut_name(&options.name);
    let fixed_btf = match &btf {
        Some(btf) => Some(Arc::new(btf_fixup::fix_up(&elf, btf, &externs, &functions)?)),
        None => None,
    };
    let offsets = elf.named_offsets();
    let source = MapSource {
        elf: &elf,
        kinds: &kinds,
        offsets: &offsets,
        btf: fixed_btf.as_deref(),
        options,
        name,
    };
    let mut maps = read_maps(&source)?;
    if !externs.kconfig.is_empty() {
        data_maps::push_kconfig(&source, &mut maps, &externs.kconfig);
    }
    let struct_ops = struct_ops::read(&source, &functions, &mut maps)?;
    drop(offsets);
    Ok(Image { elf, kinds, btf, fixed_btf, info, functions, maps, externs, struct_ops, options })
}

/// All maps but those of `.kconfig` and struct_ops.
fn read_maps(source: &MapSource<'_, '_>) -> Result<Maps, Error> {
    let mut maps = Maps::default();
    legacy_maps::read(source, &mut maps).context(|| "load maps".into())?;
    btf_maps::read(source, &mut maps).context(|| "load maps".into())?;
    data_maps::read(source, &mut maps)?;
    Ok(maps)
}

/// As libbpf: an object whose maps do not need its BTF is read without it if it is broken.
fn read_btf(elf: &Elf<'_>, kinds: &[SectionKind]) -> Result<Option<Btf>, Error> {
    let Some(section) = elf.section(".BTF").filter(|s| !s.data.is_empty()) else {
        return Ok(None);
    };
    let needed = kinds.iter().any(|k| matches!(k, SectionKind::BtfMaps | SectionKind::StructOps));
    match Btf::parse(section.data) {
        Err(error) if needed => Err(Error::from(error).context("section .BTF")),
        parsed => Ok(parsed.ok()),
    }
}

fn make_program(
    image: &Image<'_>,
    linker: &mut Linker<'_, '_>,
    template: &Program,
    index: usize,
) -> ObjectProgram {
    let function = &image.functions.list[index];
    let full = &*image.section(function.section).name;
    let section = full.strip_prefix('?').unwrap_or(full);
    let autoload = section.len() == full.len();
    let program = linker.link(index).map(|linked| {
        let mut program = Program {
            name: function.name.clone(),
            section: section.to_owned(),
            autoload,
            insns: linked.insns,
            func_info: linked.func_info,
            line_info: linked.line_info,
            ..template.clone()
        };
        if let Some(def) = sec_def::find(section) {
            program.prog_type = def.prog_type;
            program.expected_attach_type = def.attach_type.map_or(0, |t| t.number());
            program.prog_flags = def.flags;
            program.attach = attach::target(&def, template.kernel_btf.as_deref());
        }
        if let Some(link) = image.struct_ops.get(&index)
            && program.prog_type == ProgType::StructOps
        {
            program.expected_attach_type = link.member;
            program.attach = link.target.clone();
        }
        if image.options.guess_ext_types {
            guess::replace_ext(&mut program);
        }
        program
    });
    let program = program.map_err(|error| error.context(format!("program {}", function.name)));
    ObjectProgram { name: function.name.clone(), section: section.to_owned(), autoload, program }
}

#[cfg(test)]
mod tests {
    use super::cut_name;

    #[test]
    fn object_names_end_at_15_bytes_or_a_dot() {
        assert_eq!(cut_name("map_kinds.bpf.o"), "map_kinds");
        assert_eq!(cut_name("stress_map_in_map.bpf.o"), "stress_map_in_m");
    }
}

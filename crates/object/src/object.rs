//! `Object`: the contents of a `.bpf.o` file, ready to verify.

use crate::elf::Elf;
use crate::error::{Context, Error};
use crate::externs::Externs;
use crate::functions::Functions;
use crate::image::Image;
use crate::kernel_types::KernelTypes;
use crate::link_subprogs::Linker;
use crate::loader::{LoadClass, Loader};
use crate::maps::{MapSource, Maps};
use crate::options::OpenOptions;
use crate::refusal::{self, Refusals};
use crate::relocate::Relocator;
use crate::sections::{BTF, BTF_EXT, SectionKind};
use crate::{attach, btf_fixup, btf_maps, data_maps, ext_info, guess, legacy_maps, map_btf};
use crate::{sec_def, sections, struct_ops};
use skep_btf::{Btf, BtfExt, Kind, TypeId};
use skep_program::{AttachTarget, MapDef, Program, UnloadedInfo};
use skep_uapi::{ProgType, object_name_is_valid};
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
    /// The program, or why it cannot be loaded: [`Error::class`] gives the step that rejects it.
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
    /// Why the loader rejects the object as a whole; then none of its programs is loaded.
    pub refused: Option<Error>,
    /// What libbpf would reject in an object opened with [`Loader::Any`], or why the kernel does
    /// not load its BTF.
    pub note: Option<Error>,
}

/// libbpf keeps this many bytes of an object's name.
const NAME_BYTES_MAX: usize = 15;

/// The name as truncated by libbpf: 15 bytes, then up to the first dot.
fn cut_name(name: &str) -> &str {
    let mut end = name.len().min(NAME_BYTES_MAX);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    let name = &name[..end];
    name.split_once('.').map_or(name, |(stem, _)| stem)
}

impl Object {
    /// Reads an ELF object and relocates its programs for the kernel described by `options`.
    ///
    /// Fails if nothing in the file is usable. A problem with one program only (an attach target
    /// that does not exist, a relocation out of range) is that program's error; if the loader
    /// rejects the whole object (an unresolved extern, a map that cannot be created), that is an
    /// error of each of its programs.
    pub fn open(bytes: &[u8], options: &OpenOptions) -> Result<Object, Error> {
        let image = read_image(bytes, options)?;
        let btf = image.fixed_btf.clone();
        let maps: Arc<[MapDef]> = image.maps.defs.clone().into();
        let mut refusals = Refusals::find(&image);
        let mut linker = Linker::new(Relocator::new(&image));
        if options.as_libbpf() {
            let core = || image.core_refused.clone();
            refusals.first = refusals.first.or_else(core).or_else(|| linker.failed_subprog());
        }
        // If the loader rejects the object, the kernel is not asked about its BTF.
        let btf_refused = image.btf_refused.clone().filter(|_| refusals.first.is_none());
        let mut object = Object {
            name: cut_name(&options.name).to_owned(),
            programs: Vec::new(),
            maps: maps.clone(),
            btf: btf.clone(),
            refused: refusals.first.clone(),
            note: refusals.note.clone().or(btf_refused),
        };
        let template = Program {
            license: sections::license(&image.elf),
            kern_version: sections::version(&image.elf).unwrap_or(options.kernel_version),
            maps,
            btf,
            kernel_btf: options.kernel_btf.clone(),
            ..Program::default()
        };
        let mut maker = Maker { image: &image, linker, template, refusals, not_linked: None };
        for (index, function) in image.functions.list.iter().enumerate() {
            if function.entry {
                object.programs.push(maker.program(index));
            }
        }
        if object.refused.is_none() {
            // libbpf links all programs before it creates maps.
            object.refused = maker.refusals.map.map(|map| maker.not_linked.unwrap_or(map));
        }
        Ok(object)
    }

    /// The program with that name.
    ///
    /// # Errors
    ///
    /// There is none, or it cannot be loaded: [`Error::class`] gives the step that rejects it.
    pub fn program(&self, name: &str) -> Result<&Program, Error> {
        let entry = self.programs.iter().find(|entry| entry.name == name).ok_or_else(|| {
            let names: Vec<&str> = self.programs.iter().map(|entry| &*entry.name).collect();
            Error::new(format!("no program '{name}'; there are: {}", names.join(", ")))
        })?;
        let named = |e: &Error| e.clone().context(format!("program '{name}'"));
        entry.program.as_ref().map_err(named)
    }
}

fn read_image<'a>(bytes: &'a [u8], options: &'a OpenOptions) -> Result<Image<'a>, Error> {
    let elf = Elf::parse(bytes)?;
    let kinds = sections::classify(&elf)?;
    let btf = read_btf(&elf, &kinds)?;
    let names: Vec<&str> = elf.sections.iter().map(|s| &*s.name).collect();
    let (mut ext_refused, mut core_refused) = (None, None);
    let info = match (&btf, elf.last_section(BTF_EXT)) {
        (Some(btf), Some(section)) => {
            // As in libbpf, a broken .BTF.ext is ignored unless the object needs its BTF.
            let ext = BtfExt::parse(section.data);
            ext_refused = ext.as_ref().err().cloned();
            let ext = ext.unwrap_or_default();
            core_refused = ext_info::refused_core(&ext, btf);
            ext_info::by_section(&ext, btf, &names)
        }
        _ => Vec::new(),
    };
    drop(names);
    let functions = Functions::read(&elf, &kinds, btf.as_ref(), options.as_libbpf())
        .context(|| "read programs".into())?;
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
    if externs.kconfig.size_bytes != 0 {
        data_maps::push_kconfig(&source, &mut maps, &externs.kconfig);
    }
    let struct_ops = struct_ops::read(&source, &functions, &mut maps)?;
    let (struct_ops, struct_ops_refused) = (struct_ops.links, struct_ops.refused);
    drop(offsets);
    let fixed_btf = match fixed_btf {
        Some(btf) => Some(btf_fixup::known_to(btf, &options.absent_btf_kinds)?),
        None => None,
    };
    let header = elf.last_section(BTF).and_then(|it| skep_btf::header_refused_by_kernel(it.data));
    let given = fixed_btf.clone();
    let (fixed_btf, btf_refused) = loaded_btf(fixed_btf, header, &mut maps, options);
    let btf_unloaded = given.filter(|_| btf_refused.is_some());
    check_repeated(fixed_btf.as_deref(), &maps)?;
    Ok(Image {
        elf,
        kinds,
        btf,
        fixed_btf,
        info,
        functions,
        maps,
        externs,
        struct_ops,
        struct_ops_refused,
        btf_refused,
        btf_unloaded,
        ext_refused,
        core_refused,
        options,
    })
}

/// The BTF that the kernel has after BPF_BTF_LOAD, and why it does not have the object's, whose
/// `header` it may refuse. libbpf goes on without, unless there are struct_ops maps.
fn loaded_btf(
    btf: Option<Arc<Btf>>,
    header: Option<skep_btf::Error>,
    maps: &mut Maps,
    options: &OpenOptions,
) -> (Option<Arc<Btf>>, Option<Error>) {
    let Some(kept) = btf.as_deref().filter(|_| !options.as_in_file) else { return (btf, None) };
    let kernel = KernelTypes::new(options);
    let refused = header.or_else(|| skep_btf::refused_by_kernel(kept)).map(Error::from);
    let Some(refused) = refused.or_else(|| kernel.refuses_structs(kept)) else {
        map_btf::drop_refused(&mut maps.defs, kept, &kernel);
        return (btf, None);
    };
    map_btf::drop_all(&mut maps.defs);
    (None, Some(refused.context("the kernel does not load the object's BTF")))
}

/// The kernel loads a value with two locks, one of them in a struct within it, but warns.
fn check_repeated(btf: Option<&Btf>, maps: &Maps) -> Result<(), Error> {
    let Some(btf) = btf else { return Ok(()) };
    let values = maps.defs.iter().map(|def| TypeId(def.btf_value_type_id));
    let values = values.filter(|id| *id != TypeId::VOID);
    let of_maps = skep_btf::special_fields_of(btf, values).unwrap_or_default();
    let repeated = |fields: &Vec<_>| skep_btf::repeated(fields);
    match of_maps.iter().chain(btf.struct_metas().values()).find_map(repeated) {
        Some(kind) => {
            let name = kind.name();
            Err(Error::new(format!("not supported yet: {name} in a value and a struct within it")))
        }
        None => Ok(()),
    }
}

/// All maps but those of `.kconfig` and struct_ops.
fn read_maps(source: &MapSource<'_, '_>) -> Result<Maps, Error> {
    let mut maps = Maps::default();
    // libbpf rejects these sections or ignores them.
    if source.options.loader == Loader::Any || source.options.as_in_file {
        legacy_maps::read(source, &mut maps).context(|| "load maps".into())?;
    }
    btf_maps::read(source, &mut maps).context(|| "load maps".into())?;
    data_maps::read(source, &mut maps)?;
    Ok(maps)
}

/// As in libbpf, broken BTF is ignored if the object's maps do not need it.
fn read_btf(elf: &Elf<'_>, kinds: &[SectionKind]) -> Result<Option<Btf>, Error> {
    let Some(section) = elf.last_section(BTF) else { return Ok(None) };
    let needed = kinds.iter().any(|k| matches!(k, SectionKind::BtfMaps | SectionKind::StructOps));
    let parsed = Btf::parse_of_object(section.data).map_err(Error::from).and_then(with_prototypes);
    match parsed {
        Err(error) if needed => Err(error.context("section .BTF")),
        parsed => Ok(parsed.ok()),
    }
}

/// The BTF, if each of its functions has a prototype.
fn with_prototypes(btf: Btf) -> Result<Btf, Error> {
    let functions = btf.iter().filter(|ty| ty.kind() == Kind::Func);
    let id = functions.filter(|ty| ty.target().kind() != Kind::FuncProto).map(|ty| ty.id()).next();
    match id {
        Some(id) => Err(Error::new(format!("type {id} (FUNC): it has no prototype"))),
        None => Ok(btf),
    }
}

/// Creates the programs of an object.
struct Maker<'i, 'a> {
    image: &'i Image<'a>,
    linker: Linker<'i, 'a>,
    template: Program,
    refusals: Refusals,
    /// Why the first program that is not linked, of those loaded by default, is not.
    not_linked: Option<Error>,
}

impl Maker<'_, '_> {
    fn program(&mut self, index: usize) -> ObjectProgram {
        let function = &self.image.functions.list[index];
        let full = &*self.image.section(function.section).name;
        let section = full.strip_prefix('?').unwrap_or(full);
        let autoload = section.len() == full.len();
        let made = match &self.refusals.first {
            Some(refused) => Err(refused.clone()),
            None => self.make(index, section, autoload),
        };
        let program = made.map_err(|error| match error.class() {
            Some(_) => error,
            None => error.context(format!("program {}", function.name)),
        });
        ObjectProgram {
            name: function.name.clone(),
            section: section.to_owned(),
            autoload,
            program,
        }
    }

    /// In libbpf's order: which functions are programs, relocation, maps, type, target.
    fn make(&mut self, index: usize, section: &str, autoload: bool) -> Result<Program, Error> {
        let (image, options) = (self.image, self.image.options);
        let at_header = |error: Error| error.placed(image.header(index));
        if options.as_libbpf() {
            check_entry(image, index).map_err(at_header)?;
        }
        let linked = self.linker.link(index).inspect_err(|error| {
            if autoload {
                self.not_linked.get_or_insert_with(|| error.clone());
            }
        })?;
        if let Some(refused) = &self.refusals.map {
            return Err(refused.clone());
        }
        let (func_info, line_info) = (linked.func_info, linked.line_info);
        let (func_info, line_info, unloaded) = match &image.btf_unloaded {
            None => (func_info, line_info, None),
            Some(btf) => {
                let why = image.btf_refused.as_ref().map(Error::to_string).unwrap_or_default();
                let info = UnloadedInfo { why, btf: Arc::clone(btf), func_info, line_info };
                (Vec::new(), Vec::new(), Some(Arc::new(info)))
            }
        };
        let mut program = Program {
            name: image.functions.list[index].name.clone(),
            section: section.to_owned(),
            autoload,
            insns: linked.insns,
            func_info,
            line_info,
            unloaded,
            unresolved: linked.unresolved,
            ..self.template.clone()
        };
        let typed = set_type(image, index, &mut program);
        let guesses = options.guess_ext_types && options.target.is_none();
        let guessed = guesses && guess::replace_ext(&mut program);
        if options.as_in_file {
            return Ok(program);
        }
        if !guessed {
            typed.map_err(at_header)?;
        }
        if !object_name_is_valid(&program.name) {
            let text = "the kernel does not take its name: it may have letters, digits, _ and .";
            return Err(at_header(Error::load(LoadClass::Open, text)));
        }
        if options.loader == Loader::Any {
            refusal::check_maps(&program, options)?;
        }
        Ok(program)
    }
}

/// libbpf's definition of a program: a function in a section of its own.
fn check_entry(image: &Image<'_>, index: usize) -> Result<(), Error> {
    let function = &image.functions.list[index];
    let in_text = Some(function.section) == image.text();
    let text = match () {
        () if !function.typed => "libbpf requires program symbols to be functions",
        () if in_text => "libbpf treats functions in .text as subprograms",
        () => return Ok(()),
    };
    Err(Error::load(LoadClass::Open, text))
}

/// Type and target, from the section name.
fn set_type(image: &Image<'_>, index: usize, program: &mut Program) -> Result<(), Error> {
    let section = program.section.clone();
    let Some(def) = sec_def::find(&section) else {
        return unknown_section(image, program);
    };
    program.prog_type = def.prog_type;
    program.expected_attach_type = def.attach_type.map_or(0, |t| t.number());
    program.prog_flags = def.flags;
    if program.prog_type != ProgType::StructOps {
        program.attach = attach::target(&def, image.options)?;
        return Ok(());
    }
    let refuse = |text: String| Err(Error::load(LoadClass::StructOps, text));
    let Some(link) = image.struct_ops.get(&index) else {
        return refuse("no struct_ops map refers to the program".to_owned());
    };
    program.expected_attach_type = link.member;
    program.attach = link.target.clone();
    match &link.target {
        AttachTarget::Unresolved(name) if image.options.kernel_btf.is_some() => {
            refuse(format!("the kernel has no struct_ops member {name}"))
        }
        _ => Ok(()),
    }
}

fn unknown_section(image: &Image<'_>, program: &mut Program) -> Result<(), Error> {
    let section = program.section.clone();
    if sec_def::is_not_modelled(&section) {
        return Err(Error::new(format!("not supported yet: programs of section '{section}'")));
    }
    match image.options.loader {
        Loader::Libbpf => {
            let text = format!("libbpf cannot derive a program type from section name '{section}'");
            Err(Error::load(LoadClass::Section, text))
        }
        Loader::Any if guess::by_context(program) => Ok(()),
        Loader::Any => {
            let text = format!("no program type is known for section name '{section}'");
            Err(Error::new(format!("{text}; the loader must set it")))
        }
    }
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

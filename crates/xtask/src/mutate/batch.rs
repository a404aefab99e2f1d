//! The programs of a batch: a hundred mutants of one program, or a hundred generated ones.
//!
//! # Invariants
//! 1. Everything is determined by the seed, the batch number and the files.

use super::attributes;
use super::compare::{Compared, Loader, WALK_MAX};
use super::edit::{self, Stock};
use super::elf;
use super::generated::{self, Kfuncs, Shape};
use crate::objects;
use crate::random::generate;
use crate::random::tracing;
use skep::Host;
use skep::btf::{Kind, TypeId};
use skep::insn::Insn;
use skep::insn::code::*;
use skep::object::Object;
use skep::program::{MapDef, Program};
use skep::uapi::kfunc::Kfunc;
use skep_kernel::held::Held;
use skep_kernel::judge::{Answer, as_loaded};
use skep_testkit::engine::{self, OurVerdict};
use skep_testkit::rng::Rng;
use skep_testkit::suite::{self, Suite};
use skep_verifier::Privileges;
use std::path::PathBuf;

/// Programs per batch.
pub(crate) const BATCH: u64 = 100;
/// Programs with walks up to this length are always taken, others less often.
const WALK_SHORT: u64 = 300;
/// Programs with longer walks are not taken.
const WALK_BASE_MAX: u64 = WALK_MAX / 3;
/// Number of objects tried before a batch is given up.
const TRIES: usize = 60;
/// Maximum length of a program, insns.
const PROGRAM_MAX: usize = 3000;

/// Maximum memory of a map, bytes; and the approximate overhead per entry.
const MAP_BYTES_MAX: u64 = 128 << 20;
const MAP_ENTRY_BYTES: u64 = 64;

/// The sources from which batches are made.
pub(crate) struct Sources {
    pub(super) files: Vec<PathBuf>,
    pub(super) host: Host,
    /// Percentage of batches that consist of generated programs.
    pub(super) generated: u64,
    kfuncs: Vec<u32>,
    hard: Kfuncs,
    tracepoints: Vec<TypeId>,
    suites: Vec<Suite>,
    /// All batches are of this kind: one of [`KINDS`], or [`SUITES`].
    only: Option<String>,
    /// Whether base programs are first loaded into the running kernel.
    asks: bool,
}

/// How the programs of a batch are made.
enum Origin {
    /// A program of an object.
    Base(Box<Program>),
    /// Random statements.
    Random,
    /// Loads through kernel types.
    Tracing,
    /// Constructs that are difficult for verifiers.
    Hard(Shape),
    /// Combinations of pointers and uses.
    Uses,
    /// Features of the kernel, put into each other.
    Features,
    /// The bytes of an object.
    Elf(PathBuf, Vec<u8>),
}

/// Kinds of generated programs, each with its percentage of these batches.
const KINDS: [(u64, &str); 6] =
    [(10, "random"), (5, "tracing"), (15, "uses"), (20, "graph"), (15, "hard"), (35, "features")];
/// Mutants of the programs of `tests/verifier` and `tests/refusals`: percentage of the batches that
/// are not of generated programs.
const SUITES: (u64, &str) = (20, "suites");
/// Percentage of generated programs that are loaded with CAP_BPF alone, however they are changed.
const CAP_BPF: u64 = 10;
/// Percentage of batches from objects that mutate the object's bytes.
const ELF: u64 = 4;

pub(crate) struct Batch<'a> {
    sources: &'a Sources,
    origin: Origin,
    /// The object and program, or the kind of generated programs.
    pub(crate) name: String,
    donors: Vec<Vec<Insn>>,
    seed: u64,
    number: u64,
}

/// One program to be judged.
pub(crate) struct Mutant {
    pub(crate) program: Program,
    pub(super) loader: Loader,
    /// Whether its maps differ from those of the others.
    pub(super) own_maps: bool,
    pub(super) edits: Vec<String>,
}

/// Combines three numbers.
fn mix(seed: u64, number: u64, i: u64) -> u64 {
    let word = |acc: u64, x: u64| (acc ^ x).wrapping_mul(0xff51_afd7_ed55_8ccd).rotate_left(31);
    word(word(word(seed, 1), number), i)
}

impl Sources {
    pub(crate) fn new(files: Vec<PathBuf>, generated: u64) -> Result<Sources, String> {
        let asks = Sources { asks: true, ..Sources::of(objects::host()?, files, generated) };
        Ok(asks)
    }

    /// For a kernel other than the running one.
    pub(crate) fn of(host: Host, files: Vec<PathBuf>, generated: u64) -> Sources {
        let mut kfuncs = Vec::new();
        let mut tracepoints = Vec::new();
        if let Some(btf) = &host.kernel_btf {
            let of =
                btf.iter().filter(|ty| ty.kind() == Kind::Func && Kfunc::find(ty.name()).is_some());
            kfuncs = of.map(|ty| ty.id().0).collect();
            tracepoints = tracing::tracepoints(btf);
        }
        let hard = Kfuncs::find(host.kernel_btf.as_ref());
        let suites = ["verifier", "refusals"].into_iter().flat_map(suite::read_folder).collect();
        let only = None;
        Sources { files, host, generated, kfuncs, hard, tracepoints, suites, only, asks: false }
    }

    /// With batches of one kind alone, if it is named.
    pub(super) fn only(self, kind: Option<&str>) -> Result<Sources, String> {
        let known = || KINDS.iter().chain([&SUITES]).map(|(_, name)| *name);
        match kind {
            Some(kind) if !known().any(|name| name == kind) => {
                Err(format!("no such kind: {kind}, but {}", known().collect::<Vec<_>>().join(", ")))
            }
            kind => Ok(Sources { only: kind.map(str::to_owned), ..self }),
        }
    }

    /// Whether the batch is of generated programs, of which kind, or of suites.
    fn kind(&self, rng: &mut Rng) -> Option<&str> {
        if self.only.is_some() {
            return self.only.as_deref();
        }
        if !self.files.is_empty() && !rng.chance(self.generated) {
            return rng.chance(SUITES.0).then_some(SUITES.1);
        }
        rng.weighted(&KINDS)
    }

    fn origin(&self, kind: &str) -> Origin {
        match kind {
            "tracing" if !self.tracepoints.is_empty() => Origin::Tracing,
            "uses" => Origin::Uses,
            "graph" => Origin::Hard(Shape::Graph),
            "hard" => Origin::Hard(Shape::Statements),
            "features" => Origin::Features,
            _ => Origin::Random,
        }
    }

    /// A program of a suite, its name, and the programs beside it.
    fn of_suite(&self, rng: &mut Rng) -> Option<(Program, String, Vec<Vec<Insn>>)> {
        let (name, Ok(cases)) = &self.suites[rng.below(self.suites.len() as u64) as usize] else {
            return None;
        };
        let case = cases.get(rng.below(cases.len().max(1) as u64) as usize)?;
        let program = |case| suite::program(case, self.host.kernel_btf.as_ref());
        let base = self.fitting(rng, &program(case).ok()?.0)?;
        let others = cases.iter().filter_map(|case| Some(program(case).ok()?.0));
        let donors = others.map(|other| adopted(&other.insns, &base)).collect();
        Some((base, format!("{name}: {}", case.name), donors))
    }

    /// The batch with this number; `None` if no object had a program that can be judged.
    pub(crate) fn batch(&self, seed: u64, number: u64) -> Option<Batch<'_>> {
        let mut rng = Rng::new(mix(seed, number, u64::MAX));
        let batch = |origin, name: &str, donors| Batch {
            sources: self,
            origin,
            name: name.to_owned(),
            donors,
            seed,
            number,
        };
        match self.kind(&mut rng) {
            Some(kind) if kind == SUITES.1 => {
                let (base, name, donors) = (0..TRIES).find_map(|_| self.of_suite(&mut rng))?;
                return Some(batch(Origin::Base(Box::new(base)), &name, donors));
            }
            Some(kind) => return Some(batch(self.origin(kind), kind, Vec::new())),
            None => {}
        }
        let elf = rng.chance(ELF);
        for _ in 0..TRIES {
            let path = &self.files[rng.below(self.files.len() as u64) as usize];
            if elf {
                let bytes = std::fs::read(path).unwrap_or_default();
                if (1..=elf::OBJECT_MAX).contains(&bytes.len()) {
                    let name = format!("{} (ELF)", objects::short_name(path));
                    return Some(batch(Origin::Elf(path.clone(), bytes), &name, Vec::new()));
                }
                continue;
            }
            let Ok(object) = objects::open(path, &self.host) else { continue };
            let Some(base) = self.choose(&mut rng, &object) else { continue };
            let mut donors = donors(&object, &base);
            let other = &self.files[rng.below(self.files.len() as u64) as usize];
            if let Ok(other) = objects::open(other, &self.host) {
                donors.extend(self::donors(&other, &base));
            }
            let name = format!("{}:{}", objects::short_name(path), base.name);
            return Some(batch(Origin::Base(Box::new(base)), &name, donors));
        }
        None
    }

    /// The programs from which mutants are made, as they are: those of the suites, then those of
    /// the files.
    pub(crate) fn unchanged(&self) -> impl Iterator<Item = (String, Mutant)> {
        let cases = self.suites.iter().flat_map(move |(name, cases)| {
            let cases = cases.iter().flatten();
            cases.filter_map(move |case| {
                let program = suite::program(case, self.host.kernel_btf.as_ref()).ok()?.0;
                Some((format!("{name}: {}", case.name), program))
            })
        });
        let objects = self.files.iter().filter_map(|path| {
            let object = objects::open(path, &self.host).ok()?;
            Some((objects::short_name(path), object))
        });
        let of_files = objects.flat_map(|(name, object)| {
            let programs = object.programs.into_iter();
            programs.filter_map(move |entry| {
                Some((format!("{name}:{}", entry.name), entry.program.ok()?))
            })
        });
        cases.chain(of_files).filter_map(|(name, program)| {
            let mut it = Mutant {
                program: as_loaded(&program).into_owned(),
                loader: Loader::Root,
                own_maps: true,
                edits: Vec::new(),
            };
            it.tame();
            Some((name, it.has_bearable_maps().ok()?))
        })
    }

    /// A program of the object that is small enough and that this kernel judges.
    fn choose(&self, rng: &mut Rng, object: &Object) -> Option<Program> {
        let fits = |program: &&Program| program.insns.len() <= PROGRAM_MAX;
        let programs = object.programs.iter().filter_map(|entry| entry.program.as_ref().ok());
        let programs: Vec<&Program> = programs.filter(fits).collect();
        if programs.is_empty() {
            return None;
        }
        let chosen = programs[rng.below(programs.len() as u64) as usize];
        self.fitting(rng, chosen)
    }

    /// The program as it is loaded, if its walk is short and this kernel judges it.
    fn fitting(&self, rng: &mut Rng, program: &Program) -> Option<Program> {
        let program = as_loaded(program).into_owned();
        let ours = engine::verify_on(&self.host, &program, 4, Privileges::PRIVILEGED);
        let walked = ours.stats.insns_processed.max(1);
        if walked > WALK_BASE_MAX || !rng.chance((100 * WALK_SHORT / walked).clamp(5, 100)) {
            return None;
        }
        if !self.asks {
            return matches!(ours.verdict, OurVerdict::Accepted | OurVerdict::Rejected(_))
                .then_some(program);
        }
        let mut held = Held::new(&program).ok()?;
        let compared = super::compare::compare(&program, Loader::Root, &mut |level| {
            held.judge(&program, level)
        });
        let left = matches!(compared, Compared::Left(_));
        (!left && matches!(held.judge(&program, 4), Answer::Judged(_))).then_some(program)
    }
}

/// Insns of the object's programs, with the maps of `base` in place of theirs.
fn donors(object: &Object, base: &Program) -> Vec<Vec<Insn>> {
    let programs = object.programs.iter().filter_map(|entry| entry.program.as_ref().ok());
    programs.map(|program| adopted(&program.insns, base)).collect()
}

fn adopted(insns: &[Insn], base: &Program) -> Vec<Insn> {
    let maps = base.maps.len() as i32;
    let adopt = |mut insn: Insn| {
        if names_map(&insn) {
            insn.imm = if maps == 0 { -1 } else { insn.imm.rem_euclid(maps) };
        }
        insn
    };
    insns.iter().copied().map(adopt).collect()
}

fn names_map(insn: &Insn) -> bool {
    insn.is_ld_imm64() && matches!(insn.src, BPF_PSEUDO_MAP_FD | BPF_PSEUDO_MAP_VALUE)
}

impl Batch<'_> {
    /// The mutant with this index; 0 is the unchanged program. An error if the loader refuses the
    /// mutated object.
    pub(crate) fn mutant(&self, i: u64) -> Result<Mutant, String> {
        let mut rng = Rng::new(mix(self.seed, self.number, i));
        let mut it = Mutant {
            program: Program::default(),
            loader: Loader::Root,
            own_maps: matches!(self.origin, Origin::Uses),
            edits: Vec::new(),
        };
        if let Origin::Elf(path, bytes) = &self.origin {
            let mut bytes = bytes.clone();
            it.edits = elf::edit(&mut rng, &mut bytes);
            it.program = elf::program(&mut rng, &bytes, path, &self.sources.host)?;
            it.own_maps = true;
            it.tame();
            return it.has_bearable_maps();
        }
        it.program = self.base(&mut rng);
        if !matches!(self.origin, Origin::Base(_)) && rng.chance(CAP_BPF) {
            it.loader = Loader::Bpf;
        }
        let edits = match (&self.origin, i) {
            (Origin::Base(_), 0) => 0,
            (Origin::Base(_), _) => 1 + rng.below(100) / 50 + rng.below(100) / 75,
            // Half of them without splices.
            _ => rng.below(4).saturating_sub(1),
        };
        for _ in 0..edits {
            it.edit(&mut rng, self);
        }
        it.tame();
        it.has_bearable_maps()
    }

    fn base(&self, rng: &mut Rng) -> Program {
        match &self.origin {
            Origin::Base(base) => (**base).clone(),
            Origin::Random => Program {
                kernel_btf: self.sources.host.kernel_btf.clone(),
                ..generate::program(rng.below(u64::MAX >> 12))
            },
            Origin::Hard(shape) => {
                let kernel_btf = self.sources.host.kernel_btf.as_ref();
                generated::program(rng, &self.sources.hard, kernel_btf, *shape)
            }
            Origin::Tracing => match &self.sources.host.kernel_btf {
                Some(btf) => {
                    tracing::program(rng.below(u64::MAX >> 12), btf, &self.sources.tracepoints)
                }
                None => generate::program(1),
            },
            Origin::Uses => generated::of_uses(rng, self.sources.host.kernel_btf.as_ref()),
            Origin::Features => generated::of_features(rng, self.sources.host.kernel_btf.as_ref()),
            Origin::Elf(..) => Program::default(),
        }
    }
}

impl Mutant {
    /// Whether it is loaded with all capabilities.
    pub(super) fn is_of_root(&self) -> bool {
        self.loader == Loader::Root
    }

    /// The privileges with which it is loaded.
    pub(crate) fn privileges(&self) -> Privileges {
        self.loader.privileges()
    }

    fn edit(&mut self, rng: &mut Rng, batch: &Batch<'_>) {
        let stock = Stock { donors: &batch.donors, kfuncs: &batch.sources.kfuncs };
        let text = match rng.below(100) {
            0..5 => attributes::load(rng, &mut self.program),
            5..8 => attributes::records(rng, &mut self.program),
            8..9 => {
                self.own_maps = true;
                attributes::maps(rng, &mut self.program)
            }
            9..11 => {
                self.own_maps = true;
                attributes::btf(rng, &mut self.program)
            }
            11..15 => {
                self.loader = Loader::Bpf;
                "CAP_BPF alone".to_owned()
            }
            _ => edit::insns(rng, &mut self.program, &stock),
        };
        self.edits.push(text);
    }

    /// Checks the size of maps. The kernel has a bug in freeing prog arrays whose number of entries
    /// does not fit into an `int`; and large memory is not what is tested.
    fn has_bearable_maps(self) -> Result<Mutant, String> {
        let bytes = |map: &MapDef| {
            u64::from(map.max_entries)
                * (u64::from(map.value_size) + u64::from(map.key_size) + MAP_ENTRY_BYTES)
        };
        let inner = self.program.maps.iter().filter_map(|map| map.inner.as_deref());
        match self.program.maps.iter().chain(inner).all(|map| bytes(map) <= MAP_BYTES_MAX) {
            true => Ok(self),
            false => Err("a large map".to_owned()),
        }
    }

    /// Makes the program safe to load: an invalid map index, which means a descriptor number, must
    /// not be one of ours, and names must not contain characters that the kernel refuses.
    fn tame(&mut self) {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
        if !self.program.maps.iter().all(|map| map.name.chars().all(plain)) {
            let name = |map: &MapDef| map.name.replace(|c| !plain(c), "_");
            let named = |map: &MapDef| MapDef { name: name(map), ..map.clone() };
            self.program.maps = self.program.maps.iter().map(named).collect();
        }
        let maps = self.program.maps.len() as i32;
        let wild = |insn: &&mut Insn| names_map(insn) && !(0..maps).contains(&insn.imm);
        self.program.insns.iter_mut().filter(wild).for_each(|insn| insn.imm = -1);
    }
}

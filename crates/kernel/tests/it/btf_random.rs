//! `refused_by_kernel` beside BPF_BTF_LOAD: types of every kind in random graphs, most of them
//! nearly valid.
//!
//! `SEED` and `COUNT` in the environment: others, or more.

#![allow(clippy::print_stderr, reason = "a test that skips says so")]

#[path = "../../../testkit/src/rng.rs"]
#[allow(dead_code, unreachable_pub, reason = "not all of it is used here")]
mod rng;

use rng::Rng;
use skep_btf::{Btf, BtfBuilder, Endian, FuncLinkage, IntEncoding, Kind, MemberDef, SecVar};
use skep_btf::{TypeId, VarLinkage, refused_by_kernel, repeated};
use skep_kernel::bpf::btf_load;
use skep_kernel::reference;
use skep_uapi::KernelProfile;

const COUNT: u64 = 20_000;
/// Some have a meaning for the kernel.
const NAMES: [&str; 12] = [
    "a",
    "b",
    "s",
    "",
    "bpf_spin_lock",
    "bpf_timer",
    "bpf_list_head",
    "bpf_list_node",
    "bpf_rb_root",
    "bpf_refcount",
    "bpf_wq",
    "bpf_res_spin_lock",
];
/// With the sizes that the kernel's have.
const SPECIAL: [(&str, u32); 9] = [
    ("bpf_spin_lock", 4),
    ("bpf_res_spin_lock", 4),
    ("bpf_timer", 16),
    ("bpf_wq", 16),
    ("bpf_list_head", 16),
    ("bpf_list_node", 24),
    ("bpf_rb_root", 16),
    ("bpf_rb_node", 32),
    ("bpf_refcount", 4),
];
const TAGS: [&str; 6] = ["kptr", "kptr_untrusted", "percpu_kptr", "rcu", "contains:s:a", "uptr"];

/// A graph in the making.
struct Graph<'r> {
    rng: &'r mut Rng,
    types: BtfBuilder,
    /// Sizes of the types so far, by id.
    sizes: Vec<u32>,
    /// How often a type refers to a later one, in percent.
    forward: u64,
    /// The numbers of the kinds that `add` takes.
    kinds: &'static [u64],
}

const ALL: [u64; 20] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19];
/// What leads to functions.
const FUNCTIONS: [u64; 8] = [0, 1, 10, 11, 13, 14, 5, 17];

impl Graph<'_> {
    /// Mostly a type that comes earlier.
    fn any(&mut self) -> TypeId {
        let known = self.sizes.len() as u64;
        let end = if self.rng.chance(self.forward) { known + 5 } else { known };
        TypeId(self.rng.below(end) as u32)
    }

    fn size_of(&self, id: TypeId) -> u32 {
        self.sizes.get(id.0 as usize).copied().unwrap_or(8)
    }

    fn name(&mut self) -> &'static str {
        self.rng.pick(&NAMES)
    }

    /// A size, sometimes another.
    fn about(&mut self, size: u32) -> u32 {
        if self.rng.chance(90) { size } else { self.rng.pick(&[0, 1, 2, 4, 8, 12, 16, 24, 3]) }
    }

    fn push(&mut self, id: TypeId, size: u32) {
        if id.0 as usize == self.sizes.len() {
            self.sizes.push(size);
        }
    }

    fn whole(&mut self, is_union: bool) {
        let count = self.rng.below(4);
        let (mut members, mut end, mut largest) = (Vec::new(), 0, 0);
        for _ in 0..count {
            let ty = self.any();
            let size = self.size_of(ty);
            let at = if is_union { 0 } else { self.about(end) * 8 };
            let bits = if self.rng.chance(10) { self.rng.below(40) as u8 } else { 0 };
            let name = self.name();
            members.push(match bits {
                0 => MemberDef::new(name, ty, at),
                _ => MemberDef::bits(name, ty, at, bits),
            });
            end += size;
            largest = size.max(largest);
        }
        let size = self.about(if is_union { largest } else { end });
        let name = self.name();
        let id = match is_union {
            true => self.types.union_(name, size, &members),
            false => self.types.struct_(name, size, &members),
        };
        self.push(id, size);
    }

    fn section(&mut self) {
        let (mut vars, mut end) = (Vec::new(), 0);
        for _ in 0..self.rng.below(3) {
            let ty = self.any();
            let size = self.size_of(ty);
            vars.push(SecVar { ty, offset: self.about(end), size: self.about(size) });
            end += size;
        }
        let size = self.about(end);
        let id = self.types.datasec(".data", size, &vars);
        self.push(id, 0);
    }

    fn proto(&mut self) {
        let params: Vec<(&str, TypeId)> =
            (0..self.rng.below(3)).map(|_| (self.name(), self.any())).collect();
        let returned = self.any();
        let id = self.types.func_proto(returned, &params);
        self.push(id, 0);
    }

    fn add(&mut self) {
        let (to, name) = (self.any(), self.name());
        let size = self.size_of(to);
        let types = &mut self.types;
        let (id, size) = match self.rng.pick(self.kinds) {
            0..3 => (types.ptr(to), 8),
            3 | 4 => {
                let (count, index) = (self.rng.below(4) as u32, self.any());
                let index = if self.rng.chance(90) { TypeId(1) } else { index };
                (self.types.array(to, index, count), size.saturating_mul(count))
            }
            5..9 => return self.whole(false),
            9 => return self.whole(true),
            10 => (types.typedef_(name, to), size),
            11 | 12 => {
                let kind = self.rng.pick(&[Kind::Const, Kind::Volatile, Kind::Restrict]);
                (self.types.modifier(kind, to), size)
            }
            13 => return self.proto(),
            14 => (types.func(name, to, FuncLinkage::Static), 0),
            15 => (types.var(name, to, VarLinkage::Global), size),
            16 => return self.section(),
            17 => {
                let component = self.rng.chance(60).then(|| self.rng.below(4) as u32);
                let tag = self.rng.pick(&TAGS);
                (self.types.decl_tag(tag, to, component), 0)
            }
            18 => (types.type_tag(self.rng.pick(&TAGS), to), size),
            _ => (types.enum_(name, 4, &[("A", 1)]), 4),
        };
        self.push(id, size);
    }
}

fn random(seed: u64) -> Vec<u8> {
    let mut rng = Rng::new(seed);
    let mut types = BtfBuilder::new();
    types.int("int", 4, IntEncoding::SIGNED);
    types.int("long", 8, IntEncoding::NONE);
    types.int("char", 1, IntEncoding::NONE);
    let (forward, kinds) = match rng.below(3) {
        0 => (50, &FUNCTIONS[..]),
        _ => (15, &ALL[..]),
    };
    let mut graph = Graph { rng: &mut rng, types, sizes: vec![0, 4, 8, 1], forward, kinds };
    for (name, size) in SPECIAL {
        if graph.rng.chance(20) {
            let id = graph.types.struct_(name, size, &[]);
            graph.push(id, size);
        }
    }
    for _ in 0..=graph.rng.below(10) {
        graph.add();
    }
    graph.types.to_bytes(Endian::NATIVE)
}

/// Whether there is a `__kptr` to a struct that the kernel has: what it takes then depends on it.
fn points_to_kernel(btf: &Btf) -> bool {
    btf.iter().filter(|ty| ty.kind() == Kind::TypeTag && ty.name().ends_with("kptr")).any(|tag| {
        let to = btf.skip_modifiers(tag.id());
        SPECIAL.iter().any(|(name, _)| *name == to.name())
    })
}

/// Whether the kernel takes the types with a warning.
fn warns(btf: &Btf) -> bool {
    btf.struct_metas().values().any(|fields| repeated(fields).is_some())
}

#[test]
fn random_types_load_as_in_the_kernel() {
    if let Err(why) = reference::answers(&KernelProfile::v6_18()) {
        return eprintln!("skipped: {why}");
    }
    let number = |name: &str| std::env::var(name).ok()?.parse::<u64>().ok();
    let (start, count) = (number("SEED").unwrap_or(1), number("COUNT").unwrap_or(COUNT));
    let (mut taken, mut differing) = (0, Vec::new());
    for seed in start..start.saturating_add(count) {
        let bytes = random(seed);
        let Ok(btf) = Btf::parse_of_object(&bytes) else { continue };
        if points_to_kernel(&btf) || warns(&btf) {
            continue;
        }
        let (theirs, ours) = (btf_load(&bytes).map(drop), refused_by_kernel(&btf));
        taken += u64::from(theirs.is_ok());
        if theirs.is_ok() != ours.is_none() {
            let said = theirs.err().map(|(_, log)| log.lines().last().unwrap_or("").to_owned());
            let ours = ours.map(|error| error.to_string());
            differing.push(format!("seed {seed}: kernel {said:?}, here {ours:?}"));
        }
    }
    eprintln!("{count} BTFs, {taken} of them loaded");
    differing.truncate(20);
    assert!(differing.is_empty(), "{}", differing.join("\n"));
}

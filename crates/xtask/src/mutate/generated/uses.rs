//! Every pointer in every use: what a program can hold, used where a pointer, a number, a size or a
//! map is expected. `uses.toml` contains both as text.
//!
//! Mutants of real programs rarely do that: that the value of a device map is read-only showed in
//! one of a million, and only in the message.

use serde::Deserialize;
use skep::btf::Btf;
use skep::program::Program;
use skep::uapi::helper::{ArgBase, HelperId, default_proto};
use skep_testkit::rng::Rng;
use skep_testkit::suite::{self, MapOptions, Options};
use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

/// The tables of `uses.toml`; insns are separated by `;`.
#[derive(Deserialize)]
struct Tables {
    /// Program types.
    types: Vec<String>,
    /// Prefix of every program.
    before: String,
    /// Maps of every program.
    fixed: BTreeMap<String, MapOptions>,
    /// Possible definitions of the map `x`.
    maps: BTreeMap<String, MapOptions>,
    /// Code that loads a pointer into r7, and code that releases it.
    pointers: BTreeMap<String, [String; 2]>,
    /// Uses of r7, or of `x`.
    uses: BTreeMap<String, String>,
}

static TABLES: LazyLock<Tables> = LazyLock::new(|| {
    let parsed = toml::from_str(include_str!("uses.toml"));
    #[expect(clippy::expect_used, reason = "the table is part of the program, and tested")]
    parsed.expect("uses.toml is as it should be")
});

/// Functions to which uses refer, with their bodies.
const FUNCTIONS: [(&str, &str); 2] =
    [("sub", "r0 = *(u8 *)(r1 + 0); exit"), ("cb", "r0 = 0; exit")];
/// Number of attempts if a program uses something that the kernel does not have.
const TRIES: u32 = 16;
/// Percentage of uses that are calls of helpers.
const CALLS: u64 = 40;

fn any<'a, V>(rng: &mut Rng, table: &'a BTreeMap<String, V>) -> Option<&'a V> {
    table.values().nth(rng.below(table.len() as u64) as usize)
}

/// An argument, mostly of the kind that is expected.
fn argument(rng: &mut Rng, regno: usize, asked: ArgBase) -> String {
    let of_its_kind = match asked {
        ArgBase::Ctx => "r6",
        ArgBase::ConstMapPtr => rng.pick(&["map[x]", "map[h]", "map[rb]", "map[progs]"]),
        ArgBase::ConstSize | ArgBase::ConstSizeOrZero => rng.pick(&["8", "16", "0", "r9", "r8"]),
        ArgBase::ConstAllocSizeOrZero => rng.pick(&["8", "0", "r8"]),
        ArgBase::Func => rng.pick(&["func[cb]", "func[sub]"]),
        ArgBase::Anything | ArgBase::Dontcare => rng.pick(&["0", "1", "8", "r8", "r9", "-1"]),
        ArgBase::Mem | ArgBase::MapKey | ArgBase::MapValue | ArgBase::Stack => {
            rng.pick(&["r10", "r10", "r10", "r7", "0", "map_value[v]", "map_value[ro]"])
        }
        ArgBase::ConstStr | ArgBase::Timer | ArgBase::KptrXchgDest | ArgBase::SpinLock => {
            rng.pick(&["map_value[v]", "r7"])
        }
        ArgBase::Dynptr => rng.pick(&["r10", "r7"]),
        _ => "r7",
    };
    let what = match rng.chance(10) {
        true => rng.pick(&["r6", "r7", "0", "8", "r10", "map[x]", "r8", "map_value[v]"]),
        false => of_its_kind,
    };
    let off = rng.pick(&[-16, -16, -32, -48, 0, -8]);
    match what {
        "r10" => format!("r{regno} = r10; r{regno} += {off}"),
        what => format!("r{regno} = {what}"),
    }
}

/// A call of any helper, mostly with the arguments that its prototype requires.
fn call(rng: &mut Rng) -> String {
    let ids = HelperId::all().count() as u64;
    let id = HelperId::all().nth(rng.below(ids) as usize).unwrap_or(HelperId::MapLookupElem);
    let args = default_proto(id).args.iter().zip(1..);
    let args = args.filter(|(arg, _)| arg.base != ArgBase::Dontcare);
    let set: Vec<String> = args.map(|(arg, regno)| argument(rng, regno, arg.base)).collect();
    format!("{}; call {}", set.join("; "), id.name())
}

/// A use of r7, or the call of any helper; `@` stands for its number.
pub(super) fn used(rng: &mut Rng) -> String {
    match rng.chance(CALLS) {
        true => call(rng),
        false => any(rng, &TABLES.uses).cloned().unwrap_or_default(),
    }
}

fn text(rng: &mut Rng) -> Option<String> {
    let [make, end] = any(rng, &TABLES.pointers)?;
    let mut bpf = format!("{}; {make}", TABLES.before);
    for number in 0..=rng.below(4).min(rng.below(4)) {
        let used = used(rng).replace('@', &number.to_string());
        bpf.push_str(&format!("; {used}"));
    }
    bpf.push_str(&format!("; {end}; out:; r0 = 0; exit"));
    for (name, body) in FUNCTIONS {
        if bpf.contains(&format!("func[{name}]")) || bpf.contains(&format!("call {name};")) {
            bpf.push_str(&format!("; {name}:; {body}"));
        }
    }
    Some(bpf.replace(';', "\n"))
}

fn options(rng: &mut Rng) -> Option<Options> {
    let mut x = any(rng, &TABLES.maps)?.clone();
    match rng.below(12) {
        0 => x.flags.push("rdonly_prog".to_owned()),
        1 => x.flags.push("wronly_prog".to_owned()),
        _ => {}
    }
    let prog_type = TABLES.types.get(rng.below(TABLES.types.len() as u64) as usize)?.clone();
    let flags = match prog_type.as_str() {
        // Otherwise they are rejected before the walk.
        "syscall" => vec!["sleepable".to_owned()],
        _ => Vec::new(),
    };
    let mut options = Options { prog_type, flags, ..Options::default() };
    let fixed = TABLES.fixed.iter().map(|(name, map)| (name.clone(), map.clone()));
    options.map = fixed.chain([("x".to_owned(), x)]).collect();
    Some(options)
}

/// Generates a program; `None` if several attempts failed for that kernel.
pub(super) fn program(rng: &mut Rng, kernel_btf: Option<&Arc<Btf>>) -> Option<Program> {
    (0..TRIES).find_map(|_| {
        let (options, bpf) = (options(rng)?, text(rng)?);
        suite::assembled("uses", &bpf, &options, kernel_btf).ok().map(|(program, _)| program)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_use_of_every_pointer_can_be_written() {
        let options = options(&mut Rng::new(1)).unwrap();
        let kernel_btf = None;
        for [make, end] in TABLES.pointers.values() {
            for used in TABLES.uses.values().map(|used| used.replace('@', "0")) {
                let bpf = format!("{make}; {used}; {end}; out:; exit; sub:; exit; cb:; exit");
                let made = suite::assembled("t", &bpf.replace(';', "\n"), &options, kernel_btf);
                match made {
                    Ok(_) => {}
                    Err(why) => assert!(why.contains("no kernel BTF"), "{bpf}: {why}"),
                }
            }
        }
    }
}

//! Features put into each other: an object made in an RCU section, added to a tree in the callback
//! of `bpf_loop`, an iterator around a lock. `features.toml` has them as text, and the functions,
//! maps and types that they name.
//!
//! Why: what real programs do with one feature, mutants do wrong in every way; two features that no
//! program combines are where nobody looked.
//!
//! # Invariants
//! 1. All programs have the same maps and the same BTF, so that the kernel gets these once for many
//!    programs.
//! 2. A program's own exception callback comes directly after the program, where the removal of a
//!    function cannot change its number.

use super::uses;
use serde::Deserialize;
use skep::btf::{Btf, Kind};
use skep::insn::InsnIdx;
use skep::program::{FuncInfo, MapDef, Program};
use skep_testkit::rng::Rng;
use skep_testkit::suite::{self, FuncOptions, MapOptions, Options};
use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

/// `features.toml`, which explains itself.
#[derive(Deserialize)]
struct Tables {
    before: String,
    atomic: Vec<String>,
    locks: Vec<String>,
    types: BTreeMap<String, u64>,
    groups: BTreeMap<String, Vec<String>>,
    r#struct: BTreeMap<String, Vec<String>>,
    map: BTreeMap<String, MapOptions>,
    functions: BTreeMap<String, Function>,
    features: BTreeMap<String, Feature>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Function {
    text: String,
    #[serde(default)]
    global: bool,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    void: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Feature {
    text: String,
    #[serde(default)]
    under: String,
    #[serde(default)]
    r#for: String,
    #[serde(default)]
    plain: bool,
    #[serde(default)]
    sleep: bool,
    #[serde(default = "one")]
    weight: u64,
}

fn one() -> u64 {
    1
}

static TABLES: LazyLock<Tables> = LazyLock::new(|| {
    let parsed = toml::from_str(include_str!("features.toml"));
    #[expect(clippy::expect_used, reason = "the table is part of the program, and tested")]
    parsed.expect("features.toml is as it should be")
});

/// Functions of each kind.
const SAME_KIND: usize = 2;
/// The program, where it has an exception callback of its own; and that.
const MAIN_CATCHING: &str = "main_catching";
const CAUGHT: &str = "gcaught_0";
/// Percentage of features that are chosen whether or not they make sense.
const ANY: u64 = 2;
/// Percentage of features that are any use of r7.
const USE: u64 = 4;
/// How much likelier a feature is where it needs what holds there.
const FITTING: u64 = 6;
/// Bytes at the top of a frame that are no feature's own; what a feature has; the last that begin
/// one.
const FRAME_SHARED: u32 = 32;
const FRAME_OWN: u32 = 32;
const FRAME_LAST: u32 = 320;
/// How often another program is tried where one names what the kernel has not got.
const TRIES: u32 = 16;

/// What all programs have in common.
struct Common {
    maps: Arc<[MapDef]>,
    btf: Option<Arc<Btf>>,
}

fn options() -> Options {
    let tables = &*TABLES;
    let func = |kind: &Function| FuncOptions {
        global: kind.global,
        args: kind.args.clone(),
        void: kind.void,
        ..FuncOptions::default()
    };
    let named = tables.functions.iter().flat_map(|(kind, it)| {
        (0..SAME_KIND).map(move |index| (format!("{kind}_{index}"), func(it)))
    });
    let catching =
        FuncOptions { exception_callbacks: vec![CAUGHT.to_owned()], ..FuncOptions::default() };
    Options {
        prog_type: "sched_cls".to_owned(),
        r#struct: tables.r#struct.clone(),
        map: tables.map.clone(),
        func: named.chain([(MAIN_CATCHING.to_owned(), catching)]).collect(),
        ..Options::default()
    }
}

static COMMON: LazyLock<Common> = LazyLock::new(|| {
    let made = suite::assembled("features", "r0 = 0\nexit", &options(), None);
    #[expect(clippy::expect_used, reason = "follows from the table, which is tested")]
    let (program, _) = made.expect("features.toml has types that can be built");
    Common { maps: program.maps, btf: program.btf }
});

/// Something that holds where a feature is, and the slot of the object that it is about.
type Fact = (String, Option<u32>);

struct Maker<'a> {
    rng: &'a mut Rng,
    prog_type: &'static str,
    sleepable: bool,
    /// How many features there are: the next one's number.
    count: usize,
    /// Where the frame of the function begins to be free.
    frame: u32,
    /// How deep in functions; the program is 0.
    depth: usize,
    /// Functions that are called, their kinds and depths, in the order in which they are made.
    functions: Vec<(String, &'static str, usize)>,
}

impl<'a> Maker<'a> {
    fn new(rng: &'a mut Rng, prog_type: &'static str, sleepable: bool) -> Maker<'a> {
        Maker {
            rng,
            prog_type,
            sleepable,
            count: 0,
            frame: FRAME_SHARED,
            depth: 0,
            functions: Vec::new(),
        }
    }

    fn is_for(&self, feature: &Feature) -> bool {
        let of = |word: &str| {
            let group = TABLES.groups.get(word);
            word == self.prog_type
                || group.is_some_and(|types| types.iter().any(|it| it == self.prog_type))
        };
        feature.r#for.is_empty() || feature.r#for.split(' ').any(of)
    }

    /// How likely the feature is; 0 if it makes no sense here.
    fn weight(&self, feature: &Feature, facts: &[Fact]) -> u64 {
        let holds = |word: &str| facts.iter().any(|fact| fact.0 == word);
        let mut needed = feature.under.split(' ').filter(|word| !word.is_empty());
        let any_of = |words: &[String]| words.iter().any(|word| holds(word));
        let fits = feature.under.split(' ').any(|word| TABLES.locks.iter().any(|it| it == word));
        let fitting = needed.clone().any(|word| word != "ctx");
        let possible = needed.all(holds)
            && self.is_for(feature)
            && (!feature.sleep || self.sleepable && !any_of(&TABLES.atomic))
            && (feature.plain || fits || !any_of(&TABLES.locks))
            && (self.depth < 2 || !feature.text.contains('&'));
        match (possible, fitting) {
            (true, true) => feature.weight * FITTING,
            (true, false) => feature.weight,
            (false, _) => 0,
        }
    }

    fn choose(&mut self, facts: &[Fact]) -> Option<&'static Feature> {
        let wild = self.rng.chance(ANY);
        let weight = |it: &Feature| if wild { 1 } else { self.weight(it, facts) };
        let weights: Vec<(u64, &'static Feature)> =
            TABLES.features.values().map(|it| (weight(it), it)).collect();
        self.rng.weighted(&weights)
    }

    /// Some features, one after the other.
    fn body(&mut self, facts: &[Fact], nested: usize) -> String {
        let most = [[3, 2, 2, 1], [2, 2, 1, 1], [1, 1, 1, 1]][self.depth.min(2)];
        let least = u64::from(nested == 0 && self.depth == 0);
        let number = match most.get(nested) {
            Some(most) => least + self.rng.below(most + 1),
            None => 0,
        };
        let mut text = String::new();
        for _ in 0..number {
            if self.frame > FRAME_LAST {
                break;
            }
            let chosen = match self.rng.chance(USE) {
                true => Some(used(self.rng)),
                false => self.choose(facts).map(|feature| feature.text.clone()),
            };
            let made = chosen.map(|chosen| self.expand(&chosen, facts, nested));
            text.push_str(&made.unwrap_or_default());
            text.push_str("; ");
        }
        text
    }

    /// The text with everything filled in.
    fn expand(&mut self, text: &str, facts: &[Fact], nested: usize) -> String {
        let (number, frame) = (self.count, self.frame);
        self.count += 1;
        if text.contains('$') {
            self.frame += FRAME_OWN;
        }
        let slot = |name: &str| match name.parse::<u32>() {
            Ok(index) => frame + 8 * index,
            Err(_) => {
                let fact = facts.iter().rev().find(|fact| fact.0 == name);
                fact.and_then(|fact| fact.1).unwrap_or(8)
            }
        };
        let mut made = String::new();
        let mut rest = text;
        while let Some(at) = rest.find(['@', '$', '&', '{']) {
            made.push_str(&rest[..at]);
            let after = &rest[at + 1..];
            let word = after.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(after.len());
            let (word, end) = (&after[..word], at + 1 + word);
            match rest.as_bytes()[at] {
                b'@' => {
                    made.push_str(&number.to_string());
                    rest = after;
                }
                b'{' => {
                    let (inner, outer) = after.split_once('}').unwrap_or((after, ""));
                    let new = inner.split(' ').filter(|word| !word.is_empty());
                    let new = new.map(|word| match word.split_once(":$") {
                        Some((word, name)) => (word.to_owned(), Some(slot(name))),
                        None => (word.to_owned(), None),
                    });
                    let facts: Vec<Fact> = facts.iter().cloned().chain(new).collect();
                    made.push_str(&self.body(&facts, nested + 1));
                    rest = outer;
                }
                // `&=` and `&` of an operation are no names.
                _ if word.is_empty() => {
                    made.push_str(&rest[at..=at]);
                    rest = after;
                }
                b'$' => {
                    made.push_str(&slot(word).to_string());
                    rest = &rest[end..];
                }
                _ => {
                    made.push_str(&self.function(word));
                    rest = &rest[end..];
                }
            }
        }
        made + rest
    }

    /// A function of the kind: a new one, or one that the program calls as well.
    fn function(&mut self, kind: &str) -> String {
        let Some((kind, _)) = TABLES.functions.get_key_value(kind) else { return kind.to_owned() };
        let kind = kind.as_str();
        let same = self.functions.iter().filter(|it| it.1 == kind).count();
        let known = same >= SAME_KIND || same > 0 && self.depth == 0 && self.rng.chance(50);
        if known {
            return format!("{kind}_{}", self.rng.below(same as u64));
        }
        let name = format!("{kind}_{same}");
        self.functions.push((name.clone(), kind, self.depth + 1));
        name
    }

    fn text(&mut self) -> (String, bool) {
        let ctx = vec![("ctx".to_owned(), None)];
        let mut text = format!("r6 = r1; {}; ", TABLES.before);
        text.push_str(&self.body(&ctx, 0));
        text.push_str("; out:; r0 = 0; exit");
        let catching = text.contains("bpf_throw") && self.rng.chance(40);
        if catching {
            self.functions.insert(0, (CAUGHT.to_owned(), "gcaught", 1));
        }
        let mut next = 0;
        while let Some((name, kind, depth)) = self.functions.get(next).cloned() {
            next += 1;
            (self.depth, self.frame) = (depth, FRAME_SHARED);
            let body = TABLES.functions[kind].text.replace("BEFORE", &TABLES.before);
            let body = self.expand(&body, &[], 0);
            text.push_str(&format!("; {name}:; {body}"));
        }
        (text.replace(';', "\n"), catching)
    }
}

/// Any use of r7, with this table's maps and functions.
fn used(rng: &mut Rng) -> String {
    let maps = TABLES.map.len() as u64;
    let x = TABLES.map.keys().nth(rng.below(maps) as usize).map_or("arr", String::as_str);
    let text = uses::used(rng);
    let text = text.replace("map[h]", "map[hash]").replace("map_value[v]", "map_value[arr]");
    let text = text.replace("[pc]", "[pcpu]").replace("[x]", &format!("[{x}]"));
    let text = text.replace("func[cb]", "func[&loop1]").replace("func[sub]", "func[&later]");
    let text = text.replace("call sub", "call &memory").replace("goto out", "goto skip_@");
    match text.contains("skip_@") {
        true => format!("{text}; skip_@:"),
        false => text,
    }
}

/// The next program; `None` if none of several could be made for that kernel.
pub(super) fn program(rng: &mut Rng, kernel_btf: Option<&Arc<Btf>>) -> Option<Program> {
    (0..TRIES).find_map(|_| made(rng, kernel_btf).ok())
}

fn made(rng: &mut Rng, kernel_btf: Option<&Arc<Btf>>) -> Result<Program, String> {
    let types: Vec<(u64, &'static str)> =
        TABLES.types.iter().map(|(name, weight)| (*weight, name.as_str())).collect();
    let prog_type = rng.weighted(&types).unwrap_or("sched_cls");
    let sleepable = prog_type == "syscall" || prog_type == "kprobe" && rng.chance(40);
    let mut options = Options { prog_type: prog_type.to_owned(), ..options() };
    let flags = [(sleepable, "sleepable"), (rng.chance(25), "test_state_freq")];
    options.flags = flags.iter().filter(|it| it.0).map(|it| it.1.to_owned()).collect();
    let mut maker = Maker::new(rng, prog_type, sleepable);
    let (bpf, catching) = maker.text();
    let (program, assembly) = suite::assembled("features", &bpf, &options, kernel_btf)?;
    let type_of = |name: &str| {
        let btf = COMMON.btf.as_ref();
        btf.and_then(|btf| btf.find_by_name_kind(name, Kind::Func)).map(|id| id.0)
    };
    let main = if catching { MAIN_CATCHING } else { "main" };
    let functions = assembly.labels.iter().map(|label| (label.name.as_str(), label.insn));
    let rows = [(main, InsnIdx(0))].into_iter().chain(functions);
    let row = |(name, insn_off)| Some(FuncInfo { insn_off, type_id: type_of(name)? });
    Ok(Program {
        maps: Arc::clone(&COMMON.maps),
        btf: COMMON.btf.clone(),
        func_info: rows.filter_map(row).collect(),
        ..program
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_feature_and_function_can_be_written() {
        for feature in TABLES.features.values() {
            let mut rng = Rng::new(1);
            let mut it = Maker::new(&mut rng, "sched_cls", true);
            it.depth = 2;
            let mut bpf = it.expand(&feature.text, &[], 9) + "; exit";
            for (name, kind, _) in it.functions.clone() {
                let body = TABLES.functions[kind].text.replace("BEFORE", &TABLES.before);
                bpf.push_str(&format!("; {name}:; {}", it.expand(&body, &[], 9)));
            }
            let bpf = bpf.replace(';', "\n");
            match suite::assembled("t", &bpf, &options(), None) {
                Ok(_) => {}
                Err(why) => assert!(why.contains("no kernel BTF"), "{bpf}: {why}"),
            }
        }
    }

    #[test]
    fn facts_that_are_needed_are_made_somewhere() {
        let texts = || {
            let functions = TABLES.functions.values().map(|it| it.text.as_str());
            TABLES.features.values().map(|it| it.text.as_str()).chain(functions)
        };
        for feature in TABLES.features.values() {
            for word in feature.under.split(' ').filter(|word| !matches!(*word, "" | "ctx")) {
                let made = texts().any(|text| {
                    let bodies = text.split('{').skip(1).filter_map(|it| it.split('}').next());
                    bodies.flat_map(|it| it.split(' ')).any(|it| it.split(':').next() == Some(word))
                });
                assert!(made, "{word}");
            }
        }
    }
}

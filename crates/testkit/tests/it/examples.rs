//! Compares the tests of our example programs (`tests/programs/*.test.toml`) with the host kernel:
//! expected results of runs with BPF_PROG_TEST_RUN, expected rejections with its verdict.
//!
//! Expectations about other kernels and costs are not compared.

#![allow(clippy::print_stderr, reason = "a test that skips says so")]

use skep::object::{Value, Variable};
use skep::program::{MapDef, MapSlot, Program, SlotTarget};
use skep::uapi::{MapType, ProgType};
use skep::{Host, KernelBtf};
use skep_kernel::bpf::{Map, RunInput};
use skep_kernel::judge::{Answer, as_loaded, judge};
use skep_kernel::run::Loaded;
use skep_testkit::exec::SKB_BYTES;
use skep_testkit::judge::Judge;
use skep_testkit::objects;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use toml::{Table, Value as Toml};

/// Keys of a test that are compared, or that do not concern runs.
const KNOWN: [&str; 16] = [
    "name",
    "prog",
    "packet",
    "ctx",
    "globals",
    "maps",
    "repeat",
    "result",
    "output",
    "expect_maps",
    "refused",
    "refused_on",
    "kernels",
    "max_insns",
    "max_states",
    "max_run_insns",
];

/// The default packet of `skep test`.
const NO_PACKET: [u8; 60] = [0; 60];

/// Offsets of fields in `struct __sk_buff` that the kernel accepts for a test run.
const SKB_FIELDS: [(&str, usize); 2] = [("mark", 8), ("priority", 32)];

fn files(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if path.is_dir() {
            files(&path, found);
        } else if path.to_str().is_some_and(|name| name.ends_with(".test.toml")) {
            found.push(path);
        }
    }
    found.sort();
}

#[test]
fn what_the_examples_expect_is_what_the_kernel_does() {
    let judge = Judge::here();
    judge.skips().iter().for_each(|line| eprintln!("skipped: {line}"));
    if judge.answers.is_err() {
        return;
    }
    let mut paths = Vec::new();
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/programs");
    files(&dir, &mut paths);
    let (mut runs, mut refusals) = (0, 0);
    for path in &paths {
        let text = std::fs::read_to_string(path).unwrap();
        let whole: Table = toml::from_str(&text).unwrap();
        for test in whole["test"].as_array().unwrap() {
            let test = test.as_table().unwrap();
            let here = format!("{}: {}", path.display(), test["name"]);
            let unknown = test.keys().find(|key| !KNOWN.contains(&key.as_str()));
            assert_eq!(unknown, None, "{here}: not asked of the kernel");
            let case = Case { path, whole: &whole, test, here };
            if test.contains_key("refused") {
                case.is_refused();
                refusals += 1;
            } else {
                runs += u32::from(case.runs());
            }
        }
    }
    assert!(runs >= 6 && refusals >= 4, "{runs} runs, {refusals} refusals");
}

struct Case<'a> {
    path: &'a Path,
    whole: &'a Table,
    test: &'a Table,
    here: String,
}

impl Case<'_> {
    fn said(&self, key: &str) -> Option<&Toml> {
        self.test.get(key).or_else(|| self.whole.get(key).filter(|_| key != "test"))
    }

    fn table(&self, key: &str) -> Table {
        self.test.get(key).map(|table| table.as_table().unwrap().clone()).unwrap_or_default()
    }

    /// The program, then the others of its object.
    fn programs(&self) -> Vec<Program> {
        let path = self.path.parent().unwrap().join(self.said("object").unwrap().as_str().unwrap());
        let host = Host::read(&KernelBtf::Absent).unwrap();
        let mut object = objects::open(&host, path);
        for (name, value) in self.table("globals") {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let (variable, value): (Variable, Value) = (name.parse().unwrap(), (&*text).into());
            object.set_variable(&variable, &value).unwrap();
        }
        let all: Vec<Program> = object
            .programs
            .iter()
            .filter_map(|entry| Some(as_loaded(entry.program.as_ref().ok()?).into_owned()))
            .collect();
        let wanted = self.said("prog").map(|name| name.as_str().unwrap());
        let is_first = |program: &&Program| wanted.is_none_or(|name| program.name == name);
        let first = all.iter().find(is_first).expect(&self.here).clone();
        let others = all.into_iter().filter(|program| program.name != first.name);
        let mut programs: Vec<Program> = [first.clone()].into_iter().chain(others).collect();
        // A rejected program is not loaded together with the one that runs.
        programs
            .retain(|program| program.name == first.name || self.targets().contains(&program.name));
        for program in &mut programs {
            program.maps = self.with_targets(&program.maps);
        }
        programs
    }

    /// Programs that the test stores in prog arrays.
    fn targets(&self) -> Vec<String> {
        let maps = self.table("maps");
        let values = maps.values().filter_map(Toml::as_table).flat_map(Table::values);
        values.filter_map(|value| value.as_str().map(str::to_owned)).collect()
    }

    fn with_targets(&self, maps: &[MapDef]) -> Arc<[MapDef]> {
        let filled = self.table("maps");
        let slots = |def: &MapDef| {
            let entries = filled.get(&def.name).and_then(Toml::as_table);
            let entries = entries.filter(|_| def.map_type == MapType::ProgArray)?;
            let slot = |(key, name): (&String, &Toml)| MapSlot {
                index: key.parse().unwrap(),
                target: SlotTarget::Prog(name.as_str().unwrap().to_owned()),
            };
            Some(entries.iter().map(slot).collect())
        };
        let with = |def: &MapDef| MapDef {
            slots: slots(def).unwrap_or_else(|| def.slots.clone()),
            ..def.clone()
        };
        maps.iter().map(with).collect()
    }

    fn is_refused(&self) {
        match judge(&self.programs()[0], 1) {
            Answer::Judged(judged) => assert!(!judged.accepted, "{}: accepted", self.here),
            other => panic!("{}: {other:?}", self.here),
        }
    }

    /// Loads the program, and runs it if the test has expectations about a run.
    fn runs(&self) -> bool {
        let programs = self.programs();
        let loaded = Loaded::new(&programs).unwrap_or_else(|why| panic!("{}: {why}", self.here));
        let said = ["result", "output", "expect_maps", "packet", "ctx", "max_run_insns"];
        if !said.iter().any(|key| self.test.contains_key(*key)) {
            return false;
        }
        let maps = &programs[0].maps;
        for (name, entries) in self.table("maps") {
            let (map, def) = map(&loaded, maps, &name);
            for (key, value) in entries.as_table().unwrap() {
                if def.map_type != MapType::ProgArray {
                    let number = value.as_integer().unwrap();
                    put(map, def, &key_of(def, key), number as u64);
                }
            }
        }
        let packet = self.test.get("packet").map(|digits| bytes(digits.as_str().unwrap()));
        let ctx = self.ctx();
        let input = RunInput {
            data: packet.as_deref().unwrap_or(&NO_PACKET),
            ctx: &ctx,
            ctx_out: false,
            repeat: self.test.get("repeat").map_or(1, |times| times.as_integer().unwrap() as u32),
        };
        let done = loaded.run(&input).unwrap_or_else(|errno| panic!("{}: {errno}", self.here));
        if let Some(expected) = self.test.get("result") {
            let number = match expected.as_str() {
                Some(name) => verdict(programs[0].prog_type, name),
                None => expected.as_integer().unwrap() as u32,
            };
            assert_eq!(done.retval, number, "{}: result", self.here);
        }
        if let Some(expected) = self.test.get("output") {
            assert_eq!(done.data, bytes(expected.as_str().unwrap()), "{}: output", self.here);
        }
        for (name, entries) in self.table("expect_maps") {
            let (map, def) = map(&loaded, maps, &name);
            for (key, value) in entries.as_table().unwrap() {
                let key_bytes = key_of(def, key);
                if value.as_str() == Some("absent") {
                    let mut any = vec![0; def.value_size as usize];
                    let is_there = map.lookup(&key_bytes, &mut any, false).is_ok();
                    assert!(!is_there, "{}: {name}.{key}", self.here);
                    continue;
                }
                let found = look(map, def, &key_bytes);
                let expected = value.as_integer().unwrap() as u64;
                assert_eq!(found, expected, "{}: {name}.{key}", self.here);
            }
        }
        true
    }

    fn ctx(&self) -> Vec<u8> {
        let Some(fields) = self.test.get("ctx") else { return Vec::new() };
        let mut ctx = vec![0; SKB_BYTES];
        for (name, value) in fields.as_table().unwrap() {
            let (_, at) = SKB_FIELDS.iter().find(|(known, _)| known == name).expect(&self.here);
            let value = value.as_integer().unwrap() as u32;
            ctx[*at..at + 4].copy_from_slice(&value.to_ne_bytes());
        }
        ctx
    }
}

fn verdict(prog_type: ProgType, name: &str) -> u32 {
    let names: &[&str] = match prog_type {
        ProgType::Xdp => &["XDP_ABORTED", "XDP_DROP", "XDP_PASS", "XDP_TX", "XDP_REDIRECT"],
        _ => &["TC_ACT_OK", "TC_ACT_RECLASSIFY", "TC_ACT_SHOT"],
    };
    names.iter().position(|known| *known == name).expect(name) as u32
}

fn bytes(digits: &str) -> Vec<u8> {
    let digits: Vec<u32> = digits.chars().filter_map(|c| c.to_digit(16)).collect();
    digits.chunks_exact(2).map(|two| (two[0] << 4 | two[1]) as u8).collect()
}

fn map<'l>(loaded: &'l Loaded, maps: &'l [MapDef], name: &str) -> (&'l Map, &'l MapDef) {
    let at = maps.iter().position(|def| def.name == name).expect(name);
    (loaded.map(at as u32).expect(name), &maps[at])
}

/// Number of values of a key: for a per-CPU map, 8 bytes for every possible CPU.
fn values(def: &MapDef) -> usize {
    let per_cpu = matches!(def.map_type, MapType::PercpuArray | MapType::PercpuHash);
    if !per_cpu {
        return 1;
    }
    let possible = std::fs::read_to_string("/sys/devices/system/cpu/possible").unwrap();
    let last = possible.trim().rsplit(['-', ',']).next().unwrap();
    last.parse::<usize>().unwrap() + 1
}

/// A number, or the bytes.
fn key_of(def: &MapDef, text: &str) -> Vec<u8> {
    let key = match text.parse::<u64>() {
        Ok(number) => number.to_le_bytes()[..def.key_size as usize].to_vec(),
        Err(_) => bytes(text),
    };
    assert_eq!(key.len(), def.key_size as usize, "{}: {text}", def.name);
    key
}

fn put(map: &Map, def: &MapDef, key: &[u8], value: u64) {
    let mut value = value.to_ne_bytes().to_vec();
    value.resize(value_bytes(def), 0);
    map.update(key, &value).unwrap();
}

/// The number at a key; for a per-CPU map, the sum.
fn look(map: &Map, def: &MapDef, key: &[u8]) -> u64 {
    let mut found = vec![0; value_bytes(def)];
    map.lookup(key, &mut found, false).unwrap();
    let number = |value: &[u8]| value.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte));
    found.chunks(8).map(number).sum()
}

/// Bytes of all values of a key, of at most 8 bytes each.
fn value_bytes(def: &MapDef) -> usize {
    assert!(def.value_size <= 8, "{}", def.name);
    let is_single = values(def) == 1;
    if is_single { def.value_size as usize } else { 8 * values(def) }
}

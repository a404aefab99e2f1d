//! Tests: what skep says about fields, maps and flags for a kernel given by name is what that
//! kernel answered (`tests/kernels/asked/*.fields.gz`).

use super::agree;
use super::fields::{self, Row, accesses, caller, flag_name};
use super::probe::CONFIGURED;
use skep::kernel::ask::{calls, questions};
use skep::kernel::{ASKED, FROM_TABLE, FromTable, Item, Needs};
use skep::program::{MapDef, Program};
use skep::uapi::ctx::CtxLayout;
use skep::uapi::helper::HookKey;
use skep::uapi::since::Release;
use skep::uapi::{MapCreation, MapFlags, MapShape, asked_around, asked_later, not_yet};
use skep::{Host, Kernel};
use skep_testkit::engine::{self, OurVerdict};
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::error::Error;

/// Kernels of the table, one for each set of rules, with the tested ones before and after them.
fn with_neighbours() -> Vec<(&'static str, Option<&'static str>, &'static str)> {
    let version = |release: &str| release.parse::<Release>().ok();
    let mut rows: Vec<&FromTable> = FROM_TABLE.iter().collect();
    rows.sort_by_key(|row| (version(row.rules), row.release != row.rules));
    rows.dedup_by_key(|row| row.rules);
    let tested = |row: &FromTable, order: Ordering| {
        let its = version(row.rules);
        let kernels = ASKED.iter().filter(move |it| version(it.1).cmp(&its) == order);
        kernels.map(|it| it.0)
    };
    let around = |row: &&FromTable| {
        let after = tested(row, Ordering::Greater).next()?;
        Some((row.name, tested(row, Ordering::Less).next_back(), after))
    };
    rows.iter().filter_map(around).collect()
}

/// Context type, field name, and index among fields of the same name.
type Place = (String, String, usize);

/// Every access that exists on 6.18: where, how, and its program.
fn all_accesses() -> Vec<(Place, String, Program)> {
    let mut all = Vec::new();
    for hook in calls(None) {
        let layout = CtxLayout::find(hook.prog_type, hook.attach_type);
        let mut same: BTreeMap<&str, usize> = BTreeMap::new();
        for field in layout.map_or(&[][..], CtxLayout::fields).iter().filter(|it| it.off >= 0) {
            let nth = same.entry(field.name).and_modify(|nth| *nth += 1).or_default();
            let place = (caller(&hook), field.name.to_owned(), *nth);
            let programs = accesses(&hook, field).into_iter();
            all.extend(programs.map(|(says, program)| (place.clone(), says, program)));
        }
    }
    all
}

/// A kernel's answers for the places.
fn fields_of(release: &str) -> Result<BTreeMap<Place, String>, Box<dyn Error>> {
    let mut all = BTreeMap::new();
    for Row { name, field, says, .. } in fields::read(release)?.into_iter().filter(is("ctx")) {
        let of_name = |nth: &usize| !all.contains_key(&(name.clone(), field.clone(), *nth));
        let nth = (0..).find(of_name).unwrap_or_default();
        all.insert((name, field, nth), says);
    }
    Ok(all)
}

fn is(kind: &str) -> impl Fn(&Row) -> bool {
    move |row| row.kind == kind
}

/// A kernel, and a host that has it.
struct Named {
    host: Host,
    kernel: Kernel,
}

/// Whether skep accepts the program, returning 0 or 1, for a kernel known only by name; `None` if
/// it needs BTF.
fn accepts(kernel: &Named, program: &Program) -> Option<bool> {
    let returns = |imm| {
        let mut insns = program.insns.clone();
        let at = insns.len() - 2;
        insns[at].imm = imm;
        engine::verify_for(&kernel.host, &kernel.kernel, &Program { insns, ..program.clone() }, 4)
            .verdict
    };
    match [returns(0), returns(1)] {
        [OurVerdict::Bug(why), _] | [_, OurVerdict::Bug(why)] => panic!("{}: {why}", program.name),
        [OurVerdict::Unsupported(_), _] => None,
        both => Some(both.contains(&OurVerdict::Accepted)),
    }
}

fn named(name: &str) -> Result<Named, Box<dyn Error>> {
    let kernel = Kernel::open(name)?;
    Ok(Named { host: kernel.host(), kernel })
}

#[test]
fn an_asked_kernel_by_its_name_has_the_fields_that_it_has() -> Result<(), Box<dyn Error>> {
    let programs = all_accesses();
    let mut wrong = Vec::new();
    for release in agree::releases_with(fields::END) {
        let (kernel, fields) = (named(&release)?, fields_of(&release)?);
        for (place, how, program) in &programs {
            let theirs = fields.get(place).is_some_and(|all| all.split(' ').any(|it| it == how));
            if accepts(&kernel, program).is_some_and(|ours| ours != theirs) {
                wrong.push(format!("{}: {}: theirs {theirs}", kernel.kernel.name(), program.name));
            }
        }
    }
    assert!(programs.len() > 3000, "{}", programs.len());
    assert!(wrong.is_empty(), "{} of them:\n{}", wrong.len(), wrong.join("\n"));
    Ok(())
}

/// A kernel of the table has no field that the next tested kernel lacks, and all fields of the
/// previous one.
#[test]
fn a_kernel_of_the_table_has_what_its_neighbours_have() -> Result<(), Box<dyn Error>> {
    let programs = all_accesses();
    let mut wrong = Vec::new();
    for (name, before, after) in with_neighbours() {
        let kernel = named(name)?;
        let (before, after) = (before.map(named).transpose()?, named(after)?);
        for (_, _, program) in &programs {
            let ours = accepts(&kernel, program) == Some(true);
            let had = before.as_ref().is_some_and(|it| accepts(it, program) == Some(true));
            let will_have = accepts(&after, program) == Some(true);
            if (ours && !will_have) || (had && !ours) {
                wrong.push(format!("{name}: {}: {had} {ours} {will_have}", program.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of them:\n{}", wrong.len(), wrong.join("\n"));
    Ok(())
}

/// A map whose flags are accepted here can be created there.
#[test]
fn an_asked_kernel_by_its_name_makes_the_maps_that_it_makes() -> Result<(), Box<dyn Error>> {
    let mut wrong = Vec::new();
    for release in agree::releases_with(fields::END) {
        let Named { kernel, .. } = named(&release)?;
        let rows: Vec<Row> = fields::read(&release)?.into_iter().filter(is("map")).collect();
        let is_map = |name: &str, kind: &str| kind == "map" && !CONFIGURED.contains(&name);
        for question in questions(None).into_iter().filter(|it| is_map(it.name, it.kind())) {
            let row = rows.iter().find(|row| row.name == question.name);
            for (map, bit) in
                question.program.maps.iter().flat_map(|map| (0..24).map(move |bit| (map, bit)))
            {
                let flag = MapFlags::from_bits_retain(1 << bit);
                let has_type = kernel.has(Item::Map(map.map_type)) != Some(false);
                let ours = has_type && creation(map, flag).check().is_ok();
                let name = flag_name(flag);
                let theirs = row.is_some_and(|row| row.says.split(' ').any(|it| it == name));
                if ours && !theirs {
                    wrong.push(format!("{}: {} {name}", kernel.name(), question.name));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} of them:\n{}", wrong.len(), wrong.join("\n"));
    Ok(())
}

fn creation(map: &MapDef, flag: MapFlags) -> MapCreation {
    let shape = MapShape {
        key_size: map.key_size,
        value_size: map.value_size,
        max_entries: map.max_entries,
        flags: map.map_flags | flag,
    };
    MapCreation {
        map_type: map.map_type,
        shape,
        map_extra: 0,
        has_btf: map.btf_key_type_id != 0,
        inner: map.inner.as_ref().map(|it| it.map_type),
    }
}

/// Helpers that programs of a type may not call on one of the tested kernels around it, on one
/// whose mends it may have, or on the next one with a name, are not allowed.
#[test]
fn a_kernel_of_the_table_has_the_helpers_of_its_neighbours() -> Result<(), Box<dyn Error>> {
    let mut wrong = Vec::new();
    for (name, _, after) in with_neighbours() {
        let Named { kernel, .. } = named(name)?;
        let after = Kernel::open(after)?;
        let rules = kernel.rules();
        let tested = [&asked_around(rules), asked_later(rules)].concat();
        for hook in calls(None) {
            let (prog_type, attach_type) = (hook.prog_type, hook.attach_type);
            let key = HookKey { prog_type, attach_type, target: "" };
            for id in hook.helpers() {
                let needs = Needs::of_insn(&hook.program(id), 0);
                let is_refused = tested.iter().any(|tested| not_yet(tested, &key, id));
                let will_have = after.lacks(&needs).is_none();
                if kernel.lacks(&needs).is_none() && (is_refused || !will_have) {
                    wrong.push(format!("{name}: {} {}", caller(&hook), id.name()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} of them:\n{}", wrong.len(), wrong.join("\n"));
    Ok(())
}

//! What libbpf and the kernel do not load, before a verifier looks at it: each at its step.
//!
//! `cargo xtask load-diff tests/object` asks libbpf itself.

use skep_btf::{Btf, BtfBuilder, FuncLinkage, IntEncoding, MemberDef, TypeId, VarLinkage};
use skep_object::{LoadClass, Object, OpenOptions};
use skep_program::{Missing, Program};
use skep_uapi::MapCreationError;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;

fn dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/object")
}

fn open_with(file: &str, options: OpenOptions) -> Object {
    Object::open(&std::fs::read(dir().join(file)).unwrap(), &options).unwrap()
}

/// Against the kernel of `small_kernel.c`.
fn open(file: &str) -> Object {
    let btf = Btf::parse(&std::fs::read(dir().join("small_kernel.btf")).unwrap()).unwrap();
    open_with(file, OpenOptions { kernel_btf: Some(Arc::new(btf)), ..OpenOptions::default() })
}

/// Class and reason of each program that is not loaded.
fn refusals(object: &Object) -> Vec<(&str, LoadClass, String)> {
    let refused = |p| -> Option<(&str, LoadClass, String)> {
        let p: &skep_object::ObjectProgram = p;
        let error = p.program.as_ref().err()?;
        Some((p.name.as_str(), error.class().expect("a class"), error.to_string()))
    };
    object.programs.iter().filter_map(refused).collect()
}

fn program<'o>(object: &'o Object, name: &str) -> &'o Program {
    let found = object.programs.iter().find(|p| p.name == name).unwrap();
    found.program.as_ref().unwrap()
}

#[test]
fn sections_say_type_and_target() {
    let object = open("sections_unknown.bpf.o");
    let found = refusals(&object);
    let of = |class| {
        let names = found.iter().filter(move |row| row.1 == class).map(|row| row.0);
        names.collect::<Vec<_>>()
    };
    let unknown = [
        "unknown_name",
        "target_where_none_belongs",
        "known_name_with_a_tail",
        "type_without_a_section",
        "type_by_context",
    ];
    assert_eq!(of(LoadClass::Section), unknown);
    let attach = of(LoadClass::Attach);
    assert_eq!(attach.len(), 11);
    assert!(attach.iter().all(|n| n.ends_with("_target") || n.ends_with("_not_there")));
    assert_eq!(of(LoadClass::StructOps), ["in_no_struct_ops_map"]);
    assert_eq!(found.len() + 1, object.programs.len(), "one is loaded");
    program(&object, "loads");
    assert!(object.refused.is_none(), "not the object as a whole");

    let text = |name: &str| &found.iter().find(|row| row.0 == name).unwrap().2;
    assert_eq!(
        text("unknown_name"),
        "libbpf cannot derive a program type from section name 'xdp_old'"
    );
    let absent = "attach target 'skep_absent': the kernel's BTF has no";
    let rows = [
        ("lsm_of_what_is_not_there", "function bpf_lsm_skep_absent"),
        ("iter_of_what_is_not_there", "function bpf_iter_skep_absent"),
        ("tp_btf_of_what_is_not_there", "typedef btf_trace_skep_absent"),
    ];
    for (name, what) in rows {
        assert_eq!(*text(name), format!("{absent} {what}"));
    }
}

#[test]
fn a_map_that_is_not_created_refuses_every_program() {
    let object = open("bad_map.bpf.o");
    let text = "map too_large (percpu_array) cannot be created: \
                value_size is 40000, it must be 1 to 32768";
    let class = LoadClass::Map;
    let expected = ["uses_it", "uses_another"].map(|name| (name, class, text.to_owned()));
    assert_eq!(refusals(&object), expected);
    let error = object.refused.unwrap();
    let source = error.source().and_then(|it| it.downcast_ref::<MapCreationError>());
    assert!(text.ends_with(&format!(": {}", source.unwrap())));
    assert_eq!(error.class(), Some(class));
}

#[test]
fn a_strong_extern_refuses_every_program_and_a_weak_one_its_callers() {
    let object = open("externs_strong.bpf.o");
    let text = "extern (func ksym) 'skep_absent': not found in kernel BTF";
    for (_, class, why) in refusals(&object) {
        assert_eq!((class, &*why), (LoadClass::Extern, text));
    }
    assert_eq!(refusals(&object).len(), 3);
    let place = object.refused.as_ref().and_then(|error| error.place()).expect("a line");
    assert_eq!(place.text.trim(), "return skep_absent(1);");
    assert!(place.file.ends_with("externs_absent.bpf.c") && place.line > 0, "{place:?}");

    let object = open("externs_absent.bpf.o");
    assert_eq!(refusals(&object), []);
    let [unresolved] = &*program(&object, "calls_at_once").unresolved else { panic!() };
    assert_eq!((unresolved.insn.index(), unresolved.missing), (1, Missing::Kfunc));
    assert_eq!(unresolved.what, "the kernel has no kfunc skep_absent_weak (a weak extern)");
}

/// Refused by libbpf 1.5 and 6.18: "incompatible types", and -ENOTSUPP of a mapping.
#[test]
fn a_variable_has_the_kernels_type_and_no_lock_beside_it() {
    let mut kernel = BtfBuilder::new();
    let int = kernel.int("int", 4, IntEncoding::SIGNED);
    let rq = kernel.struct_("rq", 4, &[MemberDef::new("nr_running", int, 0)]);
    kernel.var("runqueues", rq, VarLinkage::Global);
    let kernel_btf = Some(Arc::new(kernel.build().unwrap()));
    let with = OpenOptions { kernel_btf, ..OpenOptions::default() };
    let object = open_with("ksym_of_other_type.bpf.o", with);
    let [(_, class, why)] = &refusals(&object)[..] else { panic!("{:?}", refusals(&object)) };
    assert_eq!(*class, LoadClass::Extern);
    assert_eq!(why, "extern 'runqueues': incompatible with the kernel's type 3");

    let object = open("mapped_lock.bpf.o");
    let [(_, class, why)] = &refusals(&object)[..] else { panic!("{:?}", refusals(&object)) };
    assert_eq!(*class, LoadClass::Map);
    let end = "cannot be mapped: it has a bpf_spin_lock, and a global variable";
    assert!(why.ends_with(end), "{why}");
}

#[test]
fn of_a_failed_relocation_it_is_said_what_the_kernel_has() {
    let object = open("core_fails.bpf.o");
    let said = |name: &str| -> Vec<(usize, &str)> {
        let rows = program(&object, name).unresolved.iter();
        rows.map(|row| (row.insn.index(), &*row.what)).collect()
    };
    let asked = "CO-RE relocation <byte_off> of struct";
    let gone = format!("{asked} skep_task.gone: the kernel's struct skep_task has no member gone");
    let [(insn, what)] = said("reads_what_is_gone")[..] else { panic!() };
    assert_eq!((insn > 0, what), (true, &*gone));
    let other = format!(
        "{asked} skep_task.name: the kernel's struct skep_task has `char name[16]`, \
         the object's `u64 name`"
    );
    assert_eq!(said("reads_another_type"), [(0, &*other)]);
    let unknown = format!("{asked} skep_no_such.value: the kernel has no struct skep_no_such");
    assert_eq!(said("reads_an_unknown_struct"), [(0, &*unknown)]);
    // Asked whether it exists, the answer is no; the read after it is dead.
    assert_eq!(said("asks_before").len(), 1);
}

#[test]
fn without_a_kernel_nothing_is_refused_in_its_name() {
    let object = open_with("sections_unknown.bpf.o", OpenOptions::default());
    let named = object.programs.iter().find(|p| p.name == "fentry_of_what_is_not_there").unwrap();
    assert!(named.program.is_ok());
    let object = open_with("externs_strong.bpf.o", OpenOptions::default());
    let needs = object.programs.iter().find(|p| p.name == "needs_it").unwrap();
    let error = needs.program.as_ref().unwrap_err();
    assert_eq!(error.class(), None);
    assert!(error.to_string().ends_with("'skep_absent': needs kernel BTF"), "{error}");
}

#[test]
fn for_reading_everything_stays_as_in_the_file() {
    let options = OpenOptions { as_in_file: true, ..OpenOptions::default() };
    for file in ["core_fails.bpf.o", "externs_strong.bpf.o", "bad_map.bpf.o", "legacy_maps.bpf.o"] {
        let object = open_with(file, options.clone());
        assert!(object.refused.is_none() && refusals(&object).is_empty(), "{file}");
        assert!(object.programs.iter().all(|p| p.program.as_ref().unwrap().unresolved.is_empty()));
    }
}

#[test]
fn functions_that_are_called_lie_in_text() {
    let object = open("calls_elsewhere.bpf.o");
    let why = "section .text.unlikely: elsewhere is called, \
               but libbpf only links functions of the last section .text";
    let found = refusals(&object);
    assert_eq!(found.len(), object.programs.len());
    assert!(found.iter().all(|row| row.1 == LoadClass::Open && row.2 == why), "{found:?}");
}

/// A tool has renamed the section, and not in BTF.
#[test]
fn variables_of_btf_have_a_section() {
    let mut bytes = std::fs::read(dir().join("calls_elsewhere.bpf.o")).unwrap();
    let name = b".data.number\0";
    let at = bytes.windows(name.len()).rposition(|it| it == name).expect("a section");
    bytes[at + 6] = b'N';
    let object = Object::open(&bytes, &OpenOptions::default()).unwrap();
    let refused = object.refused.as_ref().expect("as a whole");
    assert_eq!(refused.class(), Some(LoadClass::Open));
    let text = "section .data.number: BTF has variables in it, but the file does not have it";
    assert_eq!(refused.to_string(), text);
}

#[test]
fn what_libbpf_refuses_to_open_has_no_programs() {
    let rows = [
        ("hidden_map.bpf.o", "map unseen: libbpf rejects static and hidden maps"),
        (
            "address_of_license.bpf.o",
            "section xdp, offset 0x0: symbol text_of_license is of section license, of no map",
        ),
        (
            "arena_not_defined.bpf.o",
            "section xdp, offset 0x0: symbol counted is of section .addr_space.1, \
             and no map is an arena",
        ),
        ("sizeless.bpf.o", "section tc: function without_size has size 0"),
        ("arena_too_small.bpf.o", "section .addr_space.1: its 4097 bytes do not fit into arena"),
        (
            "attribute_of_typedef.bpf.o",
            "map map: attribute 'type' points to type 2 (TYPEDEF), expected ARRAY",
        ),
        ("key_of_typedef.bpf.o", "map map: attribute 'key' is type 7 (TYPEDEF), expected PTR"),
        ("arena_twice.bpf.o", "map another: libbpf supports one arena only"),
        ("hash_of_maps_key.bpf.o", "map outer: its slots are filled, so key_size must be 4"),
        ("pinned_inner_map.bpf.o", "map outer: its inner map cannot be pinned"),
        ("slot_of_subprog.bpf.o", "map progs: subprog is no program"),
        ("values_counted.bpf.o", "map outer: its values have a number of elements"),
        (
            "values_of_functions.bpf.o",
            "map outer: its values point to a FUNC_PROTO, not to a STRUCT",
        ),
        ("values_of_hash.bpf.o", "map outer: a map of type hash has no values"),
        ("values_not_last.bpf.o", "map outer: 'values' is not its last member"),
        ("kconfig_array.bpf.o", "extern (kcfg) 'CONFIG_BPF': type is not supported"),
        ("kconfig_wide.bpf.o", "extern (kcfg) 'CONFIG_HZ': type is not supported"),
    ];
    for (file, why) in rows {
        let object = open(file);
        let found = refusals(&object);
        assert_eq!(
            (found.len(), object.refused.is_some()),
            (object.programs.len(), true),
            "{file}"
        );
        assert!(found.iter().all(|row| (row.1, &*row.2) == (LoadClass::Open, why)), "{found:?}");
    }
}

#[test]
fn of_an_exception_callback_the_programs_are_refused_that_name_it() {
    let rows = [
        ("exception_absent.bpf.o", 1, "exception callback: function another does not exist"),
        (
            "exception_static.bpf.o",
            1,
            "exception callback callback: it must be global and not hidden",
        ),
        (
            "exception_hidden.bpf.o",
            1,
            "exception callback callback: it must be global and not hidden",
        ),
        (
            "exception_misplaced.bpf.o",
            2,
            "exception callback: the tag of variable is not one of a global function",
        ),
    ];
    for (file, count, why) in rows {
        let object = open(file);
        let of_callback = |p: &&skep_object::ObjectProgram| {
            p.program.as_ref().is_err_and(|e| e.to_string() == why)
        };
        assert_eq!(object.programs.iter().filter(of_callback).count(), count, "{file}");
    }
}

/// Where a section begins in a file.
fn start_of(bytes: &[u8], magic: &[u8]) -> usize {
    bytes.windows(magic.len()).position(|it| it == magic).expect("a section")
}

#[test]
fn the_header_of_btf_is_of_a_form_that_the_kernel_knows() {
    let whole = std::fs::read(dir().join("keyed_prog_array.bpf.o")).unwrap();
    let btf = start_of(&whole, &[0x9f, 0xeb, 1, 0, 24]);
    for at in [2, 3] {
        let mut bytes = whole.clone();
        bytes[btf + at] = 2;
        let object = Object::open(&bytes, &OpenOptions::default()).unwrap();
        assert!(object.refused.is_none() && object.btf.is_none(), "byte {at}");
        assert!(object.maps.iter().all(|map| map.btf_value_type_id == 0), "byte {at}");
    }
    // libbpf reads no such .BTF.ext, and it needs all of what describes maps.
    let ext = start_of(&whole, &[0x9f, 0xeb, 1, 0, 32]);
    let mut bytes = whole.clone();
    bytes[ext + 3] = 2;
    let object = Object::open(&bytes, &OpenOptions::default()).unwrap();
    assert_eq!(object.refused.and_then(|error| error.class()), Some(LoadClass::Open));
}

#[test]
fn core_relocations_are_of_a_named_section() {
    let mut bytes = std::fs::read(dir().join("core_fails.bpf.o")).unwrap();
    let ext = start_of(&bytes, &[0x9f, 0xeb, 1, 0, 32]);
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
    let first = ext + 32 + word(ext + 24) + 4;
    bytes[first..first + 4].fill(0);
    let object = Object::open(&bytes, &OpenOptions::default()).unwrap();
    assert_eq!(object.refused.and_then(|error| error.class()), Some(LoadClass::Core));
}

/// Not only sections that libbpf reads: it asks for the name of each.
#[test]
fn every_section_has_a_name() {
    let mut bytes = std::fs::read(dir().join("names.bpf.o")).unwrap();
    let at = |at: usize, len: usize, bytes: &[u8]| {
        bytes[at..at + len].iter().rev().fold(0, |sum, byte| sum << 8 | usize::from(*byte))
    };
    let (table, count) = (at(40, 8, &bytes), at(60, 2, &bytes));
    let addrsig =
        (0..count).map(|n| table + n * 64).find(|it| at(it + 4, 4, &bytes) == 0x6fff_4c03);
    let addrsig = addrsig.expect("a section that libbpf does not read");
    bytes[addrsig + 3] = 1;
    let object = Object::open(&bytes, &OpenOptions::default()).unwrap();
    let refused = object.refused.as_ref().expect("as a whole");
    assert_eq!(refused.class(), Some(LoadClass::Open));
}

#[test]
fn of_overlapping_programs_the_first_symbol_has_the_relocations() {
    let object = open("overlapping.bpf.o");
    let [same, prog] = ["same", "prog"].map(|name| program(&object, name));
    let named = |program: &Program| program.insns.iter().any(|it| it.is_ld_imm64() && it.src == 1);
    assert_eq!((named(same), named(prog)), (false, true));
}

/// 6.18 refuses a `__uptr` to a struct of its own, to one of no bytes, to one larger than a page
/// (-EINVAL, -E2BIG), and the BTF of an object with a `__kptr` to a struct of its own that no
/// kfunc destroys (-ENOENT); libbpf goes on without BTF, task storage cannot.
#[test]
fn pointers_in_values_lead_to_what_the_kernel_can_handle() {
    let with = || OpenOptions { kernel_btf: Some(kernel_with_tasks()), ..OpenOptions::default() };
    for file in ["uptr_empty.bpf.o", "uptr_large.bpf.o", "uptr_of_kernel.bpf.o"] {
        let object = open_with(file, with());
        let [(_, class, why)] = &refusals(&object)[..] else { panic!("{file} is loaded") };
        assert_eq!(*class, LoadClass::Map, "{file}: {why}");
    }
    let object = open_with("kptr_destroyed.bpf.o", with());
    assert!(object.note.is_none() && object.maps[0].btf_value_type_id != 0, "{:?}", object.note);
    let object = open_with("kptr_not_destroyed.bpf.o", with());
    let note = object.note.as_ref().map(|note| note.to_string()).unwrap_or_default();
    assert!(note.ends_with("the kernel has no destructor for struct socket"), "{note}");
    assert!(object.maps.iter().all(|def| def.btf_value_type_id == 0));
    assert_eq!(refusals(&object), []);
}

/// A kernel that can destroy tasks, but no sockets.
fn kernel_with_tasks() -> Arc<Btf> {
    let mut kernel = BtfBuilder::new();
    let int = kernel.int("int", 4, IntEncoding::SIGNED);
    let [task, _] = ["task_struct", "socket"]
        .map(|name| kernel.struct_(name, 4, &[MemberDef::new("member", int, 0)]));
    for (name, target) in [("bpf_task_release", task), ("bpf_task_release_dtor", TypeId::VOID)] {
        let pointer = kernel.ptr(target);
        let proto = kernel.func_proto(TypeId::VOID, &[("p", pointer)]);
        kernel.func(name, proto, FuncLinkage::Static);
    }
    Arc::new(kernel.build().unwrap())
}

/// libbpf compares the variables of an arena with the pages in the file.
#[test]
fn pages_of_an_arena_are_those_of_the_file() {
    let with = OpenOptions { empty_map_entries: 1, ..OpenOptions::default() };
    let refused = open_with("arena_no_page.bpf.o", with).refused.expect("a reason");
    assert_eq!(refused.class(), Some(LoadClass::Open));
    let why = "map arena: it has no page, and there are variables of an arena";
    assert_eq!(refused.to_string(), why);
}

#[test]
fn a_legacy_map_that_nothing_uses_is_not_created() {
    let object = open("legacy_unused.bpf.o");
    program(&object, "uses_none");
    assert!(object.refused.is_none() && object.maps.is_empty());
}

#[test]
fn an_extern_needs_a_size() {
    let object = open("kconfig_empty.bpf.o");
    let [(name, class, text)] = &*refusals(&object) else { panic!("one program") };
    assert_eq!((*name, *class), ("reads_it", LoadClass::Open));
    assert!(
        text.ends_with("extern (kcfg) 'CONFIG_CC_VERSION_TEXT': its type has no size"),
        "{text}"
    );
}

/// libbpf 1.8: "bad map relo against 'earlier' in section '.addr_space.1'".
#[test]
fn only_the_last_section_of_an_arena_is_referred_to() {
    let refused = open("arena_again.bpf.o").refused.expect("a refusal");
    assert_eq!(refused.class(), Some(LoadClass::Open));
    let text = "symbol earlier is of section .addr_space.1, of no map";
    assert!(refused.to_string().ends_with(text), "{refused}");
}

/// Linked by `bpftool gen object`; `llvm-objcopy -R .data.limits` then took a section away, but not
/// from the BTF.
#[test]
fn variables_of_a_removed_section_are_missed() {
    let refused = open("section_removed.bpf.o").refused.expect("a refusal");
    assert_eq!(refused.class(), Some(LoadClass::Open));
    let text = "section .data.limits: no global symbol of an object has the name limit";
    assert_eq!(refused.to_string(), text);
}

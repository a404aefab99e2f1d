//! Names resolved in a kernel's BTF, which the test makes: every number here is laid out below.

use skep_btf::{Btf, BtfBuilder, FuncLinkage, IntEncoding, MemberDef, TypeId, VarLinkage};
use skep_insn::code::{BPF_PSEUDO_BTF_ID, BPF_PSEUDO_KFUNC_CALL};
use skep_object::{LoadClass, Object, OpenOptions};
use skep_program::{AttachTarget, MapSlot, Program, SlotTarget};
use skep_uapi::{MapFlags, ProgFlags};
use std::path::Path;
use std::sync::Arc;

/// Ids of what the kernel's BTF has.
struct Kernel {
    btf: Arc<Btf>,
    ops: TypeId,
    value: TypeId,
    kfunc: TypeId,
    variable: TypeId,
    event: TypeId,
}

const PID_OFFSET: u32 = 24;

fn kernel() -> Kernel {
    let mut b = BtfBuilder::new();
    let int = b.int("int", 4, IntEncoding::SIGNED);
    let long = b.int("unsigned long long", 8, IntEncoding::NONE);
    let op = b.func_proto(int, &[("value", int)]);
    let op = b.ptr(op);
    // The kernel's order is not the object's, and `data` of the value lies at 64.
    let members = [
        MemberDef::new("flags", int, 0),
        MemberDef::new("first", op, 64),
        MemberDef::new("second", op, 128),
    ];
    let ops = b.struct_("skep_ops", 24, &members);
    let members = [MemberDef::new("common", long, 0), MemberDef::new("data", ops, 64 * 8)];
    let value = b.struct_("bpf_struct_ops_skep_ops", 128, &members);
    let task = b.struct_("skep_task", 32, &[MemberDef::new("pid", int, PID_OFFSET * 8)]);
    let task = b.ptr(task);
    let proto = b.func_proto(int, &[("task", task)]);
    let kfunc = b.func("skep_kfunc", proto, FuncLinkage::Static);
    let variable = b.var("skep_variable", long, VarLinkage::Global);
    let event = b.typedef_("btf_trace_skep_event", op);
    Kernel { btf: Arc::new(b.build().unwrap()), ops, value, kfunc, variable, event }
}

fn open(kernel: Option<&Kernel>) -> Object {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests");
    let bytes = std::fs::read(tests.join("object/against_kernel.bpf.o")).unwrap();
    let kernel_btf = kernel.map(|k| k.btf.clone());
    Object::open(&bytes, &OpenOptions { kernel_btf, ..OpenOptions::default() }).unwrap()
}

fn program<'o>(object: &'o Object, name: &str) -> &'o Program {
    let entry = object.programs.iter().find(|p| p.name == name).unwrap();
    entry.program.as_ref().unwrap_or_else(|error| panic!("{error}"))
}

fn target(id: TypeId, name: &str) -> AttachTarget {
    AttachTarget::Kernel { btf_id: id.0, name: name.to_owned() }
}

#[test]
fn the_first_map_of_an_optional_section_is_not_created() {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests");
    let bytes = std::fs::read(tests.join("object/ops_optional.bpf.o")).unwrap();
    let object = Object::open(&bytes, &OpenOptions::default()).unwrap();
    let created: Vec<bool> = object.maps.iter().map(|map| map.autocreate).collect();
    assert_eq!(created, [false, true, true]);
}

/// Each as libbpf 1.8 refuses it.
#[test]
fn struct_ops_members_are_of_the_kernels_kind_and_size() {
    type Make = fn(&mut BtfBuilder, [TypeId; 2]) -> [TypeId; 2];
    let refused = |bits: u8, make: Make| {
        let mut b = BtfBuilder::new();
        let int = b.int("int", 4, IntEncoding::SIGNED);
        let op = b.func_proto(int, &[]);
        let op = b.ptr(op);
        let [flags, first] = make(&mut b, [int, op]);
        let members = [
            MemberDef::bits("flags", flags, 0, bits),
            MemberDef::new("first", first, 64),
            MemberDef::new("second", op, 128),
        ];
        let ops = b.struct_("skep_ops", 24, &members);
        b.struct_("bpf_struct_ops_skep_ops", 128, &[MemberDef::new("data", ops, 64 * 8)]);
        let kernel_btf = Some(Arc::new(b.build().unwrap()));
        let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests");
        let bytes = std::fs::read(tests.join("object/ops_members.bpf.o")).unwrap();
        let options = OpenOptions { kernel_btf, ..OpenOptions::default() };
        let object = Object::open(&bytes, &options).unwrap();
        let links = object.programs.iter().find(|it| it.name == "the_first").unwrap();
        let error = links.program.as_ref().expect_err("refused");
        assert_eq!(error.class(), Some(LoadClass::StructOps), "{error}");
        error.to_string().rsplit(": ").next().unwrap().to_owned()
    };
    let same: Make = |_, it| it;
    assert_eq!(refused(5, same), "it is a bitfield");
    let wide: Make = |b, [_, op]| [b.int("long", 8, IntEncoding::SIGNED), op];
    assert_eq!(refused(0, wide), "its size differs from that of the kernel's member");
    let named: Make = |b, [_, op]| [b.enum_("e", 4, &[("A", 1)]), op];
    assert_eq!(refused(0, named), "it is of kind INT, the kernel's member of kind ENUM");
    let data: Make = |b, [int, _]| [int, b.ptr(int)];
    assert_eq!(refused(0, data), "the kernel's member is no pointer to a function");
}

#[test]
fn struct_ops_members_move_to_where_the_kernel_has_them() {
    let kernel = kernel();
    let object = open(Some(&kernel));
    let map = object.maps.iter().find(|m| m.name == "ops").unwrap();
    assert_eq!((map.value_size, map.btf_vmlinux_value_type_id), (128, kernel.value.0));
    assert_eq!(map.map_flags, MapFlags::LINK);
    let mut contents = vec![0; 128];
    contents[64..68].copy_from_slice(&0x8000_0001u32.to_le_bytes());
    assert_eq!(map.contents, contents, "`flags` is the first member of `data`");
    let prog = |index, name: &str| MapSlot { index, target: SlotTarget::Prog(name.to_owned()) };
    assert_eq!(map.slots, [prog(2, "the_second"), prog(1, "the_first")]);
    let (first, second) = (program(&object, "the_first"), program(&object, "the_second"));
    assert_eq!((first.expected_attach_type, second.expected_attach_type), (1, 2));
    assert_eq!(first.attach, target(kernel.ops, "skep_ops"));
    assert_eq!((first.prog_flags, second.prog_flags), (ProgFlags::empty(), ProgFlags::SLEEPABLE));
}

#[test]
fn targets_are_found_or_told_to_be_missing() {
    let kernel = kernel();
    let object = open(Some(&kernel));
    assert_eq!(program(&object, "BPF_enters").attach, target(kernel.kfunc, "skep_kfunc"));
    assert_eq!(program(&object, "traces").attach, target(kernel.event, "skep_event"));
    let leaves = object.programs.iter().find(|p| p.name == "leaves").unwrap();
    let missing = leaves.program.as_ref().unwrap_err();
    assert_eq!(missing.class(), Some(LoadClass::Attach));
    assert!(missing.to_string().contains("has no function skep_no_such_function"), "{missing}");
}

#[test]
fn typed_symbols_and_fields_take_the_kernels_numbers() {
    let kernel = kernel();
    let object = open(Some(&kernel));
    let insns = &program(&object, "BPF_enters").insns;
    let calls: Vec<_> = insns.iter().filter(|i| i.code == 0x85).map(|i| (i.src, i.imm)).collect();
    // The weak kfunc exists under its essential name, but not with this type.
    let poisoned = (0, 2_002_000_001);
    let kfunc = (BPF_PSEUDO_KFUNC_CALL, kernel.kfunc.0 as i32);
    assert!(calls.contains(&kfunc) && calls.contains(&poisoned), "{calls:?}");
    let addresses: Vec<i32> = insns
        .iter()
        .filter(|i| i.is_ld_imm64() && i.src == BPF_PSEUDO_BTF_ID)
        .map(|i| i.imm)
        .collect();
    assert_eq!(addresses, [kernel.variable.0 as i32]);
    let pid = i32::try_from(PID_OFFSET).unwrap();
    let field = insns.iter().find(|i| i.code == 0xb7 && i.imm == pid || i32::from(i.off) == pid);
    assert!(field.is_some(), "pid at {PID_OFFSET}: {insns:?}");
}

#[test]
fn without_a_kernel_each_program_says_what_it_lacks() {
    let object = open(None);
    let told = |name: &str| {
        let entry = object.programs.iter().find(|p| p.name == name).unwrap();
        entry.program.as_ref().err().map(|error| error.to_string())
    };
    let error = told("BPF_enters").unwrap();
    assert!(error.ends_with("needs kernel BTF"), "{error}");
    assert_eq!(told("traces"), None);
    let unresolved = AttachTarget::Unresolved("skep_ops.first".to_owned());
    assert_eq!(program(&object, "the_first").attach, unresolved);
}

//! `refused_by_kernel` beside BPF_BTF_LOAD: every character in the name of everything that has one.

#![allow(clippy::print_stderr, reason = "a test that skips says so")]

use skep_btf::{Btf, refused_by_kernel};
use skep_btf::{BtfBuilder, Endian, FuncLinkage, IntEncoding, Kind, MemberDef, TypeId, VarLinkage};
use skep_kernel::bpf::btf_load;
use skep_kernel::reference;

use skep_uapi::KernelProfile;

/// Each character alone and within a name.
fn names() -> Vec<String> {
    let chars = (1..=0xff).filter_map(char::from_u32);
    let spelled = |c: char| [format!("{c}"), format!("a{c}b")];
    chars.flat_map(spelled).chain([String::new(), "a".repeat(512), "a".repeat(513)]).collect()
}

/// A BTF with one name, and what stands with it.
fn named(kind: &str, name: &str) -> BtfBuilder {
    let mut builder = BtfBuilder::new();
    let int = builder.int("int", 4, IntEncoding::SIGNED);
    match kind {
        "int" => builder.int(name, 8, IntEncoding::NONE),
        "struct" => builder.struct_(name, 4, &[]),
        "union" => builder.union_(name, 4, &[]),
        "member" => builder.struct_("s", 4, &[MemberDef::new(name, int, 0)]),
        "enum" => builder.enum_(name, 4, &[("A", 1)]),
        "enumerator" => builder.enum_("e", 4, &[(name, 1)]),
        "enum64" => builder.enum64(name, false, &[("A", 1)]),
        "enumerator64" => builder.enum64("e", false, &[(name, 1)]),
        "fwd" => builder.fwd(name, false),
        "typedef" => builder.typedef_(name, int),
        "func" => {
            let proto = builder.func_proto(int, &[]);
            builder.func(name, proto, FuncLinkage::Global)
        }
        "static func" => {
            let proto = builder.func_proto(int, &[("a", int)]);
            builder.func(name, proto, FuncLinkage::Static)
        }
        "param" => builder.func_proto(int, &[(name, int)]),
        "param of func" => {
            let proto = builder.func_proto(int, &[(name, int)]);
            builder.func("f", proto, FuncLinkage::Static)
        }
        "var" => builder.var(name, int, VarLinkage::Global),
        "datasec" => {
            let var = builder.var("v", int, VarLinkage::Global);
            builder.datasec(name, 4, &[skep_btf::SecVar { ty: var, offset: 0, size: 4 }])
        }
        "float" => builder.float(name, 4),
        "decl_tag" => {
            let of = builder.struct_("s", 4, &[]);
            builder.decl_tag(name, of, None)
        }
        "type_tag" => builder.type_tag(name, int),
        _ => builder.modifier(Kind::Const, TypeId(1)),
    };
    builder
}

const KINDS: [&str; 19] = [
    "int",
    "struct",
    "union",
    "member",
    "enum",
    "enumerator",
    "enum64",
    "enumerator64",
    "fwd",
    "typedef",
    "func",
    "static func",
    "param",
    "param of func",
    "var",
    "datasec",
    "float",
    "decl_tag",
    "type_tag",
];

/// Stands for a byte that is no text.
const PLACE: char = '~';

/// Bytes that are no UTF-8 are letters for the kernel, or not.
#[test]
fn names_may_be_no_text() {
    if let Err(why) = reference::answers(&KernelProfile::v6_18()) {
        return eprintln!("skipped: {why}");
    }
    let mut differing = Vec::new();
    for (kind, name) in KINDS.iter().flat_map(|kind| [(kind, "~"), (kind, "a~b")]) {
        let bytes = named(kind, name).to_bytes(Endian::NATIVE);
        for byte in 0x80..=0xff {
            let place = |it: &u8| if *it == PLACE as u8 { byte } else { *it };
            let bytes: Vec<u8> = bytes.iter().map(place).collect();
            let Ok(read) = Btf::parse(&bytes) else { continue };
            let said = btf_load(&bytes).is_ok();
            if said != refused_by_kernel(&read).is_none() {
                differing.push(format!("{kind} {name} {byte:#x}: {said}"));
            }
        }
    }
    assert!(differing.is_empty(), "{}:\n{}", differing.len(), differing.join("\n"));
}

#[test]
fn types_have_names_that_the_kernel_takes() {
    if let Err(why) = reference::answers(&KernelProfile::v6_18()) {
        return eprintln!("skipped: {why}");
    }
    let mut differing = Vec::new();
    for kind in KINDS {
        for name in names() {
            let builder = named(kind, &name);
            let Ok(built) = builder.build() else { continue };
            let said = btf_load(&builder.to_bytes(Endian::NATIVE)).is_ok();
            if said != refused_by_kernel(&built).is_none() {
                differing.push(format!("{kind} {name:?}: {said}"));
            }
        }
    }
    assert!(differing.is_empty(), "{}:\n{}", differing.len(), differing.join("\n"));
}

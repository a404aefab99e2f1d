//! BTF.ext, and CO-RE relocations with any access string between two small BTFs.
//!
//! The input: a length byte `n`, `n` relocations of 4 bytes (type, kind, insn, length of the
//! access string), their access strings, and then a BTF.ext.

use skep_btf::core::Relocator;
use skep_btf::{Btf, BtfBuilder, BtfExt, CoreRelo, IntEncoding, Kind, MemberDef, TypeId};
use skep_insn::{Insn, code};

/// No panic; a relocation changes insns of the program only, and errors are one line.
pub(crate) fn run(data: &[u8]) {
    let Some((&count, data)) = data.split_first() else { return };
    let Some((relos, mut rest)) = data.split_at_checked(usize::from(count) * 4) else { return };
    let (mut local, mut found) = (types(false), Vec::new());
    for relo in relos.chunks_exact(4) {
        let len = usize::from(relo[3]).min(rest.len());
        let (access, after) = rest.split_at(len);
        rest = after;
        let access: String = String::from_utf8_lossy(access).replace('\0', "");
        found.push(CoreRelo {
            insn_off: u32::from(relo[2]) * 8,
            type_id: TypeId(u32::from(relo[0])),
            access_str_off: local.string(&access),
            kind: u32::from(relo[1]),
        });
    }
    let local = local.build().expect("well formed");
    let target = types(true).build().expect("well formed");
    let sets: [&[&Btf]; 3] = [&[&target], &[&local, &target], &[]];
    for targets in sets {
        let (mut relocator, mut insns) = (Relocator::new(&local, targets), program());
        for relo in &found {
            apply(|insns| relocator.relocate(insns, relo.insn_off as usize / 8, relo), &mut insns);
        }
    }
    let Ok(ext) = BtfExt::parse(rest) else { return };
    let mut insns = program();
    for relo in ext.core_relos.iter().flat_map(|section| &section.records) {
        apply(
            |insns| {
                Relocator::new(&local, &[&target]).relocate(insns, relo.insn_off as usize / 8, relo)
            },
            &mut insns,
        );
    }
    for line in ext.lines.iter().flat_map(|section| &section.records) {
        let _ = (line.line(), line.column(), line.file_name(&local), line.line_text(&local));
    }
}

fn apply<T>(relocate: impl FnOnce(&mut [Insn]) -> Result<T, skep_btf::Error>, insns: &mut [Insn]) {
    if let Err(error) = relocate(insns) {
        assert!(!error.to_string().is_empty());
    }
}

/// One insn of each kind that can be relocated, some that cannot, and an `ld_imm64`.
fn program() -> Vec<Insn> {
    let [first, second] = Insn::ld_imm64(1, 0, 8);
    let insn = |code, imm| Insn { code, dst: 1, src: 2, off: 8, imm };
    vec![
        insn(code::BPF_ALU64 | code::BPF_MOV, 8),
        insn(code::BPF_ALU | code::BPF_ADD, 8),
        insn(code::BPF_LDX | code::BPF_MEM | code::BPF_DW, 0),
        insn(code::BPF_LDX | code::BPF_MEM | code::BPF_W, 0),
        insn(code::BPF_ST | code::BPF_MEM | code::BPF_H, 3),
        insn(code::BPF_STX | code::BPF_MEM | code::BPF_B, 0),
        first,
        second,
        insn(code::BPF_JMP | code::BPF_EXIT, 0),
    ]
}

/// Structs, arrays, bitfields, enums, a type that holds itself; a bit different in the `other`.
fn types(other: bool) -> BtfBuilder {
    let mut b = BtfBuilder::new();
    let int = b.int("int", 4, IntEncoding(1));
    let long = b.int("long", 8, IntEncoding(0));
    let array = b.array(long, int, 4);
    let inner =
        b.struct_("inner", 8, &[MemberDef::bits("a", int, 0, 3), MemberDef::bits("b", int, 3, 7)]);
    let shift = if other { 64 } else { 0 };
    let anonymous = b.union_("", 8, &[MemberDef::new("x", long, 0), MemberDef::new("y", inner, 0)]);
    let outer = b.struct_(
        "outer",
        56,
        &[
            MemberDef::new("list", array, shift),
            MemberDef::new("", anonymous, 256 + shift),
            MemberDef::new("flex", long, 320 + shift),
        ],
    );
    b.enum_("colour", 4, &[("RED", 1), ("GREEN___old", if other { 5 } else { -2 })]);
    b.enum64("wide", true, &[("LOW", 0), ("HIGH", 1 << 40)]);
    let ptr = b.ptr(outer);
    let constant = b.modifier(Kind::Const, ptr);
    b.typedef_("outer_t", constant);
    let proto = b.func_proto(int, &[("p", ptr)]);
    b.typedef_("callback", proto);
    b.struct_("outer___v2", 8, &[MemberDef::new("flex", long, 0)]);
    b.float("double", 8);
    b.fwd("later", false);
    b
}

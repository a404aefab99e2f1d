//! Small questions to a kernel, beside the programs of objects.

use super::guest::Guest;
use skep::btf::{BtfBuilder, IntEncoding, Kind, LATER_KINDS, MemberDef};
use skep::insn::Insn;
use skep::insn::code::*;
use skep::program::Program;
use skep::uapi::ProgType;
use skep_kernel::wire::Load;
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

/// A small program is loaded in less.
const LIMIT: Duration = Duration::from_secs(60);

/// Names of the kinds of BTF that the kernel refuses: a program with such a type is loaded without
/// its BTF.
pub(super) fn absent_kinds(guest: &mut Guest) -> Result<Vec<&'static str>, Box<dyn Error>> {
    let mut absent = Vec::new();
    for kind in LATER_KINDS {
        let program = Program { btf: Some(Arc::new(with(kind).build()?)), ..smallest() };
        let told = guest.load(Load::new(&program, 4)?, program.btf.as_ref(), LIMIT)?;
        if !told.with_btf {
            absent.push(kind.name());
        }
    }
    Ok(absent)
}

/// BTF with a type of this kind.
fn with(kind: Kind) -> BtfBuilder {
    let mut btf = BtfBuilder::new();
    let int = btf.int("int", 4, IntEncoding::SIGNED);
    match kind {
        Kind::Float => drop(btf.float("double", 8)),
        Kind::DeclTag => {
            let of = btf.struct_("s", 4, &[MemberDef::new("a", int, 0)]);
            btf.decl_tag("tag", of, None);
        }
        Kind::TypeTag => {
            let tag = btf.type_tag("tag", int);
            btf.ptr(tag);
        }
        _ => drop(btf.enum64("e", false, &[("A", 1 << 40)])),
    }
    btf
}

/// `r0 = 0; exit`.
fn smallest() -> Program {
    let insn = |code| Insn { code, ..Insn::default() };
    Program {
        name: "probe".to_owned(),
        prog_type: ProgType::SocketFilter,
        license: "GPL".to_owned(),
        insns: vec![insn(BPF_ALU64 | BPF_MOV | BPF_K), insn(BPF_JMP | BPF_EXIT)],
        ..Program::default()
    }
}

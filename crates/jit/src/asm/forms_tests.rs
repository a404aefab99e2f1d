//! Every form with every kind of operand, as decoded by an independent disassembler.

use super::form::{Form, Imm, Map, Operand, Shape};
use super::operands::{Cc, Mem, Operands, Rm, Width, X86};
use super::{Asm, forms};
use crate::PokeMode;
use iced_x86::{Code, Decoder, DecoderOptions, Instruction, Mnemonic, OpKind, Register};

/// The register of that number in the size that the decoder sees.
fn number(register: Register) -> Option<u8> {
    let number = register.full_register().number();
    let gpr = register.is_gpr()
        && ![Register::AH, Register::BH, Register::CH, Register::DH].contains(&register);
    (gpr || register.is_xmm()).then_some(number as u8)
}

fn mems() -> Vec<Mem> {
    let mut mems = Vec::new();
    for base in 0..16 {
        for disp in [0, 1, -128, 127, 128, -129, i32::MAX, i32::MIN] {
            mems.push(Mem::base(X86(base), disp));
        }
        for index in (0..16).filter(|index| *index != 4) {
            let scale = (base + index) % 4;
            for disp in [0, -8, 4096] {
                mems.push(Mem { base: X86(base), index: Some((X86(index), scale)), disp });
            }
        }
    }
    mems
}

/// Assembles one insn and decodes it; its length must equal the number of bytes emitted.
fn decode(form: &Form, operands: Operands) -> Instruction {
    let mut asm = Asm::new(0..0, PokeMode::Patch);
    asm.insn(form, operands);
    let code = asm.finish().expect("no short jumps").code;
    let mut decoder = Decoder::with_ip(64, &code, 0, DecoderOptions::NONE);
    let insn = decoder.decode();
    let what = format!("{form:?} {operands:?} {code:02x?}");
    assert_ne!(insn.code(), Code::INVALID, "{what}");
    assert_eq!(insn.len(), code.len(), "{what}");
    insn
}

fn check(name: &str, form: &Form, operands: Operands) {
    let insn = decode(form, operands);
    let what = format!("{name} {operands:?} is {insn}");
    let mnemonic = format!("{:?}", insn.mnemonic()).to_lowercase();
    let cqo = form.mnemonic == "cdq" && mnemonic == "cqo";
    assert!(cqo || mnemonic == form.mnemonic, "{what}");
    assert_eq!(insn.has_lock_prefix(), form.prefix == 0xf0, "{what}");
    let kinds: Vec<OpKind> = (0..insn.op_count()).map(|i| insn.op_kind(i)).collect();
    let regs: Vec<u8> = (0..insn.op_count())
        .filter(|i| insn.op_kind(*i) == OpKind::Register)
        .filter_map(|i| number(insn.op_register(i)))
        .collect();
    let mut expected = match form.shape {
        Shape::Plus => vec![operands.reg.0],
        Shape::Reg => vec![operands.reg.0],
        Shape::Digit(_) | Shape::Bare => vec![],
    };
    if let (Rm::Reg(rm), Shape::Reg | Shape::Digit(_)) = (operands.rm, form.shape) {
        expected.push(rm.0);
    }
    if form.map == Map::Vex38 {
        expected.push(operands.vvvv.0);
    }
    // Registers that are always the same.
    match form.opcode {
        0xa9 => expected.push(0),
        0xd3 => expected.push(1),
        _ => {}
    }
    let (mut found, mut wanted) = (regs.clone(), expected);
    found.sort_unstable();
    wanted.sort_unstable();
    assert_eq!(found, wanted, "{what}");
    if let (Rm::Mem(mem), Shape::Reg | Shape::Digit(_)) = (operands.rm, form.shape) {
        assert!(kinds.contains(&OpKind::Memory), "{what}");
        assert_eq!(number(insn.memory_base()), Some(mem.base.0), "{what}");
        assert_eq!(insn.memory_displacement64() as i64, i64::from(mem.disp), "{what}");
        let index = mem.index.map(|(index, _)| index.0);
        assert_eq!(number(insn.memory_index()), index, "{what}");
        if let Some((_, scale)) = mem.index {
            assert_eq!(insn.memory_index_scale(), 1 << scale, "{what}");
        }
    }
    widths(form, operands, &insn);
}

/// The width of the operation, and the immediate.
fn widths(form: &Form, operands: Operands, insn: &Instruction) {
    let what = format!("{operands:?} is {insn}");
    if form.operand == Operand::Width && !matches!(form.shape, Shape::Bare) {
        let is_sized =
            |i: &u32| insn.op_kind(*i) == OpKind::Register && insn.op_register(*i) != Register::CL;
        let sized = (0..insn.op_count()).find(is_sized);
        let bytes = match sized {
            Some(i) => insn.op_register(i).size(),
            None => insn.memory_size().size(),
        };
        assert_eq!(bytes, if operands.width == Width::W64 { 8 } else { 4 }, "{what}");
    }
    if form.operand == Operand::Byte {
        let all = (0..insn.op_count()).filter(|i| insn.op_kind(*i) == OpKind::Register);
        all.for_each(|i| assert_eq!(insn.op_register(i).size(), 1, "{what}"));
    }
    let last = insn.op_count().saturating_sub(1);
    match form.imm {
        Imm::None => {}
        _ if insn.op_kind(last) == OpKind::NearBranch64 => {
            let to = insn.near_branch64().wrapping_sub(insn.len() as u64) as i64;
            assert_eq!(to, operands.imm, "{what}");
        }
        Imm::I8 => assert_eq!(insn.immediate(last) as i8, operands.imm as i8, "{what}"),
        Imm::I16 => assert_eq!(insn.immediate(last) as i16, operands.imm as i16, "{what}"),
        Imm::I32 => assert_eq!(insn.immediate(last) as i32, operands.imm as i32, "{what}"),
        Imm::I64 => assert_eq!(insn.immediate(last) as i64, operands.imm, "{what}"),
    }
}

#[test]
fn every_form_is_what_it_says() {
    for (name, form) in forms::ALL {
        let only_mem = name.starts_with("LOCK_")
            || matches!(*name, "LEA" | "POP_RM" | "PUSH_RM")
            || name.starts_with("MOVBE");
        for width in [Width::W32, Width::W64] {
            // Forms that exist with REX.W only.
            let wide = form.mnemonic == "movsxd" || form.imm == Imm::I64;
            if wide && width == Width::W32 {
                continue;
            }
            for imm in [1, -2, 100] {
                for reg in (0..16).map(X86) {
                    let vvvv = X86((reg.0 * 7 + 3) % 16);
                    let base = Operands { width, reg, vvvv, rm: Rm::Reg(reg), imm };
                    for rm in (0..16).map(X86).filter(|_| !only_mem) {
                        let is_rr = form.shape != Shape::Plus && form.shape != Shape::Bare;
                        let reg = if is_rr { reg } else { rm };
                        check(name, form, Operands { rm: Rm::Reg(rm), reg, ..base });
                    }
                }
            }
            if matches!(form.shape, Shape::Reg | Shape::Digit(_)) {
                for mem in mems() {
                    let reg = X86((mem.base.0 + 5) % 16);
                    let rm = Rm::Mem(mem);
                    check(name, form, Operands { width, reg, vvvv: X86::R13, rm, imm: -3 });
                }
            }
        }
    }
}

#[test]
fn every_condition_is_what_it_says() {
    let names = [
        (Cc::B, "b"),
        (Cc::AE, "ae"),
        (Cc::E, "e"),
        (Cc::NE, "ne"),
        (Cc::BE, "be"),
        (Cc::A, "a"),
        (Cc::S, "s"),
        (Cc::L, "l"),
        (Cc::GE, "ge"),
        (Cc::LE, "le"),
        (Cc::G, "g"),
    ];
    for (cc, name) in names {
        let rm = Rm::Reg(X86::R9);
        let operands = Operands { width: Width::W64, reg: X86::RBX, vvvv: X86::RAX, rm, imm: 5 };
        let mnemonic = |form: Form| {
            let mnemonic: Mnemonic = decode(&form, operands).mnemonic();
            format!("{mnemonic:?}").to_lowercase()
        };
        assert_eq!(mnemonic(forms::jcc(cc)), format!("j{name}"));
        assert_eq!(mnemonic(forms::jcc8(cc)), format!("j{name}"));
        assert_eq!(mnemonic(forms::cmov(cc)), format!("cmov{name}"));
        assert_eq!(mnemonic(forms::setcc(cc)), format!("set{name}"));
    }
}

#[test]
fn sites_have_their_alignment_and_bytes() {
    for lead in 0..9 {
        let mut asm = Asm::new(0..0, PokeMode::Patch);
        (0..lead).for_each(|_| asm.bytes(&[0x90]));
        let end = asm.label();
        let switch = asm.switch_site(end);
        let retarget = asm.retarget_site(end);
        asm.bind(end);
        asm.bare(&forms::RET);
        let code = asm.finish().expect("no short jumps").code;
        let at = switch.off() as usize;
        assert_eq!(code[at], crate::SwitchSite::OFF);
        // Switched on, it jumps to the label.
        let mut on = code.clone();
        on[at] = crate::SwitchSite::ON;
        let mut decoder = Decoder::with_ip(64, &on[at..], at as u64, DecoderOptions::NONE);
        assert_eq!(decoder.decode().near_branch64(), code.len() as u64 - 1);
        assert_eq!(retarget.disp_off() % 4, 0);
        let at = retarget.disp_off() as usize - 1;
        let mut decoder = Decoder::with_ip(64, &code[at..], at as u64, DecoderOptions::NONE);
        assert_eq!(decoder.decode().near_branch64(), code.len() as u64 - 1);
        assert_eq!(retarget.next_off() as usize, at + 5);
    }
}

#[test]
fn a_switch_that_is_on_at_first_is_a_jump() {
    let mut asm = Asm::new(0..0, PokeMode::Patch);
    let end = asm.label();
    let switch = asm.switch_site_on(end);
    asm.bytes(&[0x90]);
    asm.bind(end);
    let code = asm.finish().expect("no short jumps").code;
    assert_eq!((code[switch.off() as usize], switch.flag()), (crate::SwitchSite::ON, None));
    let decode = |code: &[u8]| Decoder::with_ip(64, code, 0, DecoderOptions::NONE).decode();
    assert_eq!(decode(&code).near_branch64(), 6);
    // Off, it has the same length, and its operand is the displacement.
    let mut off = code.clone();
    off[0] = crate::SwitchSite::OFF;
    let test = decode(&off);
    assert_eq!((test.mnemonic(), test.len(), test.immediate32()), (Mnemonic::Test, 5, 1));
}

/// An insn as a switch, followed by a jump back to it.
fn as_site(write: impl FnOnce(&mut Asm), jumps_back: bool) -> Option<(Vec<u8>, u32, u32)> {
    let mut asm = Asm::new(0..u64::MAX, PokeMode::Patch);
    let (stub, entry) = (asm.label(), asm.label());
    asm.front_of_insn_site(stub, 64);
    asm.bind(entry);
    write(&mut asm);
    asm.bare(&forms::RET);
    if jumps_back {
        asm.jmp(entry);
    }
    let site = asm.insn_site();
    asm.bind(stub);
    if let Some((site, end)) = site {
        asm.insn_elsewhere(site, end);
    }
    let at = asm.offset(stub);
    let code = asm.finish().expect("no jump too short").code;
    site.map(|(site, _)| (code, site.off(), at))
}

#[test]
fn an_insn_that_is_a_switch_is_done_by_the_stub() {
    let lea = |asm: &mut Asm| asm.rm(&forms::LEA, Width::W64, X86::RAX, Mem::base(X86::RDI, 1));
    let (mut code, site, stub) = as_site(lea, false).expect("a site");
    let decode = |code: &[u8], at: u32| {
        Decoder::with_ip(64, &code[at as usize..], at.into(), DecoderOptions::NONE).decode()
    };
    let first = decode(&code, site);
    assert_eq!((site % 64, first.mnemonic(), first.len()), (0, Mnemonic::Lea, 4));
    code[site as usize..site as usize + 2].copy_from_slice(&crate::SwitchSite::HOP);
    let front = decode(&code, decode(&code, site).near_branch64() as u32);
    assert_eq!(front.near_branch64(), stub.into());
    assert_eq!(decode(&code, stub), first);
    assert_eq!(decode(&code, stub + 4).near_branch64(), u64::from(site) + 4);
}

#[test]
fn not_every_insn_can_be_a_switch() {
    let xor = |asm: &mut Asm| asm.rr(&forms::XOR_RM, Width::W32, X86::RAX, X86::RAX);
    assert!(as_site(xor, false).is_some());
    assert!(as_site(xor, true).is_none(), "the program jumps to it");
    assert!(as_site(|_| (), false).is_none(), "ret has one byte");
    let push = |asm: &mut Asm| asm.r(&forms::PUSH, Width::W64, X86::RBX);
    assert!(as_site(push, false).is_none(), "so has this push");
    let relative: [fn(&mut Asm); 4] = [
        |asm| {
            let label = asm.label();
            asm.lea_label(X86::RAX, label);
            asm.bind(label);
        },
        |asm| {
            let label = asm.label();
            asm.jmp(label);
            asm.bind(label);
        },
        |asm| {
            let label = asm.label();
            asm.jcc(Cc::E, label);
            asm.bind(label);
        },
        |asm| assert!(asm.call_address(1 << 32)),
    ];
    assert!(relative.into_iter().all(|write| as_site(write, false).is_none()));
}

#[test]
fn a_switch_that_is_a_flag_loads_and_branches() {
    let mut asm = Asm::new(0..0, PokeMode::Flag);
    let end = asm.label();
    let switches = [asm.switch_site(end), asm.switch_site(end)];
    asm.bind(end);
    asm.bare(&forms::RET);
    let finished = asm.finish().expect("no short jumps");
    assert_eq!(switches.map(|switch| switch.flag()), [Some(0), Some(1)]);
    for (switch, at) in switches.iter().zip(&finished.flags) {
        let mut code = finished.code.clone();
        let at = *at as usize;
        code[at..at + 8].copy_from_slice(&0x1122_3344_5566_7788u64.to_le_bytes());
        let from = switch.off() as usize;
        let mut decoder = Decoder::with_ip(64, &code[from..], from as u64, DecoderOptions::NONE);
        let insns = [decoder.decode(), decoder.decode(), decoder.decode()];
        let mnemonics = insns.map(|insn| insn.mnemonic());
        assert_eq!(mnemonics, [Mnemonic::Mov, Mnemonic::Test, Mnemonic::Jne]);
        assert_eq!(insns[0].immediate64(), 0x1122_3344_5566_7788);
        assert_eq!((insns[1].memory_base(), insns[1].immediate8()), (insns[0].op0_register(), 1));
        assert_eq!(insns[2].near_branch64(), code.len() as u64 - 1);
    }
}

#[test]
fn padding_does_nothing() {
    for lead in 1..33 {
        let mut asm = Asm::new(0..0, PokeMode::Patch);
        (0..lead).for_each(|_| asm.bytes(&[0x90]));
        asm.align(32, 31);
        let code = asm.finish().expect("no short jumps").code;
        assert_eq!(code.len() % 32, 0);
        let decoder = Decoder::with_ip(64, &code, 0, DecoderOptions::NONE);
        assert!(decoder.into_iter().all(|insn| insn.mnemonic() == Mnemonic::Nop));
    }
}

#[test]
fn forward_jumps_become_short_and_what_follows_moves() {
    let mut asm = Asm::new(0..u64::MAX, PokeMode::Patch);
    let (near, far) = (asm.label(), asm.label());
    asm.jcc(Cc::E, near);
    asm.jmp(far);
    asm.align(4, 3);
    asm.span(7);
    assert!(asm.call_address(1 << 32));
    asm.bind(near);
    asm.bytes(&[0x90; 128]);
    asm.bind(far);
    asm.bare(&forms::RET);
    assert_eq!([near, far].map(|label| asm.offset(label)), [17, 145]);
    let (relaxed, moved) = asm.relaxed();
    let finished = relaxed.finish().expect("the short jump reaches");
    // Two bytes and five, one of padding in place of one, five of the call.
    assert_eq!((finished.code.len(), &finished.code[..3]), (142, &[0x74, 11, 0xe9][..]));
    assert_eq!([near, far].map(|label| finished.labels[label.number()]), [13, 141]);
    assert_eq!((finished.spans, finished.calls[0].disp_off), (vec![(8, 7)], 9));
    assert_eq!([0, 6, 12, 13, 17].map(|off| moved.to(off)), [0, 2, 8, 9, 13]);
}

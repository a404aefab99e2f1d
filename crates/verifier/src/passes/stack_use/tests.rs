//! The expected liveness was printed by Linux 7.1 for the same insns at log level 2 ("stack
//! use/def").

use super::super::cfg::{Edges, check_cfg};
use super::super::postorder::compute_postorder;
use super::super::program_fixture::*;
use super::touches::{Callback, Touch};
use super::*;
use skep_insn::code::*;

/// Helper 1 reads the four bytes of a key; helper 26 overwrites as many bytes as its size argument
/// says; helper 181 runs a callback; nothing is known about others.
struct Helpers;

impl Touches for Helpers {
    fn params(&self, _: &Insn) -> usize {
        5
    }
    fn touch(&self, insn: &Insn, nth: usize, known: &dyn Fn(usize) -> Known) -> Touch {
        match (insn.imm, nth) {
            (1, 1) => Touch::Reads(Some(4)),
            (26, 2) => match known(3) {
                Known::Number(n) => Touch::Writes(Some(n as u32)),
                _ => Touch::Writes(None),
            },
            (1 | 26 | 181, _) => Touch::Nothing,
            _ => Touch::Reads(None),
        }
    }
    fn callback(&self, insn: &Insn) -> Option<Callback> {
        (insn.imm == 181).then_some(Callback { function: 1, context: 2, taken_as: 1 })
    }
}

fn stack_use(insns: &[Insn]) -> StackUse {
    let subprogs = subprogs_of(insns);
    check_cfg(insns, &subprogs, &SocketFilter, Edges::REFERENCE).unwrap();
    let calls = Calls { is_global: &[], has_more_frames: false };
    StackUse::new(insns, &subprogs, &compute_postorder(insns, &subprogs), &Helpers, calls)
}

/// The live part of the main program's frame before one of its insns.
fn live(insns: &[Insn], insn: u32) -> Halves {
    stack_use(insns).live(&[At { start: 0, callsite: 0, insn }])[0]
}

fn add(dst: u8, imm: i32) -> Insn {
    insn(BPF_ALU64 | BPF_ADD, dst, 0, 0, imm)
}

fn load(size: u8, dst: u8, src: u8, off: i16) -> Insn {
    insn(BPF_LDX | BPF_MEM | size, dst, src, off, 0)
}

#[test]
fn what_is_read_is_live_until_it_is_overwritten() {
    let insns = [
        spill(-8, 1),
        load(BPF_W, 0, 10, -8),
        insn(BPF_STX | BPF_MEM | BPF_W, 10, 1, -8, 0),
        load(BPF_DW, 0, 10, -8),
        exit(),
    ];
    assert_eq!(live(&insns, 0), 0);
    assert_eq!(live(&insns, 1), 0b11);
    assert_eq!(live(&insns, 2), 0b01, "the half at -8 is overwritten first");
    assert_eq!(live(&insns, 3), 0b11);
    assert_eq!(live(&insns, 4), 0);
}

/// The loop makes it unknown, as register 2 is lost on the way back.
#[test]
fn an_unknown_callback_may_read_all_at_its_call_and_nothing_elsewhere() {
    let insns = [
        mov_reg(6, 1),
        insn(BPF_ST | BPF_MEM | BPF_DW, 10, 0, -8, 0),
        insn(BPF_ST | BPF_MEM | BPF_DW, 10, 0, -16, 0),
        mov(1, 1),
        insn(BPF_LD | BPF_IMM | BPF_DW, 2, BPF_PSEUDO_FUNC, 0, 9),
        Insn::default(),
        mov_reg(3, 10),
        add(3, -16),
        mov(4, 0),
        insn(BPF_JMP | BPF_CALL, 0, 0, 0, 181),
        load(BPF_DW, 3, 10, -16),
        insn(BPF_JMP | BPF_JGT, 3, 0, -4, 7),
        load(BPF_DW, 0, 10, -8),
        exit(),
        mov(0, 0),
        exit(),
    ];
    assert_eq!(live(&insns, 0), Halves::MAX << 4);
    assert_eq!(live(&insns, 9), Halves::MAX);
    assert_eq!(live(&insns, 12), 0b11);
    assert_eq!(live(&insns, 13), 0);
    // What it reads is not known, so while it runs nothing of its caller's stack is dropped.
    let frames = [At { start: 0, callsite: 0, insn: 10 }, At { start: 14, callsite: 9, insn: 14 }];
    assert_eq!(stack_use(&insns).live(&frames)[0], Halves::MAX);
}

#[test]
fn one_of_two_places_is_read_and_neither_is_overwritten() {
    let insns = [
        mov_reg(6, 10),
        add(6, -8),
        jeq(1, 0, 1),
        add(6, -8),
        insn(BPF_STX | BPF_MEM | BPF_DW, 6, 1, 0, 0),
        load(BPF_DW, 0, 6, 0),
        exit(),
    ];
    assert_eq!(live(&insns, 5), 0b1111);
    assert_eq!(live(&insns, 4), 0b1111);
}

#[test]
fn a_place_that_is_not_known_is_all_of_the_frame() {
    let insns = [
        mov_reg(6, 10),
        insn(BPF_ALU64 | BPF_ADD | BPF_X, 6, 1, 0, 0),
        load(BPF_B, 0, 6, -1),
        exit(),
    ];
    assert_eq!(live(&insns, 2), Halves::MAX);
    assert_eq!(live(&insns, 3), 0);
}

#[test]
fn an_address_is_followed_through_a_slot() {
    let insns =
        [mov_reg(6, 10), add(6, -16), spill(-8, 6), fill(7, -8), load(BPF_DW, 0, 7, 0), exit()];
    assert_eq!(live(&insns, 4), 0b1100);
    assert_eq!(live(&insns, 3), 0b1111);
}

#[test]
fn an_address_stored_out_of_sight_may_be_loaded_anywhere() {
    let insns = [
        mov_reg(6, 10),
        mov_reg(7, 10),
        insn(BPF_ALU64 | BPF_ADD | BPF_X, 7, 1, 0, 0),
        insn(BPF_STX | BPF_MEM | BPF_DW, 7, 6, -64, 0),
        fill(8, -8),
        load(BPF_DW, 0, 8, -16),
        exit(),
    ];
    assert_eq!(live(&insns, 5), Halves::MAX);
}

#[test]
fn helpers_read_and_overwrite_what_their_prototypes_say() {
    let insns = [
        mov_reg(3, 10),
        add(3, -8),
        mov(4, 8),
        helper(26),
        mov_reg(2, 10),
        add(2, -8),
        helper(1),
        mov_reg(1, 10),
        add(1, -16),
        helper(7),
        exit(),
    ];
    assert_eq!(live(&insns, 9), 0b1111, "nothing is known of the callee");
    assert_eq!(live(&insns, 6), 0b1111);
    assert_eq!(live(&insns, 3), 0b1100);
}

#[test]
fn a_callee_uses_the_stack_of_its_caller() {
    let insns = [mov_reg(1, 10), add(1, -8), call(1), exit(), load(BPF_W, 0, 1, 4), exit()];
    assert_eq!(live(&insns, 2), 0b01);
    let frames = [At { start: 0, callsite: 0, insn: 3 }, At { start: 4, callsite: 2, insn: 4 }];
    assert_eq!(stack_use(&insns).live(&frames)[..2], [0b01, 0]);
}

/// `store_option` of the kernel's selftest `test_tcp_hdr_options`: one caller passes stack
/// addresses, another does not.
#[test]
fn a_function_that_got_addresses_is_not_known_without() {
    let insns =
        [mov_reg(1, 10), add(1, -8), call(3), mov(1, 0), call(1), exit(), mov(0, 0), exit()];
    let frames = [At { start: 0, callsite: 0, insn: 5 }, At { start: 6, callsite: 4, insn: 7 }];
    assert_eq!(stack_use(&insns).live(&frames)[..2], [0, Halves::MAX]);
}

#[test]
fn a_callback_reads_what_it_is_handed() {
    let function = insn(BPF_LD | BPF_IMM | BPF_DW, 2, BPF_PSEUDO_FUNC, 0, 4);
    let insns = [
        mov_reg(3, 10),
        add(3, -16),
        function,
        Insn::default(),
        helper(181),
        mov(0, 0),
        exit(),
        mov(0, 0),
        load(BPF_DW, 0, 2, 8),
        exit(),
    ];
    assert_eq!(callee_start(2, &insns[2]), 7);
    assert_eq!(live(&insns, 4), 0b11);
}

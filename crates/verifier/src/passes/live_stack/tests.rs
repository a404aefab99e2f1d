//! Each log was printed by Linux 6.18 for the same insns at log level 2.

use super::super::cfg::check_cfg;
use super::super::postorder::compute_postorder;
use super::super::program_fixture::*;
use super::*;
use crate::passes::cfg::Edges;
use skep_insn::code::*;

fn live_stack(insns: &[Insn]) -> LiveStack {
    let subprogs = subprogs_of(insns);
    let cfg = check_cfg(insns, &subprogs, &SocketFilter, Edges::REFERENCE).unwrap();
    LiveStack::new(insns, &subprogs, &cfg, compute_postorder(insns, &subprogs), false)
}

/// The slot at `-8 * n`.
fn slot(n: u32) -> SlotMask {
    1 << (n - 1)
}

fn store(off: i16) -> Insn {
    insn(BPF_ST | BPF_MEM | BPF_DW, 10, 0, off, 1)
}

/// A program, its marks and the log so far.
struct Walk {
    insns: Vec<Insn>,
    live: LiveStack,
    log: String,
}

impl Walk {
    fn new(insns: &[Insn]) -> Walk {
        Walk { insns: insns.to_vec(), live: live_stack(insns), log: String::new() }
    }

    /// Visits insns of one function, and marks accesses through `r10` to its own frame.
    fn visit(&mut self, instance: FuncInstanceId, path: &[u32]) {
        let own = self.live.instances[instance.0 as usize].curframe;
        for &idx in path {
            let insn = self.insns[idx as usize];
            let slot = slot(u32::from(insn.off.unsigned_abs() / 8).max(1));
            self.live.begin_insn(instance, idx);
            match insn.class() {
                BPF_LDX if insn.src == 10 => self.live.mark_read(own, slot),
                BPF_ST | BPF_STX if insn.dst == 10 => self.live.mark_write(own, slot),
                _ => {}
            }
            self.live.commit_writes();
        }
    }

    /// Visits one insn that reads and writes slots of another frame.
    fn visit_far(&mut self, instance: FuncInstanceId, idx: u32, frame: usize, rw: [u64; 2]) {
        self.live.begin_insn(instance, idx);
        self.live.mark_read(frame, rw[0]);
        self.live.mark_write(frame, rw[1]);
        self.live.commit_writes();
    }

    /// The log of an update of this function.
    fn update(&mut self, instance: FuncInstanceId) -> String {
        self.live.update(instance, Some(&mut self.log));
        std::mem::take(&mut self.log)
    }
}

#[test]
fn a_second_path_writes_what_the_first_left_live() {
    let insns = [
        helper(7),
        jeq(0, 0, 2),
        store(-8),
        goto(2),
        store(-8),
        store(-16),
        fill(1, -8),
        mov(0, 0),
        exit(),
    ];
    let mut walk = Walk::new(&insns);
    let main = walk.live.root(0);
    walk.visit(main, &[0, 1, 2, 3, 6, 7]);
    let expected = "\
(0) frame 0 insn 6 +live -8 
(0) frame 0 insn 4 +live -8 
(0) frame 0 insn 2 +written -8 
(0) frame 0 insn 1 +live -8 
(0) frame 0 insn 0 +live -8 
(0) live stack update done in 2 iterations
";
    assert_eq!(walk.update(main), expected);
    walk.visit(main, &[4, 5, 6, 7]);
    let expected = "\
(0) frame 0 insn 5 +written -16 
(0) frame 0 insn 4 -live -8
(0) frame 0 insn 4 +written -8,-16 
(0) frame 0 insn 1 -live -8
(0) frame 0 insn 1 +written -8 
(0) frame 0 insn 0 -live -8
(0) frame 0 insn 0 +written -8 
(0) live stack update done in 2 iterations
";
    assert_eq!(walk.update(main), expected);
    assert_eq!(walk.live.live_mask(main, 6, 0), slot(1));
    assert_eq!(walk.live.live_mask(main, 4, 0), 0);
}

#[test]
fn a_loop_takes_another_pass() {
    let insns = [
        store(-8),
        store(-16),
        mov(6, 0),
        helper(7),
        jeq(0, 0, 1),
        store(-24),
        fill(3, -8),
        mov(6, 1),
        jeq(6, 3, -6),
        fill(1, -16),
        mov(0, 0),
        exit(),
    ];
    let mut walk = Walk::new(&insns);
    let main = walk.live.root(0);
    walk.visit(main, &(0..11).collect::<Vec<_>>());
    let expected = "\
(0) frame 0 insn 9 +live -16 
(0) frame 0 insn 8 +live -16 
(0) frame 0 insn 6 +live -8,-16 
(0) frame 0 insn 5 +live -8,-16 
(0) frame 0 insn 5 +written -24 
(0) frame 0 insn 4 +live -8,-16 
(0) frame 0 insn 3 +live -8,-16 
(0) frame 0 insn 1 +live -8 
(0) frame 0 insn 1 +written -16 
(0) frame 0 insn 0 +written -8,-16 
(0) frame 0 insn 8 +live -8 
(0) live stack update done in 3 iterations
";
    assert_eq!(walk.update(main), expected);
}

#[test]
fn a_write_that_differs_from_visit_to_visit_does_not_count() {
    let insns = [
        store(-8),
        store(-16),
        mov_reg(6, 10),
        mov(7, -8),
        helper(7),
        jeq(0, 0, 1),
        mov(7, -8),
        insn(BPF_ST | BPF_MEM | BPF_DW, 6, 0, 0, 7),
        fill(1, -8),
        fill(1, -16),
        mov(0, 0),
        exit(),
    ];
    let mut walk = Walk::new(&insns);
    let main = walk.live.root(0);
    walk.visit(main, &[0, 1, 2, 3, 4, 5, 6]);
    walk.visit_far(main, 7, 0, [0, slot(2)]);
    walk.visit(main, &[8, 9, 10]);
    let expected = "\
(0) frame 0 insn 9 +live -16 
(0) frame 0 insn 8 +live -8,-16 
(0) frame 0 insn 7 +live -8 
(0) frame 0 insn 7 +written -16 
(0) frame 0 insn 5 +live -8 
(0) frame 0 insn 5 +written -16 
(0) frame 0 insn 1 +live -8 
(0) frame 0 insn 1 +written -16 
(0) frame 0 insn 0 +written -8,-16 
(0) live stack update done in 2 iterations
";
    assert_eq!(walk.update(main), expected);
    walk.visit_far(main, 7, 0, [0, slot(1)]);
    walk.visit(main, &[8, 9, 10]);
    let expected = "\
(0) frame 0 insn 7 +live -16 
(0) frame 0 insn 5 +live -16 
(0) frame 0 insn 1 +written -16 
(0) frame 0 insn 0 +written -8,-16 
(0) live stack update done in 2 iterations
";
    assert_eq!(walk.update(main), expected);
}

#[test]
fn marks_that_are_known_already() {
    let write_twice =
        [helper(7), jeq(0, 0, 2), mov(1, 1), goto(1), store(-8), store(-8), mov(0, 0), exit()];
    let mut walk = Walk::new(&write_twice);
    let main = walk.live.root(0);
    walk.visit(main, &[0, 1, 2, 3, 5, 6]);
    walk.update(main);
    walk.visit(main, &[4, 5, 6]);
    assert_eq!(walk.update(main), "(0) live stack update done in 1 iterations\n");

    let read_twice = [
        store(-8),
        helper(7),
        jeq(0, 0, 2),
        mov(1, 1),
        goto(1),
        fill(1, -8),
        fill(1, -8),
        mov(0, 0),
        exit(),
    ];
    let mut walk = Walk::new(&read_twice);
    let main = walk.live.root(0);
    walk.visit(main, &[0, 1, 2, 3, 4, 6, 7]);
    walk.update(main);
    walk.visit(main, &[5, 6, 7]);
    assert_eq!(walk.update(main), "");
}

/// `f` at 7 is called at 3 and calls `g` at 11, which reads and writes the main frame.
#[test]
fn callees_act_through_their_calls() {
    let through = |class| insn(class | BPF_MEM | BPF_DW, 1, 1, 0, 0);
    let insns = [
        store(-8),
        mov_reg(1, 10),
        mov(2, -8),
        call(3),
        fill(2, -8),
        mov(0, 0),
        exit(),
        store(-8),
        call(2),
        fill(2, -8),
        exit(),
        through(BPF_LDX),
        through(BPF_STX),
        mov(0, 0),
        exit(),
    ];
    let mut walk = Walk::new(&insns);
    let main = walk.live.root(0);
    let f = walk.live.callee(main, 3, 7);
    let g = walk.live.callee(f, 8, 11);
    assert_eq!(walk.live.callee(main, 3, 7), f);
    walk.visit(main, &[0, 1, 2]);
    walk.visit(f, &[7]);
    walk.visit_far(g, 11, 0, [slot(1), 0]);
    walk.visit_far(g, 12, 0, [0, slot(1)]);
    walk.visit(g, &[13]);
    let expected = "\
(3,8,11) frame 0 insn 12 +written -8 
(3,8,11) frame 0 insn 11 +live -8 
(3,8,11) frame 0 insn 11 +written -8 
(3,8,11) live stack update done in 2 iterations
(3,7) frame 0 insn 8 +live -8 
(3,7) frame 0 insn 8 +written -8 
(3,7) frame 0 insn 7 +live -8 
(3,7) frame 0 insn 7 +written -8 
(3,7) frame 1 insn 7 +written -8 
(3,7) live stack update done in 2 iterations
(0) frame 0 insn 3 +live -8 
(0) frame 0 insn 3 +written -8 
(0) frame 0 insn 0 +written -8 
(0) live stack update done in 2 iterations
";
    assert_eq!(walk.update(g), expected);
    walk.visit(f, &[9]);
    let expected = "\
(3,7) frame 1 insn 9 +live -8 
(3,7) frame 1 insn 8 +live -8 
(3,7) live stack update done in 2 iterations
";
    assert_eq!(walk.update(f), expected);
    walk.visit(main, &[4, 5]);
    let expected = "\
(0) frame 0 insn 4 +live -8 
(0) live stack update done in 2 iterations
";
    assert_eq!(walk.update(main), expected);
    // In `g`, the main frame's slot is live before the read, and again after the calls.
    assert_eq!(walk.live.live_mask(g, 11, 0), slot(1));
    assert_eq!(walk.live.live_mask(g, 13, 0), slot(1));
    assert_eq!(walk.live.live_mask(g, 13, 1), slot(1));
    assert_eq!(walk.live.live_mask(f, 10, 1), 0);
}

#[test]
fn a_callback_acts_before_its_call() {
    let [lo, hi] = Insn::ld_imm64(2, BPF_PSEUDO_FUNC, 7);
    let through = |class| insn(class | BPF_MEM | BPF_DW, 2, 2, 0, 0);
    let insns = [
        store(-8),
        store(-16),
        mov(1, 2),
        lo,
        hi,
        mov_reg(3, 10),
        mov(4, -8),
        mov(4, 0),
        helper(181),
        mov(0, 0),
        exit(),
        through(BPF_STX),
        through(BPF_LDX),
        mov(0, 0),
        exit(),
    ];
    let mut walk = Walk::new(&insns);
    let main = walk.live.root(0);
    let callback = walk.live.callee(main, 8, 11);
    walk.visit(main, &[0, 1, 2, 3, 5, 6, 7, 8, 9]);
    let expected = "\
(0) frame 0 insn 1 +written -16 
(0) frame 0 insn 0 +written -8,-16 
(0) live stack update done in 2 iterations
";
    assert_eq!(walk.update(main), expected);
    walk.visit_far(callback, 11, 0, [0, slot(2)]);
    walk.visit_far(callback, 12, 0, [slot(1), 0]);
    walk.visit(callback, &[13]);
    let expected = "\
(8,11) frame 0 insn 12 +live -8 
(8,11) frame 0 insn 11 +live -8 
(8,11) frame 0 insn 11 +written -16 
(8,11) live stack update done in 2 iterations
(0) frame 0 insn 8 +live -8 
(0) frame 0 insn 5 +live -8 
(0) frame 0 insn 3 +live -8 
(0) frame 0 insn 1 +live -8 
(0) live stack update done in 2 iterations
";
    assert_eq!(walk.update(callback), expected);
    assert_eq!(walk.live.live_mask(callback, 13, 0), slot(1));
}

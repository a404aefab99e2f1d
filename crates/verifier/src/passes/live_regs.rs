//! Live registers: those that an insn or a later insn of the subprog may read before they are
//! written.
//!
//! When comparing states, the walk only compares live registers. `r10` is always live and is not
//! included.
//!
//! Kernel: `compute_live_registers`, `compute_insn_live_regs`, 6.18.

use super::call_facts::{Callees, is_pseudo_call};
use super::postorder::{Postorder, is_plain, successors};
use super::scc::Scc;
use skep_insn::code::*;
use skep_insn::{Insn, Reg};
use std::fmt::Write;

/// Set of registers: bit `n` is `r<n>`.
pub(crate) type RegMask = u16;

/// `r0` to `r5`, which are caller-saved.
pub(super) const CALLER_SAVED: RegMask = 0b11_1111;
/// `r0` to `r9`, the registers that the log shows.
const SHOWN_REGS: std::ops::Range<Reg> = 0..10;

/// Registers that an insn reads, and those that it certainly overwrites.
#[derive(Clone, Copy)]
struct Access {
    uses: RegMask,
    defs: RegMask,
}

fn bit(reg: Reg) -> RegMask {
    1 << reg
}

/// Live registers before each insn (0 at second halves of `ld_imm64`).
///
/// The order of visits does not matter: the least fixed point is unique.
pub(crate) fn compute_live_registers<C: Callees>(
    insns: &[Insn],
    order: &Postorder,
    callees: &C,
) -> Vec<RegMask> {
    let access: Vec<Access> = insns.iter().map(|insn| access_of(insn, callees)).collect();
    let mut live = vec![0; insns.len()];
    let mut visited = vec![false; insns.len()];
    // One pass is sufficient if each insn comes after its successors.
    let mut again = false;
    for &idx in &order.insns {
        let idx = idx as usize;
        let mut after = 0;
        if is_plain(&insns[idx]) {
            again |= !visited[idx + 1];
            after = live[idx + 1];
        } else {
            for &next in successors(insns, idx).as_slice() {
                again |= !visited[next as usize];
                after |= live[next as usize];
            }
        }
        live[idx] = (after & !access[idx].defs) | access[idx].uses;
        visited[idx] = true;
    }
    for _ in 0..PASSES_FEW {
        if !again {
            return live;
        }
        again = false;
        for &idx in &order.insns {
            let idx = idx as usize;
            let before = live_before(insns, &access, &live, idx);
            again |= before != live[idx];
            live[idx] = before;
        }
    }
    if again {
        settle(insns, order, &access, &mut live);
    }
    live
}

/// Maximum number of passes over all insns: nested loops need one per level.
const PASSES_FEW: u32 = 8;

#[inline(always)]
fn live_before(insns: &[Insn], access: &[Access], live: &[RegMask], idx: usize) -> RegMask {
    let succ = successors(insns, idx);
    let after = succ.as_slice().iter().fold(0, |m, &s| m | live[s as usize]);
    (after & !access[idx].defs) | access[idx].uses
}

/// Worklist algorithm: revisits only predecessors of changed insns; each insn changes at most ten
/// times.
fn settle(insns: &[Insn], order: &Postorder, access: &[Access], live: &mut [RegMask]) {
    let mut preds: Vec<Vec<u32>> = vec![Vec::new(); insns.len()];
    for &idx in &order.insns {
        for &next in successors(insns, idx as usize).as_slice() {
            preds[next as usize].push(idx);
        }
    }
    let mut waiting: Vec<u32> = order.insns.iter().rev().copied().collect();
    while let Some(idx) = waiting.pop() {
        let idx = idx as usize;
        let before = live_before(insns, access, live, idx);
        if before != live[idx] {
            live[idx] = before;
            waiting.extend_from_slice(&preds[idx]);
        }
    }
}

fn access_of<C: Callees>(insn: &Insn, callees: &C) -> Access {
    let (dst, src) = (bit(insn.dst), bit(insn.src));
    let src_if_reg = if insn.is_src_reg() { src } else { 0 };
    let (uses, defs) = match insn.class() {
        BPF_LD if insn.is_ld_imm64() => (0, dst),
        BPF_LDX => (src, dst),
        BPF_ST => (dst, 0),
        BPF_STX if insn.mode() == BPF_ATOMIC => atomic(insn),
        BPF_STX => (dst | src, 0),
        BPF_ALU | BPF_ALU64 => match insn.op() {
            BPF_END => (dst, dst),
            BPF_MOV => (src_if_reg, dst),
            _ => (dst | src_if_reg, dst),
        },
        BPF_JMP | BPF_JMP32 => match insn.op() {
            BPF_JA | BPF_JCOND => (0, 0),
            BPF_EXIT => (bit(0), 0),
            BPF_CALL => (args_of(insn, callees), CALLER_SAVED),
            _ => (dst | src_if_reg, 0),
        },
        // Legacy packet loads: all registers may be read, none is certainly overwritten.
        _ => (RegMask::MAX, 0),
    };
    Access { uses, defs }
}

fn atomic(insn: &Insn) -> (RegMask, RegMask) {
    let (dst, src) = (bit(insn.dst), bit(insn.src));
    match insn.imm {
        BPF_CMPXCHG => (bit(0) | dst | src, bit(0)),
        BPF_LOAD_ACQ => (src, dst),
        BPF_STORE_REL => (dst | src, 0),
        imm if imm & BPF_FETCH != 0 => (dst | src, src),
        _ => (dst | src, 0),
    }
}

/// Registers that a call reads: the parameters, or all five if the prototype is not known.
fn args_of<C: Callees>(insn: &Insn, callees: &C) -> RegMask {
    let params = if is_pseudo_call(insn) { None } else { callees.of(insn).num_params };
    let last = u32::from(params.unwrap_or(5).min(5));
    ((1 << (last + 1)) - 1) & !bit(0)
}

/// The block `Live regs before insn:` of log level 2.
///
/// `print_insn` prints the insn in the kernel's notation, without a newline.
pub(crate) fn log_text(
    insns: &[Insn],
    live: &[RegMask],
    scc: &Scc,
    mut print_insn: impl FnMut(usize) -> String,
) -> String {
    let mut text = String::from("Live regs before insn:\n");
    let mut idx = 0;
    while let Some(insn) = insns.get(idx) {
        // Writing to a string cannot fail.
        let _ = match scc.of_insn[idx] {
            0 => write!(text, "    {idx:3}: "),
            id => write!(text, "{id:3} {idx:3}: "),
        };
        for reg in SHOWN_REGS {
            if live[idx] & bit(reg) != 0 {
                let _ = write!(text, "{reg}");
            } else {
                text.push('.');
            }
        }
        let _ = writeln!(text, " {}", print_insn(idx));
        idx += if insn.is_ld_imm64() { 2 } else { 1 };
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::postorder::compute_postorder;
    use super::super::program_fixture::*;
    use super::super::scc::compute_scc;
    use super::*;

    fn block(insns: &[Insn]) -> String {
        let order = compute_postorder(insns, &subprogs_of(insns));
        let live = compute_live_registers(insns, &order, &SocketFilter);
        let print = |idx: usize| format!("({:02x})", insns[idx].code);
        log_text(insns, &live, &compute_scc(insns, &|_| false), print)
    }

    /// A sequence of loops, each jumping back to the one before, so that the reads of the first
    /// reach one more of them in each pass.
    fn chain(loops: usize) -> Vec<Insn> {
        let loops = (0..loops).flat_map(|_| [mov(4, 0), jeq(2, 0, -4)]);
        [mov_reg(0, 3), mov(4, 0)].into_iter().chain(loops).chain([mov(0, 0), exit()]).collect()
    }

    #[test]
    fn loops_that_need_many_passes_settle() {
        let loops = 10 * PASSES_FEW as usize;
        let insns = chain(loops);
        let order = compute_postorder(&insns, &subprogs_of(&insns));
        let live = compute_live_registers(&insns, &order, &SocketFilter);
        assert!(live[..2 + 2 * loops].iter().all(|live| live & bit(3) != 0), "{live:x?}");
        assert!(live[2 + 2 * loops..].iter().all(|live| live & bit(3) == 0), "{live:x?}");
    }

    #[test]
    fn straight_line_and_branch() {
        let insns = [mov(0, 0), jeq(1, 0, 1), mov(0, 1), exit()];
        let expected = "\
Live regs before insn:
      0: .1........ (b7)
      1: 01........ (15)
      2: .......... (b7)
      3: 0......... (95)
";
        assert_eq!(block(&insns), expected);
    }

    #[test]
    fn helpers_read_their_parameters() {
        let load = insn(BPF_LDX | BPF_MEM | BPF_W, 7, 1, 0, 0);
        let insns =
            [mov_reg(6, 1), load, spill(-8, 6), helper(8), fill(6, -8), mov_reg(0, 7), exit()];
        let expected = "\
Live regs before insn:
      0: .1........ (bf)
      1: .1....6... (61)
      2: ......67.. (7b)
      3: .......7.. (85)
      4: .......7.. (79)
      5: .......7.. (bf)
      6: 0......... (95)
";
        assert_eq!(block(&insns), expected);
    }

    /// All kinds of uses, two loops, and a helper with a callback.
    #[test]
    fn loops_have_numbers() {
        let [ld_lo, ld_hi] = Insn::ld_imm64(9, 0, 1);
        let add = insn(BPF_STX | BPF_ATOMIC | BPF_DW, 7, 4, -8, 0);
        let insns = [
            insn(BPF_ALU | BPF_MUL | BPF_X, 2, 6, 0, 0),
            insn(BPF_JMP | BPF_JEQ | BPF_X, 9, 7, 1, 0),
            may_goto(4),
            may_goto(3),
            jeq(5, 1, -4),
            helper(26),
            add,
            ld_lo,
            ld_hi,
            spill(-40, 5),
            mov(7, 32),
            spill(-24, 1),
            spill(-32, 3),
            insn(BPF_JMP32 | BPF_JEQ | BPF_X, 8, 1, 0, 0),
            goto(-3),
        ];
        let expected = "\
Live regs before insn:
      0: .123456789 (2c)
  2   1: .12345.789 (1d)
  2   2: .12345.789 (e5)
  2   3: .12345.789 (e5)
  2   4: .12345.789 (15)
      5: .1234..78. (85)
      6: .1.345.78. (db)
      7: .1.3.5..8. (18)
      9: .1.3.5..8. (7b)
     10: .1.3....8. (b4)
     11: .1.3....8. (7b)
  1  12: .1.3....8. (7b)
  1  13: .1.3....8. (1e)
  1  14: .1.3....8. (05)
";
        assert_eq!(block(&insns), expected.replace("(b4)", "(b7)"));
    }
}

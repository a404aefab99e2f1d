//! Registers that are constant on every path, and the jumps that can be decided from them.
//!
//! Kernels that do this before the walk replace each such jump by a `goto` to its target or to the
//! next insn. Later passes do not see code that becomes unreachable.
//!
//! Kernel: 7.1, according to the insns in its log.

use super::postorder::{Postorder, successors};
use super::subprogs::Subprogs;
use super::worklist::{Way, Worklist};
use skep_insn::Insn;
use skep_insn::code::*;

/// Contents of a register before an insn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Const {
    #[default]
    Unknown,
    Number(u64),
    /// An address in the value of the map with this index.
    MapValue(u32, i64),
}

/// The maps of a program whose contents can no longer change.
pub(crate) trait ConstMaps {
    /// The `bytes` bytes at `off` of the map's only value, as a number.
    fn read(&self, map: u32, off: i64, bytes: u32) -> Option<u64>;
}

type Regs = [Const; 10];

impl Const {
    fn low_half(self) -> Const {
        match self {
            Const::Number(n) => Const::Number(u64::from(n as u32)),
            _ => Const::Unknown,
        }
    }
}

/// The insns with all decided jumps replaced by `goto`; `None` if there are none.
pub(crate) fn decide_jumps(
    insns: &[Insn],
    subprogs: &Subprogs,
    order: &Postorder,
    maps: &impl ConstMaps,
) -> Option<Vec<Insn>> {
    let mut decided: Option<Vec<Insn>> = None;
    for subprog in 0..subprogs.count() {
        let order = order.of(subprog);
        let start = subprogs.starts()[subprog];
        let before = registers(insns, order, start, maps);
        for &idx in order {
            let insn = insns[idx as usize];
            let Some(taken) = outcome(insn, &before[(idx - start) as usize].unwrap_or_default())
            else {
                continue;
            };
            let all = decided.get_or_insert_with(|| insns.to_vec());
            all[idx as usize] = Insn {
                code: BPF_JMP | BPF_JA,
                dst: 0,
                src: 0,
                off: if taken { insn.off } else { 0 },
                imm: 0,
            };
        }
    }
    decided
}

/// Contents of registers before each insn of a function.
fn registers(
    insns: &[Insn],
    order: &[u32],
    start: u32,
    maps: &impl ConstMaps,
) -> Vec<Option<Regs>> {
    let last = order.iter().copied().max().unwrap_or(start);
    let mut before: Vec<Option<Regs>> = vec![None; (last - start) as usize + 1];
    before[0] = Some(Regs::default());
    let mut todo = Worklist::new(order, start, before.len(), Way::Forwards);
    todo.push(start);
    while let Some(idx) = todo.pop() {
        let Some(mut regs) = before[(idx - start) as usize] else { continue };
        step(&mut regs, insns, idx, maps);
        for &next in successors(insns, idx as usize).as_slice() {
            let known = &mut before[(next - start) as usize];
            let joined = known.map_or(regs, |known| join(known, regs));
            if *known != Some(joined) {
                *known = Some(joined);
                todo.push(next);
            }
        }
    }
    before
}

fn join(a: Regs, b: Regs) -> Regs {
    std::array::from_fn(|r| if a[r] == b[r] { a[r] } else { Const::Unknown })
}

fn step(regs: &mut Regs, insns: &[Insn], idx: u32, maps: &impl ConstMaps) {
    let insn = insns[idx as usize];
    let src = || match insn.is_src_reg() {
        true => regs.get(usize::from(insn.src)).copied().unwrap_or_default(),
        false => Const::Number(i64::from(insn.imm) as u64),
    };
    let dst = regs.get(usize::from(insn.dst)).copied().unwrap_or_default();
    let value = match insn.class() {
        BPF_ALU64 if insn.op() == BPF_MOV && insn.off == 0 => src(),
        BPF_ALU64 => arithmetic(insn, dst, src()),
        BPF_ALU if insn.op() == BPF_MOV && insn.off == 0 => src().low_half(),
        BPF_ALU => arithmetic(insn, dst, src()).low_half(),
        BPF_LD if insn.is_ld_imm64() => {
            let second = insns.get(idx as usize + 1).copied().unwrap_or_default();
            match insn.src {
                0 => Const::Number(insn.imm64(second)),
                BPF_PSEUDO_MAP_VALUE => Const::MapValue(insn.imm as u32, i64::from(second.imm)),
                _ => Const::Unknown,
            }
        }
        BPF_LDX => match regs.get(usize::from(insn.src)).copied().unwrap_or_default() {
            Const::MapValue(map, off) => loaded(insn, maps, map, off),
            _ => Const::Unknown,
        },
        BPF_JMP if insn.op() == BPF_CALL => return regs[..6].fill(Const::Unknown),
        BPF_LD => return regs[..6].fill(Const::Unknown),
        BPF_STX if insn.mode() == BPF_ATOMIC => {
            let written = match insn.imm {
                BPF_LOAD_ACQ => insn.dst,
                BPF_CMPXCHG => 0,
                imm if imm & BPF_FETCH != 0 => insn.src,
                _ => return,
            };
            return set(regs, written, Const::Unknown);
        }
        BPF_ST | BPF_STX | BPF_JMP | BPF_JMP32 => return,
        _ => Const::Unknown,
    };
    set(regs, insn.dst, value);
}

/// The operations that are evaluated: adding and subtracting constants, clearing bits.
fn arithmetic(insn: Insn, dst: Const, src: Const) -> Const {
    match (insn.op(), dst, src) {
        (BPF_AND, Const::Number(a), Const::Number(b)) => Const::Number(a & b),
        _ if insn.is_src_reg() => Const::Unknown,
        (BPF_ADD, Const::Number(a), Const::Number(b)) => Const::Number(a.wrapping_add(b)),
        (BPF_SUB, Const::Number(a), Const::Number(b)) => Const::Number(a.wrapping_sub(b)),
        (BPF_ADD, Const::MapValue(map, off), Const::Number(by)) => {
            Const::MapValue(map, off.wrapping_add(by as i64))
        }
        (BPF_SUB, Const::MapValue(map, off), Const::Number(by)) => {
            Const::MapValue(map, off.wrapping_sub(by as i64))
        }
        _ => Const::Unknown,
    }
}

fn loaded(insn: Insn, maps: &impl ConstMaps, map: u32, off: i64) -> Const {
    let off = off.wrapping_add(i64::from(insn.off));
    let unused = 64 - 8 * insn.size_bytes();
    match maps.read(map, off, insn.size_bytes()) {
        Some(number) if insn.mode() == BPF_MEM => Const::Number(number),
        Some(number) if insn.mode() == BPF_MEMSX => {
            Const::Number((((number << unused) as i64) >> unused) as u64)
        }
        _ => Const::Unknown,
    }
}

fn set(regs: &mut Regs, regno: u8, value: Const) {
    if let Some(reg) = regs.get_mut(usize::from(regno)) {
        *reg = value;
    }
}

/// Whether a conditional jump is taken, if both operands are known.
fn outcome(insn: Insn, regs: &Regs) -> Option<bool> {
    if !insn.is_conditional_jump() || insn.op() == BPF_JCOND {
        return None;
    }
    let number = |regno: u8| match regs.get(usize::from(regno)) {
        // Only 32-bit values are used for jumps.
        Some(Const::Number(n)) => u32::try_from(*n).ok().map(u64::from),
        _ => None,
    };
    let a = number(insn.dst)?;
    let b = if insn.is_src_reg() { number(insn.src)? } else { i64::from(insn.imm) as u64 };
    let (a, b) = match insn.class() {
        BPF_JMP32 => (i64::from(a as i32), i64::from(b as i32)),
        _ => (a as i64, b as i64),
    };
    // Sign extension preserves the order of unsigned numbers.
    let (ua, ub) = (a as u64, b as u64);
    Some(match insn.op() {
        BPF_JEQ => a == b,
        BPF_JNE => a != b,
        BPF_JSET => ua & ub != 0,
        BPF_JGT => ua > ub,
        BPF_JGE => ua >= ub,
        BPF_JLT => ua < ub,
        BPF_JLE => ua <= ub,
        BPF_JSGT => a > b,
        BPF_JSGE => a >= b,
        BPF_JSLT => a < b,
        BPF_JSLE => a <= b,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::super::postorder::compute_postorder;
    use super::super::program_fixture::*;
    use super::*;

    /// A map with the value 5, then 200.
    struct Five;

    impl ConstMaps for Five {
        fn read(&self, map: u32, off: i64, bytes: u32) -> Option<u64> {
            let value = match off {
                0 => 5,
                4 => 200,
                _ => return None,
            };
            (map == 0 && bytes <= 4).then_some(value)
        }
    }

    /// Whether the jump before the last three insns was decided, and how. The expected values are
    /// those of 7.1 for the same insns.
    fn decided(before: &[Insn], jump: Insn) -> Option<i16> {
        let mut insns = before.to_vec();
        insns.push(jump);
        insns.extend([mov(0, 0), exit(), mov(0, 1), exit()]);
        let subprogs = subprogs_of(&insns);
        let order = compute_postorder(&insns, &subprogs);
        let now = decide_jumps(&insns, &subprogs, &order, &Five)?[before.len()];
        (now.code == BPF_JMP | BPF_JA).then_some(now.off)
    }

    fn alu(code: u8, imm: i32) -> Insn {
        insn(code, 6, 0, 0, imm)
    }
    fn jump(code: u8, imm: i32) -> Insn {
        insn(code, 6, 0, 2, imm)
    }

    #[test]
    fn constants_added_taken_off_and_masked_decide() {
        let is = |imm| jump(BPF_JMP | BPF_JEQ, imm);
        assert_eq!(decided(&[mov(6, 5)], is(5)), Some(2));
        assert_eq!(decided(&[mov(6, 5)], is(77)), Some(0));
        for op in [BPF_ADD, BPF_SUB, BPF_AND] {
            for class in [BPF_ALU64, BPF_ALU] {
                assert_eq!(decided(&[mov(6, 5), alu(class | op, 3)], is(77)), Some(0), "{op:#x}");
            }
        }
        for op in [BPF_MUL, BPF_DIV, BPF_OR, BPF_XOR, BPF_LSH, BPF_RSH, BPF_ARSH] {
            assert_eq!(decided(&[mov(6, 5), alu(BPF_ALU64 | op, 1)], is(77)), None, "{op:#x}");
        }
    }

    #[test]
    fn large_numbers_are_followed_and_decide_nothing() {
        let is = |imm| jump(BPF_JMP | BPF_JEQ, imm);
        assert_eq!(decided(&[mov(6, -1)], is(77)), None);
        assert_eq!(decided(&[mov(6, -1), alu(BPF_ALU64 | BPF_ADD, 2)], is(1)), Some(2));
        assert_eq!(decided(&[alu(BPF_ALU | BPF_MOV, -1)], is(77)), Some(0));
        assert_eq!(decided(&[mov(6, -1)], jump(BPF_JMP32 | BPF_JEQ, 7)), None);
    }

    #[test]
    fn comparisons_are_those_of_their_width_and_sign() {
        let small = [mov(6, 5)];
        assert_eq!(decided(&small, jump(BPF_JMP | BPF_JSGT, -1)), Some(2));
        assert_eq!(decided(&small, jump(BPF_JMP | BPF_JGT, -1)), Some(0));
        assert_eq!(decided(&small, jump(BPF_JMP | BPF_JSET, 4)), Some(2));
        assert_eq!(decided(&small, jump(BPF_JMP | BPF_JSET, 2)), Some(0));
        let half = [alu(BPF_ALU | BPF_MOV, -1)];
        assert_eq!(decided(&half, jump(BPF_JMP32 | BPF_JSLT, 0)), Some(2));
        assert_eq!(decided(&half, jump(BPF_JMP | BPF_JSLT, 0)), Some(0));
    }

    #[test]
    fn constant_maps_are_read() {
        let address = [
            insn(BPF_LD | BPF_IMM | BPF_DW, 6, BPF_PSEUDO_MAP_VALUE, 0, 0),
            Insn::default(),
            alu(BPF_ALU64 | BPF_ADD, 4),
            insn(BPF_LDX | BPF_MEM | BPF_B, 6, 6, 0, 0),
        ];
        assert_eq!(decided(&address, jump(BPF_JMP | BPF_JEQ, 200)), Some(2));
        assert_eq!(decided(&address[..3], jump(BPF_JMP | BPF_JEQ, 200)), None);
    }

    #[test]
    fn what_paths_disagree_on_decides_nothing() {
        let agree = [mov(6, 5), jeq(1, 0, 1), mov(6, 5)];
        assert_eq!(decided(&agree, jump(BPF_JMP | BPF_JEQ, 5)), Some(2));
        let differ = [mov(6, 5), jeq(1, 0, 1), mov(6, 6)];
        assert_eq!(decided(&differ, jump(BPF_JMP | BPF_JEQ, 5)), None);
        // The dead path also counts.
        let dead = [mov(6, 5), insn(BPF_JMP | BPF_JEQ, 6, 0, 1, 5), mov(6, 6)];
        assert_eq!(decided(&dead, jump(BPF_JMP | BPF_JEQ, 5)), None);
    }
}

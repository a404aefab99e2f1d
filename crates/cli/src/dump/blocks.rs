//! Basic blocks of a program: runs of insns that are entered at the first and left at the last.
//!
//! Only for drawing graphs. The verifier's own passes decide whether a graph is valid; here, the
//! edge of an invalid jump is omitted.

use skep::insn::Insn;
use skep::insn::code::*;
use std::collections::BTreeSet;

/// Kind of an edge between blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Edge {
    /// The next insn.
    Fall,
    /// A jump that is taken.
    Jump,
    /// A call of a subprog, which returns.
    Call,
}

/// Insns `start..end`, and the first insns of the successors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Block {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) next: Vec<(usize, Edge)>,
}

/// Effect of an insn on control flow.
enum Flow {
    Plain,
    Exit,
    Goto(i64),
    Branch(i64),
    Call(i64),
}

fn flow(insn: Insn) -> Flow {
    let (class, op) = (insn.class(), insn.op());
    if insn.is_ld_imm64() && insn.src == BPF_PSEUDO_FUNC {
        return Flow::Call(insn.imm.into());
    }
    match (class, op) {
        (BPF_JMP, BPF_EXIT) => Flow::Exit,
        (BPF_JMP, BPF_CALL) if insn.src == BPF_PSEUDO_CALL => Flow::Call(insn.imm.into()),
        (BPF_JMP, BPF_CALL) => Flow::Plain,
        (BPF_JMP, BPF_JA) => Flow::Goto(insn.off.into()),
        (BPF_JMP32, BPF_JA) => Flow::Goto(insn.imm.into()),
        (BPF_JMP | BPF_JMP32, _) => Flow::Branch(insn.off.into()),
        _ => Flow::Plain,
    }
}

/// The blocks, by their first insn.
pub(crate) fn blocks(insns: &[Insn]) -> Vec<Block> {
    let target = |idx: usize, off: i64| {
        let to = i64::try_from(idx).ok()?.checked_add(1)?.checked_add(off)?;
        usize::try_from(to).ok().filter(|&to| to < insns.len())
    };
    let mut starts = BTreeSet::from([0]);
    for (idx, insn) in insns.iter().enumerate() {
        match flow(*insn) {
            Flow::Plain => {}
            Flow::Exit => drop(starts.insert(idx + 1)),
            Flow::Goto(off) | Flow::Branch(off) => {
                starts.extend(target(idx, off));
                starts.insert(idx + 1);
            }
            Flow::Call(off) => starts.extend(target(idx, off)),
        }
    }
    let starts: Vec<usize> = starts.into_iter().filter(|&start| start < insns.len()).collect();
    let ends = starts.iter().skip(1).copied().chain([insns.len()]);
    let block = |(&start, end): (&usize, usize)| {
        let mut next = Vec::new();
        for (idx, insn) in insns.iter().enumerate().take(end).skip(start) {
            let last = idx + 1 == end;
            let fall =
                Some(idx + 1).filter(|&to| last && to < insns.len()).map(|to| (to, Edge::Fall));
            match flow(*insn) {
                Flow::Plain => next.extend(fall),
                Flow::Exit => {}
                Flow::Goto(off) => next.extend(target(idx, off).map(|to| (to, Edge::Jump))),
                Flow::Branch(off) => {
                    next.extend(target(idx, off).map(|to| (to, Edge::Jump)));
                    next.extend(fall);
                }
                Flow::Call(off) => {
                    next.extend(target(idx, off).map(|to| (to, Edge::Call)));
                    next.extend(fall);
                }
            }
        }
        Block { start, end, next }
    };
    starts.iter().zip(ends).map(block).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn insn(code: u8, src: u8, off: i16, imm: i32) -> Insn {
        Insn { code, dst: 0, src, off, imm }
    }

    #[test]
    fn branches_calls_and_exits() {
        let insns = [
            insn(BPF_JMP | BPF_JEQ, 0, 2, 0), // 0: if r0 == 0 goto 3
            insn(BPF_JMP | BPF_CALL, BPF_PSEUDO_CALL, 0, 2), // 1: call 4
            insn(BPF_JMP | BPF_JA, 0, -3, 0), // 2: goto 0
            insn(BPF_JMP | BPF_EXIT, 0, 0, 0), // 3: exit
            insn(BPF_ALU64 | BPF_MOV, 0, 0, 1), // 4: r0 = 1
            insn(BPF_JMP | BPF_EXIT, 0, 0, 0), // 5: exit
        ];
        let block = |start, end, next: &[(usize, Edge)]| Block { start, end, next: next.to_vec() };
        let expected = [
            block(0, 1, &[(3, Edge::Jump), (1, Edge::Fall)]),
            block(1, 3, &[(4, Edge::Call), (0, Edge::Jump)]),
            block(3, 4, &[]),
            block(4, 6, &[]),
        ];
        assert_eq!(blocks(&insns), expected);
    }

    #[test]
    fn jumps_to_nowhere_are_not_drawn() {
        let wild = [insn(BPF_JMP | BPF_JA, 0, 100, 0), insn(BPF_JMP32 | BPF_JA, 0, 0, i32::MIN)];
        assert!(blocks(&wild).iter().all(|block| block.next.is_empty()));
        assert_eq!(blocks(&[]), []);
    }
}

//! Basic blocks of a program, their visit counts, and the edges between them.

use skep::insn::Insn;
use skep::insn::code::{BPF_CALL, BPF_EXIT, BPF_JA, BPF_JMP, BPF_JMP32};
use skep::profile::Profile;
use skep::program::Program;
use skep_report::FlowBlock;
use std::collections::BTreeSet;

/// The blocks in the order of the program; `place` knows the line of an insn.
pub(super) fn blocks(
    program: &Program,
    profile: &Profile,
    place: impl Fn(usize) -> String,
) -> Vec<FlowBlock> {
    let len = program.insns.len();
    let mut walked = vec![0; len];
    let mut covered = vec![0; len];
    for at in profile.costs() {
        // A walk may end after the last insn.
        if at.insn_idx < len {
            walked[at.insn_idx] += u64::from(at.cost.insns);
            covered[at.insn_idx] += u64::from(at.cost.covered);
        }
    }
    let starts: Vec<usize> = starts(program, profile).into_iter().filter(|&at| at < len).collect();
    let ends = starts.iter().skip(1).copied().chain([len]);
    let block = |(&first, end): (&usize, usize)| FlowBlock {
        at: place(first),
        first_insn: first,
        last_insn: end - 1,
        walked: walked[first],
        covered: covered[first],
        next: next(&program.insns, end - 1)
            .into_iter()
            .filter(|&at| at < len)
            .map(&place)
            .collect(),
    };
    starts.iter().zip(ends).map(block).collect()
}

/// The first insns of blocks.
fn starts(program: &Program, profile: &Profile) -> BTreeSet<usize> {
    let functions = profile.paths().iter().map(|path| path.insns.start);
    let mut starts: BTreeSet<usize> = functions.chain([0]).collect();
    for (at, insn) in program.insns.iter().enumerate() {
        if ends_block(insn) {
            starts.insert(at + 1);
            starts.extend(next(&program.insns, at));
        }
    }
    starts
}

fn ends_block(insn: &Insn) -> bool {
    matches!(insn.class(), BPF_JMP | BPF_JMP32) && insn.op() != BPF_CALL
}

/// The successors of an insn: the next one first.
fn next(insns: &[Insn], at: usize) -> Vec<usize> {
    let Some(insn) = insns.get(at) else { return Vec::new() };
    let target = |off: i64| usize::try_from(at as i64 + 1 + off).ok();
    let (behind, jump) = match (insn.class(), insn.op()) {
        (BPF_JMP, BPF_EXIT) => (None, None),
        (BPF_JMP, BPF_JA) => (None, target(insn.off.into())),
        (BPF_JMP32, BPF_JA) => (None, target(insn.imm.into())),
        _ if ends_block(insn) => (Some(at + 1), target(insn.off.into())),
        _ => (Some(at + 1), None),
    };
    behind.into_iter().chain(jump.filter(|jump| Some(*jump) != behind)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use skep::{Session, VerifyOptions};

    fn blocks_of(object: &str, name: &str) -> (Vec<FlowBlock>, Profile, usize) {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/programs/");
        let session = Session::default();
        let object = session.open_file(format!("{folder}{object}")).unwrap();
        let program = object.program(name).unwrap();
        let (_, profile) = session.profile(program, &VerifyOptions::default());
        let blocks = blocks(program, &profile, |idx| format!("insn {idx}"));
        (blocks, profile, program.insns.len())
    }

    #[test]
    fn every_insn_is_in_one_block_and_every_way_leads_to_the_start_of_one() {
        for (object, name) in [("stress_frames.bpf.o", "frames"), ("loops.bpf.o", "loop_constant")]
        {
            let (blocks, profile, len) = blocks_of(object, name);
            let mut behind = 0;
            for block in &blocks {
                assert_eq!(block.first_insn, behind);
                behind = block.last_insn + 1;
                for place in &block.next {
                    assert!(blocks.iter().any(|other| other.at == *place), "{place}");
                }
            }
            assert_eq!(behind, len);
            let visits = |at: usize| -> u64 {
                let costs = profile.costs().filter(|cost| cost.insn_idx == at);
                costs.map(|cost| u64::from(cost.cost.insns)).sum()
            };
            assert!(blocks.iter().all(|block| block.walked == visits(block.first_insn)));
        }
    }

    #[test]
    fn a_loop_leads_back() {
        let (blocks, ..) = blocks_of("loops.bpf.o", "loop_constant");
        let back = |block: &&FlowBlock| {
            let leads = |place: &String| {
                blocks.iter().any(|to| to.at == *place && to.first_insn <= block.first_insn)
            };
            block.next.iter().any(leads)
        };
        let round = blocks.iter().find(back).expect("a loop");
        assert!(round.walked > 1, "{round:?}");
    }
}

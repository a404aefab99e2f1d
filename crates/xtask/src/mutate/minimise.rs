//! Finds a smaller program with the same difference, or other property.

use super::compare::{Compared, Difference, Loader, compare};
use super::splice;
use skep::insn::Insn;
use skep::insn::code::*;
use skep::program::Program;
use skep::uapi::ProgFlags;
use skep_kernel::held::Held;

/// Maximum number of programs tried for one finding.
const TRIES_MAX: usize = 1500;

/// The search: the remaining program, and what must stay true of it.
struct Search<'a> {
    program: Program,
    is_same: &'a mut dyn FnMut(&Program) -> bool,
    tries: usize,
}

/// Removes parts that the difference does not need.
pub(super) fn minimise(
    program: Program,
    loader: Loader,
    mut difference: Difference,
) -> (Program, Loader, Difference) {
    let Ok(mut held) = Held::new(&program) else { return (program, loader, difference) };
    let mut is_same = |candidate: &Program, loader| {
        let compared = compare(candidate, loader, &mut |level| held.judge(candidate, level));
        let Compared::Different(found) = compared else { return false };
        let same = (found.kind, &found.key) == (difference.kind, &difference.key);
        if same {
            difference = *found;
        }
        same
    };
    let loader = if is_same(&program, Loader::Root) { Loader::Root } else { loader };
    let program = minimise_for(program, &mut |candidate| is_same(candidate, loader));
    (program, loader, difference)
}

/// Removes parts of the program as long as `is_same` says that the rest still shows it.
pub(crate) fn minimise_for(program: Program, is_same: &mut dyn FnMut(&Program) -> bool) -> Program {
    let mut it = Search { program, is_same, tries: 0 };
    it.attributes();
    loop {
        let before = it.program.insns.len();
        let mut len = (before / 2).max(1);
        loop {
            it.ranges(len);
            if len == 1 {
                break;
            }
            len /= 2;
        }
        if it.program.insns.len() == before || it.tries >= TRIES_MAX {
            break;
        }
    }
    it.simpler();
    it.program
}

impl Search<'_> {
    /// Keeps the candidate if it is the same.
    fn keep(&mut self, candidate: Program) -> bool {
        self.tries += 1;
        let kept = self.tries <= TRIES_MAX && (self.is_same)(&candidate);
        if kept {
            self.program = candidate;
        }
        kept
    }

    fn attributes(&mut self) {
        self.keep(Program { line_info: Vec::new(), ..self.program.clone() });
        self.keep(Program { license: "GPL".to_owned(), ..self.program.clone() });
        self.keep(Program { prog_flags: ProgFlags::empty(), ..self.program.clone() });
        let bare = Program { btf: None, func_info: Vec::new(), ..self.program.clone() };
        if bare.maps.iter().all(|map| map.btf_value_type_id == 0 && map.btf_key_type_id == 0) {
            self.keep(bare);
        }
    }

    /// Tries to remove each range of this length, from the end.
    fn ranges(&mut self, len: usize) {
        let mut at = self.program.insns.len();
        while at > 0 && self.tries < TRIES_MAX {
            at = at.saturating_sub(len);
            let mut candidate = self.program.clone();
            splice::delete(&mut candidate, at, len);
            if !candidate.insns.is_empty() {
                self.keep(candidate);
            }
        }
    }

    /// Tries simpler insns: constants instead of computed or loaded values, small numbers.
    fn simpler(&mut self) {
        for at in 0..self.program.insns.len() {
            let Some(&insn) = self.program.insns.get(at) else { break };
            let constant = Insn { code: BPF_ALU64 | BPF_MOV, dst: insn.dst, ..Insn::default() };
            let writes = matches!(insn.class(), BPF_ALU | BPF_ALU64 | BPF_LDX);
            let zero = Insn { imm: 0, ..insn };
            let forms = [(writes, constant), (insn.imm != 0, zero)];
            for (_, to) in forms.into_iter().filter(|(fits, to)| *fits && *to != insn) {
                let mut candidate = self.program.clone();
                candidate.insns[at] = to;
                if self.keep(candidate) {
                    break;
                }
            }
        }
    }
}

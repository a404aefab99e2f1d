//! Finds a smaller program with the same difference.

use super::compare::{Compared, Difference, Loader, compare};
use super::splice;
use skep::insn::Insn;
use skep::insn::code::*;
use skep::program::Program;
use skep::uapi::ProgFlags;
use skep_kernel::held::Held;

/// Maximum number of programs tried for one finding.
const TRIES_MAX: usize = 1500;

/// The search: the difference, and the remaining program.
struct Search {
    program: Program,
    loader: Loader,
    difference: Difference,
    held: Option<Held>,
    tries: usize,
}

/// Removes parts that the difference does not need.
pub(super) fn minimise(
    program: Program,
    loader: Loader,
    difference: Difference,
) -> (Program, Loader, Difference) {
    let held = Held::new(&program).ok();
    let mut it = Search { program, loader, difference, held, tries: 0 };
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
    (it.program, it.loader, it.difference)
}

impl Search {
    /// Keeps the candidate if the difference is the same.
    fn keep(&mut self, candidate: Program, loader: Loader) -> bool {
        self.tries += 1;
        let Some(held) = &mut self.held else { return false };
        if self.tries > TRIES_MAX {
            return false;
        }
        let compared = compare(&candidate, loader, &mut |level| held.judge(&candidate, level));
        let Compared::Different(difference) = compared else { return false };
        if (difference.kind, &difference.key) != (self.difference.kind, &self.difference.key) {
            return false;
        }
        (self.program, self.loader, self.difference) = (candidate, loader, *difference);
        true
    }

    fn attributes(&mut self) {
        let program = self.program.clone();
        self.keep(Program { line_info: Vec::new(), ..program.clone() }, self.loader);
        self.keep(self.program.clone(), Loader::Root);
        self.keep(Program { license: "GPL".to_owned(), ..self.program.clone() }, self.loader);
        self.keep(Program { prog_flags: ProgFlags::empty(), ..self.program.clone() }, self.loader);
        let bare = Program { btf: None, func_info: Vec::new(), ..self.program.clone() };
        if bare.maps.iter().all(|map| map.btf_value_type_id == 0 && map.btf_key_type_id == 0) {
            self.keep(bare, self.loader);
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
                self.keep(candidate, self.loader);
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
                if self.keep(candidate, self.loader) {
                    break;
                }
            }
        }
    }
}

//! What was known about registers, and since where, read from the verifier's log of one path.
//!
//! At log level 1 the log holds the path that led to the refusal and nothing else. Its state
//! comments (`; R1=scalar() R2=fp-8`) say which registers an insn changed. The log is the one
//! interface that says this for every kind of refusal, and it is compared with the kernel's byte
//! for byte, so what is told here is what the kernel knew.

use skep_report::{Note, SourceSpot};
use std::collections::HashMap;

/// Registers explained at most: an insn and its message rarely name more.
const NOTES_MAX: usize = 4;

/// A fact about a register: its value, and the insn after which it held.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Fact {
    value: String,
    /// Insn that wrote it; `None` at the program's entry.
    set_at: Option<usize>,
    insn: String,
    source: Option<SourceSpot>,
}

/// The path, folded to what holds at its end.
#[derive(Debug, Default)]
pub(crate) struct History {
    facts: HashMap<(u32, u8), Fact>,
    frame: u32,
}

impl History {
    /// Reads a log.
    pub(crate) fn read(log: &str) -> History {
        let mut history = History::default();
        let mut source = None;
        for line in log.lines() {
            if let Some(spot) = source_spot(line) {
                source = Some(spot);
            } else if let Some((idx, insn, state)) = split_line(line) {
                history.note_state(state, idx, insn, &source);
            }
        }
        history
    }

    fn note_state(
        &mut self,
        state: &str,
        idx: Option<usize>,
        insn: &str,
        source: &Option<SourceSpot>,
    ) {
        let mut words = words_outside_parens(state).peekable();
        let frame = words.peek().and_then(|w| w.strip_prefix("frame")?.strip_suffix(':'));
        self.frame = match frame.and_then(|number| number.parse().ok()) {
            Some(frame) => {
                words.next();
                frame
            }
            None => 0,
        };
        for word in words {
            let Some((name, value)) = word.split_once('=') else { continue };
            let Some(reg) = register(name) else { continue };
            let known = self.facts.get(&(self.frame, reg));
            if known.is_some_and(|fact| fact.value == value) {
                continue;
            }
            let fact = Fact {
                value: value.to_owned(),
                set_at: idx.filter(|_| !insn.is_empty()),
                insn: insn.to_owned(),
                source: source.clone(),
            };
            self.facts.insert((self.frame, reg), fact);
        }
    }

    /// What is known of the registers that the message and the insn name.
    pub(crate) fn notes(&self, message: &str, insn: &str) -> Vec<Note> {
        let mut regs: Vec<u8> = Vec::new();
        for reg in named_registers(message).chain(named_registers(insn)) {
            if !regs.contains(&reg) {
                regs.push(reg);
            }
        }
        let known = regs.iter().filter_map(|&reg| {
            let fact = self.facts.get(&(self.frame, reg))?;
            let since = match fact.set_at {
                Some(idx) => format!("since insn {idx}: {}", fact.insn),
                None if fact.insn.is_empty() && fact.source.is_none() => {
                    "from the start".to_owned()
                }
                None => "since this line".to_owned(),
            };
            Some(Note {
                text: format!("R{reg} is {}, {since}", fact.value),
                at: fact.source.clone(),
            })
        });
        known.take(NOTES_MAX).collect()
    }
}

/// A source line of the log: `; text @ file:line`.
fn source_spot(line: &str) -> Option<SourceSpot> {
    let (text, place) = line.strip_prefix("; ")?.rsplit_once(" @ ")?;
    let (file, number) = place.rsplit_once(':')?;
    Some(SourceSpot {
        file: file.to_owned(),
        line: number.trim().parse().ok()?,
        column: 0,
        text: text.to_owned(),
    })
}

/// Index, insn (empty on a line of state alone) and state of a line such as
/// `4: (bf) r2 = r10   ; R2=fp0` or `from 3 to 7: R0=0`.
fn split_line(line: &str) -> Option<(Option<usize>, &str, &str)> {
    if let Some(rest) = line.strip_prefix("from ") {
        let (edge, state) = rest.split_once(": ")?;
        let to = edge.rsplit("to ").next()?.split(' ').next()?;
        return Some((to.parse().ok(), "", state));
    }
    let (number, rest) = line.split_once(": ")?;
    let idx: usize = number.parse().ok()?;
    if !rest.starts_with('(') {
        return Some((Some(idx), "", rest));
    }
    match rest.split_once(" ; ") {
        Some((insn, state)) => Some((Some(idx), insn.trim(), state.trim())),
        None => Some((Some(idx), rest.trim(), "")),
    }
}

/// Splits at spaces, but not at those in parentheses (`var_off=(0x0; 0xff)`).
fn words_outside_parens(text: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0usize;
    let separates = move |c: char| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ' ' && depth == 0
    };
    text.split(separates).filter(|word| !word.is_empty())
}

/// `R3`, `R3_w`, `R3_rwD` is register 3.
fn register(name: &str) -> Option<u8> {
    let digits = name.strip_prefix('R')?.split('_').next()?;
    digits.parse().ok().filter(|&reg| reg <= 10)
}

/// Registers in a message (`R1`) or an insn (`r1`, `w1`), in the order in which they occur.
fn named_registers(text: &str) -> impl Iterator<Item = u8> {
    text.split(|c: char| !c.is_ascii_alphanumeric()).filter_map(|word| {
        let digits = word.strip_prefix(['R', 'r', 'w'])?;
        digits.parse().ok().filter(|&reg| reg <= 10)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As the kernel printed it (6.18) for `no_null_check` of `refused.bpf.o`.
    const LOG: &str = "\
0: R1=ctx() R10=fp0
; int no_null_check(struct xdp_md *ctx) @ refused.bpf.c:15
0: (b4) w1 = 0                        ; R1=0
; u32 key = 0; @ refused.bpf.c:17
1: (63) *(u32 *)(r10 -4) = r1         ; R1=0 R10=fp0 fp-8=0000????
2: (bf) r2 = r10                      ; R2=fp0 R10=fp0
3: (07) r2 += -4                      ; R2=fp-4
; u64 *count = map_lookup_elem(&counter, &key); @ refused.bpf.c:18
4: (18) r1 = 0xffff888100000000       ; R1=map_ptr(map=counter,ks=4,vs=8)
6: (85) call bpf_map_lookup_elem#1    ; R0=map_value_or_null(id=1,map=counter,ks=4,vs=8)
; *count += 1; @ refused.bpf.c:20
7: (79) r1 = *(u64 *)(r0 +0)
R0 invalid mem access 'map_value_or_null'
";

    #[test]
    fn tells_the_value_its_insn_and_its_line() {
        let message = "R0 invalid mem access 'map_value_or_null'";
        let notes = History::read(LOG).notes(message, "r1 = *(u64 *)(r0 +0)");
        let text: Vec<&str> = notes.iter().map(|n| n.text.as_str()).collect();
        let expected = [
            "R0 is map_value_or_null(id=1,map=counter,ks=4,vs=8), \
             since insn 6: (85) call bpf_map_lookup_elem#1",
            "R1 is map_ptr(map=counter,ks=4,vs=8), since insn 4: (18) r1 = 0xffff888100000000",
        ];
        assert_eq!(text, expected);
        assert_eq!(notes[0].at.as_ref().map(|at| at.line), Some(18));
    }

    #[test]
    fn frames_and_ranges() {
        let log = "\
from 3 to 7: R1=scalar(umax=7,var_off=(0x0; 0x7)) R10=fp0
12: frame1: R1=5 R10=fp0
13: (b7) r0 = 1 ; frame1: R0=1
";
        let history = History::read(log);
        assert_eq!(history.frame, 1);
        let fact = |frame, reg| history.facts.get(&(frame, reg)).map(|f| f.value.as_str());
        assert_eq!(fact(0, 1), Some("scalar(umax=7,var_off=(0x0; 0x7))"));
        assert_eq!((fact(1, 1), fact(1, 0)), (Some("5"), Some("1")));
        assert_eq!(history.notes("R7 !read_ok", ""), []);
    }

    proptest::proptest! {
        #[test]
        fn any_log_is_read(log in "((from |frame|[0-9]{1,3}|[:;()= @R,to]|\\PC){0,12}\n){0,8}") {
            let notes = History::read(&log).notes(&log, &log);
            assert!(notes.len() <= NOTES_MAX);
        }
    }
}

//! What was known about registers, and since where, read from the verifier's log of one path.
//!
//! At log level 1 the log holds the path that led to the refusal and nothing else. Its state
//! comments (`; R1=scalar() R2=fp-8`) say which registers an insn changed. The log is the one
//! interface that says this for every kind of refusal, and it is compared with the kernel's byte
//! for byte, so what is told here is what the kernel knew.

use skep_report::{Note, SourceSpot};
use std::collections::HashMap;

/// Registers explained at most: an insn and its message rarely name more.
const REGS_MAX: usize = 4;

/// A fact about a register: its value, and the insn after which it held.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Fact {
    value: String,
    /// Insn and its text; `None` where the log states it without an insn.
    set_by: Option<(usize, String)>,
    source: Option<SourceSpot>,
}

/// A register's value now, and as it was when an insn made it anew.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Known {
    now: Fact,
    made: Fact,
}

/// The path, folded to what holds at its end.
#[derive(Debug, Default)]
pub(crate) struct History {
    known: HashMap<(u32, u8), Known>,
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
            } else if let Some((set_by, state)) = split_line(line) {
                history.note_state(state, set_by, &source);
            }
        }
        history
    }

    fn note_state(
        &mut self,
        state: &str,
        set_by: Option<(usize, &str)>,
        source: &Option<SourceSpot>,
    ) {
        let mut words = words_outside_parens(state).peekable();
        let Some(first) = words.peek() else { return };
        let frame = first.strip_prefix("frame").and_then(|rest| rest.strip_suffix(':'));
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
            let made_anew = set_by.is_none_or(|(_, insn)| written_register(insn) == Some(reg));
            let before = self.known.get(&(self.frame, reg));
            if before.is_some_and(|known| known.now.value == value && !made_anew) {
                continue;
            }
            let now = Fact {
                value: value.to_owned(),
                set_by: set_by.map(|(idx, insn)| (idx, insn.to_owned())),
                source: source.clone(),
            };
            let made = match before {
                Some(known) if !made_anew => known.made.clone(),
                _ => now.clone(),
            };
            self.known.insert((self.frame, reg), Known { now, made });
        }
    }

    /// What is known of the registers that the message names and the insn reads. `describe` may
    /// know an insn better than the log does: its text, its place.
    pub(crate) fn notes(
        &self,
        message: &str,
        insn: &str,
        describe: impl Fn(usize) -> Option<(String, Option<SourceSpot>)>,
    ) -> Vec<Note> {
        let note = |reg: u8, verb: &str, fact: &Fact| fact.note(reg, verb, &describe);
        let written = written_register(insn);
        let mut regs: Vec<u8> = named_registers(message).collect();
        regs.extend(named_registers(insn).skip(usize::from(written.is_some())));
        let mut seen = 0u16;
        regs.retain(|&reg| {
            let first_time = seen & 1 << reg == 0;
            seen |= 1 << reg;
            first_time
        });
        let mut notes = Vec::new();
        for reg in regs.into_iter().take(REGS_MAX) {
            let Some(known) = self.known.get(&(self.frame, reg)) else { continue };
            let (now, made) = (&known.now, &known.made);
            if now == made {
                notes.push(note(reg, "is", made));
            } else {
                notes.push(note(reg, "was", made));
                notes.push(note(reg, "is", now));
            }
        }
        notes
    }
}

impl Fact {
    fn note(
        &self,
        reg: u8,
        verb: &str,
        describe: impl Fn(usize) -> Option<(String, Option<SourceSpot>)>,
    ) -> Note {
        let (since, at) = match &self.set_by {
            Some((idx, logged)) => {
                let described = describe(*idx);
                let (insn, at) = described.unwrap_or_else(|| (logged.clone(), None));
                (format!("since insn {idx}: {insn}"), at.or_else(|| self.source.clone()))
            }
            None if self.source.is_some() => ("where paths part".to_owned(), self.source.clone()),
            None => ("from the start".to_owned(), None),
        };
        Note { text: format!("R{reg} {verb} {}, {since}", self.value), at }
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

/// The insn (none on a line of state alone) and the state of a line such as
/// `4: (bf) r2 = r10   ; R2=fp0` or `from 3 to 7: R0=0`.
fn split_line(line: &str) -> Option<(Option<(usize, &str)>, &str)> {
    if let Some(rest) = line.strip_prefix("from ") {
        return Some((None, rest.split_once(": ")?.1));
    }
    let (number, rest) = line.split_once(": ")?;
    let idx: usize = number.parse().ok()?;
    if !rest.starts_with('(') {
        return Some((None, rest));
    }
    let (insn, state) = rest.split_once(" ; ").unwrap_or((rest, ""));
    Some((Some((idx, insn.trim())), state.trim()))
}

/// The register that an insn makes anew: the left side of `=`, r0 of a call; not that of `+=`.
fn written_register(insn: &str) -> Option<u8> {
    let text = insn.split_once(") ").map_or(insn, |(_, text)| text);
    if text.starts_with("call ") {
        return Some(0);
    }
    let (left, right) = text.split_once(" = ")?;
    let reg = left.strip_prefix(['r', 'w'])?.parse().ok()?;
    // `r1 = -r1` and `r1 = be16 r1` change what is there.
    let in_place = !right.starts_with('*') && named_registers(right).any(|read| read == reg);
    (!in_place).then_some(reg)
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

    /// As the kernel printed it (6.18) for `short_bounds_check` of `refused.bpf.o`.
    const LOG: &str = "\
0: R1=ctx() R10=fp0
; int short_bounds_check(struct xdp_md *ctx) @ refused.bpf.c:25
0: (b4) w0 = 1                        ; R0=1
; u8 *data = (void *)(long)ctx->data; @ refused.bpf.c:27
1: (61) r2 = *(u32 *)(r1 +0)          ; R1=ctx() R2=pkt(r=0)
; if (data + sizeof(struct eth_hdr) > end) @ refused.bpf.c:30
2: (07) r2 += 14                      ; R2=pkt(off=14,r=0)
; u8 *end = (void *)(long)ctx->data_end; @ refused.bpf.c:28
3: (61) r1 = *(u32 *)(r1 +4)          ; R1=pkt_end()
; if (data + sizeof(struct eth_hdr) > end) @ refused.bpf.c:30
4: (2d) if r2 > r1 goto pc+3          ; R1=pkt_end() R2=pkt(off=14,r=14)
; return data[sizeof(struct eth_hdr)] ? XDP_PASS : XDP_DROP; @ refused.bpf.c:32
5: (71) r1 = *(u8 *)(r2 +0)
invalid access to packet, off=14 size=1, R2(id=0,off=14,r=14)
R2 offset is outside of the packet
";

    #[test]
    fn tells_where_a_register_was_made_and_where_it_changed() {
        let message = "invalid access to packet, off=14 size=1, R2(id=0,off=14,r=14)";
        let notes = History::read(LOG).notes(message, "(71) r1 = *(u8 *)(r2 +0)", |_| None);
        let told: Vec<(&str, Option<u32>)> =
            notes.iter().map(|n| (n.text.as_str(), n.at.as_ref().map(|at| at.line))).collect();
        let expected = [
            ("R2 was pkt(r=0), since insn 1: (61) r2 = *(u32 *)(r1 +0)", Some(27)),
            ("R2 is pkt(off=14,r=14), since insn 4: (2d) if r2 > r1 goto pc+3", Some(30)),
        ];
        assert_eq!(told, expected);
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
        let value = |frame, reg| history.known.get(&(frame, reg)).map(|k| k.now.value.as_str());
        assert_eq!(value(0, 1), Some("scalar(umax=7,var_off=(0x0; 0x7))"));
        assert_eq!((value(1, 1), value(1, 0)), (Some("5"), Some("1")));
        assert_eq!(history.notes("R7 !read_ok", "", |_| None), []);
    }

    #[test]
    fn what_an_insn_makes_anew() {
        for (insn, reg) in [
            ("(b7) r3 = 1", Some(3)),
            ("(71) r1 = *(u8 *)(r1 +0)", Some(1)),
            ("(85) call bpf_map_lookup_elem#1", Some(0)),
            ("(07) r2 += -4", None),
            ("(87) r2 = -r2", None),
            ("(dc) r1 = be16 r1", None),
            ("(7b) *(u64 *)(r10 -8) = r1", None),
            ("(15) if r1 == 0x0 goto pc+3", None),
        ] {
            assert_eq!(written_register(insn), reg, "{insn}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_log_is_read(log in "((from |frame|[0-9]{1,3}|[:;()= @R,to]|\\PC){0,12}\n){0,8}") {
            let notes = History::read(&log).notes(&log, &log, |_| None);
            assert!(notes.len() <= 2 * REGS_MAX);
        }
    }
}

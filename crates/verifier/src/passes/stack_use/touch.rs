//! Which parts of which frames an insn reads and overwrites.

use super::step::{Around, STACK_MIN, State};
use super::value::Value;
use crate::passes::call_facts::{is_helper_call, is_kfunc_call};
use crate::passes::stack_use::touches::{Halves, Touch, Touches};
use skep_insn::Insn;
use skep_insn::code::*;
use skep_uapi::limits::MAX_CALL_FRAMES;

/// The halves that an insn reads, and those that it certainly overwrites, by frame.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Used {
    pub(super) reads: [Halves; MAX_CALL_FRAMES],
    pub(super) writes: [Halves; MAX_CALL_FRAMES],
}

/// The uses of all insns of a function, by frame: insn, reads, writes.
#[derive(Clone, Debug, Default)]
pub(super) struct Uses(pub(super) [Vec<(u32, Halves, Halves)>; MAX_CALL_FRAMES]);

impl Uses {
    pub(super) fn add(&mut self, idx: u32, used: &Used) {
        for (frame, uses) in self.0.iter_mut().enumerate() {
            let (reads, writes) = (used.reads[frame], used.writes[frame]);
            if reads | writes != 0 {
                uses.push((idx, reads, writes));
            }
        }
    }
}

impl Used {
    fn reads_at(&mut self, value: Value, off: i32, bytes: Option<u32>) {
        match value {
            Value::At(frame, places) => {
                let reads = &mut self.reads[usize::from(frame)];
                for &place in places.as_slice() {
                    let from = i32::from(place) + off;
                    let to = bytes.map_or(0, |n| from.saturating_add_unsigned(n));
                    *reads |= touched(from, to);
                }
            }
            other => {
                let frames = other.frames();
                for (frame, reads) in self.reads.iter_mut().enumerate() {
                    if frames >> frame & 1 == 1 {
                        *reads = Halves::MAX;
                    }
                }
            }
        }
    }

    fn writes_at(&mut self, value: Value, off: i32, bytes: u32) {
        if let Value::At(frame, places) = value
            && let Some(place) = places.only()
        {
            let from = place + off;
            self.writes[usize::from(frame)] |= covered(from, from.saturating_add_unsigned(bytes));
        }
    }
}

/// The halves from the first one that begins below `to` down to the one that contains `from`.
fn halves(first: i32, last: i32) -> Halves {
    // Half `n` consists of the four bytes from `-4 * (n + 1)`.
    let below = |off: i32| -> Halves {
        match (-off / 4) as u32 {
            n if n >= Halves::BITS => Halves::MAX,
            n => (1 << n) - 1,
        }
    };
    below(first) & !below(last)
}

/// Halves with at least one byte in the range.
fn touched(from: i32, to: i32) -> Halves {
    let (from, to) = (from.max(STACK_MIN), to.min(0));
    if from >= to {
        return 0;
    }
    halves(from.div_euclid(4) * 4, -((-to).div_euclid(4) * 4))
}

/// Halves with all bytes in the range.
fn covered(from: i32, to: i32) -> Halves {
    let (from, to) = (from.max(STACK_MIN), to.min(0));
    let (first, last) = (-((-from).div_euclid(4) * 4), to.div_euclid(4) * 4);
    if first >= last { 0 } else { halves(first, last) }
}

/// The effect of `insn` on stacks, without those of a called function.
pub(super) fn used(insn: Insn, state: &State, around: &Around<'_>, touches: &impl Touches) -> Used {
    let mut used = Used::default();
    let reg = |regno| state.reg(regno, around.depth);
    let (off, bytes) = (i32::from(insn.off), insn.size_bytes());
    match insn.class() {
        BPF_LDX => used.reads_at(reg(insn.src), off, Some(bytes)),
        BPF_ST => used.writes_at(reg(insn.dst), off, bytes),
        BPF_STX if insn.mode() == BPF_ATOMIC => match insn.imm {
            BPF_LOAD_ACQ => used.reads_at(reg(insn.src), off, Some(bytes)),
            BPF_STORE_REL => used.writes_at(reg(insn.dst), off, bytes),
            _ => used.reads_at(reg(insn.dst), off, Some(bytes)),
        },
        BPF_STX => used.writes_at(reg(insn.dst), off, bytes),
        BPF_JMP if is_helper_call(&insn) || is_kfunc_call(&insn) => {
            call(insn, state, around, touches, &mut used);
        }
        _ => {}
    }
    used
}

fn call(insn: Insn, state: &State, around: &Around<'_>, touches: &impl Touches, used: &mut Used) {
    let params = touches.params(&insn);
    for nth in 0..params {
        let value = state.reg(nth as u8 + 1, around.depth);
        if !value.leads_to_stack() {
            continue;
        }
        match touches.touch(&insn, nth, &|nth| state.reg(nth as u8 + 1, around.depth).known()) {
            Touch::Nothing => {}
            Touch::Reads(bytes) => used.reads_at(value, 0, bytes),
            Touch::Writes(Some(bytes)) => used.writes_at(value, 0, bytes),
            Touch::Writes(None) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_are_counted_from_the_frame_pointer() {
        assert_eq!(touched(-8, 0), 0b11);
        assert_eq!(touched(-8, -4), 0b10);
        assert_eq!(touched(-4, -3), 0b01);
        assert_eq!(touched(-9, -3), 0b111);
        assert_eq!(touched(-512, 0), Halves::MAX);
        assert_eq!(touched(-600, 8), Halves::MAX);
        assert_eq!(touched(0, 8), 0);
        assert_eq!(touched(-520, -512), 0);
        assert_eq!(covered(-8, 0), 0b11);
        assert_eq!(covered(-9, -3), 0b10);
        assert_eq!(covered(-2, 0), 0);
        assert_eq!(covered(-13, -1), 0b110);
    }
}

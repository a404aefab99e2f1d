//! Programs of variable size: insns, frames, states at one insn, stack. In the kernel's notation.

use skep::insn::asm::assemble;
use skep::program::Program;
use skep::uapi::ProgType;
use std::fmt::Write as _;

/// What grows with the size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// A loop of ALU insns with a counter; the size is the number of insns walked.
    Loop,
    /// `if x == n, x++` with n from 0; the size is the number of insns walked.
    Branches,
    /// Such branches in the innermost of this many frames.
    Frames,
    /// This many different states at one insn, each compared with every new one.
    States,
    /// Such branches with this many live stack slots.
    Slots,
}

/// Shape, unit of its size, sizes.
pub(super) const GROWTH: [(Shape, &str, &[u32]); 5] = [
    (Shape::Loop, "insns, loop", &[1_000, 10_000, 100_000, 990_000]),
    (Shape::Branches, "insns, branches", &[1_000, 10_000, 100_000, 990_000]),
    (Shape::Frames, "frames", &[1, 2, 4, 8]),
    (Shape::States, "states at an insn", &[1, 10, 100, 1_000]),
    (Shape::Slots, "stack slots", &[1, 8, 32, 63]),
];

/// Number of branches in shapes whose size is something else.
const STEPS: u32 = 2_000;

/// The program of a shape and size.
pub(super) fn program(shape: Shape, size: u32) -> Result<Program, String> {
    let text = match shape {
        Shape::Loop => counting(size / 8),
        Shape::Branches => format!("r6 = *(u32 *)(r1 + 0)\n{}{EXIT}", branches(size * 2 / 15)),
        Shape::Frames => frames(size),
        Shape::States => states(size),
        Shape::Slots => slots(size),
    };
    let assembly = assemble(&text, &|_| None).map_err(|e| e.to_string())?;
    Ok(Program {
        name: "growth".to_owned(),
        prog_type: ProgType::SchedCls,
        license: "GPL".to_owned(),
        insns: assembly.insns,
        ..Program::default()
    })
}

const EXIT: &str = "r0 = 0\nexit\n";

/// Text, built of lines that cannot fail.
fn lines(write: impl FnOnce(&mut String) -> std::fmt::Result) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail.
    let _ = write(&mut text);
    text
}

fn counting(rounds: u32) -> String {
    let body = "r2 = r6\nr2 &= 255\nr3 = r2\nr3 *= 7\nr3 += r2\nr6 ^= r3\n";
    format!(
        "r6 = *(u32 *)(r1 + 0)\nr7 = 0\nagain:\n{body}r7 += 1\nif r7 < {rounds} goto again\n{EXIT}"
    )
}

/// Branches on the number in r6.
fn branches(steps: u32) -> String {
    lines(|text| (0..steps).try_for_each(|n| write!(text, "if r6 != {n} goto +1\nr6 += 1\n")))
}

/// A chain of functions, each with eight stack slots and registers that are live across the call.
fn frames(count: u32) -> String {
    lines(|text| {
        writeln!(text, "r1 = *(u32 *)(r1 + 0)")?;
        for frame in 1..=count {
            if frame > 1 {
                writeln!(text, "f{frame}:")?;
            }
            writeln!(text, "r6 = r1")?;
            for slot in 1..=7 {
                writeln!(text, "*(u64 *)(r10 - {}) = r1", 8 * slot)?;
            }
            match frame == count {
                true => text.push_str(&branches(STEPS)),
                false => writeln!(text, "call f{}", frame + 1)?,
            }
            writeln!(text, "r0 = *(u64 *)(r10 - 56)\nr0 &= 1\nexit")?;
        }
        Ok(())
    })
}

/// The kernel evicts a state after three misses plus three per hit: each number repeats often
/// enough for its state to be kept.
fn states(count: u32) -> String {
    let mut value = 0;
    lines(|text| {
        writeln!(text, "r6 = *(u32 *)(r1 + 0)\nr7 = 0\ngoto start")?;
        // Pointer arithmetic makes r7 precise.
        writeln!(text, "same:\nr2 = r10\nr2 += -512\nr2 += r7\nr0 = 0\nexit\nstart:")?;
        for number in 0..count {
            writeln!(text, "r7 = {}", number % 512)?;
            if number >= 512 {
                writeln!(text, "r7 = {}", -(number as i32 - 511))?;
            }
            for _ in 0..(count - number) / 3 + 2 {
                writeln!(text, "if r6 != {value} goto +1\ngotol same")?;
                value += 1;
            }
        }
        text.push_str(EXIT);
        Ok(())
    })
}

fn slots(count: u32) -> String {
    lines(|text| {
        writeln!(text, "r6 = *(u32 *)(r1 + 0)")?;
        for slot in 1..=count {
            writeln!(text, "*(u64 *)(r10 - {}) = r6", 8 * slot)?;
        }
        text.push_str(&branches(STEPS));
        for slot in 1..=count {
            writeln!(text, "r1 = *(u64 *)(r10 - {})\nr6 += r1", 8 * slot)?;
        }
        text.push_str(EXIT);
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use skep_testkit::engine::{self, OurVerdict};

    #[test]
    fn every_shape_is_accepted_and_grows() {
        for (shape, _, sizes) in GROWTH {
            let small = program(shape, sizes[0]).expect("assembles");
            let next = program(shape, sizes[1]).expect("assembles");
            let (small, next) = (engine::verify(&small, 4), engine::verify(&next, 4));
            assert_eq!(small.verdict, OurVerdict::Accepted, "{shape:?}");
            assert_eq!(next.verdict, OurVerdict::Accepted, "{shape:?}");
            assert!(next.stats.insns_processed > small.stats.insns_processed, "{shape:?}");
        }
    }

    #[test]
    fn a_hundred_states_stay_at_one_insn() {
        let hundred = program(Shape::States, 100).expect("assembles");
        assert!(engine::verify(&hundred, 4).stats.max_states_per_insn >= 99);
    }
}

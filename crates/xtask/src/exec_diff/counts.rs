//! Counts of an `exec-diff` run, and their table.
//!
//! A comparison is one program on one input, executed by an engine other than the interpreter:
//! result and context or packet are compared with the interpreter's.

use std::fmt::Write;
use std::ops::AddAssign;
use std::time::Duration;

/// Counts for the programs of one kind.
#[derive(Clone, Copy, Default)]
pub(super) struct Counts {
    pub(super) programs: u64,
    /// Seeds whose programs the verifier refused.
    pub(super) refused: u64,
    /// Inputs, each of them run by the interpreter.
    pub(super) inputs: u64,
    /// Comparisons with machine code.
    pub(super) native: u64,
    /// Comparisons with the kernel's test run.
    pub(super) kernel: u64,
    pub(super) different: u64,
    pub(super) time: Duration,
}

impl Counts {
    /// Programs executed: by the interpreter, as machine code, by the kernel.
    fn executions(&self) -> u64 {
        self.inputs + self.native + self.kernel
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Counts) {
        self.programs += other.programs;
        self.refused += other.refused;
        self.inputs += other.inputs;
        self.native += other.native;
        self.kernel += other.kernel;
        self.different += other.different;
        self.time += other.time;
    }
}

/// A row for each kind, and their sum if there are several.
pub(super) fn table(names: &[&str], counts: &[Counts]) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = writeln!(
        out,
        "{:<14}{:>8}{:>10}{:>9}{:>13}{:>14}{:>14}{:>12}{:>11}",
        "kind",
        "minutes",
        "programs",
        "refused",
        "inputs",
        "executions",
        "machine code",
        "kernel",
        "different"
    );
    let mut all = Counts::default();
    counts.iter().for_each(|one| all += *one);
    let rows = names.iter().zip(counts).chain((counts.len() > 1).then_some((&"all", &all)));
    for (name, one) in rows {
        let _ = writeln!(
            out,
            "{name:<14}{:>8.1}{:>10}{:>9}{:>13}{:>14}{:>14}{:>12}{:>11}",
            one.time.as_secs_f64() / 60.0,
            one.programs,
            one.refused,
            one.inputs,
            one.executions(),
            one.native,
            one.kernel,
            one.different
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_add_up() {
        let one = Counts { programs: 2, inputs: 20, native: 100, kernel: 4, ..Counts::default() };
        let table = table(&["plain", "maps"], &[one, one]);
        let last: Vec<_> = table.lines().last().unwrap_or_default().split_whitespace().collect();
        assert_eq!(last, ["all", "0.0", "4", "0", "40", "248", "200", "8", "0"]);
    }
}

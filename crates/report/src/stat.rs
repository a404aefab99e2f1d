//! The statistics of one program, one row each: heading, names, alignment, default order.
//!
//! The headings, the names and their order are veristat's (the first name is the CSV column), so
//! that both tools can read each other's files. Additional names are ours.

/// One statistic: a column of the table and of the CSV file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "one row each in STATS says what it is")]
pub enum Stat {
    FileName,
    ProgName,
    Verdict,
    Duration,
    TotalInsns,
    TotalStates,
    PeakStates,
    MaxStatesPerInsn,
    MarkReadMaxLen,
    Size,
    JitedSize,
    Stack,
    ProgType,
    AttachType,
    MemoryPeak,
    MemPeakBytes,
    MemFrames,
    MemStack,
    MemCheckpoints,
    MemHistory,
    MemIdmap,
    MemTransfers,
    MemInsns,
    MemLog,
    MemFinalBytes,
    Kernel,
    KernelSource,
}

/// The properties of a statistic.
#[derive(Debug)]
pub struct StatDef {
    /// Which one; the index of this row in [`STATS`].
    pub stat: Stat,
    /// Heading in the table.
    pub header: &'static str,
    /// Names in specifications; the first is the CSV column.
    pub names: &'static [&'static str],
    /// Sorted ascending by default.
    pub ascending: bool,
    /// Aligned to the left in the table.
    pub left_aligned: bool,
    /// One sentence with the unit, for `--help` and the manual page.
    pub about: &'static str,
}

macro_rules! stats {
    ($($stat:ident, $header:literal, [$($name:literal),+], $asc:literal, $left:literal, $about:literal;)+) => {
        /// All statistics, in the order of [`Stat`].
        pub const STATS: &[StatDef] = &[$(StatDef {
            stat: Stat::$stat,
            header: $header,
            names: &[$($name),+],
            ascending: $asc,
            left_aligned: $left,
            about: $about,
        }),+];
    };
}

// Columns: statistic, heading, names, ascending, left, about.
#[rustfmt::skip]
stats! {
    FileName, "File", ["file_name", "filename", "file"], true, true, "base name of the object file";
    ProgName, "Program", ["prog_name", "progname", "prog"], true, true, "name of the program's function";
    Verdict, "Verdict", ["verdict"], true, true, "success, failure, unsupported or error";
    Duration, "Duration (us)", ["duration", "dur"], false, false, "verification time in microseconds";
    TotalInsns, "Insns", ["total_insns", "insns"], false, false, "insns processed on all paths";
    TotalStates, "States", ["total_states", "states"], false, false, "states saved";
    PeakStates, "Peak states", ["peak_states"], false, false, "most states kept at one time";
    MaxStatesPerInsn, "Max states per insn", ["max_states_per_insn"], false, false, "most states kept at one insn";
    MarkReadMaxLen, "Max mark read length", ["max_mark_read_len", "mark_read", "mark_read_max_len"], false, false, "longest chain of read marks";
    Size, "Program size", ["prog_size", "size"], false, false, "insns of the program as loaded";
    JitedSize, "Jited size", ["prog_size_jited", "jited_size"], false, false, "bytes of machine code that skep makes of it; 0 if none";
    Stack, "Stack depth", ["stack_depth", "stack"], false, false, "bytes of stack, all subprograms summed";
    ProgType, "Program type", ["prog_type"], false, false, "program type, as libbpf names it";
    AttachType, "Attach type", ["attach_type"], false, false, "expected attach type, as libbpf names it";
    MemoryPeak, "Peak memory (MiB)", ["mem_peak"], false, false, "peak memory of the verifier, in MiB";
    MemPeakBytes, "Peak bytes", ["mem_peak_bytes"], false, false, "peak bytes allocated, the sum of the parts below";
    MemFrames, "Frames", ["mem_frames"], false, false, "... for registers and saved frames";
    MemStack, "Stack slots", ["mem_stack"], false, false, "... for stack slots";
    MemCheckpoints, "Checkpoints", ["mem_checkpoints"], false, false, "... for checkpoints and pending branches";
    MemHistory, "Jump history", ["mem_history"], false, false, "... for jump history";
    MemIdmap, "Id maps", ["mem_idmap"], false, false, "... for id maps";
    MemTransfers, "Transfers", ["mem_transfers"], false, false, "... for memoised results of operations";
    MemInsns, "Insn tables", ["mem_insns"], false, false, "... for per-insn tables";
    MemLog, "Log", ["mem_log"], false, false, "... for the log";
    MemFinalBytes, "Final bytes", ["mem_final"], false, false, "bytes in use when verification ended";
    Kernel, "Kernel", ["kernel"], true, false, "kernel that the result is for, with --kernel";
    KernelSource, "Kernel source", ["kernel_source"], true, false, "how that kernel is known: asked, table or file";
}

impl Stat {
    /// How many there are.
    pub const COUNT: usize = STATS.len();

    /// Default columns of the table.
    pub const TABLE_DEFAULT: &[Stat] = &[
        Stat::FileName,
        Stat::ProgName,
        Stat::Verdict,
        Stat::Duration,
        Stat::TotalInsns,
        Stat::TotalStates,
        Stat::Size,
        Stat::JitedSize,
    ];

    /// Default columns of the CSV file.
    pub const CSV_DEFAULT: &[Stat] = &[
        Stat::FileName,
        Stat::ProgName,
        Stat::Verdict,
        Stat::Duration,
        Stat::TotalInsns,
        Stat::TotalStates,
        Stat::PeakStates,
        Stat::MaxStatesPerInsn,
        Stat::MarkReadMaxLen,
        Stat::Size,
        Stat::JitedSize,
        Stat::ProgType,
        Stat::AttachType,
        Stat::Stack,
        Stat::MemoryPeak,
    ];

    /// This statistic's row in [`STATS`].
    pub fn def(self) -> &'static StatDef {
        &STATS[self as usize]
    }

    /// The statistic that `name` names, in any case.
    pub fn by_name(name: &str) -> Option<Stat> {
        let hit = |def: &&StatDef| def.names.iter().any(|n| n.eq_ignore_ascii_case(name));
        STATS.iter().find(hit).map(|def| def.stat)
    }

    /// File and program name: the key for joining two result files.
    pub fn is_key(self) -> bool {
        matches!(self, Stat::FileName | Stat::ProgName)
    }

    /// Whether its value is text and not a number.
    pub fn is_text(self) -> bool {
        self.is_key()
            || self.is_of_kernel()
            || matches!(self, Stat::Verdict | Stat::ProgType | Stat::AttachType)
    }

    /// Whether it says which kernel a row is for.
    pub fn is_of_kernel(self) -> bool {
        matches!(self, Stat::Kernel | Stat::KernelSource)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_sits_at_its_index_and_names_are_unique() {
        let mut seen = std::collections::HashSet::new();
        for (index, def) in STATS.iter().enumerate() {
            assert_eq!(def.stat as usize, index, "{}", def.header);
            for name in def.names {
                assert!(seen.insert(*name), "{name} names two statistics");
                assert_eq!(Stat::by_name(&name.to_uppercase()), Some(def.stat));
            }
        }
        // Our own statistics come last, and are not in files that veristat may read.
        let shared = Stat::MemoryPeak as usize + 1;
        assert_eq!(Stat::CSV_DEFAULT.len(), shared);
        assert!(Stat::CSV_DEFAULT.iter().all(|stat| (*stat as usize) < shared));
    }
}

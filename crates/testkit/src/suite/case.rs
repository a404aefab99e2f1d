//! `Case`: a program of a suite with its options and transcripts.

use super::options::Options;
use std::ops::Range;

/// One case.
#[derive(Debug, Clone)]
pub struct Case {
    /// The headings above it and its own, joined by ` / `.
    pub name: String,
    /// Line of the `bpf` block in the file, from 1.
    pub line: usize,
    /// Its options, including those inherited from headings above.
    pub options: Options,
    /// The program.
    pub bpf: String,
    /// Its transcripts.
    pub transcripts: Vec<Transcript>,
}

/// A block written by a machine.
#[derive(Debug, Clone)]
pub struct Transcript {
    /// Its kind.
    pub kind: TranscriptKind,
    /// Its text; a line `...` stands for any number of lines.
    pub text: String,
    /// Byte range of its text in the file.
    pub range: Range<usize>,
}

/// What a transcript records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TranscriptKind {
    /// The log at the case's level, without addresses and times.
    Log,
    /// The statistics at its end.
    Stats,
    /// The results of its runs ([`crate::exec`]).
    Run,
}

//! `Case`: a program of a suite with its options and transcripts.

use super::options::Options;
use std::ops::Range;

/// One case.
#[derive(Debug, Clone)]
pub struct Case {
    /// The headings down to it, joined by ` / `.
    pub name: String,
    /// Line of the `bpf` block in the file, from 1.
    pub line: usize,
    /// Its options, those of the headings above included.
    pub options: Options,
    /// The program.
    pub bpf: String,
    /// The transcripts beside it.
    pub transcripts: Vec<Transcript>,
}

/// A block that a machine wrote.
#[derive(Debug, Clone)]
pub struct Transcript {
    /// What of.
    pub kind: TranscriptKind,
    /// Its text; a line `...` stands for any number of lines.
    pub text: String,
    /// Where its text is in the file, bytes.
    pub range: Range<usize>,
}

/// What a transcript records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TranscriptKind {
    /// The log at the case's level, addresses and times set aside.
    Log,
    /// The statistics at its end.
    Stats,
    /// The results of its runs ([`crate::exec`]).
    Run,
}

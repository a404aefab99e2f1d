//! Reads the Markdown suites, runs a case on every engine that can judge it, blesses transcripts, talks to the host kernel.

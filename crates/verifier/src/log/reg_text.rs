//! A register in the log.

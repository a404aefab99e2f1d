//! Rows and records to table, CSV, JSON, SARIF; knows no BPF crate.

#![forbid(unsafe_code)]

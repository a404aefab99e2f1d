//! A program as BPF_PROG_LOAD takes it: relocated insns, subprogs, map references, BTF, line info.

#![forbid(unsafe_code)]

//! The tests of this crate that share a process: one binary, so that they run side by side.

mod btf_random;
mod btf_types;
mod map_create;
mod map_fields;
mod names;

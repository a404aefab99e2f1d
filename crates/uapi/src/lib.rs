//! The kernel's rules as data: program, attach and map types, ctx layouts, helper and kfunc prototypes, limits.

#![forbid(unsafe_code)]

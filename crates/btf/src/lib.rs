//! BTF and BTF.ext: types, layout, printing, line info, CO-RE relocation.

#![forbid(unsafe_code)]

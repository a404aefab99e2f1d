//! ELF object files to Object: programs, maps, BTF, relocations, as libbpf reads them.

#![forbid(unsafe_code)]

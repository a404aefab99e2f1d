//! The compute programs: one row each, with the object file and the source for native code.

/// A compute program of `tests/programs/bench`.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// Its name, also that of its files.
    pub name: &'static str,
    /// Its function.
    pub symbol: &'static str,
    /// The BPF object.
    pub object: &'static [u8],
    /// The C source.
    pub source: &'static str,
}

macro_rules! file {
    ($include:ident, $name:expr, $extension:literal) => {
        $include!(concat!("../../../../tests/programs/bench/", $name, $extension))
    };
}
pub(super) use file;

macro_rules! kind {
    ($name:literal) => {
        kind!($name, $name)
    };
    ($name:literal, $symbol:literal) => {
        $crate::run::Kind {
            name: $name,
            symbol: $symbol,
            object: $crate::run::kinds::file!(include_bytes, $name, ".bpf.o"),
            source: $crate::run::kinds::file!(include_str, $name, ".bpf.c"),
        }
    };
}

pub(super) use kind;

/// The first ones.
pub const KINDS: [Kind; 18] = [
    kind!("empty", "empty"),
    kind!("fib", "fib"),
    kind!("xxh64", "xxh64"),
    kind!("jhash", "jhash"),
    kind!("csum", "csum"),
    kind!("sieve", "sieve"),
    kind!("bsort", "bsort"),
    kind!("memcmp", "memcmp_"),
    kind!("parse", "parse"),
    kind!("switch", "switch_"),
    kind!("bits", "bits"),
    kind!("siphash", "siphash"),
    kind!("divmod", "divmod"),
    kind!("matmul", "matmul"),
    kind!("calls", "calls"),
    kind!("crc32", "crc32"),
    kind!("dfa", "dfa"),
    kind!("sha256", "sha256"),
];

/// Map operations with an equivalent in C, as functions of one source.
pub(super) const MAP_OPERATIONS: [Kind; 6] = {
    const fn operation(symbol: &'static str) -> Kind {
        let source = include_str!("../../../../tests/programs/bench/maps.native.c");
        Kind { name: "maps", symbol, object: &[], source }
    }
    [
        operation("nothing"),
        operation("helper_call"),
        operation("array_lookup"),
        operation("percpu_lookup"),
        operation("hash_lookup"),
        operation("hash_update"),
    ]
};

/// Headers included by the sources, with their paths.
pub(super) const HEADERS: [(&str, &str); 2] = [
    ("bench/bench.h", file!(include_str, "bench", ".h")),
    ("include/skep_bpf.h", include_str!("../../../../tests/programs/include/skep_bpf.h")),
];

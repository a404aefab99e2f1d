//! The inputs that fuzzing kept, through the same bodies as the fuzz targets: no panic.

#[path = "../../../../fuzz/bodies/btf_ext_parse.rs"]
mod btf_ext_parse;
#[path = "../../../../fuzz/bodies/btf_parse.rs"]
mod btf_parse;
#[path = "../../../../fuzz/bodies/replay.rs"]
mod replay;

#[test]
fn btf_parse_corpus() {
    replay::corpus("btf_parse", btf_parse::run);
}

#[test]
fn btf_ext_parse_corpus() {
    replay::corpus("btf_ext_parse", btf_ext_parse::run);
}

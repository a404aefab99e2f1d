//! The inputs that fuzzing kept, through the same bodies as the fuzz targets: no panic.

#[path = "../../../fuzz/bodies/replay.rs"]
mod replay;
#[path = "../../../fuzz/bodies/suite_parse.rs"]
mod suite_parse;

#[test]
fn suite_parse_corpus() {
    replay::corpus("suite_parse", suite_parse::run);
}

//! Runs the bodies of the fuzz targets on the inputs that fuzzing kept: no panic.

#[path = "../../../../fuzz/bodies/replay.rs"]
mod replay;
#[path = "../../../../fuzz/bodies/suite_parse.rs"]
mod suite_parse;

#[test]
fn suite_parse_corpus() {
    replay::corpus("suite_parse", suite_parse::run);
}

//! The inputs that fuzzing kept, through the same bodies as the fuzz targets: no panic.

#[path = "../../../../fuzz/bodies/object_open.rs"]
mod object_open;
#[path = "../../../../fuzz/bodies/replay.rs"]
mod replay;

#[test]
fn object_open_corpus() {
    replay::corpus("object_open", object_open::run);
}

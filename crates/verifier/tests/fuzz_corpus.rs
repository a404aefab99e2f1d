//! Runs the bodies of the fuzz targets on the inputs that fuzzing kept: no panic.

#[path = "../../../fuzz/bodies/replay.rs"]
mod replay;
#[path = "../../../fuzz/bodies/verify_bytecode.rs"]
mod verify_bytecode;

#[test]
fn verify_bytecode_corpus() {
    replay::corpus("verify_bytecode", verify_bytecode::run);
}

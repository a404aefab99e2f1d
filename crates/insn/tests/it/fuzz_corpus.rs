//! The inputs that fuzzing kept, through the same bodies as the fuzz targets: no panic.

#[path = "../../../../fuzz/bodies/asm_parse.rs"]
mod asm_parse;
#[path = "../../../../fuzz/bodies/insn_decode.rs"]
mod insn_decode;
#[path = "../../../../fuzz/bodies/replay.rs"]
mod replay;

#[test]
fn asm_parse_corpus() {
    replay::corpus("asm_parse", asm_parse::run);
}

#[test]
fn insn_decode_corpus() {
    replay::corpus("insn_decode", insn_decode::run);
}

#!/bin/sh
# Rebuilds the object, with a nightly toolchain of Rust, whose BPF backend makes assembly, and llvm-mc.
set -eu
cd "$(dirname "$0")"
out=${1:-.}
rustc +nightly --edition 2021 --target bpfel-unknown-none -O -g -C panic=abort \
    --remap-path-prefix "$PWD=." --crate-type=lib --emit=asm -o "$out/xdp.s" xdp.rs
"${LLVM_MC:-llvm-mc-19}" --triple=bpfel -filetype=obj "$out/xdp.s" -o "$out/xdp.bpf.o"
rm "$out/xdp.s"

#!/bin/sh
# Rebuilds the committed objects. The flags keep every path out of them: same source, same bytes.
set -eu
cd "$(dirname "$0")"
mkdir -p "${1:-.}/bench" "${1:-.}/freplace" "${1:-.}/kfuncs" "${1:-.}/mended" "${1:-.}/globals"
for source in *.bpf.c bench/*.bpf.c freplace/*.bpf.c kfuncs/*.bpf.c mended/*.bpf.c globals/*.bpf.c; do
    "${CLANG:-clang-19}" -g -O2 -target bpf -mcpu=v3 -Wall -Wno-unused-const-variable \
        -ffile-compilation-dir=. -c "$source" -o "${1:-.}/${source%.c}.o"
done

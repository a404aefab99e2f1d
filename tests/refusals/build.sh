#!/bin/sh
# Rebuilds the committed objects: same source, same bytes. `refused` of each file is refused with the
# code that the file is named after, `mended` is accepted. Those of `kernel` need a kernel's BTF.
# Where all of an object is refused, each of the two has a file of its own. `on-RELEASE` hold what
# another kernel refuses, or accepts.
set -eu
cd "$(dirname "$0")"
for source in *.bpf.c */*.bpf.c; do
    mkdir -p "${1:-.}/$(dirname "$source")"
    "${CLANG:-clang-19}" -g -O2 -target bpf -mcpu=v3 -Wall -Wno-unused-const-variable \
        -ffile-compilation-dir=. -I../programs/include -c "$source" -o "${1:-.}/${source%.c}.o"
done

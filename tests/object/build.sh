#!/bin/sh
# Rebuilds the committed objects: same source, same bytes. Big-endian twins go by `.be.o`.
set -eu
cd "$(dirname "$0")"
out=${1:-.}
for source in *.bpf.c; do
    for order in el eb; do
        suffix=.o
        [ $order = el ] || suffix=.be.o
        case "$source $order" in
            externs.* | kinds_of_map* | other_loaders* | *el) ;;
            *) continue ;;
        esac
        "${CLANG:-clang-19}" -g -O2 -target bpf$order -mcpu=v3 -Wall -Wno-unused-const-variable \
            -ffile-compilation-dir=. -I../programs -c "$source" -o "$out/${source%.c}$suffix"
    done
done
"${CLANG:-clang-19}" -g -O2 -target bpf -mcpu=v3 -ffile-compilation-dir=. \
    -c small_kernel.c -o "$out/small_kernel.o"
"${OBJCOPY:-llvm-objcopy-19}" --dump-section ".BTF=$out/small_kernel.btf" "$out/small_kernel.o"
rm "$out/small_kernel.o"

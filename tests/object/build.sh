#!/bin/sh
# Rebuilds the committed objects: same source, same bytes. Big-endian twins go by `.be.o`.
set -eu
cd "$(dirname "$0")"
out=${1:-.}
for source in *.bpf.c; do
    for order in el eb; do
        suffix=.o
        [ $order = el ] || suffix=.be.o
        case "$source $order" in sections*eb | linking*eb | against*eb) continue ;; esac
        "${CLANG:-clang-19}" -g -O2 -target bpf$order -mcpu=v3 -Wall -Wno-unused-const-variable \
            -ffile-compilation-dir=. -I../programs -c "$source" -o "$out/${source%.c}$suffix"
    done
done

#!/bin/sh
# Rebuilds the objects of GCC 16 (`bpf-gcc`). Line info has the path of the folder: `/t/object/gcc`.
set -eu
cd "$(dirname "$0")"
out=${1:-.}
for source in *.bpf.c; do
    "${BPF_GCC:-bpf-gcc}" -gbtf -mco-re -O2 -mcpu=v3 -I../../programs \
        -c "$source" -o "$out/${source%.c}.o"
done

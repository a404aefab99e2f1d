#!/usr/bin/env bash
# boot.sh RELEASE OBJECTS COMMANDS OUT: boots an unpacked Debian kernel package in qemu, without hardware help, runs the
# shell commands of the file COMMANDS in it, and brings back /out of the guest as the folder OUT, OUT/facts among it
# (what the kernel says of itself, for --kernel). OBJECTS becomes /objs of the guest. See README.md.
# Variables: KERNELS (folder of unpacked packages, RELEASE/boot and RELEASE/lib/modules), BIN (programs for the guest's
# /bin, with the libraries that they need), EXTRA_MODS (.ko files loaded last), MEM (MiB), SMP, CPU, NICE, TOTAL (s).
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
ver=$1 tree=$2 cmd=$3 d=$(realpath -m "$4")
K=${KERNELS:-$here/k}/$ver; vmlinuz=$(find "$K/boot" "$K/usr/lib/modules/$ver" -maxdepth 1 -name 'vmlinuz*' 2>/dev/null | head -1 || true)
w=$(mktemp -d); trap 'rm -rf "$w"' EXIT
r=$w/root; mkdir -p "$r"/{bin,lib64,mods}
cp /bin/busybox "$r/bin/"; for b in ${BIN:-}; do cp $b "$r/bin/"; ldd "$b" | awk '$3 ~ /^\//{print $3} $1 ~ /^\//{print $1}' | xargs -I{} cp -L {} "$r/lib64/"; done
mkdir -p "$r/lib"; ln -s ../lib64 "$r/lib/x86_64-linux-gnu"
: > "$r/mods/order"
M=; for f in "$K"{/usr,}/lib/modules/"$ver"; do if [ -d "$f" ]; then M=$f; fi; done
mr=$w/mr; mkdir -p "$mr/lib/modules"; ln -s "$M" "$mr/lib/modules/$ver"
[ -s "$M/modules.dep.bin" ] || depmod -b "$mr" "$ver" 2>/dev/null
for m in virtio_pci virtio_console ipv6 nf_conntrack nf_nat nf_flow_table nf_tables xfrm_interface xfrm_user tcp_bbr tcp_dctcp veth fuse bpf_crypto_skcipher hid ${WANT_MODS:-}; do
  modprobe -d "$mr" -S "$ver" --show-depends "$m" 2>/dev/null | awk '/^insmod/{print $2}' || true
done | awk '!s[$0]++' | while read -r f; do
  cp "$f" "$r/mods/"; b=$(basename "$f")
  case $b in *.xz) xz -d "$r/mods/$b"; b=${b%.xz};; *.zst) zstd -q -d --rm "$r/mods/$b"; b=${b%.zst};; esac
  echo "$b" >> "$r/mods/order"
done
for f in ${EXTRA_MODS:-}; do cp "$f" "$r/mods/"; basename "$f" >> "$r/mods/order"; done
mkdir -p "$r/boot"; cp "$K"/boot/config-$ver "$r/boot/config-$ver"
cp "$here/guest-init" "$r/init"; chmod +x "$r/init"; cp "$cmd" "$r/cmd"
cp -r "$tree" "$r/objs"
(cd "$r"; find . | cpio -o -H newc --quiet) > "$w/initrd"
mkdir -p "$d"
timeout "${TOTAL:-3600}" setsid nice -n ${NICE:-10} qemu-system-x86_64 -accel tcg,thread=multi,tb-size=256 -cpu "${CPU:-Nehalem}" -M pc -m "${MEM:-3072}" -smp "${SMP:-1}" -display none -monitor none -nodefaults -no-reboot \
  -kernel "$vmlinuz" -initrd "$w/initrd" -append "console=ttyS0 panic=-1 nokaslr mitigations=off quiet loglevel=4 ${APPEND:-}" \
  -serial "file:$d/console" -device virtio-serial-pci,max_ports=4 \
  -chardev "file,id=c1,path=$w/out.tar" -device virtserialport,chardev=c1,nr=1 -chardev "file,id=c2,path=$d/rows" -device virtserialport,chardev=c2,nr=2 </dev/null || echo "qemu: rc $?" >&2
[ -s "$w/out.tar" ] && tar -x -C "$d" -f "$w/out.tar" || true

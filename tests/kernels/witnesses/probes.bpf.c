// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// What probes may change.
#include "../../programs/include/skep_bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define PROBE(section, name, size, at) \
	SEC(section) __attribute__((naked)) int name(void) \
	{ asm volatile("r2 = 0; *(" size " *)(r1 + " at ") = r2; r0 = 0; exit" ::: "memory"); }

PROBE("kprobe", kprobe_register, "u64", "8")
PROBE("kprobe", kprobe_half, "u32", "0")
PROBE("kprobe", kprobe_byte, "u8", "8")
PROBE("kprobe", kprobe_crooked, "u64", "12")
PROBE("kprobe", kprobe_last, "u64", "160")
PROBE("kprobe", kprobe_beyond, "u64", "168")
PROBE("uprobe", uprobe_register, "u64", "8")
PROBE("uprobe", uprobe_half, "u32", "0")
PROBE("kprobe.multi/x", multi_register, "u64", "8")
PROBE("uprobe.multi", uprobe_multi_register, "u64", "8")
PROBE("perf_event", perf_register, "u64", "8")

// A constant.
SEC("uprobe") __attribute__((naked)) int uprobe_constant(void)
{
	asm volatile("*(u64 *)(r1 + 8) = 5; r0 = 0; exit" ::: "memory");
}

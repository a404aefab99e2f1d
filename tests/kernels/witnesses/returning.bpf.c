// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Legacy packet loads beyond the packet end their function: what is precise in the caller, seen from there. Some kernels
// write outside their tables (docs/kernel-findings.md); skep does not load this into the host kernel then.
#include "../../programs/include/skep_bpf.h"

char LICENSE[] SEC("license") = "GPL";

static NOINLINE __attribute__((naked)) int with_ctx(void)
{
	asm volatile("r6 = r1; r0 = *(u32 *)skb[0]; exit" ::: "memory");
}

static NOINLINE __attribute__((naked)) int with_number(void)
{
	asm volatile("r6 = r1; r7 = r1; r0 = *(u32 *)skb[0]; exit" ::: "memory");
}

#define PRECISE(name, function) \
	SEC("socket") __attribute__((naked)) int name(void) \
	{ \
		asm volatile( \
			"r7 = -8;" \
			"call %[f];" \
			"r1 = r10; r1 += r7;" \
			"*(u64 *)(r1 + 0) = 0;" \
			"r0 = 0; exit" ::[f] "i"(function) \
			: "memory"); \
	}
// The function leaves the caller's R7 alone, or writes its own.
PRECISE(precise_over_packet_load, with_ctx)
PRECISE(precise_over_argument, with_number)

// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Which helpers of system call programs sleep: those are refused in an RCU section.
#include "../../programs/include/skep_bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define KFUNC extern __attribute__((section(".ksyms")))

KFUNC void bpf_rcu_read_lock(void);
KFUNC void bpf_rcu_read_unlock(void);

#define IN_SECTION(name, call) \
	SEC("syscall") __attribute__((naked)) int name(void) \
	{ \
		asm volatile( \
			"r1 = 0x61; *(u64 *)(r10 - 8) = r1; *(u64 *)(r10 - 16) = r1;" \
			"call bpf_rcu_read_lock;" call "call bpf_rcu_read_unlock; r0 = 0; exit" \
			::: "memory"); \
	}

IN_SECTION(closes, "r1 = 0; call 168;")
IN_SECTION(finds_type, "r1 = r10; r1 += -8; r2 = 8; r3 = 1; r4 = 0; call 167;")
IN_SECTION(calls_bpf, "r1 = 0; r2 = r10; r2 += -16; r3 = 16; call 166;")
IN_SECTION(finds_symbol, "r1 = r10; r1 += -8; r2 = 8; r3 = 0; r4 = r10; r4 += -16; call 179;")

// The calls are not in the source otherwise.
SEC("syscall") int section(void *ctx)
{
	bpf_rcu_read_lock();
	bpf_rcu_read_unlock();
	return 0;
}

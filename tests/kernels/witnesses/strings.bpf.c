// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Pointers to bytes and to larger numbers among the arguments of traced functions.

#include "../../programs/include/skep_bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define READS(section, name, off)                                    \
	SEC(section) __attribute__((naked)) int name(void)           \
	{                                                            \
		asm volatile("r2 = *(u64 *)(r1 + " #off ");"         \
			     "r0 = 0;"                               \
			     "exit" ::: "memory");                   \
	}

READS("fentry/kern_path", const_string, 0)
READS("fentry/do_sys_openat2", name_of_opened, 8)
READS("fentry/dev_mc_add", const_bytes, 8)
READS("fentry/ip_rt_get_source", bytes, 0)
READS("fentry/inet_proto_csum_replace4", half_word, 0)
READS("fentry/tcp_fastopen_cache_get", half_word_at_second, 8)

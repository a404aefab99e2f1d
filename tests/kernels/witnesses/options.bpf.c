// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Which programs may read and set the options of a socket. Nothing here needs the kernel's BTF.
#include "../../programs/include/skep_bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define OPTION(name, helper) \
	SEC("cgroup/sock_create") __attribute__((naked)) int name(void) \
	{ \
		asm volatile("r2 = 0; *(u64 *)(r10 - 8) = r2; r4 = r10; r4 += -8;" \
			     "r2 = 1; r3 = 36; r5 = 4; call " #helper "; r0 = 1; exit" ::: "memory"); \
	}
OPTION(set_when_created, 49)
OPTION(read_when_created, 57)

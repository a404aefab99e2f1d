// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// What kernels ask of insns, wherever they are.
#include "../../programs/include/skep_bpf.h"

char LICENSE[] SEC("license") = "GPL";

// An exit that names a register, where nothing comes by.
SEC("socket") __attribute__((naked)) int unreached_fields(void)
{
	asm volatile("r0 = 0;"
		     "if r0 == 0 goto 1f;"
		     ".byte 0x95, 0x10, 0, 0, 0, 0, 0, 0;"
		     "1: exit" ::: "memory");
}

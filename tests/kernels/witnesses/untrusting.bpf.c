// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// What a licence that is none of GPL's does not allow.
#include "../../programs/include/skep_bpf.h"

char LICENSE[] SEC("license") = "Apache-2.0";

SEC("tp_btf/task_newtask") __attribute__((naked)) int looks_into_task(void)
{
	asm volatile("r2 = *(u64 *)(r1 + 0); r0 = *(u64 *)(r2 + 0); r0 = 0; exit" ::: "memory");
}

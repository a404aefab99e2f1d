// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// What programs may do with a per-CPU variable of the kernel that is a number.
#include "../../programs/include/skep_bpf.h"

char LICENSE[] SEC("license") = "GPL";

extern const int bpf_prog_active __attribute__((section(".ksyms")));

static void *(*const per_cpu_ptr)(const void *variable, u32 cpu) = (void *)153;
static void *(*const this_cpu_ptr)(const void *variable) = (void *)154;
static long (*const probe_read)(void *to, u32 size, const void *from) = (void *)113;

SEC("raw_tp/sys_enter") int writes_number(void *ctx)
{
	int *number = per_cpu_ptr(&bpf_prog_active, 0);

	if (number)
		*(volatile int *)number = 1;
	return 0;
}

SEC("raw_tp/sys_enter") int writes_own_number(void *ctx)
{
	*(volatile int *)this_cpu_ptr(&bpf_prog_active) = 1;
	return 0;
}

SEC("raw_tp/sys_enter") int writes_beyond_number(void *ctx)
{
	*(volatile u64 *)this_cpu_ptr(&bpf_prog_active) = 1;
	return 0;
}

SEC("raw_tp/sys_enter") int reads_number(void *ctx)
{
	return *(volatile int *)this_cpu_ptr(&bpf_prog_active) != 0;
}

SEC("raw_tp/sys_enter") int reads_beyond_number(void *ctx)
{
	return ((volatile int *)this_cpu_ptr(&bpf_prog_active))[1] != 0;
}

SEC("raw_tp/sys_enter") int reads_into_number(void *ctx)
{
	return probe_read(this_cpu_ptr(&bpf_prog_active), 4, ctx);
}

SEC("raw_tp/sys_enter") int adds_to_number(void *ctx)
{
	__sync_fetch_and_add((int *)this_cpu_ptr(&bpf_prog_active), 1);
	return 0;
}

__attribute__((noinline)) int writes(int *number)
{
	if (number)
		*number = 1;
	return 0;
}

SEC("raw_tp/sys_enter") int function_writes_number(void *ctx)
{
	return writes(this_cpu_ptr(&bpf_prog_active));
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Fields that the kernel's types (small_kernel.c) do not have, or have otherwise. */
#include "include/skep_bpf.h"

#define CORE __attribute__((preserve_access_index))

struct skep_task {
	int pid;
	int gone;
	u64 name;
} CORE;

struct skep_no_such {
	int value;
} CORE;

SEC("raw_tp") int reads_what_is_gone(u64 *ctx)
{
	struct skep_task task;

	if (probe_read_kernel(&task.pid, sizeof(task.pid), &((struct skep_task *)ctx[0])->pid))
		return 0;
	return (int)probe_read_kernel(&task.gone, sizeof(task.gone), &((struct skep_task *)ctx[0])->gone);
}

SEC("raw_tp") int reads_another_type(u64 *ctx)
{
	u64 name;

	return (int)probe_read_kernel(&name, sizeof(name), &((struct skep_task *)ctx[0])->name);
}

SEC("raw_tp") int reads_an_unknown_struct(u64 *ctx)
{
	int value;

	return (int)probe_read_kernel(&value, sizeof(value), &((struct skep_no_such *)ctx[0])->value);
}

SEC("raw_tp") int asks_before(u64 *ctx)
{
	struct skep_task *task = (void *)ctx[0];
	int value = 0;

	if (__builtin_preserve_field_info(task->gone, 2))
		probe_read_kernel(&value, sizeof(value), &task->gone);
	return value;
}

LICENSE_GPL;

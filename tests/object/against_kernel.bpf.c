/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* What is resolved in the BTF of a kernel: struct_ops members by name, attach targets, typed
 * symbols, field offsets. The test makes the kernel's BTF itself; names begin with skep_. */
#include "include/skep_bpf.h"

#define KSYM __attribute__((section(".ksyms")))
#define CORE __attribute__((preserve_access_index))

struct skep_ops {
	int (*second)(int value);
	int (*first)(int value);
	u32 flags;
	int (*not_there)(int value);
};

struct skep_task {
	int pid;
} CORE;

extern int skep_kfunc(struct skep_task *task) KSYM;
extern int skep_kfunc___other_type(int value) KSYM __attribute__((weak));
extern const u64 skep_variable KSYM;

SEC("struct_ops/first")
int the_first(u64 *ctx)
{
	return (int)ctx[0];
}

SEC("struct_ops.s")
int the_second(u64 *ctx)
{
	return (int)ctx[0] + 1;
}

SEC(".struct_ops.link")
struct skep_ops ops = {
	.first = (void *)the_first,
	.second = (void *)the_second,
	.flags = 0x80000001,
};

SEC("fentry/skep_kfunc")
int BPF_enters(u64 *ctx)
{
	struct skep_task *task = (void *)ctx[0];

	if (skep_kfunc___other_type)
		return skep_kfunc___other_type(1);
	return task->pid + skep_kfunc(task) + (int)(u64)&skep_variable;
}

SEC("tp_btf/skep_event")
int traces(u64 *ctx)
{
	return 0;
}

SEC("fexit/skep_no_such_function")
int leaves(u64 *ctx)
{
	return 0;
}

LICENSE_GPL;

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* What lies in memory of user space is no struct of the kernel. */
#include "include/skep_bpf.h"

struct task_struct {
	int pid;
};

/* Without it, BTF only says that there is such a struct. */
struct task_struct *described;

struct value {
	struct task_struct __attribute__((btf_type_tag("uptr"))) *user;
};

struct {
	UINT(type, 29); /* task storage */
	UINT(map_flags, MAP_F_NO_PREALLOC);
	TYPE(key, int);
	TYPE(value, struct value);
} map SEC(".maps");

SEC("socket") int prog(void *ctx)
{
	return 0;
}

LICENSE_GPL;

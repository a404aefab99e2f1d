/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Pointers of the kernel that a map may hold: to a struct that the kernel can release, and to one of the
 * object's own. */
#include "include/skep_bpf.h"

struct task_struct {
	int pid;
};

struct own {
	int number;
};

struct task_struct *task;
struct own *own;

struct value {
	struct task_struct __attribute__((btf_type_tag("kptr"))) *task;
	struct own __attribute__((btf_type_tag("kptr"))) *own;
};

struct {
	UINT(type, MAP_ARRAY);
	UINT(max_entries, 1);
	TYPE(key, int);
	TYPE(value, struct value);
} map SEC(".maps");

SEC("socket") int prog(void *ctx)
{
	return 0;
}

LICENSE_GPL;

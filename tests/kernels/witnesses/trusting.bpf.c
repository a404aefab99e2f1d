// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Kfuncs without a flag that says that their arguments must be trusted.
#include "../../programs/include/skep_bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define RELAXED __attribute__((preserve_access_index))
#define KFUNC extern __attribute__((section(".ksyms")))

struct task_struct {
	struct task_struct *real_parent;
} RELAXED;

KFUNC int bpf_copy_from_user_str(void *dst, u32 dst__sz, const void *from__ign, u64 flags);
KFUNC int bpf_copy_from_user_task_str(void *dst, u32 dst__sz, const void *from__ign,
				      struct task_struct *task, u64 flags);
static struct task_struct *(*const current_task)(void) = (void *)158;

struct {
	UINT(type, MAP_HASH);
	UINT(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, u64);
} values SEC(".maps");

SEC("syscall") int copies(void *ctx)
{
	char to[8];
	bpf_copy_from_user_str(to, sizeof(to), 0, 0);
	return 0;
}

SEC("syscall") int copies_to_null(void *ctx)
{
	bpf_copy_from_user_str(0, 0, 0, 0);
	return 0;
}

SEC("syscall") int copies_to_maybe_null(void *ctx)
{
	u32 key = 0;
	bpf_copy_from_user_str(map_lookup_elem(&values, &key), 8, 0, 0);
	return 0;
}

SEC("syscall") int copies_nothing_to_maybe_null(void *ctx)
{
	u32 key = 0;
	bpf_copy_from_user_str(map_lookup_elem(&values, &key), 0, 0, 0);
	return 0;
}

SEC("syscall") int copies_from_task(void *ctx)
{
	char to[8];
	bpf_copy_from_user_task_str(to, sizeof(to), 0, current_task(), 0);
	return 0;
}

SEC("syscall") int copies_from_null(void *ctx)
{
	char to[8];
	bpf_copy_from_user_task_str(to, sizeof(to), 0, 0, 0);
	return 0;
}

SEC("syscall") int copies_from_parent(void *ctx)
{
	char to[8];
	bpf_copy_from_user_task_str(to, sizeof(to), 0, current_task()->real_parent, 0);
	return 0;
}

// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// A pointer to user memory in the storage of a task.
#include "../../programs/include/skep_bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define TAG(name) __attribute__((btf_type_tag(name)))

static void *(*const task_storage_get)(void *map, void *task, void *value, u64 flags) = (void *)156;
static void *(*const get_current_task_btf)(void) = (void *)158;

struct user { u64 a; } user; // complete in BTF
struct of_user { struct user TAG("uptr") *p; };

struct {
	UINT(type, 29);
	UINT(map_flags, MAP_F_NO_PREALLOC);
	TYPE(key, int);
	TYPE(value, struct of_user);
} users SEC(".maps");

SEC("syscall") int reads_user(void *ctx)
{
	void *task = get_current_task_btf();
	struct of_user *v = task_storage_get(&users, task, 0, 0);
	if (!v || !v->p)
		return 0;
	return v->p->a;
}

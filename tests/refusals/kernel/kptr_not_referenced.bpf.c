/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The pointer in the value is one that nobody owns. */
#include "../../programs/kfuncs/kfuncs.h"

struct task_struct {
	int pid;
	struct task_struct *last_wakee;
	char comm[16];
} __attribute__((preserve_access_index));

KSYM struct task_struct *bpf_task_acquire(struct task_struct *task);
KSYM void bpf_task_release(struct task_struct *task);
KSYM struct task_struct *bpf_task_from_pid(s32 pid);

#define UNTRUSTED __attribute__((btf_type_tag("kptr_untrusted")))

struct stash {
	struct task_struct UNTRUSTED *borrowed;
	struct task_struct KPTR *owned;
};

struct {
	UINT(type, MAP_ARRAY);
	UINT(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, struct stash);
} stashes SEC(".maps");

SEC("tp_btf/task_newtask")
int refused(u64 *ctx)
{
	struct stash *stash;
	void *old;
	u32 key = 0;

	stash = map_lookup_elem(&stashes, &key);
	if (!stash)
		return 0;
	old = kptr_xchg(&stash->borrowed, 0);
	if (old)
		bpf_task_release(old);
	return 0;
}

SEC("tp_btf/task_newtask")
int mended(u64 *ctx)
{
	struct stash *stash;
	void *old;
	u32 key = 0;

	stash = map_lookup_elem(&stashes, &key);
	if (!stash)
		return 0;
	old = kptr_xchg(&stash->owned, 0);
	if (old)
		bpf_task_release(old);
	return 0;
}

LICENSE_GPL;

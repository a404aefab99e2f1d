/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Tasks are gone through outside of a section of RCU. */
#include "../../programs/kfuncs/kfuncs.h"

struct bpf_iter_task {
	u64 opaque[3];
} __attribute__((aligned(8)));
struct task_struct {
	int pid;
} __attribute__((preserve_access_index));

KSYM void bpf_rcu_read_lock(void);
KSYM void bpf_rcu_read_unlock(void);
KSYM int bpf_iter_task_new(struct bpf_iter_task *it, struct task_struct *task__nullable,
			   unsigned int flags);
KSYM struct task_struct *bpf_iter_task_next(struct bpf_iter_task *it);
KSYM void bpf_iter_task_destroy(struct bpf_iter_task *it);

u64 count;

SEC("syscall")
int refused(void *ctx)
{
	struct bpf_iter_task it;

	bpf_iter_task_new(&it, 0, 0);
	while (bpf_iter_task_next(&it))
		count++;
	bpf_iter_task_destroy(&it);
	return 0;
}

SEC("syscall")
int mended(void *ctx)
{
	struct bpf_iter_task it;

	bpf_rcu_read_lock();
	bpf_iter_task_new(&it, 0, 0);
	while (bpf_iter_task_next(&it))
		count++;
	bpf_iter_task_destroy(&it);
	bpf_rcu_read_unlock();
	return 0;
}

LICENSE_GPL;

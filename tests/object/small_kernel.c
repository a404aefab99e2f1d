/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The BTF of a kernel with few types: build.sh keeps only that, as small_kernel.btf. */
struct skep_task {
	unsigned long state;
	int pid;
	struct {
		char name[16];
	};
};

typedef void (*btf_trace_skep_event)(void *, struct skep_task *);

btf_trace_skep_event skep_event;

__attribute__((noinline)) int skep_kfunc(struct skep_task *task)
{
	return task->pid;
}

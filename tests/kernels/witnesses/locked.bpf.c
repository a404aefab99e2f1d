// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// What may be called while a spin lock is held, besides functions of lists and trees.
#include "../../programs/include/skep_bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define KFUNC extern __attribute__((section(".ksyms"), weak))

struct task_struct { int pid; } __attribute__((preserve_access_index));

// Two names of one function: some kernels have the first, others the second.
KFUNC int bpf_stream_vprintk(int stream, const char *format, const void *args, u32 len);
KFUNC int bpf_stream_vprintk_impl(int stream, const char *format, const void *args, u32 len, void *aux);
KFUNC void bpf_task_release(struct task_struct *task);

struct guarded {
	struct bpf_spin_lock lock;
	struct task_struct __attribute__((btf_type_tag("kptr"))) *task;
};
struct {
	UINT(type, MAP_ARRAY);
	UINT(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, struct guarded);
} places SEC(".maps");

static void *(*const kptr_xchg)(void *place, void *object) = (void *)194;

SEC("tc") int exchanged_under_lock(struct __sk_buff *skb)
{
	u32 key = 0;
	struct guarded *it = map_lookup_elem(&places, &key);
	struct task_struct *task;
	if (!it)
		return 0;
	spin_lock(&it->lock);
	task = kptr_xchg(&it->task, 0);
	spin_unlock(&it->lock);
	if (task)
		bpf_task_release(task);
	return 0;
}

static const char format[] = "locked";
static u64 arguments[1];

SEC("tc") int printed_under_lock(struct __sk_buff *skb)
{
	u32 key = 0;
	struct guarded *it = map_lookup_elem(&places, &key);
	if (!it)
		return 0;
	spin_lock(&it->lock);
	if (bpf_stream_vprintk)
		bpf_stream_vprintk(1, format, arguments, 8);
	else if (bpf_stream_vprintk_impl)
		bpf_stream_vprintk_impl(1, format, arguments, 8, 0);
	spin_unlock(&it->lock);
	return 0;
}

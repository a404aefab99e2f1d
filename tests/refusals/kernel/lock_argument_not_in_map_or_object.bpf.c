/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A lock is on the stack. */
#include "../../programs/kfuncs/kfuncs.h"

struct bpf_res_spin_lock {
	u32 val;
} __attribute__((aligned(4)));

KSYM int bpf_res_spin_lock(struct bpf_res_spin_lock *lock);
KSYM void bpf_res_spin_unlock(struct bpf_res_spin_lock *lock);

struct value {
	struct bpf_res_spin_lock lock;
	u32 count;
};

struct {
	UINT(type, MAP_ARRAY);
	UINT(max_entries, 2);
	TYPE(key, u32);
	TYPE(value, struct value);
} values SEC(".maps");

SEC("tc")
int refused(struct __sk_buff *ctx)
{
	struct bpf_res_spin_lock here = {};

	if (bpf_res_spin_lock(&here))
		return 0;
	bpf_res_spin_unlock(&here);
	return 0;
}

SEC("tc")
int mended(struct __sk_buff *ctx)
{
	u32 key = 0;
	struct value *value = map_lookup_elem(&values, &key);

	if (!value || bpf_res_spin_lock(&value->lock))
		return 0;
	value->count++;
	bpf_res_spin_unlock(&value->lock);
	return 0;
}

LICENSE_GPL;

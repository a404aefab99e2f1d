/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A function that may sleep is called in a section of RCU. */
#include "../../programs/kfuncs/kfuncs.h"

struct bpf_key {
	int opaque;
};

KSYM void bpf_rcu_read_lock(void);
KSYM void bpf_rcu_read_unlock(void);
KSYM struct bpf_key *bpf_lookup_user_key(s32 serial, u64 flags);
KSYM void bpf_key_put(struct bpf_key *key);

SEC("lsm.s/bpf")
int refused(u64 *ctx)
{
	struct bpf_key *key;

	bpf_rcu_read_lock();
	key = bpf_lookup_user_key(1, 0);
	bpf_rcu_read_unlock();
	if (key)
		bpf_key_put(key);
	return 0;
}

SEC("lsm.s/bpf")
int mended(u64 *ctx)
{
	struct bpf_key *key = bpf_lookup_user_key(1, 0);

	if (key)
		bpf_key_put(key);
	return 0;
}

LICENSE_GPL;

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A section ends that nobody began. */
#include "../../programs/kfuncs/kfuncs.h"

KSYM void bpf_rcu_read_lock(void);
KSYM void bpf_rcu_read_unlock(void);

SEC("tc")
int refused(struct __sk_buff *ctx)
{
	bpf_rcu_read_unlock();
	return 0;
}

SEC("tc")
int mended(struct __sk_buff *ctx)
{
	bpf_rcu_read_lock();
	bpf_rcu_read_unlock();
	return 0;
}

LICENSE_GPL;

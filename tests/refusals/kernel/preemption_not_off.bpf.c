/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Preemption is switched on that was not off. */
#include "../../programs/kfuncs/kfuncs.h"

KSYM void bpf_preempt_disable(void);
KSYM void bpf_preempt_enable(void);

SEC("tc")
int refused(struct __sk_buff *ctx)
{
	bpf_preempt_enable();
	return 0;
}

SEC("tc")
int mended(struct __sk_buff *ctx)
{
	bpf_preempt_disable();
	bpf_preempt_enable();
	return 0;
}

LICENSE_GPL;

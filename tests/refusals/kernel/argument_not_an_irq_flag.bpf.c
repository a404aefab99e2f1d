/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The flags are not on the stack. */
#include "../../programs/kfuncs/kfuncs.h"

KSYM void bpf_local_irq_save(unsigned long *flags);
KSYM void bpf_local_irq_restore(unsigned long *flags);

unsigned long flags;

SEC("tc")
int refused(struct __sk_buff *ctx)
{
	bpf_local_irq_save(&flags);
	return 0;
}

SEC("tc")
int mended(struct __sk_buff *ctx)
{
	unsigned long here;

	bpf_local_irq_save(&here);
	bpf_local_irq_restore(&here);
	return 0;
}

LICENSE_GPL;

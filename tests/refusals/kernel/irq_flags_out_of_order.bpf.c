/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Interrupts are restored in the order in which they were switched off. */
#include "../../programs/kfuncs/kfuncs.h"

KSYM void bpf_local_irq_save(unsigned long *flags);
KSYM void bpf_local_irq_restore(unsigned long *flags);

SEC("tc")
int refused(struct __sk_buff *ctx)
{
	unsigned long first, second;

	bpf_local_irq_save(&first);
	bpf_local_irq_save(&second);
	bpf_local_irq_restore(&first);
	bpf_local_irq_restore(&second);
	return 0;
}

SEC("tc")
int mended(struct __sk_buff *ctx)
{
	unsigned long first, second;

	bpf_local_irq_save(&first);
	bpf_local_irq_save(&second);
	bpf_local_irq_restore(&second);
	bpf_local_irq_restore(&first);
	return 0;
}

LICENSE_GPL;

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A string of the configuration may have 16 MB, most of which is never written. */
#include "include/skep_bpf.h"

extern char CONFIG_LOCALVERSION[1 << 24] __attribute__((section(".kconfig")));

SEC("tc") int prog(struct __sk_buff *skb)
{
	return CONFIG_LOCALVERSION[1];
}

LICENSE_GPL;

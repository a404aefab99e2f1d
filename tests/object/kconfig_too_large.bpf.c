/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Together, the strings are larger than the value of a map. */
#include "include/skep_bpf.h"

extern char CONFIG_LOCALVERSION[1 << 30] __attribute__((section(".kconfig")));
extern char CONFIG_CC_VERSION_TEXT[1 << 30] __attribute__((section(".kconfig")));

SEC("tc") int prog(struct __sk_buff *skb)
{
	return CONFIG_LOCALVERSION[1] + CONFIG_CC_VERSION_TEXT[1];
}

LICENSE_GPL;

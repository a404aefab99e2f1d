/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* An option that is too large for a signed char (or absent, and then 0). */
#include "include/skep_bpf.h"

#define KCONFIG __attribute__((section(".kconfig")))
#define WEAK __attribute__((weak))

enum libbpf_tristate { TRI_NO, TRI_YES, TRI_MODULE };

extern char CONFIG_HZ KCONFIG WEAK;

SEC("tc") int reads(struct __sk_buff *skb)
{
	return *(volatile char *)&CONFIG_HZ;
}

LICENSE_GPL;

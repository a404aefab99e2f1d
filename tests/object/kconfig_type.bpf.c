/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A type that no option has. */
#include "include/skep_bpf.h"

#define KCONFIG __attribute__((section(".kconfig")))
#define WEAK __attribute__((weak))

enum libbpf_tristate { TRI_NO, TRI_YES, TRI_MODULE };

extern float CONFIG_SKEP_FLOAT KCONFIG WEAK;

SEC("tc") int reads(struct __sk_buff *skb)
{
	return *(volatile char *)&CONFIG_SKEP_FLOAT;
}

LICENSE_GPL;

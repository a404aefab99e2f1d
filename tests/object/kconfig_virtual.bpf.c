/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Neither an option nor an extern that libbpf defines. */
#include "include/skep_bpf.h"

#define KCONFIG __attribute__((section(".kconfig")))
#define WEAK __attribute__((weak))

enum libbpf_tristate { TRI_NO, TRI_YES, TRI_MODULE };

extern int SKEP_VIRTUAL KCONFIG WEAK;

SEC("tc") int reads(struct __sk_buff *skb)
{
	return *(volatile char *)&SKEP_VIRTUAL;
}

LICENSE_GPL;

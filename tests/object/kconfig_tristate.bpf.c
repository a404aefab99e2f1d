/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Absent externs of libbpf's own are 0, which no tristate can be. */
#include "include/skep_bpf.h"

#define KCONFIG __attribute__((section(".kconfig")))
#define WEAK __attribute__((weak))

enum libbpf_tristate { TRI_NO, TRI_YES, TRI_MODULE };

extern enum libbpf_tristate LINUX_SKEP KCONFIG WEAK;

SEC("tc") int reads(struct __sk_buff *skb)
{
	return *(volatile char *)&LINUX_SKEP;
}

LICENSE_GPL;

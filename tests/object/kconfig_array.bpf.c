/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* An array of the configuration holds characters: libbpf supports no other. */
#include "include/skep_bpf.h"

extern _Bool CONFIG_BPF[2] __attribute__((section(".kconfig")));

SEC("tc") int prog(struct __sk_buff *skb)
{
	return CONFIG_BPF[0];
}

LICENSE_GPL;

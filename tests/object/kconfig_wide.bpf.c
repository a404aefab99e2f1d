/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A number of the configuration has at most 8 bytes: libbpf supports no other. */
#include "include/skep_bpf.h"

extern unsigned __int128 CONFIG_HZ __attribute__((section(".kconfig")));

SEC("tc") int prog(struct __sk_buff *skb)
{
	return (int)CONFIG_HZ;
}

LICENSE_GPL;

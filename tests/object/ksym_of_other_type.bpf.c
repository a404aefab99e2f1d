/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A variable of the kernel has the type that the object says, also if it may be absent. */
#include "include/skep_bpf.h"

extern const u64 runqueues __attribute__((section(".ksyms"), weak));

SEC("tc") int prog(struct __sk_buff *skb)
{
	return &runqueues != 0;
}

LICENSE_GPL;

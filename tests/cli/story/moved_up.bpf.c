/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Refused: a kernel symbol does not exist, and its address is loaded before the line that uses it.
 * Built with the flags of tests/programs/build.sh. */
#include "../../programs/include/skep_bpf.h"

#define KSYM __attribute__((section(".ksyms")))

extern const void skep_absent KSYM;

volatile u64 addresses[64];
u64 found;

SEC("tc")
int entry(struct __sk_buff *skb)
{
	u32 i;

#pragma clang loop unroll(disable)
	for (i = 0; i < 64; i++) {
		if (addresses[i] == (u64)(long)&skep_absent)
			found = i;
	}
	return 0;
}

LICENSE_GPL;

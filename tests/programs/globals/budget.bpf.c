/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* What a program costs, and whether it is accepted, depends on its global variables: for `skep globals`
 * and sweeps. */
#include "../include/skep_bpf.h"

enum mode { QUIET, LOUD };

const volatile u32 rounds = 4;
const volatile enum mode mode = QUIET;
const volatile char name[16] = "eth0";
const volatile s16 offset = -2;
u64 seen[8] = {1, 2};
u64 total;

SEC("tc")
int budget(struct __sk_buff *skb)
{
	u8 letters[16] = {};

	for (u32 i = 0; i < rounds; i++) {
		if (skb->mark & (1u << (i & 31)))
			letters[i & 15] = i;
	}
	if (mode == LOUD)
		letters[rounds + 8 + offset] = 1;
	seen[skb->priority & 7] += letters[skb->hash & 15] + name[0];
	total++;
	return 0;
}

LICENSE_GPL;

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Bounded loops: a constant bound, a bound known only as a range, and bpf_loop with a callback. */
#include "include/packet.h"

u32 table[64];

SEC("tc")
int loop_constant(struct __sk_buff *skb)
{
	u32 sum = skb->len;

#pragma clang loop unroll(disable)
	for (u32 i = 0; i < 64; i++)
		sum = sum * 31 + table[i];
	return sum & 1 ? TC_ACT_SHOT : TC_ACT_OK;
}

SEC("tc")
int loop_range(struct __sk_buff *skb)
{
	u8 *data = (void *)(long)skb->data;
	u8 *end = (void *)(long)skb->data_end;
	u32 bound = skb->priority & 15, sum = 0;

#pragma clang loop unroll(disable)
	for (u32 i = 0; i < bound; i++) {
		if (data + i + 1 > end)
			break;
		sum += data[i];
	}
	return sum > 255 ? TC_ACT_SHOT : TC_ACT_OK;
}

static long mix(u32 index, u32 *sum)
{
	*sum = *sum * 33 + table[index & 63];
	return *sum == 0;
}

SEC("tc")
int loop_callback(struct __sk_buff *skb)
{
	u32 sum = skb->hash;

	loop(1000, mix, &sum, 0);
	return sum & 1 ? TC_ACT_SHOT : TC_ACT_OK;
}

LICENSE_GPL;

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* What the examples run: a filter with a list that the host fills, and a program that takes long.
 * clang-19 -g -O2 -target bpf -mcpu=v3 -ffile-compilation-dir=. -c filter.bpf.c -o filter.bpf.o */
#include "../../../../tests/programs/include/packet.h"

/* Set by the host before the program is verified. */
const volatile u16 blocked_port = 0;

/* Source addresses in network order, and how many packets of each were dropped. */
struct {
	UINT(type, MAP_HASH);
	UINT(max_entries, 1024);
	TYPE(key, u32);
	TYPE(value, u64);
} blocked SEC(".maps");

SEC("xdp")
int filter(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data;
	void *end = (void *)(long)ctx->data_end;
	struct eth_hdr *eth = data;
	struct ipv4_hdr *ip = (void *)(eth + 1);
	u16 *ports = (void *)(ip + 1);
	u64 *dropped;
	u32 source;

	if ((void *)(eth + 1) > end)
		return XDP_DROP;
	if (eth->type != be16(ETHERTYPE_IPV4))
		return XDP_PASS;
	if ((void *)(ip + 1) > end)
		return XDP_DROP;
	source = ip->src;
	dropped = map_lookup_elem(&blocked, &source);
	if (dropped) {
		__sync_fetch_and_add(dropped, 1);
		return XDP_DROP;
	}
	if (ip->proto == 17 && (void *)(ports + 2) <= end && ports[1] == be16(blocked_port))
		return XDP_DROP;
	return XDP_PASS;
}

static long step(u32 index, u64 *sum)
{
	*sum = *sum * 33 + index;
	return 0;
}

SEC("tc")
int plugin(struct __sk_buff *skb)
{
	u64 sum = skb->len;

	loop(1 << 22, step, &sum, 0);
	return sum & 1;
}

LICENSE_GPL;

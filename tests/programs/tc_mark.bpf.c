/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* tc: direct packet access, a packet copy through a helper, a rewrite that invalidates packet
 * pointers, and a tail call. */
#include "include/packet.h"

struct {
	UINT(type, MAP_PROG_ARRAY);
	UINT(max_entries, 4);
	UINT(key_size, 4);
	UINT(value_size, 4);
} jump_table SEC(".maps");

SEC("tc")
int tc_mark(struct __sk_buff *skb)
{
	void *data = (void *)(long)skb->data;
	void *end = (void *)(long)skb->data_end;
	struct eth_hdr *eth = data;
	struct ipv4_hdr *ip = (void *)(eth + 1);

	if ((void *)(ip + 1) > end)
		return TC_ACT_OK;
	if (eth->type != be16(ETHERTYPE_IPV4))
		return TC_ACT_OK;
	skb->mark = ip->tos >> 2;
	if (ip->ttl <= 1)
		return TC_ACT_SHOT;
	skb->cb[0] = ip->proto;
	tail_call(skb, &jump_table, ip->proto & 3);
	return TC_ACT_OK;
}

SEC("tc")
int tc_rewrite(struct __sk_buff *skb)
{
	struct eth_hdr eth;
	void *data, *end;

	if (skb_load_bytes(skb, 0, &eth, sizeof(eth)))
		return TC_ACT_OK;
	eth.src[0] |= 2;
	if (skb_store_bytes(skb, 0, &eth, sizeof(eth), 0))
		return TC_ACT_SHOT;
	/* The packet may have moved: pointers are taken again. */
	data = (void *)(long)skb->data;
	end = (void *)(long)skb->data_end;
	if (data + 1 > end)
		return TC_ACT_SHOT;
	return *(u8 *)data & 1 ? TC_ACT_SHOT : TC_ACT_OK;
}

LICENSE_GPL;

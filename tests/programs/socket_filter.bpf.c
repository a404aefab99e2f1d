/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Socket filter: legacy packet loads (which cannot fail in the program's eyes) and a hash. */
#include "include/packet.h"

u64 load_byte(void *skb, u64 off) asm("llvm.bpf.load.byte");
u64 load_half(void *skb, u64 off) asm("llvm.bpf.load.half");
u64 load_word(void *skb, u64 off) asm("llvm.bpf.load.word");

struct flow {
	u32 src;
	u32 dst;
};

struct {
	UINT(type, MAP_LRU_HASH);
	UINT(max_entries, 512);
	TYPE(key, struct flow);
	TYPE(value, u64);
} flows SEC(".maps");

SEC("socket")
int socket_flows(struct __sk_buff *skb)
{
	struct flow flow;
	u64 one = 1, *bytes;

	if (load_half(skb, 12) != ETHERTYPE_IPV4)
		return 0;
	if (load_byte(skb, 14 + 9) != PROTO_TCP)
		return 0;
	flow.src = load_word(skb, 14 + 12);
	flow.dst = load_word(skb, 14 + 16);
	bytes = map_lookup_elem(&flows, &flow);
	if (bytes)
		__sync_fetch_and_add(bytes, skb->len);
	else
		map_update_elem(&flows, &flow, &one, MAP_NOEXIST);
	return skb->len;
}

LICENSE_GPL;

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Refused: a pointer was kept in 32 bits. Built with the flags of tests/programs/build.sh. */
#include "../../programs/include/packet.h"

struct {
	UINT(type, MAP_ARRAY);
	UINT(max_entries, 4);
	TYPE(key, u32);
	TYPE(value, u32);
} kept SEC(".maps");

/* Macros and inlined functions have parameters of other types. */
INLINE u32 copied(u32 value)
{
	asm volatile("" : "+r"(value));
	return value;
}

SEC("xdp")
int first_byte(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;

	if (data + 1 > end)
		return XDP_PASS;
	u32 first = copied((u32)(long)data);

	return *(u8 *)(long)first;
}

SEC("xdp")
int key(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;

	if (data + sizeof(u32) > end)
		return XDP_PASS;
	u32 first = copied((u32)(long)data);

	return map_lookup_elem(&kept, (void *)(long)first) ? XDP_PASS : XDP_DROP;
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The address of a member is computed before the pointer is compared with NULL. */
#include "packet.h"

struct row {
	u64 sums[4];
};

struct {
	UINT(type, MAP_HASH);
	UINT(max_entries, 8);
	TYPE(key, u32);
	TYPE(value, struct row);
} rows SEC(".maps");

SEC("xdp")
int refused(struct xdp_md *ctx)
{
	u32 key = 0;
	struct row *row = map_lookup_elem(&rows, &key);
	u64 *sum = &row->sums[ctx->rx_queue_index & 3];

	asm volatile("" : "+r"(sum));
	if (!row)
		return XDP_PASS;
	*sum += 1;
	return XDP_PASS;
}

SEC("xdp")
int mended(struct xdp_md *ctx)
{
	u32 key = 0;
	struct row *row = map_lookup_elem(&rows, &key);
	if (!row)
		return XDP_PASS;

	u64 *sum = &row->sums[ctx->rx_queue_index & 3];

	*sum += 1;
	return XDP_PASS;
}

LICENSE_GPL;

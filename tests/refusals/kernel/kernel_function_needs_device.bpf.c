/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Only programs of one device may ask for what it knows of a packet. */
#include "../../programs/kfuncs/kfuncs.h"

KSYM int bpf_xdp_metadata_rx_timestamp(const struct xdp_md *ctx, u64 *timestamp);

SEC("xdp")
int refused(struct xdp_md *ctx)
{
	u64 time;

	return bpf_xdp_metadata_rx_timestamp(ctx, &time) ? 1 : 2;
}

SEC("xdp")
int mended(struct xdp_md *ctx)
{
	return ktime_get_ns() ? 1 : 2;
}

LICENSE_GPL;

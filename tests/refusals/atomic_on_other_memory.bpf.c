/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* An atomic addition to a field of the context. */
#include "packet.h"

SEC("tc")
int refused(struct __sk_buff *ctx)
{
	__sync_fetch_and_add(&ctx->mark, 1);
	return TC_ACT_OK;
}

SEC("tc")
int mended(struct __sk_buff *ctx)
{
	ctx->mark += 1;
	return TC_ACT_OK;
}

LICENSE_GPL;

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A socket filter sees no pointers into the packet. */
#include "packet.h"

SEC("socket")
int refused(struct __sk_buff *ctx)
{
	return ctx->data == ctx->data_end;
}

SEC("tc")
int mended(struct __sk_buff *ctx)
{
	return ctx->data == ctx->data_end;
}

LICENSE_GPL;

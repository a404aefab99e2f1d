/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A field of the context is chosen by an index. */
#include "packet.h"

SEC("tc")
int refused(struct __sk_buff *ctx)
{
	return ctx->cb[ctx->queue_mapping & 3];
}

SEC("tc")
int mended(struct __sk_buff *ctx)
{
	u32 words[4] = { ctx->cb[0], ctx->cb[1], ctx->cb[2], ctx->cb[3] };

	return *(volatile u32 *)&words[ctx->queue_mapping & 3];
}

LICENSE_GPL;

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The kernel has no such field. */
#include "../../programs/kfuncs/kfuncs.h"

struct sk_buff {
	u32 no_such_field;
} __attribute__((preserve_access_index));

SEC("tc")
int refused(struct __sk_buff *ctx)
{
	return ((struct sk_buff *)ctx)->no_such_field;
}

SEC("tc")
int mended(struct __sk_buff *ctx)
{
	return ctx->len;
}

LICENSE_GPL;

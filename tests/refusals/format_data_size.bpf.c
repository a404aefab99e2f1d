/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The values for a text have a size that is no multiple of eight. */
#include "packet.h"

static long (*const snprintf)(char *out, u32 size, const char *fmt, const void *data,
			      u32 data_len) = (void *)165;
static const char format[] = "%d %d";

SEC("tc")
int refused(struct __sk_buff *ctx)
{
	u64 values[2] = {ctx->len, ctx->mark};
	char text[16];

	snprintf(text, sizeof(text), format, values, 12);
	return text[0];
}

SEC("tc")
int mended(struct __sk_buff *ctx)
{
	u64 values[2] = {ctx->len, ctx->mark};
	char text[16];

	snprintf(text, sizeof(text), format, values, 16);
	return text[0];
}

LICENSE_GPL;

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The format has a conversion that does not exist. */
#include "packet.h"

static long (*const snprintf)(char *out, u32 size, const char *fmt, const void *data,
			      u32 data_len) = (void *)165;
static const char wrong[] = "%q";
static const char right[] = "%u";

SEC("tc")
int refused(struct __sk_buff *ctx)
{
	u64 values[1] = {ctx->len};
	char text[16];

	snprintf(text, sizeof(text), wrong, values, 8);
	return text[0];
}

SEC("tc")
int mended(struct __sk_buff *ctx)
{
	u64 values[1] = {ctx->len};
	char text[16];

	snprintf(text, sizeof(text), right, values, 8);
	return text[0];
}

LICENSE_GPL;

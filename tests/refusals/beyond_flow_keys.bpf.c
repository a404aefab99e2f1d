/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A field is read behind the keys. */
#include "packet.h"

struct flow_keys {
	u32 words[16];
};

/* Of the context only what is used. */
struct with_keys {
	u32 words[36];
	struct flow_keys *flow_keys;
};

SEC("flow_dissector")
int refused(struct with_keys *ctx)
{
	struct flow_keys *keys = ctx->flow_keys;

	return keys->words[14] ? 0 : 1;
}

SEC("flow_dissector")
int mended(struct with_keys *ctx)
{
	struct flow_keys *keys = ctx->flow_keys;

	return keys->words[2] ? 0 : 1;
}

LICENSE_GPL;

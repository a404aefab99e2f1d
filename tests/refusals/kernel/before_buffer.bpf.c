/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The value of an element is read from before its beginning. */
#include "../../programs/kfuncs/kfuncs.h"

/* What the iterator of elements gets. */
struct element {
	void *meta;
	void *map;
	void *key;
	void *value;
};

SEC("iter/bpf_map_elem")
int refused(struct element *ctx)
{
	u32 *value = ctx->value;

	return value && value[-1] == 7;
}

SEC("iter/bpf_map_elem")
int mended(struct element *ctx)
{
	u32 *value = ctx->value;

	return value && value[0] == 7;
}

LICENSE_GPL;

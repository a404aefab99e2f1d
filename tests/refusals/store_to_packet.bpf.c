/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A program that only sees packets writes to one. */
#include "packet.h"

SEC("cgroup_skb/ingress")
int refused(struct __sk_buff *ctx)
{
	u8 *data = (void *)(long)ctx->data;
	u8 *end = (void *)(long)ctx->data_end;

	if (data + 1 > end)
		return 0;
	data[0] = 1;
	return 1;
}

SEC("tc")
int mended(struct __sk_buff *ctx)
{
	u8 *data = (void *)(long)ctx->data;
	u8 *end = (void *)(long)ctx->data_end;

	if (data + 1 > end)
		return 0;
	data[0] = 1;
	return 1;
}

LICENSE_GPL;

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The program returns a number that has no meaning there. */
#include "packet.h"

SEC("cgroup_skb/ingress")
int refused(struct __sk_buff *ctx)
{
	return ctx->mark;
}

SEC("cgroup_skb/ingress")
int mended(struct __sk_buff *ctx)
{
	return ctx->mark != 0;
}

LICENSE_GPL;

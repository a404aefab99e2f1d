/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The context of a packet is declared as that of XDP, in a program of traffic control. */
#include "packet.h"

#define ARG_CTX __attribute__((btf_decl_tag("arg:ctx")))

NOINLINE int length(struct xdp_md *ctx ARG_CTX)
{
	return ctx->data;
}

NOINLINE int length_of_skb(struct __sk_buff *skb ARG_CTX)
{
	return skb->len;
}

SEC("tc")
int refused(struct __sk_buff *skb)
{
	return length((void *)skb);
}

SEC("tc")
int mended(struct __sk_buff *skb)
{
	return length_of_skb(skb);
}

LICENSE_GPL;

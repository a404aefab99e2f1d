/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* What the loader appends to a program, and in which order: static functions where they are first
 * called, depth first; functions whose address is taken; a hidden function is static for the
 * verifier, a weak one global. Several programs share a section. */
#include "include/skep_bpf.h"

static NOINLINE int leaf(int value)
{
	return value * 3 + (int)get_prandom_u32();
}

static NOINLINE int branch(int value)
{
	return leaf(value) + leaf(value + 1);
}

__attribute__((visibility("hidden"))) NOINLINE int hidden(int value)
{
	return value * 5 + (int)get_prandom_u32();
}

__attribute__((weak)) int weak_one(int value)
{
	return value - 7 + (int)get_prandom_u32();
}

static long each(u32 index, void *ctx)
{
	*(int *)ctx += branch((int)index);
	return 0;
}

SEC("tc")
int calls_in_order(struct __sk_buff *skb)
{
	return weak_one((int)skb->len) + branch((int)skb->mark) + hidden(3) + leaf(1);
}

SEC("tc")
int takes_an_address(struct __sk_buff *skb)
{
	int sum = 0;

	loop(4, each, &sum, 0);
	return sum;
}

SEC("?tc")
int stays_out(struct __sk_buff *skb)
{
	return hidden((int)skb->len);
}

LICENSE_GPL;

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* bpf-to-bpf calls: static subprograms (walked at each call) two deep, which share the caller's
 * stack by pointer, and a global function (verified once, by its BTF prototype). */
#include "include/skep_bpf.h"

struct window {
	u32 first;
	u32 last;
};

static NOINLINE u32 clamp(u32 value, struct window *window)
{
	if (value < window->first)
		return window->first;
	if (value > window->last)
		return window->last;
	return value;
}

static NOINLINE u32 widen(struct window *window, u32 by)
{
	window->first -= by & 7;
	window->last += by & 7;
	return clamp(by, window);
}

NOINLINE u32 scaled(u32 value, u32 by)
{
	if (by == 0)
		return 0;
	return value / by;
}

NOINLINE int length_of(struct __sk_buff *skb)
{
	return skb->len;
}

SEC("tc")
int calls(struct __sk_buff *skb)
{
	struct window window = {.first = 64, .last = 1500};
	u32 wide = widen(&window, skb->hash);
	u32 len = clamp(length_of(skb), &window);

	if (window.first > 128)
		return TC_ACT_SHOT;
	return scaled(len, wide) > 3 ? TC_ACT_SHOT : TC_ACT_OK;
}

LICENSE_GPL;

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Refused: calls of global functions whose parameters are not what is passed. Built with the flags
 * of tests/programs/build.sh. */
#include "../../programs/include/packet.h"

#define NONNULL __attribute__((btf_decl_tag("arg:nonnull")))
#define CONTEXT __attribute__((btf_decl_tag("arg:ctx")))

NOINLINE int of_number(u32 value NONNULL)
{
	return value & 1;
}

NOINLINE int of_other_context(struct xdp_md *ctx CONTEXT)
{
	return ctx ? 1 : 0;
}

NOINLINE int of_context(struct __sk_buff *skb)
{
	return skb->mark;
}

SEC("tc")
int number_is_marked(struct __sk_buff *skb)
{
	return of_number(skb->mark);
}

SEC("tc")
int other_context(struct __sk_buff *skb)
{
	return of_other_context((void *)skb);
}

SEC("tc")
int no_context(struct __sk_buff *skb)
{
	u64 value = skb->mark;

	return of_context((void *)&value);
}

LICENSE_GPL;

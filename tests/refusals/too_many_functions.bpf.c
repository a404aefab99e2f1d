/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The program has 261 functions. */
#include "packet.h"

#define TEN(make, n)                                                                               \
	make(n##0) make(n##1) make(n##2) make(n##3) make(n##4) make(n##5) make(n##6) make(n##7)    \
		make(n##8) make(n##9)
#define HUNDRED(make, n)                                                                           \
	TEN(make, n##0) TEN(make, n##1) TEN(make, n##2) TEN(make, n##3) TEN(make, n##4)            \
		TEN(make, n##5) TEN(make, n##6) TEN(make, n##7) TEN(make, n##8) TEN(make, n##9)
#define FUNCTION(n)                                                                                \
	static NOINLINE u32 f##n(u32 word)                                                         \
	{                                                                                          \
		return word * 3 + n;                                                               \
	}
#define CALL(n) sum += f##n(sum);

HUNDRED(FUNCTION, 1)
HUNDRED(FUNCTION, 2)
TEN(FUNCTION, 30)
TEN(FUNCTION, 31)
TEN(FUNCTION, 32)
TEN(FUNCTION, 33)
TEN(FUNCTION, 34)
TEN(FUNCTION, 35)

SEC("xdp")
int refused(struct xdp_md *ctx)
{
	u32 sum = ctx->rx_queue_index;

	HUNDRED(CALL, 1)
	HUNDRED(CALL, 2)
	TEN(CALL, 30)
	TEN(CALL, 31)
	TEN(CALL, 32)
	TEN(CALL, 33)
	TEN(CALL, 34)
	TEN(CALL, 35)
	return sum > 5 ? XDP_PASS : XDP_DROP;
}

SEC("xdp")
int mended(struct xdp_md *ctx)
{
	u32 sum = ctx->rx_queue_index;

	HUNDRED(CALL, 1)
	HUNDRED(CALL, 2)
	return sum > 5 ? XDP_PASS : XDP_DROP;
}

LICENSE_GPL;

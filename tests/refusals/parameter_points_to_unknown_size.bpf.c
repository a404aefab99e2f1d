/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A global function is verified by itself, and nobody says how large the structure is. */
#include "packet.h"

struct pair;
struct known_pair {
	u32 a, b;
};

NOINLINE int is_given(struct pair *pair)
{
	return pair != 0;
}

NOINLINE int is_given_whole(struct known_pair *pair)
{
	return pair != 0;
}

SEC("xdp")
int refused(struct xdp_md *ctx)
{
	struct known_pair pair = { 1, 2 };

	return is_given((void *)&pair);
}

SEC("xdp")
int mended(struct xdp_md *ctx)
{
	struct known_pair pair = { 1, 2 };

	return is_given_whole(&pair);
}

LICENSE_GPL;

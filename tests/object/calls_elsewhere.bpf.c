/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Calls a function that does not lie in .text: libbpf links no such function. */
#include "include/skep_bpf.h"

int number SEC(".data.number") = 1;

SEC(".text.unlikely")
NOINLINE int elsewhere(int x)
{
	return x + number;
}

SEC("xdp")
int calls(struct xdp_md *ctx)
{
	return elsewhere(ctx->data_end - ctx->data);
}

LICENSE_GPL;

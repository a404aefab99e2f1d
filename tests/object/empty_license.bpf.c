/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A license section without a license. */
#include "include/skep_bpf.h"

SEC("xdp") int passes(void *ctx)
{
	return 2;
}

__asm__(".section license,\"aw\",@progbits\n");

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A function written in assembly, without a size. */
#include "include/skep_bpf.h"

SEC("xdp") int with_size(void *ctx)
{
	return 2;
}

asm(".pushsection tc, \"ax\"\n"
    ".globl without_size\n"
    ".type without_size, @function\n"
    "without_size:\n"
    "	r0 = 0\n"
    "	exit\n"
    ".popsection\n");

LICENSE_GPL;

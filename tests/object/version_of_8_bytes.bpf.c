/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A version is a number of 32 bits. */
#include "include/skep_bpf.h"

SEC("xdp") int passes(void *ctx)
{
	return 2;
}

u64 VERSION SEC("version") = 1;
LICENSE_GPL;

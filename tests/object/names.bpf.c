/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The kernel takes names of letters, digits, underscores and dots; loaders cut them at 15 bytes. */
#include "include/skep_bpf.h"

int named(void *ctx) __asm__("a$b");
int cut(void *ctx) __asm__("abcdefghijklmno$");

SEC("xdp") int named(void *ctx)
{
	return 1;
}

SEC("xdp") int cut(void *ctx)
{
	return 2;
}

LICENSE_GPL;

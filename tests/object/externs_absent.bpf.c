/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Of an extern that the kernel does not have, only a weak one can be declared. */
#include "include/skep_bpf.h"

#define KSYM __attribute__((section(".ksyms")))
#define WEAK __attribute__((weak))

extern int skep_absent_weak(int value) KSYM WEAK;
#ifdef STRONG
extern int skep_absent(int value) KSYM;
#endif

SEC("xdp") int asks_before(void *ctx)
{
	return skep_absent_weak ? skep_absent_weak(1) : 2;
}

SEC("xdp") int calls_at_once(void *ctx)
{
	return skep_absent_weak(1);
}

#ifdef STRONG
SEC("xdp") int needs_it(void *ctx)
{
	return skep_absent(1);
}
#endif

LICENSE_GPL;

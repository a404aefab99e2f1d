/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Reads its license, which lies in no map: libbpf refuses the object, not the program. */
#include "include/skep_bpf.h"

char text_of_license[] SEC("license") = "GPL";

SEC("xdp") int reads_it(void *ctx)
{
	volatile char *text = text_of_license;

	return text[0];
}

SEC("xdp") int reads_nothing(void *ctx)
{
	return 2;
}

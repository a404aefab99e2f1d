/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The helper is for programs under the GPL. */
#include "packet.h"

u64 words[2];

SEC("kprobe")
int refused(void *ctx)
{
	return probe_read_kernel(words, sizeof(words), ctx) ? 0 : 1;
}

SEC("kprobe")
int mended(void *ctx)
{
	return get_smp_processor_id() ? 0 : 1;
}

char LICENSE[] SEC("license") = "Proprietary";

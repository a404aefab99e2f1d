/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Of two sections with a license libbpf reads the last: no helper for GPL programs. */
#include "include/skep_bpf.h"

SEC("kprobe") int reads(void *ctx)
{
	u64 to = 0;

	return probe_read_kernel(&to, sizeof(to), ctx);
}

__asm__(".section license,\"aw\",@progbits\n.asciz \"GPL\"\n"
	".section license,\"aw\",@progbits,unique,2\n.asciz \"Prop\"\n");

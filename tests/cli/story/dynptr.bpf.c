/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Refused: memory of a dynptr is submitted as a record. Built with the flags of tests/programs/build.sh. */
#include "../../programs/include/skep_bpf.h"

struct event {
	u64 at;
};

struct dynptr {
	u64 opaque[2];
} __attribute__((aligned(8)));

static long (*const ringbuf_reserve_dynptr)(void *, u32, u64, struct dynptr *) = (void *)198;
static void (*const ringbuf_submit_dynptr)(struct dynptr *, u64) = (void *)199;
static void *(*const dynptr_data)(const struct dynptr *, u32, u32) = (void *)203;

struct {
	UINT(type, MAP_RINGBUF);
	UINT(max_entries, 4096);
} events SEC(".maps");

SEC("xdp")
int submits(void *ctx)
{
	struct dynptr ptr;
	struct event *e;

	ringbuf_reserve_dynptr(&events, sizeof(*e), 0, &ptr);
	e = dynptr_data(&ptr, 0, sizeof(*e));
	if (e)
		e->at = 1;
	if (e)
		ringbuf_submit(e, 0);
	return 2;
}

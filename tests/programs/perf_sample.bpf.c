/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Perf event: counts samples by instruction pointer page and hands each to a perf buffer. */
#include "include/skep_bpf.h"

struct {
	UINT(type, MAP_PERF_EVENT_ARRAY);
	UINT(key_size, 4);
	UINT(value_size, 4);
} samples SEC(".maps");

struct {
	UINT(type, MAP_PERCPU_HASH);
	UINT(max_entries, 2048);
	TYPE(key, u64);
	TYPE(value, u64);
} pages SEC(".maps");

struct sample {
	u64 ip;
	u64 period;
	u32 cpu;
	u32 pad;
};

SEC("perf_event")
int on_sample(struct bpf_perf_event_data *ctx)
{
	struct sample sample = {
		.ip = ctx->regs.ip,
		.period = ctx->sample_period,
		.cpu = get_smp_processor_id(),
	};
	u64 page = sample.ip >> 12, one = 1;
	u64 *count = map_lookup_elem(&pages, &page);

	if (count)
		*count += 1;
	else
		map_update_elem(&pages, &page, &one, MAP_ANY);
	perf_event_output(ctx, &samples, 0xffffffffULL, &sample, sizeof(sample));
	return 0;
}

LICENSE_GPL;

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Maps: sizes by type and by number, inner maps, filled slots, pinning, sizes that are rounded, data
 * sections with names of their own, hidden and static variables. */
#include "include/skep_bpf.h"

struct inner {
	UINT(type, MAP_ARRAY);
	UINT(max_entries, 4);
	TYPE(key, u32);
	TYPE(value, u64);
};

struct inner one SEC(".maps");
struct inner two SEC(".maps");

struct {
	UINT(type, MAP_ARRAY_OF_MAPS);
	UINT(max_entries, 8);
	UINT(key_size, 4);
	ARRAY(values, struct inner);
} outer SEC(".maps") = {
	.values = { [1] = &one, [5] = &two },
};

SEC("xdp")
int target(struct xdp_md *ctx)
{
	return 2;
}

struct {
	UINT(type, MAP_PROG_ARRAY);
	UINT(max_entries, 3);
	UINT(key_size, 4);
	ARRAY(values, int(void *));
} programs SEC(".maps") = {
	.values = { [2] = (void *)&target },
};

struct {
	UINT(type, MAP_RINGBUF);
	UINT(max_entries, 5000);
} ring SEC(".maps");

struct {
	UINT(type, MAP_PERF_EVENT_ARRAY);
	TYPE(key, u32);
	TYPE(value, u32);
} events SEC(".maps");

struct {
	UINT(type, MAP_HASH);
	UINT(map_flags, MAP_F_NO_PREALLOC);
	UINT(max_entries, 10);
	UINT(key_size, 12);
	UINT(value_size, 20);
	UINT(pinning, 1);
} sized SEC(".maps");

u32 counter;
static volatile u32 private_counter SEC(".bss.private");
const volatile u32 limit = 9;
u64 custom SEC(".data.custom") = 0x1122334455667788;
__attribute__((visibility("hidden"))) u64 hidden_value SEC(".data.hidden") = 5;
const char text[] SEC(".rodata.text") = "words";

SEC("xdp")
int uses(struct xdp_md *ctx)
{
	u32 key = 1;
	void *map = map_lookup_elem(&outer, &key);

	if (map && map_lookup_elem(map, &key))
		counter++;
	private_counter += limit;
	custom += hidden_value + (u64)text[ctx->data_end & 3];
	tail_call(ctx, &programs, 2);
	perf_event_output(ctx, &events, 0, &key, sizeof(key));
	map_delete_elem(&sized, &ring);
	return 2;
}

LICENSE_GPL;

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* An object of each CPU is followed, and which CPU's is not said. */
#include "../../programs/kfuncs/kfuncs.h"

#define PERCPU_KPTR __attribute__((btf_type_tag("percpu_kptr")))

static void *(*const this_cpu_ptr)(const void *ptr) = (void *)154;

struct count {
	u64 packets;
};

struct place {
	struct count PERCPU_KPTR *count;
};

struct {
	UINT(type, MAP_ARRAY);
	UINT(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, struct place);
} places SEC(".maps");

struct count last;

SEC("tc")
int refused(struct __sk_buff *ctx)
{
	u32 key = 0;
	struct place *place = map_lookup_elem(&places, &key);
	struct count *count;

	if (!place)
		return 0;
	count = place->count;
	if (!count)
		return 0;
	last.packets = count->packets;
	return 0;
}

SEC("tc")
int mended(struct __sk_buff *ctx)
{
	u32 key = 0;
	struct place *place = map_lookup_elem(&places, &key);
	struct count *count;

	if (!place)
		return 0;
	count = place->count;
	if (!count)
		return 0;
	count = this_cpu_ptr(count);
	last.packets = count->packets;
	return 0;
}

LICENSE_GPL;

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The program that docs/tour.md makes load on older kernels. late.bpf.o is built from it with
 * clang-19 -O2 -g --target=bpf -ffile-compilation-dir=. -c late.bpf.c
 * and mended.bpf.o after the change that the tour makes to it. */
typedef unsigned int u32;
typedef unsigned long long u64;

#define SEC(name) __attribute__((section(name), used))

static u64 (*ktime_get_ns)(void) = (void *)5;
static u64 (*ktime_get_coarse_ns)(void) = (void *)160;

struct {
	int (*type)[2]; /* array */
	int (*max_entries)[1];
	u32 *key;
	u64 *value;
} last_seen SEC(".maps");

static void *(*map_lookup_elem)(void *map, const void *key) = (void *)1;

SEC("xdp")
int stamp(void *ctx)
{
	u32 key = 0;
	u64 *last = map_lookup_elem(&last_seen, &key);

	if (last)
		*last = ktime_get_coarse_ns();
	return 2; /* XDP_PASS */
}

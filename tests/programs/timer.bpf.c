/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A timer in a map's value: started by a program, its callback counts and starts it again. */
#include "include/skep_bpf.h"

struct bpf_timer {
	u64 opaque[2];
} __attribute__((aligned(8)));

static long (*const timer_init)(struct bpf_timer *timer, void *map, u64 flags) = (void *)169;
static long (*const timer_set_callback)(struct bpf_timer *timer, void *callback) = (void *)170;
static long (*const timer_start)(struct bpf_timer *timer, u64 nsecs, u64 flags) = (void *)171;
static long (*const timer_cancel)(struct bpf_timer *timer) = (void *)172;

enum { CLOCK_MONOTONIC = 1, TICKS = 5, TICK_NS = 1000000 };

struct ticking {
	u64 ticks;
	struct bpf_timer timer;
};

struct {
	UINT(type, MAP_ARRAY);
	UINT(max_entries, 2);
	TYPE(key, u32);
	TYPE(value, struct ticking);
} timers SEC(".maps");

struct {
	UINT(type, MAP_HASH);
	UINT(max_entries, 4);
	TYPE(key, u32);
	TYPE(value, struct ticking);
} named SEC(".maps");

static int tick(void *map, u32 *key, struct ticking *value)
{
	value->ticks++;
	if (value->ticks < TICKS)
		timer_start(&value->timer, TICK_NS, 0);
	return 0;
}

/* Starts the timer of the array's first value, and one in a hash. */
SEC("tc")
int timer_begin(struct __sk_buff *skb)
{
	u32 key = 0;
	struct ticking *value = map_lookup_elem(&timers, &key);
	struct ticking empty = {};

	if (!value)
		return 1;
	if (timer_init(&value->timer, &timers, CLOCK_MONOTONIC))
		return 2;
	if (timer_set_callback(&value->timer, tick) || timer_start(&value->timer, TICK_NS, 0))
		return 3;
	key = 7;
	map_update_elem(&named, &key, &empty, MAP_ANY);
	value = map_lookup_elem(&named, &key);
	if (!value)
		return 4;
	if (timer_init(&value->timer, &named, CLOCK_MONOTONIC))
		return 5;
	if (timer_set_callback(&value->timer, tick) || timer_start(&value->timer, TICK_NS, 0))
		return 6;
	return 0;
}

/* Stops the timer: 1 if it would have gone on. */
SEC("tc")
int timer_end(struct __sk_buff *skb)
{
	u32 key = 0;
	struct ticking *value = map_lookup_elem(&timers, &key);

	return value ? timer_cancel(&value->timer) : -1;
}

LICENSE_GPL;

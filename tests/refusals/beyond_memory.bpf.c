/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The record has the size of a pointer to the event, and not that of the event. */
#include "packet.h"

struct event {
	u64 time;
	u64 pid;
};

struct {
	UINT(type, MAP_RINGBUF);
	UINT(max_entries, 4096);
} events SEC(".maps");

SEC("tp/sched/sched_switch")
int refused(void *ctx)
{
	struct event *event = ringbuf_reserve(&events, sizeof(event), 0);

	if (!event)
		return 0;
	event->pid = get_current_pid_tgid();
	event->time = ktime_get_ns();
	ringbuf_submit(event, 0);
	return 0;
}

SEC("tp/sched/sched_switch")
int mended(void *ctx)
{
	struct event *event = ringbuf_reserve(&events, sizeof(*event), 0);

	if (!event)
		return 0;
	event->pid = get_current_pid_tgid();
	event->time = ktime_get_ns();
	ringbuf_submit(event, 0);
	return 0;
}

LICENSE_GPL;

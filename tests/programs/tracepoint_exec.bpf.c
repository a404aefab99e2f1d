/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Tracepoint: reports each execve through a ring buffer; reserve, fill, submit or discard. */
#include "include/skep_bpf.h"

struct event {
	u64 at_ns;
	u32 pid;
	u32 path_len;
	char comm[16];
};

struct {
	UINT(type, MAP_RINGBUF);
	UINT(max_entries, 4096);
} events SEC(".maps");

/* The fixed part of a tracepoint record, then the arguments of sys_enter_execve. */
struct sys_enter_execve {
	u64 common;
	s64 nr;
	const char *filename;
	const char *const *argv;
	const char *const *envp;
};

u32 only_pid;
u64 dropped;

SEC("tracepoint/syscalls/sys_enter_execve")
int on_execve(struct sys_enter_execve *ctx)
{
	struct event *event = ringbuf_reserve(&events, sizeof(*event), 0);

	if (!event) {
		dropped++;
		return 0;
	}
	event->at_ns = ktime_get_ns();
	event->pid = get_current_pid_tgid() >> 32;
	event->path_len = ctx->filename ? 1 : 0;
	if (only_pid && event->pid != only_pid) {
		ringbuf_discard(event, 0);
		return 0;
	}
	get_current_comm(event->comm, sizeof(event->comm));
	ringbuf_submit(event, 0);
	return 0;
}

LICENSE_GPL;

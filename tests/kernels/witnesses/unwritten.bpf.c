// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Helpers that write memory, given stack that was never written.
#include "../../programs/include/skep_bpf.h"

char LICENSE[] SEC("license") = "GPL";

static const char format[] SEC(".rodata") = "x";

#define PROGRAM(section, name, body) \
	SEC(section) __attribute__((naked)) int name(void) \
	{ \
		asm volatile(body "r0 = 0; exit" :: [format] "i"(format) : "memory"); \
	}
#define BUFFER(reg) reg " = r10; " reg " += -64;"

PROGRAM("kprobe/do_nanosleep", probed, BUFFER("r1") "r2 = 16; r3 = 0; call 4;")
PROGRAM("kprobe/do_nanosleep", probed_string, BUFFER("r1") "r2 = 16; r3 = 0; call 45;")
PROGRAM("kprobe/do_nanosleep", probed_user, BUFFER("r1") "r2 = 16; r3 = 0; call 112;")
PROGRAM("kprobe/do_nanosleep", probed_user_string, BUFFER("r1") "r2 = 16; r3 = 0; call 114;")
PROGRAM("kprobe/do_nanosleep", probed_kernel_string, BUFFER("r1") "r2 = 16; r3 = 0; call 115;")
PROGRAM("kprobe/do_nanosleep", command, BUFFER("r1") "r2 = 16; call 16;")
PROGRAM("kprobe/do_nanosleep", ids_in_namespace, "r1 = 1; r2 = 2;" BUFFER("r3") "r4 = 8; call 120;")
PROGRAM("kprobe/do_nanosleep", task_stack, "call 158; r1 = r0;" BUFFER("r2") "r3 = 16; r4 = 0; call 141;")
PROGRAM("kprobe/do_nanosleep", stack_of_kprobe, BUFFER("r2") "r3 = 16; r4 = 0; call 67;")
PROGRAM("tracepoint/sched/sched_switch", stack_of_tracepoint, BUFFER("r2") "r3 = 16; r4 = 0; call 67;")
PROGRAM("raw_tracepoint/sched_switch", stack_of_raw_tracepoint, BUFFER("r2") "r3 = 16; r4 = 0; call 67;")
PROGRAM("perf_event", stack_of_event, BUFFER("r2") "r3 = 16; r4 = 0; call 67;")
PROGRAM("perf_event", branches, BUFFER("r2") "r3 = 24; r4 = 0; call 119;")
PROGRAM("perf_event", event_value, BUFFER("r2") "r3 = 24; call 56;")
PROGRAM("kprobe/do_nanosleep", formatted, BUFFER("r1") "r2 = 16; r3 = %[format] ll; r4 = 0; r5 = 0; call 165;")
PROGRAM("kprobe/do_nanosleep", formatted_type,
	"r1 = 0; *(u64 *)(r10 - 8) = r1; *(u64 *)(r10 - 16) = r1;"
	BUFFER("r1") "r2 = 16; r3 = r10; r3 += -16; r4 = 16; r5 = 0; call 149;")
PROGRAM("tc", packet, "r2 = 0;" BUFFER("r3") "r4 = 16; call 26;")
PROGRAM("tc", packet_relative, "r2 = 0;" BUFFER("r3") "r4 = 16; r5 = 0; call 68;")
PROGRAM("tc", route, BUFFER("r2") "r3 = 64; r4 = 0; call 69;")
PROGRAM("xdp", route_of_frame, BUFFER("r2") "r3 = 64; r4 = 0; call 69;")
PROGRAM("xdp", frame, "r2 = 0;" BUFFER("r3") "r4 = 16; call 189;")
PROGRAM("tc", tunnel_key, BUFFER("r2") "r3 = 28; r4 = 0; call 20;")
PROGRAM("tc", tunnel_options, BUFFER("r2") "r3 = 16; call 29;")
PROGRAM("tc", transform, "r2 = 0;" BUFFER("r3") "r4 = 28; r5 = 0; call 66;")
PROGRAM("cgroup/sysctl", sysctl_name, BUFFER("r2") "r3 = 16; r4 = 0; call 101;")
PROGRAM("cgroup/sysctl", sysctl_value, BUFFER("r2") "r3 = 16; call 102;")
PROGRAM("cgroup/sysctl", sysctl_new_value, BUFFER("r2") "r3 = 16; call 103;")
PROGRAM("cgroup/sysctl", number,
	"r1 = 0; *(u64 *)(r10 - 8) = r1; r1 = r10; r1 += -8; r2 = 8; r3 = 0;" BUFFER("r4") "call 105;")
PROGRAM("cgroup/sysctl", unsigned_number,
	"r1 = 0; *(u64 *)(r10 - 8) = r1; r1 = r10; r1 += -8; r2 = 8; r3 = 0;" BUFFER("r4") "call 106;")
PROGRAM("sockops", option, "r2 = 6; r3 = 13;" BUFFER("r4") "r5 = 16; call 57;")

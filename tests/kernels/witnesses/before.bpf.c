// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// What was different before 6.18: known bits of products, loads through several types of pointers, what is called under
// a lock, what sessions return.
#include "../../programs/include/skep_bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define KFUNC extern __attribute__((section(".ksyms"), weak))
#define RELAXED __attribute__((preserve_access_index))
#define PROGRAM(section, name, body, ...) \
	SEC(section) __attribute__((naked)) int name(void) { asm volatile(body :: __VA_ARGS__ : "memory"); }
#define READ_NULL "r0 = 0; r0 = *(u64 *)(r0 + 0);"

struct bpf_iter_num {
	u64 opaque;
} __attribute__((aligned(8)));
KFUNC int bpf_iter_num_new(struct bpf_iter_num *it, int start, int end);
KFUNC int *bpf_iter_num_next(struct bpf_iter_num *it);
KFUNC void bpf_iter_num_destroy(struct bpf_iter_num *it);

// Bit 5 of a product, of which only low bits are known: the bounds say nothing.
#define PRODUCT(name, factor, low, unknown) \
	PROGRAM("socket", name, \
		"call 7; r6 = r0; r6 &= " unknown "; r6 |= " low ";" \
		"r1 = " factor "; r1 *= r6; r1 &= 0x20;" \
		"if r1 == 0 goto 1f;" READ_NULL \
		"1: r0 = 0; exit", "i"(0))
PRODUCT(seven_times_two_or_three, "7", "2", "-0x3fffffff")
PRODUCT(three_times_odd, "3", "1", "-0x3ffffffa")
PRODUCT(three_times_five_or_seven, "3", "5", "-0x3ffffffe")

// The same, with the operands in the other order.
PROGRAM("socket", two_or_three_times_seven,
	"call 7; r6 = r0; r6 &= -0x3fffffff; r6 |= 2;"
	"r6 *= 7; r6 &= 0x20;"
	"if r6 == 0 goto 1f;" READ_NULL
	"1: r0 = 0; exit", "i"(0))

// The product of a number with one unknown bit.
PROGRAM("socket", product_of_one_bit,
	"call 7; r0 &= 2; r0 |= 1; r0 *= 3; r0 &= 4;"
	"if r0 == 0 goto 1f;" READ_NULL
	"1: r0 = 0; exit", "i"(0))

struct nested {
	int flags;
} RELAXED;
struct task_struct {
	struct task_struct *real_parent;
	int pid;
} RELAXED;
struct {
	UINT(type, MAP_RINGBUF);
	UINT(max_entries, 4096);
} ring SEC(".maps");

static struct task_struct *(*const get_current_task_btf)(void) = (void *)158;
static void *(*const ringbuf_reserve_)(void *map, u64 size, u64 flags) = (void *)131;
static void (*const ringbuf_discard_)(void *record, u64 flags) = (void *)133;

// One load, from a record and from a kernel object, in both orders.
#define LOADS(name, first, second) \
	SEC("raw_tp/sys_enter") int name(void *ctx) \
	{ \
		u32 *record = ringbuf_reserve_(&ring, 8, 0); \
		void *pid; \
		u32 value = 0; \
		if (!record) \
			return 0; \
		*record = 1; \
		pid = &get_current_task_btf()->real_parent->pid; \
		asm volatile("r7 = %1; if %3 == 0 goto 1f; r7 = %2; 1: %0 = *(u32 *)(r7 + 0);" \
			     : "=r"(value) \
			     : "r"(first), "r"(second), "r"(get_prandom_u32()) \
			     : "r7"); \
		ringbuf_discard_(record, 0); \
		return value & 1; \
	}
LOADS(loads_record_or_object, record, pid)
LOADS(loads_object_or_record, pid, record)

struct locked {
	struct bpf_spin_lock lock;
	int number;
};
struct {
	UINT(type, MAP_ARRAY);
	UINT(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, struct locked);
} locks SEC(".maps");

SEC("tc") int loops_under_lock(void *ctx)
{
	u32 key = 0;
	struct locked *value = map_lookup_elem(&locks, &key);
	struct bpf_iter_num it;
	if (!value)
		return 0;
	spin_lock(&value->lock);
	bpf_iter_num_new(&it, 0, 3);
	while (bpf_iter_num_next(&it))
		asm volatile("");
	bpf_iter_num_destroy(&it);
	spin_unlock(&value->lock);
	return 0;
}

SEC("kprobe.session/bpf_fentry_test1") int session_returns_two(void *ctx)
{
	return 2;
}

SEC("uprobe.session//proc/self/exe:main") int user_session_returns_two(void *ctx)
{
	return 2;
}

// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// What kernels came to refuse, or to accept, from 7.0 on, and in stable releases of older ones.
#include "../../programs/include/skep_bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define KFUNC extern __attribute__((section(".ksyms"), weak))
#define RELAXED __attribute__((preserve_access_index))
#define PROGRAM(section, name, body, ...) \
	SEC(section) __attribute__((naked)) int name(void) { asm volatile(body :: __VA_ARGS__ : "memory"); }
#define ENOUGH "r5 = 1; r5 = 2; r5 = 3; r5 = 4; r5 = 5; r5 = 6; r5 = 7; r5 = 8; r5 = 9; r5 = 10;"

struct task_struct {
	int prio;
	int pid;
} RELAXED;
struct bpf_iter_task {
	u64 opaque[3];
} __attribute__((aligned(8)));
struct bpf_timer {
	u64 opaque[2];
} __attribute__((aligned(8)));

KFUNC void bpf_rcu_read_lock(void);
KFUNC void bpf_rcu_read_unlock(void);
KFUNC int bpf_iter_task_new(struct bpf_iter_task *it, struct task_struct *task, u32 flags);
KFUNC struct task_struct *bpf_iter_task_next(struct bpf_iter_task *it);
KFUNC void bpf_iter_task_destroy(struct bpf_iter_task *it);
KFUNC void *bpf_rdonly_cast(const void *obj, u32 type);

// BTF has the functions that C refers to.
__attribute__((used)) static int declares(struct bpf_iter_task *it)
{
	bpf_rcu_read_lock();
	bpf_iter_task_new(it, 0, 0);
	bpf_iter_task_next(it);
	bpf_iter_task_destroy(it);
	bpf_rcu_read_unlock();
	return !bpf_rdonly_cast(it, 0);
}

static long (*const timer_init)(struct bpf_timer *timer, void *map, u64 flags) = (void *)169;
static long (*const timer_set_callback)(struct bpf_timer *timer, void *callback) = (void *)170;
static struct task_struct *(*const get_current_task_btf)(void) = (void *)158;

// An iterator whose section was left and entered again, where one without a gap came before.
PROGRAM("fentry.s/bpf_fentry_test1", iterates_after_gap,
	"call %[lock];"
	"r1 = r10; r1 += -24; r2 = 0; r3 = 0;"
	"call %[begin];"
	"call 7;"
	"if w0 == 0 goto 1f;"
	"call %[lock];"
	"call %[unlock];"
	"goto 2f;"
	"1: call %[unlock];"
	"call %[lock];"
	"2: r1 = r10; r1 += -24;"
	"call %[next];"
	"r1 = r10; r1 += -24;"
	"call %[end];"
	"call %[unlock];"
	"r0 = 0;"
	"exit",
	[lock]"i"(bpf_rcu_read_lock), [unlock]"i"(bpf_rcu_read_unlock), [begin]"i"(bpf_iter_task_new),
	[next]"i"(bpf_iter_task_next), [end]"i"(bpf_iter_task_destroy))

struct holder {
	u64 number;
	struct task_struct __attribute__((btf_type_tag("kptr_untrusted"))) *task;
};
struct {
	UINT(type, MAP_ARRAY);
	UINT(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, struct holder);
} holders SEC(".maps");

// NULL is stored on one path, another number on the other, which comes to the same store.
PROGRAM("tc", number_stored_as_pointer,
	"r0 = 0; *(u32 *)(r10 - 4) = r0; r2 = r10; r2 += -4; r1 = %[map] ll; call 1;"
	"if r0 == 0 goto 3f;"
	"r6 = r0;"
	"r9 = *(u64 *)(r6 + 0);"
	"if r9 != 0 goto 1f;"
	"r7 = 0;" ENOUGH
	"goto 2f;"
	"1: r7 = 77;" ENOUGH
	"2: *(u64 *)(r6 + 8) = r7;"
	"3: r0 = 0; exit",
	[map]"i"(&holders))

// One load, of a value of a map and of memory that may not exist.
PROGRAM("socket", loads_value_or_anything,
	"r0 = 0; *(u32 *)(r10 - 4) = r0; r2 = r10; r2 += -4; r1 = %[map] ll; call 1;"
	"if r0 == 0 goto 2f;"
	"r6 = r0;"
	"r1 = 0; r2 = 0; call %[cast];"
	"r7 = r0;"
	"call 7;"
	"if r0 == 0 goto 1f;"
	"r7 = r6;"
	"1: r8 = *(u64 *)(r7 + 0);"
	"2: r0 = 0; exit",
	[map]"i"(&holders), [cast]"i"(bpf_rdonly_cast))

// The same with the stack, from the other side.
PROGRAM("socket", loads_stack_or_anything,
	"r0 = 0; *(u64 *)(r10 - 8) = r0;"
	"r1 = 0; r2 = 0; call %[cast];"
	"r7 = r0;"
	"call 7;"
	"if r0 == 0 goto 1f;"
	"r7 = r10; r7 += -8;"
	"1: r8 = *(u64 *)(r7 + 0);"
	"r0 = 0; exit",
	[cast]"i"(bpf_rdonly_cast))

PROGRAM("socket", loads_anything_or_stack,
	"r0 = 0; *(u64 *)(r10 - 8) = r0;"
	"r1 = 0; r2 = 0; call %[cast];"
	"r6 = r0;"
	"r7 = r10; r7 += -8;"
	"call 7;"
	"if r0 == 0 goto 1f;"
	"r7 = r6;"
	"1: r8 = *(u64 *)(r7 + 0);"
	"r0 = 0; exit",
	[cast]"i"(bpf_rdonly_cast))

struct {
	UINT(type, 33);
	UINT(map_flags, 1024);
	UINT(max_entries, 10);
} arena SEC(".maps");

// One atomic insn, on the stack and in an arena.
#define CAST_TO_ARENA(reg) ".byte 0xbf; .byte " reg "; .short 1; .long 1;"
PROGRAM("syscall", adds_to_stack_or_arena,
	"r1 = %[arena] ll;"
	"r6 = r10; r6 += -8; r9 = 0; *(u64 *)(r6 + 0) = r9;"
	"r7 = 8192;" CAST_TO_ARENA("0x77")
	"call 7;"
	"r8 = r6;"
	"if w0 == 0 goto 1f;"
	"r8 = r7;"
	"1: r9 = 1;"
	"lock *(u64 *)(r8 + 0) += r9;"
	"r0 = 0; exit",
	[arena]"i"(&arena))

PROGRAM("syscall", adds_to_arena_or_stack,
	"r1 = %[arena] ll;"
	"r6 = r10; r6 += -8; r9 = 0; *(u64 *)(r6 + 0) = r9;"
	"r7 = 8192;" CAST_TO_ARENA("0x77")
	"call 7;"
	"r8 = r7;"
	"if w0 == 0 goto 1f;"
	"r8 = r6;"
	"1: r9 = 1;"
	"lock *(u64 *)(r8 + 0) += r9;"
	"r0 = 0; exit",
	[arena]"i"(&arena))

struct {
	UINT(type, MAP_PROG_ARRAY);
	UINT(max_entries, 1);
	UINT(key_size, 4);
	UINT(value_size, 4);
} programs SEC(".maps");

static NOINLINE int tail_calls(void *ctx)
{
	int result = 0;
	tail_call(ctx, &programs, 0);
	asm volatile("" : "+r"(result));
	return result;
}

static NOINLINE int round_calls(u32 index, void **ctx)
{
	int result = tail_calls(*ctx);
	asm volatile("" : "+r"(result));
	return result ? 1 : 0;
}

static NOINLINE int round_tail_calls(u32 index, void **ctx)
{
	tail_call(*ctx, &programs, 0);
	return 0;
}

static NOINLINE int empty_round(u32 index, void *ctx)
{
	return 0;
}

// A callback calls a function with a tail call.
SEC("tc") int callback_calls_tail(void *ctx)
{
	loop(1, round_calls, &ctx, 0);
	return 0;
}

SEC("tc") int callback_tail_calls(void *ctx)
{
	loop(1, round_tail_calls, &ctx, 0);
	return 0;
}

// The functions are apart.
SEC("tc") int tail_call_beside_callback(void *ctx)
{
	int result = tail_calls(ctx);
	asm volatile("" : "+r"(result));
	loop(1, empty_round, 0, 0);
	return 0;
}

struct element {
	struct bpf_timer timer;
};
struct inner {
	UINT(type, MAP_HASH);
	UINT(max_entries, 2);
	TYPE(key, int);
	TYPE(value, struct element);
} inner SEC(".maps");
struct {
	UINT(type, MAP_ARRAY_OF_MAPS);
	UINT(max_entries, 2);
	UINT(key_size, 4);
	UINT(value_size, 4);
	ARRAY(values, struct inner);
} outer SEC(".maps") = { .values = { &inner } };

static NOINLINE int each_own(void *map, int *key, struct element *element, void *ctx)
{
	timer_init(&element->timer, map, 1);
	return 0;
}

static NOINLINE int each_other(void *map, int *key, struct element *element, void **ctx)
{
	timer_init(&element->timer, *ctx, 1);
	return 0;
}

#define TIMER(name, each, ctx) \
	static NOINLINE int in_##name(void *map, int *key, struct element *element) \
	{ \
		int other = 1; \
		void *maps = map, *found = map_lookup_elem(&outer, &other); \
		if (found) \
			for_each_map_elem(found, each, ctx, 0); \
		return 0; \
	} \
	SEC("tc") int name(void *args) \
	{ \
		int key = 0; \
		void *map = map_lookup_elem(&outer, &key); \
		struct element *element; \
		if (!map) \
			return 0; \
		element = map_lookup_elem(map, &key); \
		if (!element) \
			return 0; \
		timer_init(&element->timer, map, 1); \
		timer_set_callback(&element->timer, in_##name); \
		return 0; \
	}

// The element that the timer's callback gets.
static NOINLINE int in_timer_of_element(void *map, int *key, struct element *element)
{
	timer_init(&element->timer, map, 1);
	return 0;
}

SEC("tc") int timer_of_element(void *args)
{
	int key = 0;
	void *map = map_lookup_elem(&outer, &key);
	struct element *element;
	if (!map)
		return 0;
	element = map_lookup_elem(map, &key);
	if (!element)
		return 0;
	timer_init(&element->timer, map, 1);
	timer_set_callback(&element->timer, in_timer_of_element);
	return 0;
}

TIMER(timer_of_own_map, each_own, 0)
TIMER(timer_of_other_map, each_other, &maps)

// The loop's callback, without a timer around it.
SEC("tc") int element_of_own_map(void *args)
{
	int key = 0;
	void *map = map_lookup_elem(&outer, &key);
	if (map)
		for_each_map_elem(map, each_own, 0, 0);
	return 0;
}

// What is known of the packet's end does not stay when the pointer moves back.
#define PACKET(name, back) \
	PROGRAM("tc", name, \
		"r9 = *(u32 *)(r1 + 76); r8 = *(u32 *)(r1 + 80);" \
		"r9 += 256;" \
		"if r9 >= r8 goto 1f;" \
		"r0 = 0; exit;" \
		"1: " back ";" \
		"if r9 < r8 goto 2f;" \
		"r0 = 0; exit;" \
		"2: r0 = *(u8 *)(r9 + 0);" \
		"r0 = 0; exit", "i"(0))
PACKET(beyond_end_then_back, "r9 += -256")
PACKET(beyond_end_then_less, "r9 -= 256")

// A checked pointer 8 bytes behind another covers one that is not behind it.
PROGRAM("xdp", packet_distance_differs,
	"r8 = *(u32 *)(r1 + 4); r9 = *(u32 *)(r1 + 0); r4 = *(u32 *)(r1 + 16); r4 &= 15;"
	"r0 = *(u32 *)(r1 + 12);"
	"if r0 != 0 goto 1f;"
	"r2 = r9; r2 += r4; r3 = r2; r3 += 8;"
	"r5 = 1; r5 = 2; r5 = 3; r5 = 4; r5 = 5; r5 = 6; r5 = 7;"
	"goto 2f;"
	"1: r4 &= 3; r4 += 8; r2 = r9; r2 += r4; r3 = r2;"
	"r5 = 1; r5 = 2; r5 = 3; r5 = 4; r5 = 5; r5 = 6; r5 = 7;"
	"2: r5 = 0;"
	"if r3 > r8 goto 3f;"
	"r0 = *(u64 *)(r2 + 0);"
	"3: r0 = 0; exit", "i"(0))

__attribute__((weak)) NOINLINE int writes_memory(int *number)
{
	if (!number)
		return 0;
	*number = 42;
	return 1;
}

__attribute__((weak)) NOINLINE int reads_memory(const int *number)
{
	return number ? *number : 0;
}

// A field of a kernel object, as memory that a global function writes or reads.
SEC("tp_btf/task_newtask") int object_written(void *ctx)
{
	return writes_memory(&get_current_task_btf()->prio);
}

SEC("tp_btf/task_newtask") int object_read(void *ctx)
{
	return reads_memory(&get_current_task_btf()->prio);
}

struct part {
	u64 number;
	u8 rest[56];
};

__attribute__((weak)) NOINLINE int reads_part(struct part *part)
{
	return part ? part->number : 0;
}

__attribute__((weak)) NOINLINE int moves_packet(struct xdp_md *ctx, struct part *part)
{
	if (!part)
		return 0;
	xdp_adjust_head(ctx, 1);
	return part->number;
}

#define PART(name, call) \
	SEC("xdp") int name(struct xdp_md *ctx) \
	{ \
		void *end = (void *)(long)ctx->data_end; \
		struct part *part = (void *)(long)ctx->data; \
		if ((void *)(part + 1) > end) \
			return 0; \
		return call; \
	}
PART(packet_passed, reads_part(part))
PART(packet_passed_and_moved, moves_packet(ctx, part))

// A map out of a map, not compared with NULL, as memory.
SEC("tc") int inner_map_as_memory(void *ctx)
{
	int key = 0;
	return csum_diff(map_lookup_elem(&outer, &key), 4, 0, 0, 0);
}

struct {
	UINT(type, 15);
	UINT(max_entries, 1);
	UINT(key_size, 4);
	UINT(value_size, 4);
} sockets SEC(".maps");
struct {
	UINT(type, 17);
	UINT(max_entries, 1);
	UINT(key_size, 4);
	UINT(value_size, 4);
} xdp_sockets SEC(".maps");

// Sockets out of maps.
SEC("tc") int socket_as_memory(void *ctx)
{
	int key = 0;
	return csum_diff(map_lookup_elem(&sockets, &key), 4, 0, 0, 0);
}

SEC("xdp") int xdp_socket_as_memory(void *ctx)
{
	int key = 0;
	return csum_diff(map_lookup_elem(&xdp_sockets, &key), 4, 0, 0, 0);
}

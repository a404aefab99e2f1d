// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// What kernels between the first ones that took a feature and 6.12 make of it: objects in arrays and
// in objects, maps that one call iterates over, functions of modules, memory that is only read.
#include "../../programs/include/skep_bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define KFUNC extern __attribute__((section(".ksyms")))
#define RELAXED __attribute__((preserve_access_index))
#define KPTR __attribute__((btf_type_tag("kptr")))

struct bpf_timer {
	u64 unused[2];
};
struct cpumask {
	u64 bits[1];
} RELAXED;
struct cgroup {
	int level;
} RELAXED;
struct sock {
	int unused;
} RELAXED;
struct task_struct {
	struct cpumask cpus_mask;
} RELAXED;

struct timed {
	struct bpf_timer timer;
};

static u32 (*bpf_get_prandom_u32)(void) = (void *)7;
static u64 (*bpf_get_current_task_btf)(void) = (void *)158;
static long (*bpf_strtol)(const char *text, u64 size, u64 flags, long *number) = (void *)105;
static long (*bpf_probe_read_kernel)(void *to, u32 size, const void *from) = (void *)113;
static void *(*bpf_task_storage_get)(void *map, void *task, void *value, u64 flags) = (void *)156;
static long (*bpf_for_each_map_elem)(void *map, void *callback, void *ctx, u64 flags) = (void *)164;
static long (*const bpf_timer_init)(struct bpf_timer *timer, void *map, u64 flags) = (void *)169;
static long (*const bpf_timer_set_callback)(struct bpf_timer *timer, void *callback) = (void *)170;
static void *(*bpf_kptr_xchg)(void *to, void *object) = (void *)194;

KFUNC void bpf_task_release(struct task_struct *task);
KFUNC u32 bpf_cpumask_first_zero(const struct cpumask *mask);
KFUNC void cgroup_rstat_updated(struct cgroup *cgroup, int cpu) __attribute__((weak));
KFUNC void dctcp_init(struct sock *sk) __attribute__((weak));

// A number of pointers to objects in a map value.
struct tasks {
	struct task_struct KPTR *tasks[2];
};

struct {
	UINT(type, MAP_ARRAY);
	UINT(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, struct tasks);
} tasks SEC(".maps");

SEC("tc") int second_of_array(struct __sk_buff *skb)
{
	u32 key = 0;
	struct tasks *v = map_lookup_elem(&tasks, &key);
	struct task_struct *task;

	if (!v)
		return 0;
	task = bpf_kptr_xchg(&v->tasks[1], 0);
	if (task)
		bpf_task_release(task);
	return 0;
}

// One call that iterates over one of two maps.
struct {
	UINT(type, MAP_ARRAY);
	UINT(max_entries, 2);
	TYPE(key, u32);
	TYPE(value, u32);
} one SEC(".maps"), other SEC(".maps");

NOINLINE static long adds(void *map, u32 *key, u32 *value, void *ctx)
{
	*value += 1;
	return 0;
}

SEC("tc") __attribute__((naked)) int iterates_over_either(void)
{
	asm volatile("call 7;"
		     "r1 = %[one] ll;"
		     "if r0 == 0 goto 1f;"
		     "r1 = %[other] ll;"
		     "1: r2 = %[adds] ll;"
		     "r3 = 0; r4 = 0;"
		     "call 164;"
		     "r0 = 0;"
		     "exit" ::[one] "i"(&one), [other] "i"(&other), [adds] "i"(adds)
		     : "memory");
}

// A mask inside of a trusted object.
SEC("tp_btf/task_newtask") int passes_inner_object(u64 *ctx)
{
	struct task_struct *task = (struct task_struct *)ctx[0];

	return bpf_cpumask_first_zero(&task->cpus_mask) == 1;
}

// A trusted object, passed as such.
#define TRUSTED __attribute__((btf_decl_tag("arg:trusted")))

__attribute__((weak)) NOINLINE int has_first_cpu(struct task_struct *task TRUSTED)
{
	return task->cpus_mask.bits[0] & 1;
}

SEC("tp_btf/task_newtask") int passes_task(u64 *ctx)
{
	return has_first_cpu((struct task_struct *)ctx[0]);
}

// Told by the words of the refusal.
SEC("fentry/bpf_fentry_test1") int traced_calls(void *ctx)
{
	cgroup_rstat_updated(0, 0);
	return 0;
}

// A function of a module, or, where it may not be called, of nothing.
SEC("tc") int calls_module(struct __sk_buff *skb)
{
	dctcp_init(0);
	return 0;
}

// Storage of tasks while sleeping.
struct {
	UINT(type, 29);
	UINT(map_flags, MAP_F_NO_PREALLOC);
	TYPE(key, int);
	TYPE(value, u64);
} storage SEC(".maps");

SEC("lsm.s/bpf") int stores_while_sleeping(void *ctx)
{
	u64 *v = bpf_task_storage_get(&storage, (void *)bpf_get_current_task_btf(), 0, 1);

	if (v)
		*v = 1;
	return 0;
}

// Memory that is only read, as the result of helpers and of a function.
const volatile long number = 1;

SEC("cgroup/sysctl") int number_into_constant(void *ctx)
{
	char text[8] = "1";

	bpf_strtol(text, 8, 0, (long *)&number);
	return 1;
}

SEC("kprobe") int copies_into_constant(void *ctx)
{
	bpf_probe_read_kernel((void *)&number, bpf_get_prandom_u32() & 7, 0);
	return 0;
}

// A field that is inside of another struct.
struct {
	UINT(type, MAP_ARRAY);
	UINT(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, struct {
		u64 count;
		struct timed timed;
	});
} nested SEC(".maps");

SEC("tc") int rings_inside(struct __sk_buff *skb)
{
	u32 key = 0;
	char *value = map_lookup_elem(&nested, &key);

	if (value)
		bpf_timer_init((struct bpf_timer *)(value + 8), &nested, 1);
	return 0;
}

__attribute__((weak)) NOINLINE int writes(long *to)
{
	if (to)
		*to = 2;
	return 0;
}

SEC("socket") int constant_to_writer(void *ctx)
{
	const volatile long *to = &number;

	asm volatile("" : "+r"(to));
	return writes((long *)to);
}

// What a callback of a timer has on the stack, below what the program has.
struct {
	UINT(type, MAP_ARRAY);
	UINT(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, struct timed);
} timers SEC(".maps");

NOINLINE static int fills(u32 seed)
{
	volatile char bytes[300];

	bytes[seed & 255] = seed;
	return bytes[(seed >> 8) & 255];
}

NOINLINE static int rings(void *map, u32 *key, struct timed *value)
{
	volatile char bytes[300];

	bytes[bpf_get_prandom_u32() & 255] = 1;
	return fills(bpf_get_prandom_u32()) & 0;
}

SEC("tc") int rings_deeply(struct __sk_buff *skb)
{
	u32 key = 0;
	struct timed *value = map_lookup_elem(&timers, &key);

	if (!value || bpf_timer_init(&value->timer, &timers, 1))
		return 0;
	bpf_timer_set_callback(&value->timer, rings);
	return 0;
}


// Helpers that depend on the configuration, and on what is iterated over.
SEC("kprobe") __attribute__((naked)) int overrides_result(void)
{
	asm volatile("r2 = 0;"
		     "call 58;"
		     "r0 = 0;"
		     "exit" ::: "memory");
}

SEC("iter/unix") __attribute__((naked)) int sets_option(void)
{
	asm volatile("r1 = *(u64 *)(r1 + 8);"
		     "if r1 == 0 goto 1f;"
		     "*(u32 *)(r10 - 4) = 1;"
		     "r2 = 1; r3 = 7;"
		     "r4 = r10; r4 += -4;"
		     "r5 = 4;"
		     "call 49;"
		     "1: r0 = 0;"
		     "exit" ::: "memory");
}

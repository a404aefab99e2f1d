// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// What kernels from 7.1 on learned, or gave up.
#include "../../programs/include/skep_bpf.h"
#include "walked_first.h"

char LICENSE[] SEC("license") = "GPL";

#define KFUNC extern __attribute__((section(".ksyms")))
#define HELPER(ret, name, number, ...) static ret (*const name)(__VA_ARGS__) = (void *)number

struct bpf_dynptr {
	u64 opaque[2];
} __attribute__((aligned(8)));
struct thing {
	u64 number;
};

KFUNC void bpf_throw(u64 cookie);
KFUNC void *bpf_obj_new_impl(u64 type, void *meta);
KFUNC void bpf_obj_drop_impl(void *object, void *meta);
KFUNC void *bpf_arena_alloc_pages(void *map, void *addr, u32 pages, int node, u64 flags);
KFUNC void bpf_arena_free_pages(void *map, void *addr, u32 pages);
KFUNC void bpf_preempt_disable(void);
KFUNC void bpf_preempt_enable(void);
KFUNC void *bpf_dynptr_slice_rdwr(const struct bpf_dynptr *ptr, u32 off, void *buffer, u32 size);
KFUNC u64 bpf_dynptr_size(const struct bpf_dynptr *ptr);
KFUNC int bpf_dynptr_clone(const struct bpf_dynptr *ptr, struct bpf_dynptr *clone);

HELPER(void *, map_lookup, 1, void *, const void *);
HELPER(long, ringbuf_reserve_dynptr, 198, void *, u32, u64, struct bpf_dynptr *);
HELPER(void, ringbuf_submit_dynptr, 199, struct bpf_dynptr *, u64);
HELPER(long, user_ringbuf_drain, 209, void *, void *, void *, u64);
HELPER(long, dynptr_read, 201, void *, u32, const struct bpf_dynptr *, u32, u64);
HELPER(void *, dynptr_data, 203, const struct bpf_dynptr *, u32, u32);

struct with_lock {
	u64 number;
	struct bpf_spin_lock lock;
};
struct {
	UINT(type, MAP_ARRAY);
	UINT(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, struct with_lock);
} locked SEC(".maps");
struct {
	UINT(type, MAP_RINGBUF);
	UINT(max_entries, 4096);
} records SEC(".maps");
struct {
	UINT(type, 31); /* user ring buffer */
	UINT(max_entries, 4096);
} orders SEC(".maps");
struct {
	UINT(type, 33);
	UINT(map_flags, 1 << 10);
	UINT(max_entries, 4);
} arena SEC(".maps");

NOINLINE int may_throw(u64 cookie)
{
	if (cookie > 5)
		bpf_throw(cookie);
	return get_smp_processor_id();
}
SEC("tc") int throws_with_object(struct __sk_buff *skb)
{
	struct thing *it = bpf_obj_new_impl(__builtin_btf_type_id(*(struct thing *)0, 0), 0);
	if (!it)
		return 0;
	may_throw(skb->mark);
	bpf_obj_drop_impl(it, 0);
	return 0;
}
SEC("tc") int throws_with_preemption_off(struct __sk_buff *skb)
{
	bpf_preempt_disable();
	may_throw(skb->mark);
	bpf_preempt_enable();
	return 0;
}
SEC("tc") int throws_in_global(struct __sk_buff *skb)
{
	return may_throw(skb->mark) & 1;
}

SEC("kprobe/do_unlinkat") int lock_in_kprobe(void *ctx)
{
	u32 key = 0;
	struct with_lock *it = map_lookup(&locked, &key);
	if (it) {
		spin_lock(&it->lock);
		it->number++;
		spin_unlock(&it->lock);
	}
	return 0;
}
SEC("socket") int lock_in_socket_filter(void *ctx)
{
	u32 key = 0;
	struct with_lock *it = map_lookup(&locked, &key);
	if (it) {
		spin_lock(&it->lock);
		it->number++;
		spin_unlock(&it->lock);
	}
	return 0;
}

static long keeps_order(const struct bpf_dynptr *order, u64 *sum)
{
	const struct bpf_dynptr *volatile kept = order;
	return bpf_dynptr_size(kept) & 1;
}
SEC("tp/syscalls/sys_enter_getpid") int spills_dynptr(void *ctx)
{
	u64 sum = 0;
	user_ringbuf_drain(&orders, keeps_order, &sum, 0);
	return 0;
}
static long reads_order(const struct bpf_dynptr *order, u64 *sum)
{
	const struct bpf_dynptr *volatile kept = order;
	u64 number = 0;
	dynptr_read(&number, 8, kept, 0, 0);
	return number & 1;
}
SEC("tp/syscalls/sys_enter_getpid") int reads_spilled_dynptr(void *ctx)
{
	u64 sum = 0;
	user_ringbuf_drain(&orders, reads_order, &sum, 0);
	return 0;
}

#define PAGES \
	asm volatile("r1 = %[arena] ll; r2 = 0; r3 = 1; r4 = -1; r5 = 0; call bpf_arena_alloc_pages" \
		:: [arena] "i"(&arena) : "r0", "r1", "r2", "r3", "r4", "r5", "memory")
SEC("tc") int pages_awake(struct __sk_buff *skb)
{
	bpf_arena_alloc_pages(&arena, 0, 1, -1, 0);
	return 0;
}
SEC("tc") int frees_awake(struct __sk_buff *skb)
{
	bpf_arena_free_pages(&arena, 0, 1);
	return 0;
}
SEC("tc") int pages_under_lock(struct __sk_buff *skb)
{
	u32 key = 0;
	struct with_lock *it = map_lookup(&locked, &key);
	if (it) {
		spin_lock(&it->lock);
		bpf_arena_alloc_pages(&arena, 0, 1, -1, 0);
		spin_unlock(&it->lock);
	}
	return 0;
}
SEC("syscall") int pages_with_preemption_off(void *ctx)
{
	bpf_preempt_disable();
	bpf_arena_alloc_pages(&arena, 0, 1, -1, 0);
	bpf_preempt_enable();
	return 0;
}

SEC("tc") int slice_after_submit(struct __sk_buff *skb)
{
	struct bpf_dynptr record;
	u64 *slice, buffer = 0;

	ringbuf_reserve_dynptr(&records, 16, 0, &record);
	slice = bpf_dynptr_slice_rdwr(&record, 0, 0, 8);
	ringbuf_submit_dynptr(&record, 0);
	if (slice)
		return *slice & 1;
	return 0;
}
SEC("tc") int slice_of_clone_after_submit(struct __sk_buff *skb)
{
	struct bpf_dynptr record, clone;
	u64 *slice;

	ringbuf_reserve_dynptr(&records, 16, 0, &record);
	bpf_dynptr_clone(&record, &clone);
	slice = bpf_dynptr_slice_rdwr(&clone, 0, 0, 8);
	ringbuf_submit_dynptr(&record, 0);
	if (slice)
		return *slice & 1;
	return 0;
}
SEC("tc") int data_after_submit(struct __sk_buff *skb)
{
	struct bpf_dynptr record;
	u64 *slice;

	ringbuf_reserve_dynptr(&records, 16, 0, &record);
	slice = dynptr_data(&record, 0, 8);
	ringbuf_submit_dynptr(&record, 0);
	if (slice)
		return *slice & 1;
	return 0;
}
SEC("tc") int clone_after_submit(struct __sk_buff *skb)
{
	struct bpf_dynptr record, clone;

	ringbuf_reserve_dynptr(&records, 16, 0, &record);
	bpf_dynptr_clone(&record, &clone);
	ringbuf_submit_dynptr(&record, 0);
	return bpf_dynptr_size(&clone) & 1;
}

u64 room[8];
HELPER(long, dynptr_from_mem, 197, void *, u32, u64, struct bpf_dynptr *);

SEC("tc") int slice_after_overwrite(struct __sk_buff *skb)
{
	struct bpf_dynptr it;
	u64 *slice;

	dynptr_from_mem(room, sizeof(room), 0, &it);
	slice = bpf_dynptr_slice_rdwr(&it, 0, 0, 8);
	dynptr_from_mem(room, 8, 0, &it);
	if (slice)
		return *slice & 1;
	return 0;
}
SEC("tc") int slice_beside_other(struct __sk_buff *skb)
{
	struct bpf_dynptr it, other;
	u64 *slice;

	dynptr_from_mem(room, sizeof(room), 0, &it);
	slice = bpf_dynptr_slice_rdwr(&it, 0, 0, 8);
	dynptr_from_mem(room, 8, 0, &other);
	if (slice)
		return *slice & 1;
	return 0;
}

static long itself_again(u32 index, u64 *sum)
{
	u64 own = 0;

	loop(0, itself_again, &own, 0);
	return 0;
}
SEC("tc") int recursive_callback(struct __sk_buff *skb)
{
	u64 sum = 0;

	loop(1, itself_again, &sum, 0);
	return 0;
}
// The jump is decided: the loop that would call itself is not reached.
static long itself_never(u32 index, u64 *sum)
{
	u64 own = 0, zero = 0;

	asm volatile("%0 = 0" : "=r"(zero));
	if (zero)
		loop(1, itself_never, &own, 0);
	return 0;
}
SEC("tc") int recursive_where_never(struct __sk_buff *skb)
{
	u64 sum = 0;

	loop(1, itself_never, &sum, 0);
	return 0;
}
static long itself_behind_back(u32 index, u64 *sum)
{
	u64 zero = 0;

	asm volatile("%0 = 0" : "=r"(zero));
	if (zero)
		loop(1, itself_behind_back, 0, 0);
	return 0;
}
SEC("tc") int recursive_without_frame(struct __sk_buff *skb)
{
	u64 sum = 0;

	loop(1, itself_behind_back, &sum, 0);
	return 0;
}

NOINLINE int calls_thrower(u64 cookie)
{
	return may_throw(cookie) + get_smp_processor_id();
}
SEC("tc") int throws_deeper(struct __sk_buff *skb)
{
	struct thing *it = bpf_obj_new_impl(__builtin_btf_type_id(*(struct thing *)0, 0), 0);
	if (!it)
		return 0;
	calls_thrower(skb->mark);
	bpf_obj_drop_impl(it, 0);
	return 0;
}
static NOINLINE int throws_inside(u64 cookie)
{
	if (cookie > 7)
		bpf_throw(cookie);
	return get_smp_processor_id();
}
NOINLINE int calls_inside(u64 cookie)
{
	return throws_inside(cookie) + get_smp_processor_id();
}
SEC("tc") int throws_in_static(struct __sk_buff *skb)
{
	struct thing *it = bpf_obj_new_impl(__builtin_btf_type_id(*(struct thing *)0, 0), 0);
	if (!it)
		return 0;
	calls_inside(skb->mark);
	bpf_obj_drop_impl(it, 0);
	return 0;
}
NOINLINE int throws_never(u64 cookie)
{
	u64 zero;

	asm volatile("%0 = 0" : "=r"(zero));
	if (zero)
		bpf_throw(cookie);
	return get_smp_processor_id();
}
SEC("tc") int throws_where_never(struct __sk_buff *skb)
{
	struct thing *it = bpf_obj_new_impl(__builtin_btf_type_id(*(struct thing *)0, 0), 0);
	if (!it)
		return 0;
	throws_never(skb->mark);
	bpf_obj_drop_impl(it, 0);
	return 0;
}

struct bpf_res_spin_lock {
	u32 val;
} __attribute__((aligned(4)));
struct with_res {
	struct bpf_res_spin_lock lock;
	u64 number;
};
struct {
	UINT(type, MAP_ARRAY);
	UINT(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, struct with_res);
} guarded SEC(".maps");
KFUNC int bpf_res_spin_lock(struct bpf_res_spin_lock *lock);
KFUNC void bpf_res_spin_unlock(struct bpf_res_spin_lock *lock);

#define GUARDED(section, name) \
	SEC(section) int name(void *ctx) \
	{ \
		u32 key = 0; \
		struct with_res *it = map_lookup(&guarded, &key); \
		if (it && !bpf_res_spin_lock(&it->lock)) { \
			it->number++; \
			bpf_res_spin_unlock(&it->lock); \
		} \
		return 0; \
	}
GUARDED("kprobe/do_unlinkat", res_lock_in_kprobe)
GUARDED("raw_tp/sys_enter", res_lock_in_raw_tp)
GUARDED("socket", res_lock_in_socket_filter)
GUARDED("perf_event", res_lock_in_perf)
GUARDED("tp/syscalls/sys_enter_getpid", res_lock_in_tp)
SEC("kprobe/do_unlinkat") int lock_unused(void *ctx)
{
	u32 key = 0;
	return map_lookup(&locked, &key) != 0;
}

KFUNC void *bpf_rdonly_cast(const void *obj, u32 id);
SEC("tc") int cast_to_void(struct __sk_buff *skb)
{
	char *it = bpf_rdonly_cast(skb, 0);
	return it[0] & 1;
}
SEC("tc") int cast_number_to_void(struct __sk_buff *skb)
{
	char *it = bpf_rdonly_cast((void *)(u64)skb->mark, 0);
	return it[0] & 1;
}

struct bpf_iter_num {
	u64 opaque[1];
} __attribute__((aligned(8)));
KFUNC int bpf_iter_num_new(struct bpf_iter_num *it, int from, int to);
KFUNC int *bpf_iter_num_next(struct bpf_iter_num *it);
KFUNC void bpf_iter_num_destroy(struct bpf_iter_num *it);

// A state is saved where the paths meet; the second one has less stack.
SEC("tc") int dead_store_in_rounds(struct __sk_buff *skb)
{
	struct bpf_iter_num it;

	bpf_iter_num_new(&it, 0, 10);
	while (bpf_iter_num_next(&it))
		asm volatile("r1 = 1; r1 = 2; r1 = 3; r1 = 4; r1 = 5; r1 = 6; r1 = 7; r1 = 8;"
			     "call 7;"
			     "if r0 == 0 goto 1f;"
			     "*(u64 *)(r10 - 64) = r0;"
			     "1: r0 = 1; r0 = 2; r0 = 3; r0 = 4;"
			     ::: "r0", "r1", "r2", "r3", "r4", "r5", "memory");
	bpf_iter_num_destroy(&it);
	return 0;
}

#define PROGRAM(section, name, body) \
	SEC(section) __attribute__((naked)) int name(void) \
	{ asm volatile(body "1: r0 = 0; exit" :: [numbers] "i"(&numbers) : "memory"); }

struct {
	UINT(type, MAP_HASH);
	UINT(max_entries, 1);
	TYPE(key, u64);
	TYPE(value, u64);
} numbers SEC(".maps");

PROGRAM("raw_tp/sys_enter", moved_context, "r1 += 8; r0 = *(u64 *)(r1 + 0);")
PROGRAM("syscall", somewhere_in_context,
	"r6 = r1; call 7; r0 &= 7; r6 += r0;"
	"r0 = *(u32 *)(r6 + 9);"
	"r2 = r6; r1 = %[numbers] ll; call 1;")
PROGRAM("syscall", beyond_context, "r1 += 32768; r0 = *(u8 *)(r1 + 32767);")

struct pair {
	u64 one, other;
};
NOINLINE int takes_pair(struct pair *it)
{
	return it ? it->other & 1 : 0;
}
SEC("kprobe/do_unlinkat") int gives_context(void *ctx)
{
	return takes_pair(ctx);
}

// An acquired socket as a TCP socket.
SEC("tc") __attribute__((naked)) int cast_and_check(void)
{
	asm volatile("r6 = r1;"
		     "r7 = 0;"
		     "*(u64 *)(r10 - 8) = r7;"
		     "*(u64 *)(r10 - 16) = r7;"
		     "r2 = r10;"
		     "r2 += -16;"
		     "r3 = 12;"
		     "r4 = -1;"
		     "r5 = 0;"
		     "call 84;" // bpf_sk_lookup_tcp
		     "if r0 != 0 goto 1f;"
		     "exit;"
		     "1: r7 = r0;"
		     "r1 = r7;"
		     "call 96;" // bpf_tcp_sock
		     "r8 = 1;"
		     "r8 += 2;"
		     "if r0 == 0 goto 2f;"
		     "r3 = *(u32 *)(r0 + 0);"
		     "2: r1 = r7;"
		     "call 86;" // bpf_sk_release
		     "r0 = 0;"
		     "exit" ::: "memory");
}

// The second turn has linked r9 with r8; its bounds are those of the first.
SEC("socket") __attribute__((naked)) int linked_in_turn(void)
{
	asm volatile("r7 = 0;"
		     "r9 = *(u32 *)(r1 + 0);"
		     "r9 &= 7;"
		     "r8 = 0;"
		     "r1 = r10;"
		     "r1 += -8;"
		     "r2 = 0;"
		     "r3 = 10;"
		     "call %[first];"
		     "1: r1 = r10;"
		     "r1 += -8;"
		     "call %[next];"
		     "if r0 == 0 goto 2f;"
		     "r8 = r9;"
		     "r7 = 1;"
		     "goto 1b;"
		     "2: r1 = r10;"
		     "r1 += -8;"
		     "call %[destroy];"
		     "if r7 == 0 goto 3f;"
		     "r1 = r10;"
		     "r1 += -32;"
		     "r1 += r9;"
		     "*(u8 *)(r1 + 0) = r9;"
		     "3: r0 = 0;"
		     "exit" :: [first] "i"(bpf_iter_num_new), [next] "i"(bpf_iter_num_next),
		     [destroy] "i"(bpf_iter_num_destroy) : "memory");
}

// A function that wants no NULL is passed one.
__attribute__((noinline)) u64 wants_number(u64 *number __attribute__((btf_decl_tag("arg:nonnull"))))
{
	asm volatile("");
	return *number;
}
SEC("tc") int null_for_nonnull(struct __sk_buff *skb)
{
	u64 *none = 0;

	asm volatile("" : "+r"(none));
	return wants_number(none) != 0;
}

// A task that is NULL on one path, and on the other, walked later, a number.
struct task_struct {
	int pid;
};
struct bpf_iter_task {
	u64 opaque[3];
} __attribute__((aligned(8)));
KFUNC int bpf_iter_task_new(struct bpf_iter_task *it, struct task_struct *task, u32 flags);
KFUNC void bpf_iter_task_destroy(struct bpf_iter_task *it);
KFUNC void bpf_rcu_read_lock(void);
KFUNC void bpf_rcu_read_unlock(void);
SEC("syscall") int tasks_of_none(void *ctx)
{
	struct bpf_iter_task it;

	bpf_rcu_read_lock();
	bpf_iter_task_new(&it, 0, 1);
	bpf_iter_task_destroy(&it);
	bpf_rcu_read_unlock();
	return 0;
}
SEC("syscall") __attribute__((naked)) int number_for_no_task(void)
{
	asm volatile(WALKED_FIRST(0, 5)
		     "call %[lock];"
		     "r1 = r10;"
		     "r1 += -24;"
		     "r2 = r6;"
		     "r3 = 1;"
		     "call %[first];"
		     "r1 = r10;"
		     "r1 += -24;"
		     "call %[destroy];"
		     "call %[unlock];"
		     "r0 = 0;"
		     "exit" :: [first] "i"(bpf_iter_task_new), [destroy] "i"(bpf_iter_task_destroy),
		     [lock] "i"(bpf_rcu_read_lock), [unlock] "i"(bpf_rcu_read_unlock) : "memory");
}

// The second turn comes with r7 written; nothing that is walked reads it.
SEC("socket") __attribute__((naked)) int unwritten_in_rounds(void)
{
	asm volatile("r8 = 0;"
		     "r1 = r10;"
		     "r1 += -8;"
		     "r2 = 0;"
		     "r3 = 10;"
		     "call %[first];"
		     "1: r1 = r10;"
		     "r1 += -8;"
		     "call %[next];"
		     "if r0 == 0 goto 3f;"
		     "r7 = -33;"
		     "if r8 != 0 goto 2f;"
		     "goto 1b;"
		     "2: r0 = r10;"
		     "r0 += r7;"
		     "r0 = *(u8 *)(r0 + 0);"
		     "goto 1b;"
		     "3: r1 = r10;"
		     "r1 += -8;"
		     "call %[destroy];"
		     "if r8 == 0 goto 4f;"
		     "r0 = r7;"
		     "exit;"
		     "4: r0 = 0;"
		     "exit" :: [first] "i"(bpf_iter_num_new), [next] "i"(bpf_iter_num_next),
		     [destroy] "i"(bpf_iter_num_destroy) : "memory");
}

// Of two dynptrs with one record, one is overwritten.
SEC("socket") __attribute__((naked)) int clone_overwritten(void)
{
	asm volatile("r1 = records ll;"
		     "r2 = 64;"
		     "r3 = 0;"
		     "r4 = r10;"
		     "r4 += -48;"
		     "call 198;" // bpf_ringbuf_reserve_dynptr
		     "r1 = r10;"
		     "r1 += -48;"
		     "r2 = r10;"
		     "r2 += -80;"
		     "call %[clone];"
		     "*(u8 *)(r10 - 80) = 0;"
		     "r1 = r10;"
		     "r1 += -48;"
		     "r2 = 0;"
		     "call 200;" // bpf_ringbuf_discard_dynptr
		     "r0 = 0;"
		     "exit" :: [clone] "i"(bpf_dynptr_clone) : "memory");
}

// Programs of this type return 0 or 1.
__attribute__((noinline)) int throws_hundred(u64 number)
{
	if (number == 0)
		bpf_throw(100);
	return 0;
}
SEC("cgroup_skb/egress") int thrown_by_function(void *ctx)
{
	throws_hundred(3);
	return 1;
}

// Both paths get a slice; the other one's is shorter than what is written.
SEC("tc") __attribute__((naked)) int larger_slice(void)
{
	asm volatile("r1 = records ll;"
		     "r2 = 8;"
		     "r3 = 0;"
		     "r4 = r10;"
		     "r4 += -16;"
		     "call 198;" // bpf_ringbuf_reserve_dynptr
		     WALKED_FIRST(8, 4)
		     "r1 = r10;"
		     "r1 += -16;"
		     "r2 = 0;"
		     "r3 = 0;"
		     "r4 = r6;"
		     "call %[slice];"
		     "if r0 == 0 goto 2f;"
		     "r1 = 1;"
		     "*(u64 *)(r0 + 0) = r1;"
		     "2: r1 = r10;"
		     "r1 += -16;"
		     "r2 = 0;"
		     "call 200;" // bpf_ringbuf_discard_dynptr
		     "r0 = 0;"
		     "exit" :: [slice] "i"(bpf_dynptr_slice_rdwr) : "memory");
}

// A number to which untrusted memory is added is added to a map's value.
SEC("socket") __attribute__((naked)) int adds_untrusted(void)
{
	asm volatile("r1 = 0;"
		     "*(u64 *)(r10 - 8) = r1;"
		     "r2 = r10;"
		     "r2 += -8;"
		     "r1 = numbers ll;"
		     "call 1;" // bpf_map_lookup_elem
		     "if r0 == 0 goto 1f;"
		     "r6 = r0;"
		     "r1 = 0x100000;"
		     "r2 = 0;"
		     "call %[cast];"
		     "r7 = 0;"
		     "r7 += r0;"
		     "r6 += r7;"
		     "r1 = 1;"
		     "*(u64 *)(r6 + 0) = r1;"
		     "1: r0 = 0;"
		     "exit" :: [cast] "i"(bpf_rdonly_cast) : "memory");
}

// The callback counts its calls in the stack; the other path calls it more often.
static __attribute__((noinline)) long counts_calls(u64 index, u64 *calls)
{
	*calls += 1;
	return 0;
}
SEC("socket") __attribute__((naked)) int more_rounds(void)
{
	asm volatile("r1 = 0;"
		     "*(u64 *)(r10 - 8) = r1;"
		     "call 7;"
		     "r6 = r0;"
		     "r1 = 2;"
		     "if r6 == 0 goto 2f;"
		     "1: r2 = %[callback] ll;"
		     "r3 = r10;"
		     "r3 += -8;"
		     "r4 = 0;"
		     "call 181;" // bpf_loop
		     "r7 = *(u64 *)(r10 - 8);"
		     "r1 = r10;"
		     "r1 += -16;"
		     "r1 += r7;"
		     "r0 = 0;"
		     "*(u8 *)(r1 + 0) = r0;"
		     "r0 = 0;"
		     "exit;"
		     "2: r1 = 100;"
		     "goto 1b" :: [callback] "i"(counts_calls) : "memory");
}

// What a value holds is kept by RCU; whether anybody has a reference to it is not known.
struct bpf_refcount {
	u32 opaque;
} __attribute__((aligned(4)));
struct counted {
	struct bpf_refcount count;
	u64 number;
};
struct holds_counted {
	struct counted __attribute__((btf_type_tag("kptr"))) *held;
};
struct {
	UINT(type, MAP_ARRAY);
	UINT(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, struct holds_counted);
} holders SEC(".maps");
KFUNC void *bpf_refcount_acquire_impl(void *object, void *meta);
static __attribute__((noinline)) u64 number_of(struct counted *counted)
{
	return counted->number;
}
SEC("tc") int acquires_what_is_gone(struct __sk_buff *skb)
{
	u32 key = 0;
	struct holds_counted *holder = map_lookup(&holders, &key);
	struct counted *counted;

	if (!holder)
		return 0;
	bpf_rcu_read_lock();
	counted = holder->held;
	if (counted && number_of(counted) != 3)
		bpf_obj_drop_impl(bpf_refcount_acquire_impl(counted, 0), 0);
	bpf_rcu_read_unlock();
	return 0;
}

// One of sixteen bytes, all of which are zero.
SEC("socket") __attribute__((naked)) int zero_somewhere(void)
{
	asm volatile("r2 = 0;"
		     "*(u64 *)(r10 - 8) = r2;"
		     "*(u64 *)(r10 - 16) = r2;"
		     "call 7;"
		     "r0 &= 15;"
		     "r1 = r10;"
		     "r1 += -16;"
		     "r1 += r0;"
		     "r0 = *(u8 *)(r1 + 0);"
		     "if r0 == 0 goto 1f;"
		     "r0 = *(u64 *)(r0 + 0);"
		     "1: r0 = 0;"
		     "exit" ::: "memory");
}

// The first turn of the loop throws, before a state is saved in it.
static __attribute__((noinline)) int throws_at_four(int turn)
{
	asm volatile("" : "+r"(turn));
	if (turn == 4)
		bpf_throw(0);
	return 0;
}
SEC("tc") __attribute__((naked)) int throws_in_loop(void)
{
	asm volatile("r6 = 4;"
		     "1: r1 = r6;"
		     "call %[callee];"
		     "r6 += -1;"
		     "if r6 != 0 goto 1b;"
		     "r0 = 0;"
		     "exit" :: [callee] "i"(throws_at_four) : "memory");
}

// A function that makes itself a callback and gives it its stack, where nothing comes by.
static NOINLINE __attribute__((naked)) int gives_itself_stack(void)
{
	asm volatile("r1 = 1; r2 = %[f] ll; r3 = r10; r3 += -8; r4 = 0; call 181;" // bpf_loop
		     "r0 = 0;"
		     "exit" :: [f] "i"(gives_itself_stack) : "memory");
}
SEC("socket") __attribute__((naked)) int unreached_stack_given_down(void)
{
	asm volatile("r0 = 0;"
		     "if r0 == 0 goto 1f;"
		     "r1 = 1; r2 = %[f] ll; r3 = 0; r4 = 0; call 181;"
		     "1: r0 = 0;"
		     "exit" :: [f] "i"(gives_itself_stack) : "memory");
}

// Nine functions in each other, the last of which is given the stack of the first.
#define GIVES(name, inner) static NOINLINE __attribute__((naked)) int name(void) \
	{ asm volatile("call %[f]; exit" :: [f] "i"(inner) : "memory"); }
static NOINLINE __attribute__((naked)) int given_9(void)
{
	asm volatile("r0 = 0; exit" ::: "memory");
}
GIVES(given_8, given_9)
GIVES(given_7, given_8)
GIVES(given_6, given_7)
GIVES(given_5, given_6)
GIVES(given_4, given_5)
GIVES(given_3, given_4)
GIVES(given_2, given_3)
SEC("socket") __attribute__((naked)) int stack_given_down(void)
{
	asm volatile("r1 = r10;"
		     "call %[f];"
		     "r0 = 0;"
		     "exit" :: [f] "i"(given_2) : "memory");
}

// Arguments of functions of the kernel that are none, told by number.
KFUNC void bpf_local_irq_save(unsigned long *flags);
#define GIVES_CTX(name, function) SEC("tc") __attribute__((naked)) int name(void) \
	{ asm volatile("r2 = 0; r3 = 0; r4 = 0; call %[f]; r0 = 0; exit" :: [f] "i"(function) : "memory"); }
GIVES_CTX(ctx_for_irq_flag, bpf_local_irq_save)
GIVES_CTX(ctx_for_res_lock, bpf_res_spin_lock)
SEC("tc") int irq_flag_twice(void *ctx)
{
	unsigned long flags;

	bpf_local_irq_save(&flags);
	bpf_local_irq_save(&flags);
	return 0;
}

// A pointer beyond the packet's end is moved back, and compared again.
#define MOVED_FROM_END(name, jump, move) \
	SEC("tc") __attribute__((naked)) int name(void) \
	{ \
		asm volatile("r2 = *(u32 *)(r1 + 76);" \
			     "r3 = *(u32 *)(r1 + 80);" \
			     "r4 = r2;" \
			     "r4 += 14;" \
			     jump " goto 1f;" \
			     "2: r0 = 0;" \
			     "exit;" \
			     "1: " move \
			     jump " goto 2b;" \
			     "r0 = *(u64 *)(r0 + 0);" \
			     "exit" ::: "memory"); \
	}
MOVED_FROM_END(moved_from_end, "if r4 > r3", "r4 += -14;")
MOVED_FROM_END(moved_beyond_end, "if r4 >= r3", "r4 += 14;")
MOVED_FROM_END(less_than_end, "if r4 > r3", "r5 = *(u32 *)(r1 + 0); r5 &= 7; r4 -= r5;")
MOVED_FROM_END(left_at_end, "if r4 > r3", "")

struct {
	UINT(type, MAP_HASH);
	UINT(max_entries, 4);
	TYPE(key, u32);
	TYPE(value, u64);
} values SEC(".maps");

// Two values, and on the other path one of them twice.
SEC("tc") __attribute__((naked)) int two_values(void)
{
	asm volatile("*(u32 *)(r10 - 4) = 1;"
		     "r1 = %[values] ll;"
		     "r2 = r10;"
		     "r2 += -4;"
		     "call 1;"
		     "if r0 == 0 goto 9f;"
		     "r8 = r0;"
		     "r9 = r0;"
		     "call 7;"
		     "if r0 == 0 goto 1f;"
		     "r1 = %[values] ll;"
		     "r2 = r10;"
		     "r2 += -4;"
		     "call 1;"
		     "if r0 == 0 goto 9f;"
		     "r9 = r0;"
		     "r7 = 1; r7 = 2; r7 = 3; r7 = 4; r7 = 5; r7 = 6; r7 = 7; r7 = 8; r7 = 9;"
		     "1: r0 = *(u64 *)(r8 + 0);"
		     "r1 = *(u64 *)(r9 + 0);"
		     "r0 = 1; r0 = 2; r0 = 3; r0 = 4;"
		     "9: r0 = 0;"
		     "exit" :: [values] "i"(&values) : "memory");
}

// A bloom filter reads what other maps would write: on kernels that know before the walk which
// bytes of the stack are read, they are gone by then.
struct {
	UINT(type, 30); /* bloom filter */
	UINT(max_entries, 8);
	UINT(value_size, 16);
} seen SEC(".maps");
#define PEEKS(name, stores, loads) \
	SEC("tc") __attribute__((naked)) int name(void) \
	{ \
		asm volatile(stores \
			     "r2 = *(u32 *)(r1 + 0);" \
			     "if r2 == 0 goto 1f;" \
			     "r2 = 1;" \
			     "1: " loads \
			     "r2 = r10;" \
			     "r2 += -16;" \
			     "r1 = %[seen] ll;" \
			     "call 89;" \
			     "r0 = 0;" \
			     "exit" :: [seen] "i"(&seen) : "memory"); \
	}
PEEKS(peeks_at_stack, "*(u64 *)(r10 - 16) = 0; *(u64 *)(r10 - 8) = r1;", "")
PEEKS(peeks_at_half, "*(u32 *)(r10 - 16) = 0; *(u64 *)(r10 - 8) = 0;", "r0 = *(u64 *)(r10 - 8);")
PEEKS(peeks_at_what_is_read, "*(u64 *)(r10 - 16) = 0; *(u64 *)(r10 - 8) = 0;", "r0 = *(u64 *)(r10 - 16); r0 = *(u64 *)(r10 - 8);")
PEEKS(peeks_at_nothing, "", "")

// Functions that call each other, by way of an address.
static NOINLINE int called_back(void);
static NOINLINE __attribute__((naked)) int takes_address(void)
{
	asm volatile("r2 = %[f] ll; r0 = 0; exit" :: [f] "i"(called_back) : "memory");
}
static NOINLINE __attribute__((naked)) int called_back(void)
{
	asm volatile("call %[f]; r0 = 0; exit" :: [f] "i"(takes_address) : "memory");
}
SEC("tc") __attribute__((naked)) int address_and_call(void)
{
	asm volatile("call %[f]; r0 = 0; exit" :: [f] "i"(takes_address) : "memory");
}
static NOINLINE __attribute__((naked)) int calls_itself_never(void)
{
	asm volatile("r0 = 0; if r0 == 0 goto 1f; call %[f]; 1: exit" :: [f] "i"(calls_itself_never) : "memory");
}
SEC("tc") __attribute__((naked)) int recursion_that_is_decided(void)
{
	asm volatile("call %[f]; r0 = 0; exit" :: [f] "i"(calls_itself_never) : "memory");
}

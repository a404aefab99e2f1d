// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Members of map values that not every kernel takes for something special.
#include "../../programs/include/skep_bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define TAG(name) __attribute__((btf_type_tag(name)))

static void *(*const task_storage_get)(void *map, void *task, void *value, u64 flags) = (void *)156;
static void *(*const get_current_task_btf)(void) = (void *)158;

struct user { u64 a; } user; // complete in BTF
struct of_user { struct user TAG("uptr") *p; };
struct bpf_refcount { u32 a; };
struct bpf_wq { u64 a, b; };
struct bpf_task_work { u64 a; };
struct bpf_res_spin_lock { u32 a; };
struct bpf_timer { u64 a, b; };

struct {
	UINT(type, 29);
	UINT(map_flags, MAP_F_NO_PREALLOC);
	TYPE(key, int);
	TYPE(value, struct of_user);
} users SEC(".maps");

#define MAP(map, v)                    \
	struct {                       \
		UINT(type, MAP_ARRAY); \
		UINT(max_entries, 1);  \
		TYPE(key, u32);        \
		TYPE(value, v);        \
	} map SEC(".maps")

struct of_wq { struct bpf_wq x; };
MAP(wqs, struct of_wq);
struct of_work { struct bpf_task_work x; };
MAP(works, struct of_work);
struct of_res { struct bpf_res_spin_lock x; };
MAP(ress, struct of_res);
struct of_timer { struct bpf_timer x; };
MAP(timers, struct of_timer);
struct of_count { struct bpf_refcount x; };
MAP(counts, struct of_count);

SEC("syscall") int reads_user(void *ctx)
{
	void *task = get_current_task_btf();
	struct of_user *v = task_storage_get(&users, task, 0, 0);
	if (!v || !v->p)
		return 0;
	return v->p->a;
}

#define STORES(name, map, type)                                   \
	SEC("tc") int name(struct __sk_buff *skb)                 \
	{                                                         \
		u32 key = 0;                                      \
		type *v = map_lookup_elem(&map, &key);            \
		if (!v)                                           \
			return 0;                                 \
		v->x.a = 1;                                       \
		return 0;                                         \
	}

STORES(stores_wq, wqs, struct of_wq)
STORES(stores_work, works, struct of_work)
STORES(stores_res, ress, struct of_res)
STORES(stores_timer, timers, struct of_timer)
STORES(stores_count, counts, struct of_count)

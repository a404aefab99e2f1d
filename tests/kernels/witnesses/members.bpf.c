// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Members of map values that not every kernel takes for something special.
#include "../../programs/include/skep_bpf.h"

char LICENSE[] SEC("license") = "GPL";

struct bpf_refcount { u32 a; };
struct bpf_wq { u64 a, b; };
struct bpf_task_work { u64 a; };
struct bpf_res_spin_lock { u32 a; };
struct bpf_timer { u64 a, b; };

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

// One of two work queues.
struct of_two_wqs { struct bpf_wq x; u64 more[4]; };
MAP(two_wqs, struct of_two_wqs);
extern __attribute__((section(".ksyms"))) int bpf_wq_init(struct bpf_wq *wq, void *map, u32 flags);
SEC("tc") int workqueue_somewhere(struct __sk_buff *skb)
{
	u32 key = 0;
	char *v = map_lookup_elem(&two_wqs, &key);
	u64 off = skb->mark & 8;

	if (!v)
		return 0;
	asm volatile("" : "+r"(off));
	bpf_wq_init((struct bpf_wq *)(v + off), &two_wqs, 0);
	return 0;
}

SEC("tc") int workqueue_of_map(struct __sk_buff *skb)
{
	u32 key = 0;
	struct of_wq *v = map_lookup_elem(&wqs, &key);

	if (v)
		bpf_wq_init(&v->x, &wqs, 0);
	return 0;
}

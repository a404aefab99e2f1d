/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* An object that may not have been made is put into a map's value. */
#include "../../programs/kfuncs/kfuncs.h"

struct item {
	u64 number;
};

struct place {
	struct item KPTR *item;
};

struct {
	UINT(type, MAP_ARRAY);
	UINT(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, struct place);
} places SEC(".maps");

SEC("tc")
int refused(struct __sk_buff *ctx)
{
	u32 key = 0;
	struct place *place = map_lookup_elem(&places, &key);
	struct item *item;

	if (!place)
		return 0;
	item = OBJ_NEW(item);
	item = kptr_xchg(&place->item, item);
	if (item)
		bpf_obj_drop_impl(item, 0);
	return 0;
}

SEC("tc")
int mended(struct __sk_buff *ctx)
{
	u32 key = 0;
	struct place *place = map_lookup_elem(&places, &key);
	struct item *item;

	if (!place)
		return 0;
	item = OBJ_NEW(item);
	if (!item)
		return 0;
	item = kptr_xchg(&place->item, item);
	if (item)
		bpf_obj_drop_impl(item, 0);
	return 0;
}

LICENSE_GPL;

//! Helpers and kfuncs for allocated objects; see [`crate::objects`].

use super::entry::Callbacks;
use super::held::{hold, let_go, let_go_within};
use crate::objects::{End, Objects, Owns};
use crate::run::Call;
use crate::tree::Side;
use crate::{Errno, current};
use skep_mem::cpu;

fn with<T>(work: impl FnOnce(&Objects) -> Option<T>) -> Option<T> {
    current::with(|current| work(&current.shared.registry.objects)).flatten()
}

/// `void *bpf_obj_new_impl(local_type_id, meta)`; the rewrite has replaced the type by the size,
/// and `meta` by the words that own other objects (`skep_verifier`, fixup/calls).
pub(super) fn new(call: &Call) -> u64 {
    let owns = Owns { pointers: call.arg(1), heads: call.arg(2) };
    given(with(|objects| Some(objects.create(call.arg(0) as u32 as usize, owns))))
}

/// `void *bpf_percpu_obj_new_impl(local_type_id, meta)`.
pub(super) fn percpu_new(call: &Call) -> u64 {
    let bytes = call.arg(0) as u32 as usize;
    let made = current::with(|current| {
        let cpus = current.shared.cpus.count();
        current.shared.registry.objects.create_percpu(bytes, cpus)
    });
    given(made)
}

/// `void *bpf_per_cpu_ptr(percpu_ptr, cpu)`.
pub(super) fn per_cpu_ptr(call: &Call) -> u64 {
    let (stride, count) = call.copies(0);
    let cpu = u64::from(call.arg(1) as u32);
    if cpu < count { call.arg(0) + cpu * stride } else { 0 }
}

/// `void *bpf_this_cpu_ptr(percpu_ptr)`.
pub(super) fn this_cpu_ptr(call: &Call) -> u64 {
    let (stride, count) = call.copies(0);
    // CPU numbers are below the count; a callback outside of runs may have any.
    call.arg(0) + u64::from(cpu::current()).min(count - 1) * stride
}

/// The run now owns an object, or the one that contains a node.
pub(super) fn given(addr: Option<u64>) -> u64 {
    let addr = addr.unwrap_or_default();
    if addr != 0 {
        hold(addr, release);
    }
    addr
}

/// The run no longer owns it: it was freed, or transferred.
pub(super) fn passed_on(addr: u64) {
    // Identified by the address of a node in it, or of its first byte.
    if !let_go(addr)
        && let Some(extent) = with(|objects| objects.extent(addr))
    {
        let_go_within(extent);
    }
}

/// `void bpf_obj_drop_impl(p, meta)`.
pub(super) fn release(call: &Call) -> u64 {
    passed_on(call.arg(0));
    current::with(|current| current.shared.registry.objects.release(call.arg(0)));
    0
}

/// `void *bpf_refcount_acquire_impl(p, meta)`.
pub(super) fn acquire(call: &Call) -> u64 {
    given(with(|objects| objects.acquire(call.arg(0)).then_some(call.arg(0))))
}

/// `void *bpf_kptr_xchg(dst, ptr)`: returns the old pointer, which now belongs to the program.
pub(super) fn kptr_xchg(call: &Call) -> u64 {
    let old = call.pointer(0).swap(call.arg(1), std::sync::atomic::Ordering::AcqRel);
    if call.arg(1) != 0 {
        passed_on(call.arg(1));
    }
    // Pointers to anything else are not counted.
    given(with(|objects| objects.extent(old).map(|_| old)));
    old
}

/// The result of an insertion, after which the node belongs to the list or tree, or is gone.
fn inserted(call: &Call, insert: impl FnOnce(&Objects) -> Result<(), Errno>) -> u64 {
    passed_on(call.arg(1));
    match with(|objects| Some(insert(objects))) {
        Some(Ok(())) => 0,
        _ => Errno::EINVAL.as_int(),
    }
}

/// `int bpf_list_push_front_impl(head, node, meta, off)`.
pub(super) fn list_push_front(call: &Call) -> u64 {
    inserted(call, |objects| objects.push(call.arg(0), call.arg(1), End::Front))
}

/// `int bpf_list_push_back_impl(head, node, meta, off)`.
pub(super) fn list_push_back(call: &Call) -> u64 {
    inserted(call, |objects| objects.push(call.arg(0), call.arg(1), End::Back))
}

/// `struct bpf_list_node *bpf_list_pop_front(head)`.
pub(super) fn list_pop_front(call: &Call) -> u64 {
    given(with(|objects| objects.pop(call.arg(0), End::Front)))
}

/// `struct bpf_list_node *bpf_list_pop_back(head)`.
pub(super) fn list_pop_back(call: &Call) -> u64 {
    given(with(|objects| objects.pop(call.arg(0), End::Back)))
}

/// `struct bpf_list_node *bpf_list_front(head)`.
pub(super) fn list_front(call: &Call) -> u64 {
    with(|objects| objects.peek(call.arg(0), End::Front)).unwrap_or_default()
}

/// `struct bpf_list_node *bpf_list_back(head)`.
pub(super) fn list_back(call: &Call) -> u64 {
    with(|objects| objects.peek(call.arg(0), End::Back)).unwrap_or_default()
}

/// `int bpf_rbtree_add_impl(root, node, less, meta, off)`: after all nodes that are not greater. A
/// node that is already in a tree is rejected without a call of `less`.
pub(super) fn rbtree_add(call: &Call, callbacks: &mut dyn Callbacks) -> u64 {
    let (root, node, less) = (call.arg(0), call.arg(1), call.func(2));
    // The program holds the tree's lock, so the tree does not change meanwhile.
    let mut below = None;
    let mut at = with(|objects| objects.root(root, None).filter(|_| !objects.is_linked(node)));
    while let Some(other) = at {
        let side = match callbacks.call(less, [node, other, 0, 0, 0]) {
            Some(0) => Side::Right,
            Some(_) => Side::Left,
            // The run ends, and the node with it.
            None => return Errno::EINVAL.as_int(),
        };
        below = Some((other, side));
        at = with(|objects| objects.root(root, below));
    }
    inserted(call, |objects| objects.plant(root, node, below))
}

/// `struct bpf_rb_node *bpf_rbtree_first(root)`.
pub(super) fn rbtree_first(call: &Call) -> u64 {
    with(|objects| objects.first(call.arg(0))).unwrap_or_default()
}

/// `struct bpf_rb_node *bpf_rbtree_root(root)`.
pub(super) fn rbtree_root(call: &Call) -> u64 {
    with(|objects| objects.root(call.arg(0), None)).unwrap_or_default()
}

/// `struct bpf_rb_node *bpf_rbtree_left(root, node)`.
pub(super) fn rbtree_left(call: &Call) -> u64 {
    with(|objects| objects.root(call.arg(0), Some((call.arg(1), Side::Left)))).unwrap_or_default()
}

/// `struct bpf_rb_node *bpf_rbtree_right(root, node)`.
pub(super) fn rbtree_right(call: &Call) -> u64 {
    with(|objects| objects.root(call.arg(0), Some((call.arg(1), Side::Right)))).unwrap_or_default()
}

/// `struct bpf_rb_node *bpf_rbtree_remove(root, node)`.
pub(super) fn rbtree_remove(call: &Call) -> u64 {
    given(with(|objects| objects.remove(call.arg(0), call.arg(1))))
}

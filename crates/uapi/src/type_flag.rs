//! `TypeFlag`: the modifiers of an argument, return or register type.

use bitflags::bitflags;

bitflags! {
    /// Modifiers of a type, with the bits of the kernel.
    ///
    /// Kernel: `enum bpf_type_flag` (include/linux/bpf.h), 6.18, read from its BTF. The low eight
    /// bits are the base type.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct TypeFlag: u32 {
        /// May be NULL.
        const PTR_MAYBE_NULL = 1 << 8;
        /// The memory is only read.
        const MEM_RDONLY = 1 << 9;
        /// The memory was reserved in a ring buffer.
        const MEM_RINGBUF = 1 << 10;
        /// The memory is in user space.
        const MEM_USER = 1 << 11;
        /// The memory is per CPU.
        const MEM_PERCPU = 1 << 12;
        /// The call releases the object.
        const OBJ_RELEASE = 1 << 13;
        /// The pointer may be stale: reads go through a probe, and it is not a valid argument.
        const PTR_UNTRUSTED = 1 << 14;
        /// The memory need not be initialized.
        const MEM_UNINIT = 1 << 15;
        /// A dynptr to memory of the program.
        const DYNPTR_TYPE_LOCAL = 1 << 16;
        /// A dynptr to a ring buffer record.
        const DYNPTR_TYPE_RINGBUF = 1 << 17;
        /// The argument's size is fixed by the prototype.
        const MEM_FIXED_SIZE = 1 << 18;
        /// The memory was allocated by the program (`bpf_obj_new`).
        const MEM_ALLOC = 1 << 19;
        /// The pointer is trusted.
        const PTR_TRUSTED = 1 << 20;
        /// The pointer is valid inside an RCU section.
        const MEM_RCU = 1 << 21;
        /// A non-owning reference.
        const NON_OWN_REF = 1 << 22;
        /// A dynptr to an skb.
        const DYNPTR_TYPE_SKB = 1 << 23;
        /// A dynptr to an xdp buffer.
        const DYNPTR_TYPE_XDP = 1 << 24;
        /// The memory must be aligned to its size.
        const MEM_ALIGNED = 1 << 25;
        /// The memory is written.
        const MEM_WRITE = 1 << 26;
        /// A dynptr to the metadata of an skb.
        const DYNPTR_TYPE_SKB_META = 1 << 27;
    }
}

impl TypeFlag {
    /// Every kind of dynptr.
    pub const DYNPTR_TYPE_MASK: TypeFlag = TypeFlag::DYNPTR_TYPE_LOCAL
        .union(TypeFlag::DYNPTR_TYPE_RINGBUF)
        .union(TypeFlag::DYNPTR_TYPE_SKB)
        .union(TypeFlag::DYNPTR_TYPE_XDP)
        .union(TypeFlag::DYNPTR_TYPE_SKB_META);
}

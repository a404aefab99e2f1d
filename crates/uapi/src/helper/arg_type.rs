//! Types of the arguments and results of helpers.
//!
//! Kernel: `enum bpf_arg_type`, `enum bpf_return_type` (include/linux/bpf.h), 6.18, read from its
//! BTF.

use crate::TypeFlag;

/// `enum bpf_arg_type` without its modifiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum ArgBase {
    /// `ARG_DONTCARE`: the helper has no such argument.
    Dontcare = 0,
    /// `ARG_CONST_MAP_PTR`: a map.
    ConstMapPtr = 1,
    /// `ARG_PTR_TO_MAP_KEY`: memory of the map's key size.
    MapKey = 2,
    /// `ARG_PTR_TO_MAP_VALUE`: memory of the map's value size.
    MapValue = 3,
    /// `ARG_PTR_TO_MEM`: memory whose size the next argument or the prototype gives.
    Mem = 4,
    /// `ARG_PTR_TO_ARENA`.
    Arena = 5,
    /// `ARG_CONST_SIZE`: size in bytes of the memory before it, not 0.
    ConstSize = 6,
    /// `ARG_CONST_SIZE_OR_ZERO`: size in bytes of the memory before it.
    ConstSizeOrZero = 7,
    /// `ARG_PTR_TO_CTX`: the context.
    Ctx = 8,
    /// `ARG_ANYTHING`: any initialized register.
    Anything = 9,
    /// `ARG_PTR_TO_SPIN_LOCK`: a `struct bpf_spin_lock` in a map value or an allocated object.
    SpinLock = 10,
    /// `ARG_PTR_TO_SOCK_COMMON`: a `struct bpf_sock` of any completeness.
    SockCommon = 11,
    /// `ARG_PTR_TO_SOCKET`: a full `struct bpf_sock`.
    Socket = 12,
    /// `ARG_PTR_TO_BTF_ID`: a kernel object of the type `ArgType::btf`.
    BtfId = 13,
    /// `ARG_PTR_TO_RINGBUF_MEM`: a reserved record.
    RingbufMem = 14,
    /// `ARG_CONST_ALLOC_SIZE_OR_ZERO`: a known constant, the size of the memory that is returned.
    ConstAllocSizeOrZero = 15,
    /// `ARG_PTR_TO_BTF_ID_SOCK_COMMON`: a socket in either form.
    BtfIdSockCommon = 16,
    /// `ARG_PTR_TO_PERCPU_BTF_ID`: a per-CPU kernel variable.
    PercpuBtfId = 17,
    /// `ARG_PTR_TO_FUNC`: a static subprog, as callback.
    Func = 18,
    /// `ARG_PTR_TO_STACK`: the stack.
    Stack = 19,
    /// `ARG_PTR_TO_CONST_STR`: a terminated string in a frozen read-only map.
    ConstStr = 20,
    /// `ARG_PTR_TO_TIMER`: a `struct bpf_timer` in a map value.
    Timer = 21,
    /// `ARG_KPTR_XCHG_DEST`: a kptr field.
    KptrXchgDest = 22,
    /// `ARG_PTR_TO_DYNPTR`: a dynptr on the stack.
    Dynptr = 23,
}

/// Type of one argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArgType {
    /// What it is.
    pub base: ArgBase,
    /// Modifiers.
    pub flags: TypeFlag,
    /// Size of the memory in bytes, if `MEM_FIXED_SIZE`; otherwise 0.
    pub size: u32,
    /// The kernel struct, if `base` is `BtfId`; empty if the verifier takes it from elsewhere
    /// (`bpf_kptr_xchg`).
    pub btf: &'static str,
}

impl ArgType {
    /// A type with modifiers.
    pub const fn new(base: ArgBase, flags: TypeFlag) -> ArgType {
        ArgType { base, flags, size: 0, btf: "" }
    }

    /// May the argument be NULL?
    pub const fn maybe_null(self) -> bool {
        self.flags.contains(TypeFlag::PTR_MAYBE_NULL)
    }
}

/// `enum bpf_return_type` without its modifiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum RetBase {
    /// `RET_INTEGER`.
    Integer = 0,
    /// `RET_VOID`.
    Void = 1,
    /// `RET_PTR_TO_MAP_VALUE`: a value of the map among the arguments.
    MapValue = 2,
    /// `RET_PTR_TO_SOCKET`.
    Socket = 3,
    /// `RET_PTR_TO_TCP_SOCK`.
    TcpSock = 4,
    /// `RET_PTR_TO_SOCK_COMMON`.
    SockCommon = 5,
    /// `RET_PTR_TO_MEM`: memory whose size an argument gives.
    Mem = 6,
    /// `RET_PTR_TO_MEM_OR_BTF_ID`: depends on the type of the per-CPU variable.
    MemOrBtfId = 7,
    /// `RET_PTR_TO_BTF_ID`: a kernel object of the type `RetType::btf`.
    BtfId = 8,
}

/// Type of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetType {
    /// What it is.
    pub base: RetBase,
    /// Modifiers: `PTR_MAYBE_NULL`, `PTR_TRUSTED`, `MEM_RINGBUF`, `MEM_RDONLY`.
    pub flags: TypeFlag,
    /// The kernel struct, if `base` is `BtfId`; empty if the verifier takes it from elsewhere
    /// (`bpf_kptr_xchg`).
    pub btf: &'static str,
}

impl RetType {
    /// A type with modifiers.
    pub const fn new(base: RetBase, flags: TypeFlag) -> RetType {
        RetType { base, flags, btf: "" }
    }

    /// May the result be NULL?
    pub const fn maybe_null(self) -> bool {
        self.flags.contains(TypeFlag::PTR_MAYBE_NULL)
    }
}

//! Errors in calls of kernel functions (kfuncs).

use super::row::{Name, Regno, Word, kinds};
use super::variant::PrototypeFault;
use crate::state::reg_type::RegType;

kinds! {
    /// An error in a call of a kernel function.
    KfuncFault {
        // Whether it may be called at all.
        NeedsGpl "kernel-function-needs-gpl"
            "cannot call kernel function from non-GPL compatible program";
        NegativeModule "kernel-function-module-negative"
            "negative offset disallowed for kernel module function call\n\
             failed to find BTF for kernel function";
        NoFdArray "kernel-function-of-module"
            "kfunc offset > 0 without fd_array is invalid\nfailed to find BTF for kernel function";
        DeviceBound "kernel-function-needs-device"
            "metadata kfuncs require device-bound program";
        NoAddress { name: Name } "kernel-function-without-address"
            "cannot find address for kernel function {name}";
        Prototype { fault: PrototypeFault } "kernel-function-prototype"
            "{fault}";
        NoExceptions { name: Name, id: i32 } "exceptions-not-supported"
            "JIT does not support calling kfunc {name}#{id}";
        RefcountsDisabled "refcounts-disabled"
            "bpf_refcount_acquire calls are disabled for now";
        NotFunction { id: u32 } "no-such-kernel-function"
            "kernel btf_id {id} is not a function";
        Trap "compiler-trap"
            "unexpected __bpf_trap() due to uninitialized variable?";
        NeedsSleepable { name: Name } "sleeping-kernel-function"
            "program must be sleepable to call sleepable kfunc {name}";
        NotAllowed { name: Name } "kernel-function-not-for-program-type"
            "calling kernel function {name} is not allowed";
        NotAcquired { name: Name } "kernel-function-releases-unacquired"
            "kfunc {name} reference has not been acquired before";
        TooManyArgs { name: Name, n: usize, max: usize } "kernel-function-parameters"
            "Function {name} has {n} > {max} args";

        // Critical sections.
        SleepsNonPreemptible { name: Name } "sleeps-with-preemption-off"
            "kernel func {name} is sleepable within non-preemptible region";
        PreemptUnmatched { name: Name } "preemption-not-off"
            "unmatched attempt to enable preemption (kernel function {name})";
        SleepsIrqOff { name: Name } "sleeps-with-interrupts-off"
            "kernel func {name} is sleepable within IRQ-disabled region";
        NeedsRcu { name: Name } "needs-rcu-section"
            "kernel func {name} requires RCU critical section protection";
        NoRcuTags { name: Name } "needs-rcu-tags"
            "no vmlinux btf rcu tag support for kfunc {name}";
        RcuUnmatched { name: Name } "rcu-not-locked"
            "unmatched rcu read unlock (kernel function {name})";
        RcuInRbtreeCb "rcu-in-rbtree-callback"
            "Calling bpf_rcu_read_{{lock,unlock}} in unnecessary rbtree callback";
        RcuNested { name: Name } "rcu-locked-twice"
            "nested rcu read lock (kernel function {name})";
        SleepsInRcu { name: Name } "sleeps-in-rcu-section"
            "kernel func {name} is sleepable within rcu_read_lock region";

        // Arguments.
        ArgPointer { name: Name, nth: usize, kind: Word, to: Name } "kernel-parameter-pointer"
            "kernel function {name} args#{nth} pointer type {kind} {to} is not supported";
        ArgTarget { nth: usize, kind: Word, name: Name, or_void: Word, ty: RegType }
            "kernel-parameter-target"
            "arg#{nth} pointer type {kind} {name} must point to {or_void}scalar, or struct with scalar";
        ReleaseUnreferenced { name: Name } "kernel-function-releases-unreferenced"
            "release kernel function {name} expects refcounted PTR_TO_BTF_ID";
        TwoAux "two-program-parameters"
            "Only 1 prog->aux argument supported per-kfunc";
        ArgKind { nth: usize, ty: Word } "kernel-parameter-type"
            "Unrecognized arg#{nth} type {ty}";
        MaybeNull { nth: usize } "maybe-null-trusted-argument"
            "Possibly NULL pointer passed to trusted arg{nth}";
        NotScalar { regno: Regno } "kernel-argument-not-a-number"
            "R{regno} is not a scalar";
        NotConstant { regno: Regno } "kernel-argument-not-constant"
            "R{regno} must be a known constant";
        TwoBufSizes "two-buffer-sizes"
            "2 or more rdonly/rdwr_buf_size parameters for kfunc";
        BufSizeNotConst { regno: Regno } "buffer-size-not-constant"
            "R{regno} is not a const";
        NotMap { regno: Regno } "kernel-argument-not-a-map"
            "pointer in R{regno} isn't map pointer";
        FieldOfOtherMap { what: Word, a: Regno, from: u32, b: Regno, uid: u32 } "field-of-other-map"
            "{what} pointer in R{a} map_uid={from} doesn't match map pointer in R{b} map_uid={uid}";
        CssTaskIter "css-task-iterator-not-here"
            "css_task_iter is only allowed in bpf_lsm, bpf_iter and sleepable progs";
        NotFunc { nth: usize } "kernel-argument-not-a-callback"
            "arg{nth} expected pointer to func";
        NotCtx { nth: usize, ty: RegType } "kernel-argument-not-the-context"
            "arg#{nth} expected pointer to ctx, but got {ty}";
        NoKernelCtx { text: Name } "no-kernel-context"
            "{text}";
        ForObjDrop { nth: usize } "object-for-obj-drop"
            "arg#{nth} expected for bpf_obj_drop_impl()";
        ForPercpuObjDrop { nth: usize } "object-for-percpu-obj-drop"
            "arg#{nth} expected for bpf_percpu_obj_drop_impl()";
        NotAllocated { nth: usize } "argument-not-allocated"
            "arg#{nth} expected pointer to allocated object";
        AllocatedUnreferenced "allocated-object-not-owned"
            "allocated object must be referenced";
        NoOwnership { nth: usize } "argument-neither-owning-nor-borrowed"
            "arg#{nth} is neither owning or non-owning ref";
        NoRecord "type-without-special-fields"
            "verifier bug: Couldn't find btf_record";
        NotRefcounted { nth: usize } "type-without-refcount"
            "arg#{nth} doesn't point to a type with bpf_refcount field";
        ArgSize { nth: usize, kind: Word, name: Name } "kernel-argument-of-unknown-size"
            "arg#{nth} reference type('{kind} {name}') size cannot be determined: -22";
        MemLenPair { nth: usize, len: usize } "memory-and-length"
            "arg#{nth} arg#{len} memory, len pair leads to invalid memory access";
        NegativeSize { regno: Regno } "kernel-argument-maybe-negative-size"
            "R{regno} min value is negative, either use unsigned or 'var &= const'";
        UnboundedSize { regno: Regno } "kernel-argument-unbounded-size"
            "R{regno} unbounded memory access, use 'var &= const' or 'if (var < const)'";
        NotConstString { nth: usize } "kernel-argument-not-a-constant-string"
            "arg#{nth} doesn't point to a const string";
        NotMapValue { nth: usize } "kernel-argument-not-a-map-value"
            "arg#{nth} doesn't point to a map value";
        NotMapValueOrObject { nth: usize } "lock-argument-not-in-map-or-object"
            "arg#{nth} doesn't point to map value or allocated object";
        Untrusted { regno: Regno } "untrusted-argument"
            "R{regno} must be referenced or trusted";
        NotRcu { regno: Regno } "argument-not-under-rcu"
            "R{regno} must be a rcu pointer";
        NotObject { nth: usize, got: RegType, expected: RegType } "kernel-argument-not-an-object"
            "arg#{nth} is {got} expected {expected} or socket";
        OtherObject { name: Name, nth: usize, expected: Name, regno: Regno, actual: Name }
            "kernel-argument-of-other-type"
            "kernel function {name} args#{nth} expected pointer to {expected} \
             but R{regno} has a pointer to {actual}";

        // Special fields of map values.
        FieldVariable { regno: Regno, what: Word } "field-at-variable-offset"
            "R{regno} doesn't have constant offset. {what} has to be at the constant offset";
        FieldWithoutBtf { name: Name, what: Word } "field-map-without-btf"
            "map '{name}' has to have BTF in order to use {what}";
        MapWithoutField { name: Name, what: Word } "map-without-field"
            "map '{name}' has no valid {what}";
        NotTheField { off: i64, what: Word, want: u32 } "pointer-beside-field"
            "off {off} doesn't point to 'struct {what}' that is at {want}";

        // Dynptrs, iterators, irq flags.
        NotDynptr { nth: u8 } "argument-not-a-dynptr"
            "arg#{nth} expected pointer to stack or const struct bpf_dynptr";
        DynptrInUse "dynptr-already-initialized"
            "Dynptr has to be an uninitialized dynptr";
        ConstDynptr "const-dynptr-changed"
            "cannot pass pointer to const bpf_dynptr, the helper mutates it";
        DynptrUninit { nth: u8 } "dynptr-not-initialized"
            "Expected an initialized dynptr as arg #{nth}";
        DynptrKind { name: Word, nth: u8 } "dynptr-of-other-kind"
            "Expected a dynptr of type {name} as arg #{nth}";
        NoDynptrKind "dynptr-without-kind"
            "";
        DynptrReferenced "referenced-dynptr-overwritten"
            "cannot overwrite referenced dynptr";
        NotIterator { nth: usize } "argument-not-an-iterator"
            "arg#{nth} expected pointer to an iterator on stack";
        IteratorType { nth: usize } "iterator-of-other-type"
            "expected valid iter pointer as arg #{nth}";
        IteratorInUse { name: Name, nth: usize } "iterator-already-initialized"
            "expected uninitialized iter_{name} as arg #{nth}";
        IteratorUninit { name: Name, nth: usize } "iterator-not-initialized"
            "expected an initialized iter_{name} as arg #{nth}";
        IteratorNeedsRcu { name: Name } "iterator-needs-rcu-section"
            "expected an RCU CS when using {name}";
        NotIrqFlag { nth: usize } "argument-not-an-irq-flag"
            "arg#{nth} doesn't point to an irq flag on stack";
        IrqFlagInUse { nth: usize } "irq-flag-already-saved"
            "expected uninitialized irq flag as arg#{nth}";
        IrqFlagUninit { nth: usize } "irq-flag-not-saved"
            "expected an initialized irq flag as arg#{nth}";
        IrqFlagKind { by: Word, with: Word } "irq-flag-of-other-kind"
            "irq flag acquired by {by} kfuncs cannot be restored with {with} kfuncs";
        IrqOrder { active: u32, insn_idx: u32 } "irq-flags-out-of-order"
            "cannot restore irq state out of order, expected id={active} \
             acquired at insn_idx={insn_idx}";
        SlotVariable { what: Word } "stack-object-at-variable-offset"
            "{what} has to be at a constant offset";
        SlotOffset { what: Word, off: i32 } "stack-object-misplaced"
            "cannot pass in {what} at an offset={off}";
        SlotOutside "stack-object-out-of-range"
            "";

        // Lists and trees.
        HeadPlace { nth: usize } "collection-not-in-map-or-object"
            "arg#{nth} expected pointer to map value or allocated object";
        HeadVariable { regno: Regno, name: Word } "collection-at-variable-offset"
            "R{regno} doesn't have constant offset. {name} has to be at the constant offset";
        NoHead { name: Word, off: u32 } "collection-not-found"
            "{name} not found at offset={off}";
        LockNotHeld { lock: i64, what: Name } "collection-lock-not-held"
            "bpf_spin_lock at off={lock} must be held for {what}";
        LockOfOther { lock: i64, what: Name } "lock-of-other-allocation"
            "held lock and object are not in the same allocation\n\
             bpf_spin_lock at off={lock} must be held for {what}";
        NodeOwnership { name: Name } "node-owned"
            "{name} can only take non-owning or refcounted bpf_rb_node pointer";
        InRbtreeCb { name: Name } "not-in-rbtree-callback"
            "{name} not allowed in rbtree cb";
        NodeType { head_name: Word, node_name: Word, want: u32, to: Name, off: u32, from: Name }
            "node-of-other-type"
            "operation on {head_name} expects arg#1 {node_name} at offset={want} in struct {to}, \
             but arg is at offset={off} in struct {from}";
        NodeOffset { off: u32, node_name: Word, want: u32, to: Name } "node-at-other-offset"
            "arg#1 offset={off}, but expected {node_name} at offset={want} in struct {to}";
        NotConverted { name: Name } "ownership-not-passed"
            "kfunc {name} conversion of owning ref to non-owning failed";

        // Results.
        AcquiresNoObject "acquired-result-not-an-object"
            "acquire kernel function does not return PTR_TO_BTF_ID";
        ResultPointer { name: Name, kind: Word, to: Name } "kernel-result-pointer"
            "kernel function {name} returns pointer type {kind} {to} is not supported";
        TypeIdRange "type-id-range"
            "local type ID argument must be in range [0, U32_MAX]";
        NewWithoutBtf "allocation-without-btf"
            "bpf_obj_new/bpf_percpu_obj_new requires prog BTF";
        NewNotStruct "allocation-not-of-a-struct"
            "bpf_obj_new/bpf_percpu_obj_new type ID argument must be of a struct";
        NewTooLarge { size: u32, max: u32 } "per-cpu-allocation-too-large"
            "bpf_percpu_obj_new type size ({size}) is greater than {max}";
        NewNotScalars "per-cpu-allocation-with-pointers"
            "bpf_percpu_obj_new type ID argument must be of a struct of scalars";
        NewSpecialFields "per-cpu-allocation-with-special-fields"
            "bpf_percpu_obj_new type ID argument must not contain special fields";
        CastUnknownType { id: i64 } "cast-to-unknown-type"
            "Unknown type ID {id} passed to kfunc bpf_rdonly_cast";
        CastNotStruct "cast-to-no-struct"
            "kfunc bpf_rdonly_cast type ID argument must be of a struct or void";
        PacketReadOnly "packet-slice-not-writable"
            "the prog does not allow writes to packet data";
    }
}

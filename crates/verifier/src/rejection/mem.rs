//! Errors in loads and stores, and in memory passed to helpers.

use super::row::{Name, Regno, Word, kinds};
use crate::state::reg_type::RegType;
use skep_btf::WalkError;
use skep_domain::Tnum;

kinds! {
    /// An error in a memory access.
    MemFault {
        // Memory of known size.
        UnboundedAccess { regno: Regno } "unbounded-access"
            "R{regno} unbounded memory access, make sure to bounds check any such access";
        MaybeNegative { regno: Regno } "maybe-negative-offset"
            "R{regno} min value is negative, either use unsigned index or do a if (index >=0) check.";
        BeyondMapKey { mem_size: u32, off: i32, size: i32 } "beyond-map-key"
            "invalid access to map key, key_size={mem_size} off={off} size={size}";
        BeyondMapValue { mem_size: u32, off: i32, size: i32 } "beyond-map-value"
            "invalid access to map value, value_size={mem_size} off={off} size={size}";
        BeyondPacket { off: i32, size: i32, regno: Regno, id: u32, mem_size: u32 } "beyond-packet"
            "invalid access to packet, off={off} size={size}, R{regno}(id={id},off={off},r={mem_size})";
        BeyondMem { mem_size: u32, off: i32, size: i32 } "beyond-memory"
            "invalid access to memory, mem_size={mem_size} off={off} size={size}";
        MinOutside { regno: Regno } "lowest-offset-outside"
            "R{regno} min value is outside of the allowed memory range";
        MaxOutside { regno: Regno } "highest-offset-outside"
            "R{regno} max value is outside of the allowed memory range";
        OutsidePacket { regno: Regno, told: Word } "packet-not-compared"
            "R{regno} offset is outside of the packet";
        BeyondFlowKeys { off: i32, size: i32 } "beyond-flow-keys"
            "invalid access to flow keys off={off} size={size}";
        NegativeBuffer { regno: Regno, what: Word, off: i32, size: i32, at: i32, moved: i32 } "before-buffer"
            "R{regno} invalid {what} buffer access: off={off}, size={size}";
        VariableBuffer { regno: Regno, off: i32, var: Tnum } "variable-buffer-offset"
            "R{regno} invalid variable buffer offset: off={off}, var_off={var}";
        BeyondSocket { regno: Regno, ty: RegType, off: i32, size: i32 } "beyond-socket"
            "R{regno} invalid {ty} access off={off} size={size}";
        BeyondCtx { off: i32, size: i32 } "no-such-context-field"
            "invalid bpf_context access off={off} size={size}";
        ArenaExtends "signed-load-from-arena"
            "sign extending loads from arena are not supported yet";
        CtxConversion "context-conversion"
            "verifier bug: error during ctx access conversion (0)";

        // Type of the register.
        NotMemory { regno: Regno, ty: RegType } "not-a-pointer-to-memory"
            "R{regno} invalid mem access '{ty}'";
        NotWritable { regno: Regno, ty: RegType } "store-to-read-only-memory"
            "R{regno} cannot write into {ty}";
        LeaksAddr { value: Regno, into: Word } "stored-pointer-leaks"
            "R{value} leaks addr into {into}";
        NegativeOffset { ty: RegType, regno: Regno, off: i32 } "negative-pointer-offset"
            "negative offset {ty} ptr R{regno} off={off} disallowed";
        ModifiedPointer { ty: RegType, regno: Regno, off: i32 } "modified-pointer"
            "dereference of modified {ty} ptr R{regno} off={off} disallowed";
        VariablePointer { ty: RegType, var: Tnum } "variable-pointer-offset"
            "variable {ty} access var_off={var} disallowed";
        MixedPointers "paths-bring-different-pointers"
            "same insn cannot be used with different pointers";
        PacketReadOnly "store-to-packet"
            "cannot write into packet";

        // Alignment.
        MisalignedPacket { start: i32, var: Tnum, fixed: i32, off: i32, size: i32 }
            "misaligned-packet-access"
            "misaligned packet access off {start}+{var}+{fixed}+{off} size {size}";
        Misaligned { what: Word, var: Tnum, fixed: i32, off: i32, size: i32, sum: Name, bits: Name } "misaligned-access"
            "misaligned {what}access off {var}+{fixed}+{off} size {size}";

        // Kernel objects.
        ObjectReadOnly "store-to-kernel-object"
            "only read is supported";
        NeedsPerfmon { name: Name } "kernel-object-needs-privilege"
            "'struct {name}' access is allowed only to CAP_PERFMON and CAP_SYS_ADMIN";
        ObjectNeedsGpl { name: Name } "kernel-object-needs-gpl"
            "Cannot access kernel 'struct {name}' from non-GPL compatible program";
        BeforeObject { regno: Regno, name: Name, off: i32 } "before-kernel-object"
            "R{regno} is ptr_{name} invalid negative access: off={off}";
        VariableObject { regno: Regno, name: Name, off: i32, var: Tnum } "variable-object-offset"
            "R{regno} is ptr_{name} invalid variable offset: off={off}, var_off={var}";
        TaggedObject { regno: Regno, name: Name, what: Word, off: i32 } "tagged-object"
            "R{regno} is ptr_{name} access {what} memory: off={off}";
        ObjectUnreferenced "object-without-reference"
            "verifier bug: ref_obj_id for allocated object must be non-zero";
        OpaqueObject { name: Name } "opaque-object"
            "direct access to {name} is disallowed";
        NoField { why: WalkError } "no-such-field"
            "{why}";
        UnfitField { why: WalkError } "access-does-not-fit-field"
            "{why}";
        OpaqueMap { number: u32 } "map-struct-not-readable"
            "map_ptr access not supported for map type {number}";
        BeforeMap { regno: Regno, name: Name, off: i32 } "before-map-struct"
            "R{regno} is {name} invalid negative access: off={off}";
        MapReadOnly { name: Name } "store-to-map-struct"
            "only read from {name} is supported";
        DummyOpsOnly "store-outside-dummy-ops-state"
            "only access to bpf_dummy_ops_state is supported";
        BeyondDummyOps { off: i32, size: i32 } "beyond-dummy-ops-state"
            "write access at off {off} with size {size}";
        SchedulerReadOnly "store-by-scheduler"
            "";
        StoreRefused { regno: Regno, name: Name, off: i32, size: i32 } "store-refused"
            "";
        FieldReadOnly { name: Name, off: i32 } "store-to-read-only-field"
            "no write support to {name} at off {off}";
        BeyondMember { off: i32, size: i32, name: Name, end: u32 } "store-beyond-field"
            "write access at off {off} with size {size} beyond the member of {name} ended at {end}";

        // Map values and the special fields in them.
        MapKeyReadOnly { regno: Regno } "store-to-map-key"
            "write to change key R{regno} not allowed";
        MapReadOnlyForProg { value_size: u32, off: i32, size: i32 } "store-to-read-only-map"
            "write into map forbidden, value_size={value_size} off={off} size={size}";
        MapWriteOnlyForProg { value_size: u32, off: i32, size: i32 } "load-from-write-only-map"
            "read from map forbidden, value_size={value_size} off={off} size={size}";
        SpecialField { name: Word } "special-field-accessed"
            "{name} cannot be accessed directly by load/store";
        SpecialFieldByHelper { name: Word } "special-field-given-to-helper"
            "{name} cannot be accessed indirectly by helper";
        SpecialFieldVariable { name: Word } "special-field-at-variable-offset"
            "{name} access cannot have variable offset";
        SpecialFieldPart { name: Word, expected: u32, off: u64 } "part-of-special-field"
            "{name} access misaligned expected={expected} off={off}";
        SpecialFieldSize { name: Word } "special-field-size"
            "{name} access size must be BPF_DW";
        KptrMode "kptr-access-mode"
            "kptr in map can only be accessed using BPF_MEM instruction mode";
        KptrClass "kptr-access-insn"
            "kptr in map can only be accessed using BPF_LDX/BPF_STX/BPF_ST";
        KptrRefStore "store-to-referenced-kptr"
            "store to referenced kptr disallowed";
        UptrStore "store-to-uptr"
            "store to uptr disallowed";
        KptrImmediate { off: u32 } "kptr-immediate-not-null"
            "BPF_ST imm must be 0 when storing to kptr at off={off}";
        KptrType { regno: Regno, ty: RegType, reg_name: Name, target: Name } "kptr-of-other-type"
            "invalid kptr access, R{regno} type={ty}{reg_name} expected=ptr_{target}";
        UntrustedKptrType { regno: Regno, ty: RegType, reg_name: Name, target: Name }
            "untrusted-kptr-of-other-type"
            "invalid kptr access, R{regno} type={ty}{reg_name} expected=ptr_{target} \
             or untrusted_ptr_{target}";
        MapOfManyReadOnce "constant-map-of-many-elements"
            "";

        // The stack.
        VariableStackForHelper { var: Tnum, off: i32, size: i32 } "variable-stack-given-to-helper"
            "variable offset stack pointer cannot be passed into helper function; \
             var_off={var} off={off} size={size}";
        UnboundedStack { what: Word, regno: Regno, told: Word } "unbounded-stack-offset"
            "invalid unbounded variable-offset {what} stack R{regno}";
        BeyondStack { what: Word, regno: Regno, min_off: i64, size: i32, told: Word } "beyond-stack"
            "invalid {what} stack R{regno} off={min_off} size={size}";
        VariableBeyondStack { what: Word, regno: Regno, var: Tnum, off: i32, size: i32, told: Word }
            "variable-offset-beyond-stack"
            "invalid variable-offset {what} stack R{regno} var_off={var} off={off} size={size}";
        ZeroSizedRead "stack-read-of-nothing"
            "invalid zero-sized read";
        VariableStackUnprivileged { regno: Regno, var: Tnum } "variable-stack-unprivileged"
            "R{regno} variable offset stack access prohibited for !root, var_off={var}";
        UninitStackArg { what: Word, regno: Regno, min_off: i32, byte: i32, size: i32, told: Word }
            "uninitialized-stack-argument"
            "{what} from stack R{regno} off {min_off}+{byte} size {size}{told}";
        UninitVariableStackArg { by: Word, regno: Regno, var: Tnum, byte: i32, size: i32 }
            "uninitialized-variable-stack-argument"
            "invalid read from stack R{regno} var_off {var}+{byte} size {size}";
        WriteToDynptr { off: i32 } "store-to-dynptr"
            "potential write to dynptr at off={off} disallowed";
        StackLeaksPointer { off: i32 } "stack-read-leaks-pointer"
            "leaking pointer from stack off {off}";
        FillSize "partial-fill"
            "invalid size of register fill";
        UninitStack { what: Word, off: i32, byte: i32, size: i32, told: Word } "uninitialized-stack"
            "{what} from stack off {off}+{byte} size {size}{told}";
        SpillSize "partial-spill"
            "invalid size of register spill";
        StackPointerToCaller "stack-pointer-in-caller"
            "cannot spill pointers to stack into stack frame of the caller";
        CorruptsSpill "spilled-pointer-corrupted"
            "attempt to corrupt spilled pointer on stack";
        VariableWriteOverSpill { insn_idx: u32, off: i32 } "variable-store-over-spill"
            "spilled ptr in range of var-offset stack write; insn {insn_idx}, ptr off: {off}";
        VariableWriteOverUninit { insn_idx: u32, off: i32 } "variable-store-over-uninitialized"
            "uninit stack in range of var-offset write prohibited for !root; \
             insn {insn_idx}, off: {off}";
    }
}

//! Errors in an insn: its encoding, or its use of registers.

use super::row::{Name, Regno, Word, kinds};
use crate::state::reg_type::RegType;
use skep_domain::Tnum;

kinds! {
    /// An error in an insn: its encoding, or its use of registers.
    InsnFault {
        // Encoding.
        Reserved { insn: Word } "reserved-fields"
            "{insn} uses reserved fields";
        LdImm64Half "half-of-wide-constant"
            "invalid bpf_ld_imm64 insn";
        LdImm64Kind "unknown-wide-constant"
            "unrecognized bpf_ld_imm64 insn";
        LdImmSize "narrow-constant-load"
            "invalid BPF_LD_IMM insn";
        LdMode "unknown-load-mode"
            "invalid BPF_LD mode";
        Opcode { code: u8 } "unknown-opcode"
            "unknown opcode {code:02x}";
        AluOpcode { op: u8 } "unknown-alu-opcode"
            "invalid BPF_ALU opcode {op:x}";
        JmpOpcode { op: u8 } "unknown-jump-opcode"
            "invalid BPF_JMP/JMP32 opcode {op:x}";
        IndirectJump "indirect-jump"
            "";
        MayGotoImm { off: i32, imm: i32 } "may-goto-operand"
            "invalid may_goto imm {imm}";
        CastSpaces "address-space-cast-spaces"
            "addr_space_cast insn can only convert between address space 1 and 0";
        CastWithoutArena "address-space-cast-without-arena"
            "addr_space_cast insn can only be used in a program that has an associated arena";
        AtomicOpcode { imm: i32 } "unknown-atomic-opcode"
            "BPF_ATOMIC uses invalid atomic opcode {imm:02x}";
        AtomicSize "atomic-size"
            "invalid atomic operand size";
        NoSuchReg { regno: Regno } "no-such-register"
            "R{regno} is invalid";
        NotPatchable { insn: usize } "rewrite-out-of-reach"
            "insn {insn} cannot be patched due to 16-bit range";

        // Registers.
        Uninit { regno: Regno } "uninitialized-register"
            "R{regno} !read_ok";
        FramePointer "frame-pointer-written"
            "frame pointer is read only";
        Invariants { context: Word, violation: Name } "contradictory-bounds"
            "verifier bug: REG INVARIANTS VIOLATION ({context}): {violation}";
        DivByZero "division-by-zero"
            "div by zero";
        Shift { imm: i32 } "shift-out-of-range"
            "invalid shift {imm}";
        PointerArith { regno: Regno } "arithmetic-on-pointer"
            "R{regno} pointer arithmetic prohibited";
        SignExtends { regno: Regno } "sign-extended-pointer"
            "R{regno} sign-extension part of pointer";
        PartialCopy { regno: Regno } "partial-copy-of-pointer"
            "R{regno} partial copy of pointer";
        TwoPointers { regno: Regno, op: Word } "arithmetic-on-two-pointers"
            "R{regno} pointer {op} pointer prohibited";
        Compared { regno: Regno } "pointer-compared"
            "R{regno} pointer comparison prohibited";
        AtomicToArena { dst: Regno } "atomic-store-to-arena"
            "BPF_ATOMIC stores into R{dst} arena is not allowed";
        AtomicLeak { regno: Regno } "atomic-leaks-pointer"
            "R{regno} leaks addr into mem";
        AtomicTarget { what: Word, regno: Regno, ty: RegType } "atomic-on-other-memory"
            "BPF_ATOMIC {what} R{regno} {ty} is not allowed";

        // Arithmetic on pointers.
        Arith32 { regno: Regno } "narrow-pointer-arithmetic"
            "R{regno} 32-bit pointer arithmetic prohibited";
        ArithMaybeNull { regno: Regno, ty: RegType } "arithmetic-before-null-check"
            "R{regno} pointer arithmetic on {ty} prohibited, null-check it first";
        ArithOnType { regno: Regno, ty: RegType } "arithmetic-on-fixed-pointer"
            "R{regno} pointer arithmetic on {ty} prohibited";
        ArithConstant { ty: RegType, val: i64 } "constant-moves-pointer-too-far"
            "math between {ty} pointer and {val} is not allowed";
        ArithOffset { ty: RegType, off: i64 } "pointer-moved-too-far"
            "{ty} pointer offset {off} is not allowed";
        ArithUnbounded { ty: RegType } "pointer-moved-by-unbounded"
            "math between {ty} pointer and register with unbounded min value is not allowed";
        ArithValue { smin: i64, ty: RegType } "value-moves-pointer-too-far"
            "value {smin} makes {ty} pointer be out of bounds";
        SubFromScalar { regno: Regno } "pointer-subtracted-from-number"
            "R{regno} tried to subtract pointer from scalar";
        SubFromStack { regno: Regno } "subtraction-from-stack-pointer"
            "R{regno} subtraction from stack pointer prohibited";
        Bitwise { regno: Regno, op: Word } "bitwise-on-pointer"
            "R{regno} bitwise operator {op} on pointer prohibited";
        ArithOp { regno: Regno, op: Word } "operator-on-pointer"
            "R{regno} pointer arithmetic with {op} operator prohibited";
        MixedSigns { off_reg: Regno, err: Word } "sanitize-mixed-signs"
            "R{off_reg} has unknown scalar with mixed signed bounds, {err}";
        UnsanitizableType { ptr_reg: Regno, err: Word } "sanitize-pointer-type"
            "R{ptr_reg} has pointer with unsupported alu operation, {err}";
        PathsDiffer { dst: Regno, op: Word, err: Word } "sanitize-paths-differ"
            "R{dst} tried to {op} from different maps, paths or scalars, {err}";
        BeyondLimit { dst: Regno, op: Word, err: Word } "sanitize-beyond-limit"
            "R{dst} tried to {op} beyond pointer bounds, {err}";
        VariableStack { regno: Regno, var_off: Tnum, off: i32 } "variable-stack-pointer-unprivileged"
            "R{regno} variable stack access prohibited for !root, var_off={var_off} off={off}";
        StackOutOfRange { regno: Regno, off: i64 } "stack-pointer-out-of-range-unprivileged"
            "R{regno} stack pointer arithmetic goes out of range, prohibited for !root; off={off}";
        MapValueOutOfRange { regno: Regno } "map-pointer-out-of-range-unprivileged"
            "R{regno} pointer arithmetic of map value goes out of range, prohibited for !root";

        MixedArena { text: Name } "paths-mix-arena-pointers"
            "{text}";

        // Legacy packet loads.
        LdAbsType "legacy-load-not-for-program-type"
            "BPF_LD_[ABS|IND] instructions not allowed for this program type";
        LdAbsCtx { regno: Regno } "legacy-load-without-context"
            "at the time of BPF_LD_ABS|IND R{regno} != pointer to skb";

        // Wide constants.
        FuncWithoutInfo "callback-without-function-info"
            "missing btf func_info";
        CallbackNotStatic "callback-not-static"
            "callback function not static";
        NoSuchBtfId { id: i32 } "no-such-kernel-type"
            "ldimm64 insn specifies invalid btf_id {id}.";
        BtfIdKind { id: i32 } "not-a-kernel-variable"
            "pseudo btf_id {id} in ldimm64 isn't KIND_VAR or KIND_FUNC";
        NoSymbol { name: Name } "no-such-kernel-symbol"
            "ldimm64 failed to find the address for kernel symbol '{name}'.";
        FdIndex "descriptor-index-without-array"
            "fd_idx without fd_array is invalid";
        ModuleFd "module-descriptor"
            "invalid module BTF object FD specified.";
        NoSuchMap { fd: i32 } "no-such-map"
            "fd {fd} is not pointing to valid bpf_map";
        ValueOffset { off: u32 } "direct-value-offset"
            "direct value offset of {off} is not allowed";
        NoDirectValues "no-direct-values-in-map"
            "no direct value access support for this map type";
        ValuePointer { value_size: u32, off: u32 } "direct-value-beyond-map"
            "invalid access to map value pointer, value_size={value_size} off={off}";
        KfuncNotRemoved "kernel-function-call-left"
            "invalid kernel function call not eliminated in verifier pass";
    }
}

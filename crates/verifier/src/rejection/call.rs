//! Errors in calls of helpers and of the program's functions.

use super::row::{Name, Regno, Word, kinds};
use crate::state::reg_type::RegType;

kinds! {
    /// An error in a call of a helper or of a function of the program.
    CallFault {
        // Whether the helper may be called at all.
        NoSuchHelper { name: Name, imm: i32 } "no-such-helper"
            "invalid func {name}#{imm}";
        HelperNotForType { name: Name, imm: i32 } "helper-not-for-program-type"
            "program of this type cannot use helper {name}#{imm}";
        HelperNeedsGpl "helper-needs-gpl"
            "cannot call GPL-restricted function from non-GPL compatible program";
        HelperNotInProbe "helper-not-in-probe"
            "helper call is not allowed in probe";
        HelperMightSleep { helper: Name, section: Word } "sleeping-helper"
            "helper call might sleep in a non-sleepable prog";
        HelperSleepsIn { name: Name, id: u32, section: Word } "sleeping-helper-in-section"
            "sleepable helper {name}#{id} in {section}";
        CallUnderLock "call-under-lock"
            "function calls are not allowed while holding a lock";
        StorageFlags "local-storage-flags"
            "get_local_storage() doesn't support non-zero flags";
        DynptrFromMemType { ty: RegType } "dynptr-from-other-memory"
            "Unsupported reg type {ty} for bpf_dynptr_from_mem data";
        TracingOnly { name: Name } "helper-for-trampolines-only"
            "func {name} supported only for fentry/fexit/fmod_ret programs";
        NotForProgType { name: Name, number: u32 } "helper-not-for-attach-type"
            "func {name} not supported for program type {number}";

        // Arguments.
        LeaksAddr { regno: Regno } "pointer-leaks-to-helper"
            "R{regno} leaks addr into helper function";
        NoPacketArg "packet-given-to-helper"
            "helper access to the packet is not allowed";
        TwoReferences { regno: Regno, second: u32, first: u32 } "two-references-in-arguments"
            "more than one arg with ref_obj_id R{regno} {second} {first}";
        ReleaseOfUnreferenced { regno: Regno, helper: Name } "release-of-unreferenced"
            "R{regno} must be referenced when passed to release function";
        NotAcquired { name: Name } "release-of-unacquired"
            "func {name} reference has not been acquired before";
        NotConstant { regno: Regno } "argument-not-constant"
            "R{regno} is not a known constant'";
        NoPercpuType { regno: Regno } "per-cpu-argument-without-type"
            "Helper has invalid btf_id in R{regno}";
        TimerOfOtherMap { timer: Regno, held: u32, map: Regno, given: u32 } "timer-of-other-map"
            "timer pointer in R{timer} map_uid={held} doesn't match \
             map pointer in R{map} map_uid={given}";
        LockInRbtreeCb "lock-in-rbtree-callback"
            "can't spin_{{lock,unlock}} in rbtree cb";
        ArgType { regno: Regno, got: RegType, expected: Name } "argument-of-other-type"
            "R{regno} type={got} expected={expected}";
        ObjectArgType { regno: Regno, got: RegType } "argument-not-a-kernel-object"
            "R{regno} type={got} expected=ptr_, trusted_ptr_, rcu_ptr_";
        MayWriteObject { name: Name, regno: Regno, got: RegType } "helper-may-write-to-object"
            "{name}() may write into memory pointed by R{regno} type={got}";
        ObjectWithModifiers "allocated-object-not-usable"
            "verifier bug: invalid PTR_TO_BTF_ID register for type match";
        MaybeNull { regno: Regno } "maybe-null-argument"
            "Possibly NULL pointer passed to helper arg{regno}";
        ObjectType { regno: Regno, got: Name, want: Name } "object-of-other-type"
            "R{regno} is of type {got} but {want} is expected";
        OffsetNotZero { regno: Regno } "released-pointer-has-offset"
            "R{regno} must have zero offset when passed to release func or trusted arg to kfunc";

        // Memory and its size.
        NegativeSize { regno: Regno } "maybe-negative-size"
            "R{regno} min value is negative, either use unsigned or 'var &= const'";
        ZeroSize { regno: Regno, min: i64, max: i64, of: RegType } "maybe-zero-size"
            "R{regno} invalid zero-sized read: u64=[{min},{max}]";
        UnboundedSize { regno: Regno } "unbounded-size"
            "R{regno} unbounded memory access, use 'var &= const' or 'if (var < const)'";
        CtxOfNoSize "context-of-no-size"
            "";

        // Callbacks.
        BacktrackMisuse "callback-not-modelled-by-kernel"
            "verifier bug: backtracking misuse";
        CallbackRegs { what: Word, regs: u16 } "callback-leaves-registers"
            "verifier bug: {what} unexpected regs {regs:x}";
        CallbackSlots { what: Word, slots: u64 } "callback-leaves-slots"
            "verifier bug: {what} leftover stack slots {slots:x}";
        CallbackFrame { to: Word, frame: usize } "callback-leaves-frame"
            "verifier bug: subprog {to} from frame {frame}";
        MapWithoutCallback "callback-not-for-map"
            "callback function not allowed for map";
        TooManyAsync { waiting: usize } "too-many-waiting-branches"
            "The sequence of {waiting} jumps is too complex for async cb.";

        // Special fields, dynptrs and constant strings.
        ReleaseOfConstDynptr "release-of-unowned-dynptr"
            "cannot release unowned const bpf_dynptr";
        UnacquiredDynptr { regno: Regno } "release-of-unacquired-dynptr"
            "arg {regno} is an unacquired reference";
        TimerVariable { regno: Regno } "timer-at-variable-offset"
            "R{regno} doesn't have constant offset. bpf_timer has to be at the constant offset";
        TimerWithoutBtf { name: Name } "timer-map-without-btf"
            "map '{name}' has to have BTF in order to use bpf_timer";
        NoTimer { name: Name } "map-without-timer"
            "map '{name}' has no valid bpf_timer";
        NotTheTimer { off: i64, want: u32 } "pointer-beside-timer"
            "off {off} doesn't point to 'struct bpf_timer' that is at {want}";
        KptrWithoutBtf { name: Name } "kptr-map-without-btf"
            "map '{name}' has to have BTF in order to use bpf_kptr_xchg";
        KptrVariable { regno: Regno } "kptr-at-variable-offset"
            "R{regno} doesn't have constant offset. kptr has to be at the constant offset";
        NoKptr { regno: Regno, map: Name } "value-without-kptr"
            "R{regno} has no valid kptr";
        NotTheKptr { off: i64 } "pointer-beside-kptr"
            "off={off} doesn't point to kptr";
        KptrUnreferenced { off: i64 } "kptr-not-referenced"
            "off={off} kptr isn't referenced kptr";
        NotReadOnlyMap { regno: Regno } "string-not-in-read-only-map"
            "R{regno} does not point to a readonly map'";
        NotConstantAddress { regno: Regno } "string-not-at-constant-address"
            "R{regno} is not a constant address'";
        NoDirectValues "no-direct-values"
            "no direct value access support for this map type";
        DirectAccessFailed "string-in-map-of-many-elements"
            "direct value access on string failed";
        NotTerminated "string-not-terminated"
            "string is not zero-terminated";
        FormatDataSize "format-data-size"
            "";
        FormatString "invalid-format-string"
            "Invalid format string";

        // Locks.
        LockVariable { regno: Regno, name: Word } "lock-at-variable-offset"
            "R{regno} doesn't have constant offset. {name}_lock has to be at the constant offset";
        LockWithoutBtf { map: Name, name: Word } "lock-map-without-btf"
            "map '{map}' has to have BTF in order to use {name}_lock";
        NoLock { what: Name, name: Word } "value-without-lock"
            "{what} has no valid {name}_lock";
        NotTheLock { off: i64, name: Word, want: u32 } "pointer-beside-lock"
            "off {off} doesn't point to 'struct {name}_lock' that is at {want}";
        LockedTwice "lock-taken-twice"
            "Acquiring the same lock again, AA deadlock detected";
        TwoLocks "two-locks"
            "Locking two bpf_spin_locks are not allowed";
        NotLocked { name: Word } "unlock-without-lock"
            "{name}_unlock without taking a lock";
        OtherLock { name: Word } "unlock-of-other-lock"
            "{name}_unlock of different lock";
        UnlockOrder { name: Word } "unlock-out-of-order"
            "{name}_unlock cannot be out of order";

        // Maps.
        NoMapForArg "map-after-sockmap-value"
            "invalid map_ptr to access map->type";
        SockmapArg "sockmap-value-type"
            "invalid arg_type for sockmap/sockhash";
        NoMapForKey "key-before-map"
            "invalid map_ptr to access map->key";
        NoMapForValue "value-before-map"
            "invalid map_ptr to access map->value";
        MapReadOnly "update-of-read-only-map"
            "write into map forbidden";
        NotProgArray "tail-call-without-prog-array"
            "expected prog array map for tail call";
        SockmapUpdate { ty: u32, name: Name } "sockmap-update-not-here"
            "cannot update sockmap in this context\ncannot pass map_type {ty} into func {name}";
        MapForHelper { ty: u32, name: Name } "map-not-for-helper"
            "cannot pass map_type {ty} into func {name}";

        // Results.
        KernelMisconfigured "kernel-misconfigured"
            "kernel subsystem misconfigured verifier";
        NoSizeOfResult { name: Name } "result-of-unknown-size"
            "unable to resolve the size of type '{name}': -22";

        // Functions of the program.
        GlobalUnderLock "global-function-under-lock"
            "global function calls are not allowed while holding a lock,\nuse static function instead";
        GlobalMightSleep { name: Name, section: Word } "sleeping-global-function"
            "global functions that may sleep are not allowed in non-sleepable context,\n\
             i.e., in a RCU/IRQ/preempt-disabled section, or in\n\
             a non-sleepable BPF program context";
        TooDeep { depth: usize } "call-stack-too-deep"
            "the call stack of {depth} frames is too deep";
        CallerArgs { subprog: u32, name: Name, without_size: Word, pointer: Word } "arguments-do-not-fit-global-function"
            "Caller passes invalid args into func#{subprog} ('{name}')";
        TailCallIndex "tail-call-of-unknown-array"
            "tail_call abusing map_ptr";
    }
}

//! Errors in a program's attach target and its maps.

use super::row::{Name, Word, kinds};
use super::variant::PrototypeFault;
use skep_uapi::ProgType;

kinds! {
    /// An error in a program's attach target or its maps.
    AttachFault {
        NoProgType "no-program-type"
            "a program without a type";
        NotPermitted { prog_type: ProgType, capability: Word } "program-type-not-permitted"
            "programs of type {prog_type} are loaded only with {capability}";
        IdTooLarge { id: u32 } "attach-id-too-large"
            "attach_btf_id {id} is larger than any type's";
        IdNotForType { id: u32, prog_type: ProgType } "attach-id-not-for-program-type"
            "attach_btf_id {id} in a program of type {prog_type}";
        AttachType { number: u32, prog_type: ProgType } "attach-type-not-for-program-type"
            "expected_attach_type {number} in a program of type {prog_type}";
        NotSleepable "syscall-program-not-sleepable"
            "Syscall programs can only be sleepable";
        Sleepable "program-type-not-sleepable"
            "Only fentry/fexit/fmod_ret, lsm, iter, uprobe, and struct_ops programs can be sleepable";
        NoBtfId "attach-target-missing"
            "Tracing programs must provide btf_id";
        InvalidId { id: u32 } "no-such-attach-target"
            "attach_btf_id {id} is invalid";
        NotTypedef { id: u32 } "attach-target-not-a-tracepoint"
            "attach_btf_id {id} is not a typedef";
        WrongName { id: u32, name: Name } "attach-target-name"
            "attach_btf_id {id} points to wrong type name {name}";
        NotFunction { id: u32 } "attach-target-not-a-function"
            "attach_btf_id {id} is not a function";
        NotAttachable "attach-target-not-of-this-kind"
            "";
        NotImplemented "attach-not-implemented"
            "";
        Prototype { fault: PrototypeFault } "attach-target-prototype"
            "{fault}";
        NoAddress { name: Name } "attach-target-without-address"
            "The address of function {name} cannot be found";
        TargetNotSleepable { name: Name } "attach-target-not-sleepable"
            "{name} is not sleepable";
        TargetNotFaultable { name: Name } "attach-target-not-faultable"
            "Sleepable program cannot attach to non-faultable tracepoint {name}";
        NotModifiable { name: Name } "attach-target-not-modifiable"
            "{name}() is not modifiable";
        LsmNeedsGpl "lsm-needs-gpl"
            "LSM programs must have a GPL compatible license";
        DisabledHook { id: u32, name: Name } "lsm-hook-disabled"
            "attach_btf_id {id} points to disabled hook {name}";
        Denied { name: Name } "attach-target-denied"
            "Attaching tracing programs to function '{name}' is rejected.";
        NoReturn { name: Name } "attach-target-never-returns"
            "Attaching fexit/fmod_ret to __noreturn function '{name}' is rejected.";

        // Struct_ops.
        StructOpsNeedsGpl "struct-ops-needs-gpl"
            "struct ops programs must have a GPL compatible license";
        StructOpsWithoutId "struct-ops-without-struct"
            "";
        NotStructOps { id: u32 } "not-a-struct-ops"
            "attach_btf_id {id} is not a supported struct";
        MemberIdx { idx: u32, name: Name } "struct-ops-member-index"
            "attach to invalid member idx {idx} of struct {name}";
        MemberKind { field: Name, idx: u32, name: Name } "struct-ops-member-not-a-function"
            "attach to invalid member {field}(@idx {idx}) of struct {name}";
        MemberUnsupported { field: Name, name: Name } "struct-ops-member-unsupported"
            "attach to unsupported member {field} of struct {name}";

        // Maps of the program.
        TooManyMaps { max: usize } "too-many-maps"
            "The total number of maps per program has reached the limit of {max}";
        MapForTracing { what: Word } "map-not-for-tracing"
            "tracing progs cannot use {what} yet";
        LockInSocketFilter "lock-in-socket-filter"
            "socket filter progs cannot use bpf_spin_lock yet";
        StructOpsMap "struct-ops-map-in-program"
            "bpf_struct_ops map cannot be used in prog";
        MapForSleepable "map-not-for-sleepable"
            "Sleepable programs can only use array, hash, ringbuf and local storage maps";
        TwoCgroupStorages "two-cgroup-storages"
            "only one cgroup storage of each type is allowed";
        TwoArenas "two-arenas"
            "Only one arena per program";
        ArenaUnprivileged "arena-unprivileged"
            "CAP_BPF and CAP_PERFMON are required to use arena";
    }
}

//! Errors in a function of the program: its prototype, its BTF, its arguments.

use super::row::{Name, Regno, Word, kinds};

kinds! {
    /// An error in a function of the program.
    FuncFault {
        // The prototype of a global function.
        NoFunctionType { type_id: u32 } "function-without-type"
            "Type of function {type_id} is specified incorrectly";
        NoPrototype { name: Name } "function-without-prototype"
            "Invalid type of function {name}()";
        TooManyArgs { name: Name, count: usize, max: usize } "too-many-parameters"
            "Global function {name}() with {count} > {max} args. Buggy compiler.";
        NoScalarResult { name: Name } "global-function-result"
            "Global function {name}() doesn't return scalar. Only those are supported.";
        TagOnScalar { i: u32 } "pointer-tag-on-scalar"
            "arg#{i} has pointer tag, but is not a pointer type";
        ParamType { i: u32, kind: Name, name: Name } "parameter-type"
            "Arg#{i} type {kind} in {name}() is not supported yet.";
        StaticTag { i: u32 } "tag-in-static-function"
            "arg#{i} type tag is not supported in static functions";
        UnsupportedTags { i: u32 } "parameter-tags"
            "arg#{i} has unsupported set of tags";
        TagCombination { i: u32 } "parameter-tags-do-not-combine"
            "arg#{i} has invalid combination of tags";
        ArenaTagCombined { i: u32 } "arena-tag-combined"
            "arg#{i} arena cannot be combined with any other tags";
        UntrustedTagCombined { i: u32 } "untrusted-tag-combined"
            "arg#{i} untrusted cannot be combined with any other tags";
        ParamSize { i: u32, kind: Name, name: Name } "parameter-points-to-unknown-size"
            "arg#{i} reference type('{kind} {name}') size cannot be determined: -22";
        UntrustedTarget { i: u32, kind: Name, name: Name } "untrusted-parameter-target"
            "arg#{i} has type {kind} '{name}', but only struct or primitive types are allowed";
        NoKernelType { i: u32, kind: Name, name: Name } "parameter-type-not-in-kernel"
            "arg#{i} reference type('{kind} {name}') has no matches";
        NamelessKernelType { i: u32, kind: Name } "parameter-type-without-name"
            "arg#{i} reference type('{kind} (anon)') candidate matching error: -22";
        AmbiguousKernelType { i: u32, kind: Name, name: Name } "parameter-type-ambiguous-in-kernel"
            "arg#{i} reference type('{kind} {name}') is ambiguous";
        CtxWithoutName { i: u32 } "context-parameter-without-name"
            "arg#{i} type doesn't have a name";
        CtxNotVoid { i: u32 } "context-parameter-not-void"
            "arg#{i} should be void pointer";
        CtxOtherStruct { i: u32, ctx: Name } "context-parameter-of-other-type"
            "arg#{i} should be `struct {ctx} *`";
        UnusablePrototype "static-function-prototype"
            "";

        // Arguments.
        ArgNotScalar { regno: Regno } "argument-not-a-number"
            "R{regno} is not a scalar";
        ArgPacketMoves { regno: Regno, subprog: u32 } "argument-packet-moves"
            "R{regno} is a packet pointer, but func#{subprog} may change packet data";
        ArgNotCtx { i: u8 } "argument-not-the-context"
            "arg#{i} expects pointer to ctx";
        ArgMaybeNull { i: u8 } "nullable-argument"
            "arg#{i} is expected to be non-NULL";
        ArgNotArena { regno: Regno } "argument-not-in-arena"
            "R{regno} is not a pointer to arena or scalar.";
        BadContract "arguments-cannot-be-judged"
            "";
        NoEntryArgs "entry-prototype"
            "";

        // Func info.
        FirstNotAtStart { off: u32 } "function-info-begins-late"
            "nonzero insn_off {off} for the first func info record";
        RowsOutOfOrder { off: u32, prev: u32 } "function-info-out-of-order"
            "same or smaller insn offset ({off}) than previous func info record ({prev})";
        RowTypeId { id: i32 } "function-info-type"
            "invalid type id {id} in func info";
        RowCount "function-info-count"
            "number of funcs in func_info doesn't match number of subprogs";
        RowLayout "function-info-layout"
            "func_info BTF section doesn't match subprog layout in BPF program";
        EndsEarly { what: Word } "early-end-needs-int-result"
            "{what} is only allowed in functions that return 'int'.";
        LineOffset { row: usize, off: u32, prev: u32, len: usize } "line-info-offset"
            "Invalid line_info[{row}].insn_off:{off} (prev_offset:{prev} prog->len:{len})";
        LineOnSecondHalf { row: usize } "line-info-inside-insn"
            "Invalid insn code at line_info[{row}].insn_off";
        LineNames { row: usize } "line-info-names"
            "Invalid line_info[{row}].line_off or .file_name_off";
        NoLineOf { func: usize } "function-without-line-info"
            "missing bpf_line_info for func#{func}";
        NoLinesFrom { missing: usize, func: usize } "functions-without-line-info"
            "missing bpf_line_info for {missing} funcs starting from func#{func}";

        // Exception callbacks.
        ExceptionCbVoid "exception-callback-result"
            "exception cb cannot return void";
        ExceptionCbArgs "exception-callback-parameters"
            "exception cb only supports single integer argument";
        ExceptionCbTags "two-exception-callbacks"
            "multiple exception callback tags for main subprog";
        ExceptionCbUnknown { name: Name } "no-such-exception-callback"
            "exception callback '{name}' could not be found in BTF";
        ExceptionCbLinkage { name: Name } "exception-callback-not-global"
            "exception callback '{name}' must have global linkage";
        ExceptionCbNoInfo "exception-callback-without-function-info"
            "exception callback type id not found in func_info";
        ExceptionCbIsMain "exception-callback-is-main"
            "invalid exception callback insn_off in func_info: 0";
        ExceptionCbNegative "exception-callback-offset"
            "";
        ExceptionCbCalled { idx: usize } "exception-callback-called"
            "insn {idx} cannot call exception cb directly";
        ThrowFromCallback { idx: usize, subprog: usize } "throw-from-callback"
            "bpf_throw kfunc (insn {idx}) cannot be called from callback subprog {subprog}";
        TailCallInExceptionCb "tail-call-in-exception-callback"
            "cannot tail call within exception cb";
        TailCallInCallback "tail-call-in-callback"
            "cannot tail call within callback";

        // Replacing programs.
        NoSuchSubprog { name: Name } "replaced-function-missing"
            "Subprog {name} doesn't exist";
        ReplacesStatic "replaces-static-function"
            "Cannot replace static functions";
        ReplacementChangesPacket "replacement-changes-packet"
            "Extension program changes packet data, while original does not";
        ReplacesTracing "replaces-tracing-program"
            "Cannot extend fentry/fexit";
        NotGlobal { name: Name } "function-not-global"
            "{name}() is not a global function";
        ReplacedArgCount { f: Name, count: usize, t: Name, wanted: usize } "replacement-parameters"
            "{f}() has {count} args while {t}() has {wanted} args";
        ReplacedResult { a: Name, f: Name, b: Name, t: Name } "replacement-result"
            "Return type {a} of {f}() doesn't match type {b} of {t}()";
        ReplacedArgKind { i: usize, f: Name, kind: Name, t: Name, wanted: Name }
            "replacement-parameter-kind"
            "arg{i} in {f}() is {kind} while {t}() has {wanted}";
        ReplacedArgSize { i: usize, f: Name, size: u32, t: Name, wanted: u32 }
            "replacement-parameter-size"
            "arg{i} in {f}() has size {size} while {t}() has {wanted}";
        ReplacedArgNotCtx { i: usize, name: Name } "replacement-parameter-not-context"
            "arg{i} in {name}() is not a pointer to context";
        ReplacedArgStruct { i: usize, f: Name, own: Name, t: Name, theirs: Name }
            "replacement-parameter-struct"
            "arg{i} {f}(struct {own} *) doesn't match {t}(struct {theirs} *)";
    }
}

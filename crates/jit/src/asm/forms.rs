//! The table of forms: every insn that skep emits, as in the processor manual.
//!
//! Source: AMD64 Architecture Programmer's Manual volume 3.
//! Tests: every row with every kind of operand is decoded by an independent disassembler.

use super::form::{Form, Imm, Map, Operand, Shape};
use super::operands::Cc;
use Imm::{I8, I16, I32, I64, None as No};
use Map::{Of, Of38, One, Vex3a, Vex38};
use Operand::{Byte, Implied, RmByte, Width, Word};
use Shape::{Bare, Digit, Plus, Reg};

macro_rules! forms {
    ($($name:ident $mnemonic:literal $prefix:literal $map:ident $opcode:literal
        $shape:expr, $imm:ident $operand:ident;)*) => {
        $(pub(crate) const $name: Form = Form {
            mnemonic: $mnemonic, prefix: $prefix, map: $map, opcode: $opcode,
            shape: $shape, imm: $imm, operand: $operand,
        };)*
        /// Every row.
        #[cfg(test)]
        pub(crate) const ALL: &[(&str, Form)] = &[$((stringify!($name), $name),)*];
    };
}

// Name, mnemonic, prefix, map, opcode, `reg` field, immediate, operands.
#[rustfmt::skip]
forms! {
    ADD_RM      "add"      0x00 One   0x03 Reg, No Width;
    OR_RM       "or"       0x00 One   0x0b Reg, No Width;
    AND_RM      "and"      0x00 One   0x23 Reg, No Width;
    SUB_RM      "sub"      0x00 One   0x2b Reg, No Width;
    XOR_RM      "xor"      0x00 One   0x33 Reg, No Width;
    CMP_RM      "cmp"      0x00 One   0x3b Reg, No Width;
    ADD_MR      "add"      0x00 One   0x01 Reg, No Width;
    OR_MR       "or"       0x00 One   0x09 Reg, No Width;
    AND_MR      "and"      0x00 One   0x21 Reg, No Width;
    SUB_MR      "sub"      0x00 One   0x29 Reg, No Width;
    XOR_MR      "xor"      0x00 One   0x31 Reg, No Width;
    ADD_I8      "add"      0x00 One   0x83 Digit(0), I8 Width;
    OR_I8       "or"       0x00 One   0x83 Digit(1), I8 Width;
    AND_I8      "and"      0x00 One   0x83 Digit(4), I8 Width;
    SUB_I8      "sub"      0x00 One   0x83 Digit(5), I8 Width;
    XOR_I8      "xor"      0x00 One   0x83 Digit(6), I8 Width;
    CMP_I8      "cmp"      0x00 One   0x83 Digit(7), I8 Width;
    ADD_I32     "add"      0x00 One   0x81 Digit(0), I32 Width;
    OR_I32      "or"       0x00 One   0x81 Digit(1), I32 Width;
    AND_I32     "and"      0x00 One   0x81 Digit(4), I32 Width;
    SUB_I32     "sub"      0x00 One   0x81 Digit(5), I32 Width;
    XOR_I32     "xor"      0x00 One   0x81 Digit(6), I32 Width;
    CMP_I32     "cmp"      0x00 One   0x81 Digit(7), I32 Width;
    TEST_MR     "test"     0x00 One   0x85 Reg, No Width;
    TEST_I32    "test"     0x00 One   0xf7 Digit(0), I32 Width;
    TEST8_I8    "test"     0x00 One   0xf6 Digit(0), I8 Byte;
    TEST_EAX    "test"     0x00 One   0xa9 Bare, I32 Implied;
    MOV_RM      "mov"      0x00 One   0x8b Reg, No Width;
    MOV_MR      "mov"      0x00 One   0x89 Reg, No Width;
    MOV16_MR    "mov"      0x00 One   0x89 Reg, No Word;
    MOV8_MR     "mov"      0x00 One   0x88 Reg, No Byte;
    MOV_MI      "mov"      0x00 One   0xc7 Digit(0), I32 Width;
    MOV16_MI    "mov"      0x00 One   0xc7 Digit(0), I16 Word;
    MOV8_MI     "mov"      0x00 One   0xc6 Digit(0), I8 Byte;
    MOV_I32     "mov"      0x00 One   0xb8 Plus, I32 Implied;
    MOV_I64     "mov"      0x00 One   0xb8 Plus, I64 Width;
    MOVZX8      "movzx"    0x00 Of    0xb6 Reg, No RmByte;
    MOVZX16     "movzx"    0x00 Of    0xb7 Reg, No Width;
    MOVSX8      "movsx"    0x00 Of    0xbe Reg, No RmByte;
    MOVSX16     "movsx"    0x00 Of    0xbf Reg, No Width;
    MOVSXD      "movsxd"   0x00 One   0x63 Reg, No Width;
    LEA         "lea"      0x00 One   0x8d Reg, No Width;
    MOVBE_RM    "movbe"    0x00 Of38  0xf0 Reg, No Width;
    MOVUPS_MR   "movups"   0x00 Of    0x11 Reg, No Implied;
    XORPS       "xorps"    0x00 Of    0x57 Reg, No Implied;
    MOVBE_MR    "movbe"    0x00 Of38  0xf1 Reg, No Width;
    MOVBE16_MR  "movbe"    0x00 Of38  0xf1 Reg, No Word;
    BSWAP       "bswap"    0x00 Of    0xc8 Plus, No Width;
    ROR16_I8    "ror"      0x00 One   0xc1 Digit(1), I8 Word;
    IMUL_RM     "imul"     0x00 Of    0xaf Reg, No Width;
    IMUL_I8     "imul"     0x00 One   0x6b Reg, I8 Width;
    IMUL_I32    "imul"     0x00 One   0x69 Reg, I32 Width;
    NEG         "neg"      0x00 One   0xf7 Digit(3), No Width;
    DIV         "div"      0x00 One   0xf7 Digit(6), No Width;
    IDIV        "idiv"     0x00 One   0xf7 Digit(7), No Width;
    CDQ         "cdq"      0x00 One   0x99 Bare, No Width;
    ROL_I8      "rol"      0x00 One   0xc1 Digit(0), I8 Width;
    SHL_I8      "shl"      0x00 One   0xc1 Digit(4), I8 Width;
    SHR_I8      "shr"      0x00 One   0xc1 Digit(5), I8 Width;
    SAR_I8      "sar"      0x00 One   0xc1 Digit(7), I8 Width;
    ROL_CL      "rol"      0x00 One   0xd3 Digit(0), No Width;
    SHL_CL      "shl"      0x00 One   0xd3 Digit(4), No Width;
    SHR_CL      "shr"      0x00 One   0xd3 Digit(5), No Width;
    SAR_CL      "sar"      0x00 One   0xd3 Digit(7), No Width;
    SHLX        "shlx"     0x66 Vex38 0xf7 Reg, No Width;
    SHRX        "shrx"     0xf2 Vex38 0xf7 Reg, No Width;
    SARX        "sarx"     0xf3 Vex38 0xf7 Reg, No Width;
    MULX        "mulx"     0xf2 Vex38 0xf6 Reg, No Width;
    RORX        "rorx"     0xf2 Vex3a 0xf0 Reg, I8 Width;
    XCHG_MR     "xchg"     0x00 One   0x87 Reg, No Width;
    LOCK_XADD   "xadd"     0xf0 Of    0xc1 Reg, No Width;
    LOCK_CMPXCHG "cmpxchg" 0xf0 Of    0xb1 Reg, No Width;
    LOCK_ADD    "add"      0xf0 One   0x01 Reg, No Width;
    LOCK_OR     "or"       0xf0 One   0x09 Reg, No Width;
    LOCK_AND    "and"      0xf0 One   0x21 Reg, No Width;
    LOCK_XOR    "xor"      0xf0 One   0x31 Reg, No Width;
    PUSH_RM     "push"     0x00 One   0xff Digit(6), No Implied;
    POP_RM      "pop"      0x00 One   0x8f Digit(0), No Implied;
    PUSH        "push"     0x00 One   0x50 Plus, No Implied;
    POP         "pop"      0x00 One   0x58 Plus, No Implied;
    LEAVE       "leave"    0x00 One   0xc9 Bare, No Implied;
    RET         "ret"      0x00 One   0xc3 Bare, No Implied;
    RDTSC       "rdtsc"    0x00 Of    0x31 Bare, No Implied;
    CALL_R      "call"     0x00 One   0xff Digit(2), No Implied;
    JMP_R       "jmp"      0x00 One   0xff Digit(4), No Implied;
    CALL        "call"     0x00 One   0xe8 Bare, I32 Implied;
    JMP         "jmp"      0x00 One   0xe9 Bare, I32 Implied;
    JMP8        "jmp"      0x00 One   0xeb Bare, I8 Implied;
}

/// `jcc rel32`; the condition is in the opcode.
pub(crate) const fn jcc(cc: Cc) -> Form {
    Form { opcode: 0x80 | cc.0, map: Of, mnemonic: "jcc", ..JMP }
}

/// `cmovcc reg, rm`.
pub(crate) const fn cmov(cc: Cc) -> Form {
    Form { opcode: 0x40 | cc.0, mnemonic: "cmov", ..IMUL_RM }
}

/// `setcc rm8`.
pub(crate) const fn setcc(cc: Cc) -> Form {
    let shape = Digit(0);
    Form { opcode: 0x90 | cc.0, shape, operand: Byte, mnemonic: "set", ..MOVZX8 }
}

/// `jcc rel8`.
pub(crate) const fn jcc8(cc: Cc) -> Form {
    Form { opcode: 0x70 | cc.0, mnemonic: "jcc", ..JMP8 }
}

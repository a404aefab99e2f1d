//! `IterRow` and `RawTpRow`: the arguments of one iterator or raw tracepoint, as a table has them.

/// Type of an iterator's argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IterArg {
    /// `PTR_TO_BTF_ID | PTR_MAYBE_NULL`, not trusted.
    BtfOrNull,
    /// `PTR_TO_BTF_ID | PTR_MAYBE_NULL | PTR_TRUSTED`.
    TrustedBtfOrNull,
    /// `PTR_TO_BUF | PTR_MAYBE_NULL`.
    BufOrNull,
    /// `PTR_TO_BUF | PTR_MAYBE_NULL | MEM_RDONLY`.
    RdonlyBufOrNull,
}

#[derive(Debug)]
pub(super) struct IterRow {
    pub(super) func: &'static str,
    pub(super) args: &'static [(u8, IterArg)],
}

#[derive(Debug)]
pub(super) struct RawTpRow {
    pub(super) name: &'static str,
    pub(super) null_args: u16,
}

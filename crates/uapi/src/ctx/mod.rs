//! Contexts: what a program may load from and store to its argument, by program type and attach
//! type.
//!
//! Start at [`CtxLayout::find`], once per program; then [`CtxLayout::load`] and
//! [`CtxLayout::store`] for each access. Every rejection is `invalid bpf_context access off=%d
//! size=%d`.
//!
//! Kernel departure: 6.18 compares the offset of a tracepoint program's load as unsigned and so
//! accepts every negative one; the row `before_args` models this. An engine that runs such a
//! program must not permit the access.

mod btf_arg;
mod btf_arg_row;
mod btf_arg_table;
mod field;
mod later;
mod layout;
mod layout_row;
mod layout_table;
mod raw_table;
mod skb_table;
mod sock_ptr;
mod sock_ptr_table;
mod sock_table;
mod value;

pub use btf_arg::{RawTpArg, iter_args, raw_tp_arg};
pub use btf_arg_row::IterArg;
pub use field::{CtxField, CtxRange};
pub use later::{CtxFields, LATER_FIELDS, LaterField};
pub use layout::{CtxAccess, ctx_struct, needs_cap_bpf};
pub use layout_row::CtxLayout;
pub use sock_ptr::{FLOW_KEYS_BYTES, SockPointer};
pub use value::CtxValue;

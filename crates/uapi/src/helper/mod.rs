//! Helpers: their numbers and names, their prototypes, and who may call them.
//!
//! Start at [`HelperRow::find`], once per program; then [`HelperRow::helper`] for each call.

mod arg_shorthand;
mod arg_type;
mod id;
mod privilege;
mod proto;
mod proto_table;
mod ret;
mod row;
mod usable;
mod usable_table;

pub use arg_type::{ArgBase, ArgType, RetBase, RetType};
pub use id::{HelperId, func_id_name};
pub use privilege::{needs_cap_bpf, needs_cap_perfmon};
pub use proto::{HelperProto, ProtoFlags};
pub use row::{AttachSet, HelperRow, HelperSet};
pub use usable::{HelperUse, HookKey};

/// The prototype of a helper, unless it depends on the program type.
///
/// A program's own is [`HelperRow::helper`].
pub fn default_proto(id: HelperId) -> &'static HelperProto {
    &proto_table::PROTOS[id.index()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prototypes_are_in_abi_order_and_have_no_holes() {
        for id in HelperId::all() {
            let proto = default_proto(id);
            assert_eq!(proto.id, id);
            let after = &proto.args[proto.arg_count()..];
            assert!(after.iter().all(|a| a.base == ArgBase::Dontcare), "{}", id.name());
        }
    }

    #[test]
    fn sizes_follow_memory() {
        for id in HelperId::all() {
            let args = &default_proto(id).args;
            for (i, arg) in args.iter().enumerate() {
                let sized = matches!(arg.base, ArgBase::ConstSize | ArgBase::ConstSizeOrZero);
                if sized {
                    assert_eq!(args[i - 1].base, ArgBase::Mem, "{}", id.name());
                }
                let named = arg.base == ArgBase::BtfId;
                assert!(named || arg.btf.is_empty());
            }
        }
    }
}

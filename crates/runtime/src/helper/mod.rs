//! Helpers: what programs call by number.
//!
//! A helper is a function of its [`Call`] only; any state of the run that it needs is thread-local
//! (`current`). The table [`HELPERS`] lists all helpers; documentation and linkage derive from it.
//!
//! A panic in a helper is caught here, because machine code cannot be unwound. The run continues
//! with the result 0 and is then reported as failed.

mod call;
mod cgroup;
mod cpumask;
mod csum;
mod dynptr;
mod dynptr_copy;
mod entry;
mod event;
mod format;
mod held;
mod iter_bits;
mod iter_num;
mod iterate;
mod map;
mod network;
mod object;
mod packet;
mod packet_dynptr;
mod printk;
mod probe;
mod prototype;
mod redirect;
mod ring;
mod skb;
mod skb_marks;
mod skb_room;
mod string;
mod sync;
mod syncookie;
mod system;
mod table;
mod text;
mod timer;
mod tunnel;

pub(crate) use call::call_machine_code;
pub(crate) use entry::{call_interpreted, direct_lookup, direct_update, release_held};

pub(crate) use prototype::compare as compare_prototype;
use skep_uapi::helper::HelperId;
use skep_verifier::{INLINED_HELPERS, OwnHelper};
use table::Helper;
use table::OWN_HELPERS;
pub(crate) use table::{HELPERS, KFUNCS};

/// The index of a kfunc in [`KFUNCS`].
pub(crate) fn find_kfunc(name: &str) -> Option<usize> {
    KFUNCS.iter().position(|kfunc| kfunc.name == name)
}

/// Names of the kfuncs that programs can call here, including `bpf_throw`, which the engines
/// implement.
pub fn supported_kfuncs() -> impl Iterator<Item = &'static str> {
    KFUNCS.iter().map(|kfunc| kfunc.name).chain([OwnHelper::Throw.name()])
}

/// The helper with that number.
pub(crate) fn find(number: i32) -> Option<&'static Helper> {
    HELPERS.iter().chain(OWN_HELPERS).find(|helper| helper.number == number)
}

/// The helpers that programs can call here, in ABI order, including `bpf_tail_call`, which the
/// engines implement, and those that the verifier's rewrites inline.
pub fn supported() -> impl Iterator<Item = HelperId> {
    let without_call = |id| id == HelperId::TailCall || INLINED_HELPERS.contains(&id);
    HelperId::all().filter(move |id| without_call(*id) || find(*id as i32).is_some())
}

/// Numbers and addresses for machine code.
pub(crate) fn addresses() -> impl Iterator<Item = (i32, u64)> {
    let all = HELPERS.iter().chain(OWN_HELPERS);
    all.map(|helper| (helper.number, helper.entry as *const () as u64))
}

/// Address of the lookup of a tail call target through a map known only at run time.
pub(crate) fn tail_call_lookup() -> u64 {
    entry::tail_call_lookup as *const () as u64
}

/// Address of the function for loads through possibly invalid pointers.
pub(crate) fn probe() -> u64 {
    entry::probe as *const () as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_the_order_of_the_abi() {
        assert!(HELPERS.is_sorted_by_key(|helper| helper.number));
        assert!(HELPERS.iter().all(|h| h.number > 0 && h.number != HelperId::TailCall as i32));
    }
}

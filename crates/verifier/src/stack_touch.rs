//! The stack memory that helpers and kfuncs read and write, for the liveness pass before the walk.

use crate::callees::Callable;
use crate::check::kfunc::dynptr::BPF_DYNPTR_NR_SLOTS;
use crate::env::MapView;
use crate::passes::call_facts::{is_helper_call, is_kfunc_call};
use crate::passes::stack_use::touches::Callback;
use crate::passes::stack_use::touches::{Known, Touch, Touches};
use skep_btf::{Btf, Kind, Param};
use skep_insn::Insn;
use skep_uapi::TypeFlag;
use skep_uapi::helper::{ArgBase, ArgType, HelperId, HelperProto, HelperUse, default_proto};
use skep_uapi::kfunc::KfuncFlags;
use skep_uapi::limits::{BPF_REG_SIZE_BYTES, MAX_BPF_FUNC_REG_ARGS, MAX_BPF_STACK_BYTES};

/// Size of a dynptr.
const DYNPTR_BYTES: u32 = BPF_DYNPTR_NR_SLOTS as u32 * BPF_REG_SIZE_BYTES;

/// The callees and the maps of a program.
pub(crate) struct StackTouches<'a> {
    pub(crate) callable: &'a Callable<'a>,
    pub(crate) maps: &'a [MapView<'a>],
}

fn helper_id(insn: &Insn) -> Option<HelperId> {
    u32::try_from(insn.imm).ok().and_then(HelperId::from_number).filter(|_| is_helper_call(insn))
}

/// A known size that fits on a stack.
fn size(known: Known) -> Option<u32> {
    match known {
        Known::Number(n) if (0..=i64::from(MAX_BPF_STACK_BYTES)).contains(&n) => Some(n as u32),
        _ => None,
    }
}

impl StackTouches<'_> {
    fn proto(&self, id: HelperId) -> &'static HelperProto {
        match self.callable.helper_use(id.number() as i32) {
            HelperUse::May(proto) | HelperUse::NotAllowedInProbe(proto) => proto,
            HelperUse::CannotUse => default_proto(id),
        }
    }

    /// A size of the map; the largest of all maps and templates of inner maps if it is not known
    /// which one it is.
    fn map_size(&self, known: Known, of: impl Fn(&MapView<'_>) -> u32) -> Option<u32> {
        match known {
            Known::Map(map) => self.maps.get(map as usize).map(of),
            _ => self.maps.iter().map(of).max(),
        }
    }

    fn helper_arg(&self, args: &[ArgType], nth: usize, known: &dyn Fn(usize) -> Known) -> Touch {
        let arg = args[nth];
        let is_written = arg.flags.contains(TypeFlag::MEM_UNINIT);
        let bytes = match arg.base {
            ArgBase::MapKey => self.map_size(known(0), |map| map.def.key_size),
            ArgBase::MapValue => self.map_size(known(0), |map| map.def.value_size),
            ArgBase::Mem if arg.size != 0 => Some(arg.size),
            ArgBase::Mem => size(known(nth + 1)),
            ArgBase::Dynptr => Some(DYNPTR_BYTES),
            _ => None,
        };
        if is_written { Touch::Writes(bytes) } else { Touch::Reads(bytes) }
    }

    fn kfunc_arg(&self, insn: &Insn, nth: usize, known: &dyn Fn(usize) -> Known) -> Touch {
        let Some(callee) = self.callable.kfuncs.get(insn) else { return Touch::Reads(None) };
        let btf = callee.proto.btf();
        let mut params = callee.proto.params().skip(nth);
        let Some(param) = params.next() else { return Touch::Nothing };
        let to = crate::check::kfunc::arg_kind::pointee(btf, &param);
        let is_dynptr =
            to.kind() == Kind::Struct && matches!(to.name(), "bpf_dynptr" | "bpf_dynptr_kern");
        if is_dynptr {
            return match param.name.ends_with("__uninit") {
                true => Touch::Writes(Some(DYNPTR_BYTES)),
                false => Touch::Reads(Some(DYNPTR_BYTES)),
            };
        }
        let stated = to.stated_size().filter(|&n| n > 0);
        if callee.is_iter() && nth == 0 {
            return match callee.has(KfuncFlags::ITER_NEW) {
                true => Touch::Writes(stated),
                false => Touch::Reads(stated),
            };
        }
        if params.next().is_some_and(|next| is_size(btf, &next)) {
            return Touch::Reads(size(known(nth + 1)));
        }
        Touch::Reads(stated.filter(|_| to.kind() != Kind::Void))
    }
}

fn is_size(btf: &Btf, param: &Param<'_>) -> bool {
    let named = param.name.ends_with("__sz") || param.name.ends_with("__szk");
    named && btf.skip_modifiers(param.ty).kind() == Kind::Int
}

impl Touches for StackTouches<'_> {
    fn params(&self, insn: &Insn) -> usize {
        if let Some(id) = helper_id(insn) {
            return self.proto(id).arg_count();
        }
        match self.callable.kfuncs.get(insn).filter(|_| is_kfunc_call(insn)) {
            Some(callee) => callee.proto.params().len().min(MAX_BPF_FUNC_REG_ARGS),
            None => MAX_BPF_FUNC_REG_ARGS,
        }
    }

    fn touch(&self, insn: &Insn, nth: usize, known: &dyn Fn(usize) -> Known) -> Touch {
        if self.callback(insn).is_some_and(|callback| callback.context == nth) {
            return Touch::Nothing;
        }
        match helper_id(insn) {
            Some(id) => self.helper_arg(&self.proto(id).args, nth, known),
            None => self.kfunc_arg(insn, nth, known),
        }
    }

    fn callback(&self, insn: &Insn) -> Option<Callback> {
        let row = |function, context, taken_as| Some(Callback { function, context, taken_as });
        match helper_id(insn)? {
            HelperId::Loop => row(1, 2, 1),
            HelperId::ForEachMapElem => row(1, 2, 3),
            HelperId::FindVma => row(2, 3, 2),
            HelperId::UserRingbufDrain => row(1, 2, 1),
            _ => None,
        }
    }
}

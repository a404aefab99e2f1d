//! Resolves the objects that a program's `ld_imm64` insns name: each must exist, and the program
//! type must permit it. Runs over all insns before the walk, reachable or not.
//!
//! Kernel: `resolve_pseudo_ldimm64`, `check_map_prog_compatibility`, `check_pseudo_btf_id` (6.18).

use super::replaced::loaded_type;
use crate::KernelSymbols;
use crate::env::MapView;
use crate::passes::PassReject;
use crate::rejection::{AttachFault, InsnFault, OtherRule, RejectKind};
use skep_btf::{FieldKind, Kind, TypeId};
use skep_insn::Insn;
use skep_insn::code::*;
use skep_program::{MapDef, Program};
use skep_uapi::errno;
use skep_uapi::limits::{BPF_MAX_VAR_OFF, MAX_USED_MAPS};
use skep_uapi::{Behaviours, MapType, ProgFlags, ProgType};

const PAGE_BYTES: u64 = skep_uapi::limits::PAGE_SIZE_BYTES as u64;

/// State of the pass over the insns.
pub(crate) struct Resolver<'a> {
    pub(crate) prog: &'a Program,
    pub(crate) maps: &'a [MapView<'a>],
    /// Symbols of the kernel, with addresses.
    pub(crate) symbols: Option<&'a KernelSymbols>,
    pub(crate) rules: Behaviours,
    /// Whether arenas are allowed.
    pub(crate) privileged: bool,
    /// Maps named by the insns so far.
    pub(crate) used: Vec<u32>,
}

type Refused = Result<(), (i32, RejectKind)>;

impl Resolver<'_> {
    /// Checks an `ld_imm64` that names something.
    pub(crate) fn resolve(
        &mut self,
        idx: usize,
        first: &Insn,
        second: &Insn,
    ) -> Result<(), PassReject> {
        let checked = match first.src {
            BPF_PSEUDO_BTF_ID => self.check_pseudo_btf_id(first.imm, second.imm),
            BPF_PSEUDO_MAP_FD => self.use_map(first.imm),
            BPF_PSEUDO_MAP_VALUE => {
                self.use_map(first.imm).and_then(|()| self.check_direct_value(first, second))
            }
            BPF_PSEUDO_MAP_IDX | BPF_PSEUDO_MAP_IDX_VALUE => {
                refuse(errno::EPROTO, InsnFault::FdIndex)
            }
            _ => Ok(()),
        };
        checked.map_err(|(errno, kind)| PassReject::at(idx, errno, kind))
    }

    fn check_pseudo_btf_id(&self, id: i32, module_fd: i32) -> Refused {
        if module_fd != 0 {
            // No program here has a descriptor of a module's BTF.
            return refuse(errno::EINVAL, InsnFault::ModuleFd);
        }
        let Some(btf) = &self.prog.kernel_btf else { return Ok(()) };
        let Some(ty) = btf.get(TypeId(id as u32)) else {
            return refuse(errno::ENOENT, InsnFault::NoSuchBtfId { id });
        };
        let is_known = match ty.kind() {
            Kind::Func => self.rules.addresses_of_functions,
            kind => kind == Kind::Var,
        };
        if !is_known {
            return refuse(errno::EINVAL, InsnFault::BtfIdKind { id });
        }
        if self.symbols.is_some_and(|symbols| !(symbols.0)(ty.name())) {
            return refuse(errno::ENOENT, InsnFault::NoSymbol { name: ty.name().into() });
        }
        Ok(())
    }

    fn use_map(&mut self, imm: i32) -> Refused {
        let Some(map) =
            self.maps.get(imm as usize).filter(|_| (imm as usize) < self.prog.maps.len())
        else {
            // Objects encode invalid descriptors as numbers that no map index can have.
            let fd = if imm < 0 { !imm } else { -1 };
            // Descriptors 0 to 2 are open but are not maps.
            let errno = if (0..3).contains(&fd) { errno::EINVAL } else { errno::EBADF };
            return refuse(errno, InsnFault::NoSuchMap { fd });
        };
        if self.used.contains(&(imm as u32)) {
            return Ok(());
        }
        if self.used.len() >= MAX_USED_MAPS {
            return refuse(errno::E2BIG, AttachFault::TooManyMaps { max: MAX_USED_MAPS });
        }
        self.check_compatible(map)?;
        self.used.push(imm as u32);
        Ok(())
    }

    fn check_compatible(&self, map: &MapView<'_>) -> Refused {
        let einval = |kind: AttachFault| refuse(errno::EINVAL, kind);
        let has = |kinds: &[FieldKind]| map.fields.iter().any(|f| kinds.contains(&f.kind));
        let locks = has(&[FieldKind::SpinLock, FieldKind::ResSpinLock]);
        let prog_type = loaded_type(self.prog);
        if prog_type.runs_in_any_context() {
            let timers = self.rules.timers_in_tracing;
            let locks = match self.rules.res_locks_in_tracing {
                true => has(&[FieldKind::SpinLock]),
                false => locks,
            };
            let refused = [
                (has(&[FieldKind::ListHead, FieldKind::RbRoot]), "bpf_{list_head,rb_root}"),
                (locks, "bpf_spin_lock"),
                (!timers && has(&[FieldKind::Timer]), "bpf_timer"),
                (!timers && has(&[FieldKind::Workqueue]), "bpf_wq"),
            ];
            if let Some(&(_, what)) = refused.iter().find(|(has, _)| *has) {
                return einval(AttachFault::MapForTracing { what });
            }
        }
        if locks && prog_type == ProgType::SocketFilter {
            return einval(AttachFault::LockInSocketFilter);
        }
        let sleeps = self.prog.prog_flags.contains(ProgFlags::SLEEPABLE);
        if locks && sleeps && !self.rules.locks_while_sleeping {
            return refuse(errno::EINVAL, OtherRule::SleepsWithLocks);
        }
        let map_type = map.def.map_type;
        if map_type == MapType::StructOps {
            return einval(AttachFault::StructOpsMap);
        }
        if sleeps && !self.may_be_used_sleeping(map_type) {
            return einval(AttachFault::MapForSleepable);
        }
        if matches!(map_type, MapType::CgroupStorage | MapType::PercpuCgroupStorage)
            && self.used_of_type(map_type).is_some()
        {
            return refuse(errno::EBUSY, AttachFault::TwoCgroupStorages);
        }
        if map_type == MapType::Arena { self.check_arena(map.def) } else { Ok(()) }
    }

    fn may_be_used_sleeping(&self, map_type: MapType) -> bool {
        let plain = matches!(map_type, MapType::Hash | MapType::LruHash | MapType::Array);
        let is_queue = matches!(map_type, MapType::Queue | MapType::Stack);
        plain
            || self.rules.tries_while_sleeping && map_type == MapType::LpmTrie
            || self.rules.programs_while_sleeping && map_type == MapType::ProgArray
            || self.rules.any_map_while_sleeping
                && map_type.is_usable_sleeping()
                && (!is_queue || self.rules.queues_while_sleeping)
                && (!map_type.is_local_storage() || self.rules.storages_while_sleeping)
    }

    fn used_of_type(&self, map_type: MapType) -> Option<u32> {
        self.used.iter().copied().find(|&i| self.maps[i as usize].def.map_type == map_type)
    }

    fn check_arena(&self, def: &MapDef) -> Refused {
        if self.used_of_type(MapType::Arena).is_some() {
            return refuse(errno::EBUSY, AttachFault::TwoArenas);
        }
        if !self.privileged {
            return refuse(errno::EPERM, AttachFault::ArenaUnprivileged);
        }
        // Loaders map arenas before they load programs, so the arena has an address.
        let _ = def;
        Ok(())
    }

    fn check_direct_value(&self, first: &Insn, second: &Insn) -> Refused {
        let def = self.maps[first.imm as usize].def;
        let off = second.imm as u32;
        if i64::from(off) >= BPF_MAX_VAR_OFF {
            return refuse(errno::EINVAL, InsnFault::ValueOffset { off });
        }
        let (errno, value_size) = match def.map_type {
            MapType::Array if def.max_entries != 1 => (Some(errno::ENOTSUPP), def.value_size),
            MapType::Array => ((off >= def.value_size).then_some(errno::EINVAL), def.value_size),
            MapType::Arena => {
                let bytes = u64::from(def.max_entries) * PAGE_BYTES;
                ((u64::from(off) > bytes).then_some(errno::ERANGE), def.value_size)
            }
            _ => return refuse(errno::EINVAL, InsnFault::NoDirectValues),
        };
        match errno {
            Some(errno) => refuse(errno, InsnFault::ValuePointer { value_size, off }),
            None => Ok(()),
        }
    }
}

fn refuse(errno: i32, kind: impl Into<RejectKind>) -> Refused {
    Err((errno, kind.into()))
}

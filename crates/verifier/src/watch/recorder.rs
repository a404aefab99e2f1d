//! Builds the record from the states of the walk.

use super::graph::*;
use crate::state::arena::{Arena, PackedReg};
use crate::state::frame::Frame;
use crate::state::ids::CkptId;
use crate::state::reg::{BPF_ADD_CONST, BPF_ADD_CONST32, Extra, Reg};
use crate::state::reg_type::Base;
use crate::state::stack::{Slot, SlotType};
use crate::state::verifier_state::VerifierState;
use rustc_hash::FxHashMap;
use skep_uapi::TypeFlag;
use std::sync::Arc;

/// Builds the record.
pub(crate) struct Recorder {
    pub(crate) graph: Graph,
    /// The last node of the current path, and its state.
    last: (u32, Arc<State>),
    /// The same for pending branches.
    waiting: Vec<(u32, Arc<State>)>,
    /// Nodes and states of checkpoints.
    checkpoints: FxHashMap<CkptId, (u32, Arc<State>)>,
    /// The checkpoint saved at the next node.
    saved: Option<CkptId>,
    /// Claims, by the walk's names.
    by_name: FxHashMap<(u32, i32), u32>,
    slot_names: FxHashMap<SlotClaim, u32>,
    /// Whether the next node begins a function.
    at_root: bool,
}

/// What the covering checkpoint requires of the path.
pub(crate) struct Covered {
    pub(crate) by: CkptId,
    pub(crate) matters: Vec<Matters>,
    /// Whether every value is within the checkpoint's range.
    pub(crate) within: bool,
}

impl Default for Recorder {
    fn default() -> Recorder {
        let nothing = claim_of(&Reg::not_init());
        let no_slot = SlotClaim { zero: 0, spilled: 0, claim: 0 };
        Recorder {
            graph: Graph { claims: vec![nothing], slots: vec![no_slot], ..Graph::default() },
            last: (NONE, Arc::default()),
            waiting: Vec::new(),
            checkpoints: FxHashMap::default(),
            saved: None,
            by_name: FxHashMap::default(),
            slot_names: FxHashMap::from_iter([(no_slot, 0)]),
            at_root: false,
        }
    }
}

impl Recorder {
    pub(crate) fn begin_root(&mut self) {
        self.last = (NONE, Arc::default());
        self.at_root = true;
    }

    pub(crate) fn push(&mut self) {
        self.waiting.push(self.last.clone());
    }

    pub(crate) fn pop(&mut self) {
        self.last = self.waiting.pop().unwrap_or_default();
    }

    pub(crate) fn checkpoint(&mut self, id: CkptId) {
        self.saved = Some(id);
    }

    pub(crate) fn forget_names(&mut self) {
        self.by_name.clear();
    }

    pub(crate) fn insn(&mut self, cur: &VerifierState, arena: &Arena, insn: u32) {
        let saved = self.saved.take();
        if cur.meta.speculative {
            self.last = (NONE, Arc::default());
            return;
        }
        let id = self.add_node(cur, arena, insn);
        if let Some(saved) = saved {
            self.checkpoints.insert(saved, self.last.clone());
        }
        if std::mem::take(&mut self.at_root) {
            self.graph.roots.push(id);
        }
    }

    /// The path is pruned.
    pub(crate) fn cut(&mut self, cur: &VerifierState, arena: &Arena, insn: u32, covered: Covered) {
        if cur.meta.speculative {
            return;
        }
        let Covered { by, matters, within } = covered;
        let Some((to, state)) = self.checkpoints.get(&by).cloned() else { return };
        let node = self.add_node(cur, arena, insn);
        self.graph.nodes[node as usize].cut = self.graph.cuts.len() as u32;
        self.graph.cuts.push(Cut { to, state, matters, within });
    }

    fn add_node(&mut self, cur: &VerifierState, arena: &Arena, insn: u32) -> u32 {
        let state = State { frames: cur.frames.iter().map(|f| self.frame(f, arena)).collect() };
        let id = self.graph.nodes.len() as u32;
        let changes = self.graph.changes.len() as u32;
        let meta = &cur.frame().meta;
        let later = meta.in_async_callback_fn && cur.frames.len() == 1;
        let (before, old) = std::mem::take(&mut self.last);
        let begins_later = later && old.frames.first().is_none_or(|f| f.callsite != ASYNC);
        let none = State::default();
        let old = if begins_later { &none } else { &*old };
        for (i, frame) in state.frames.iter().enumerate() {
            self.add_changes(i, frame, old.frames.get(i).filter(|o| is_same(o, frame)));
        }
        let mut node = Node {
            insn,
            child: NONE,
            sibling: NONE,
            changes,
            depth: state.frames.len() as u8,
            in_callback: meta.in_callback_fn,
            cut: NONE,
        };
        if begins_later {
            self.graph.later.push(id);
        } else if let Some(before) = self.graph.nodes.get_mut(before as usize) {
            node.sibling = before.child;
            before.child = id;
        }
        self.graph.nodes.push(node);
        self.last = (id, Arc::new(state));
        id
    }

    fn add_changes(&mut self, i: usize, new: &FrameState, old: Option<&FrameState>) {
        let nothing = FrameState::default();
        let old = old.unwrap_or(&nothing);
        let regs = new.regs.iter().zip(&old.regs).enumerate();
        let regs = regs.filter(|(_, (n, o))| n != o).map(|(at, (n, _))| (at as u8, *n));
        let len = new.slots.len().max(old.slots.len());
        let slot = |slots: &[Held], at: usize| slots.get(at).copied().unwrap_or_default();
        let slots = (0..len).filter(|&at| slot(&new.slots, at) != slot(&old.slots, at));
        let slots = slots.map(|at| (SLOTS + at as u8, slot(&new.slots, at)));
        let changes = regs.chain(slots).map(|(at, held)| Change { frame: i as u8, at, held });
        self.graph.changes.extend(changes);
    }

    fn frame(&mut self, frame: &Frame, arena: &Arena) -> FrameState {
        let mut regs = [Held::default(); 11];
        for (held, &name) in regs.iter_mut().zip(frame.names()) {
            *held = self.held(name, arena);
        }
        let slots = frame.slots().iter().map(|slot| self.slot(slot, arena)).collect();
        let meta = &frame.meta;
        let callsite = if meta.in_async_callback_fn { ASYNC } else { meta.callsite };
        FrameState { regs, slots, callsite, in_callback: meta.in_callback_fn }
    }

    fn held(&mut self, name: PackedReg, arena: &Arena) -> Held {
        let key = (name.val, arena.range(name));
        let claim = match self.by_name.get(&key) {
            Some(&claim) => claim,
            None => {
                let claim = claim_of(&arena.reg(name));
                let known = claim.kind == ClaimKind::Nothing;
                let id = if known { 0 } else { self.graph.claims.len() as u32 };
                if !known {
                    self.graph.claims.push(claim);
                }
                self.by_name.insert(key, id);
                id
            }
        };
        let id = arena.id(name);
        let flags = id & BPF_ADD_CONST;
        let bits = if flags & BPF_ADD_CONST32 != 0 { 32 } else { 64 };
        let id = id & !BPF_ADD_CONST;
        Held { claim, id, add: if flags == 0 { 0 } else { bits } }
    }

    fn slot(&mut self, slot: &Slot, arena: &Arena) -> Held {
        let mut claim = SlotClaim { zero: 0, spilled: 0, claim: 0 };
        let mut held = Held::default();
        for (at, ty) in slot.types.iter().rev().enumerate() {
            claim.zero |= u8::from(*ty == SlotType::Zero) << at;
            claim.spilled += u8::from(*ty == SlotType::Spill);
        }
        if claim.spilled != 0 {
            held = self.held(slot.spill, arena);
            claim.claim = held.claim;
        }
        let next = self.graph.slots.len() as u32;
        let id = *self.slot_names.entry(claim).or_insert(next);
        if id == next {
            self.graph.slots.push(claim);
        }
        Held { claim: id, ..held }
    }
}

/// Call site of the entry frame of a callback that runs later.
const ASYNC: i32 = i32::MIN;

/// Whether both are the same frame, possibly at different times.
fn is_same(old: &FrameState, new: &FrameState) -> bool {
    (old.callsite, old.in_callback) == (new.callsite, new.in_callback)
}

fn claim_of(reg: &Reg) -> Claim {
    use ClaimKind as K;
    let unsure = TypeFlag::PTR_MAYBE_NULL | TypeFlag::PTR_UNTRUSTED;
    let kind = match reg.ty.base {
        Base::NotInit => K::Nothing,
        Base::Scalar => K::Scalar,
        Base::Stack => K::Stack(reg.frameno()),
        Base::Packet => K::Packet(reg.range()),
        Base::PacketEnd => K::PacketEnd,
        // A function that is never called is removed: its address may be 0.
        Base::Arena | Base::Func => K::Wild,
        // Offsets into untrusted memory, which probes may read anywhere, are not tracked.
        Base::Mem if reg.ty.flags.contains(TypeFlag::PTR_UNTRUSTED) => K::Wild,
        _ => K::Pointer,
    };
    let map = match reg.extra {
        Extra::Map { map, .. } => map + 1,
        _ => 0,
    };
    let class = reg.ty.base as u32 | map << 8;
    let loose = reg.ty.flags.intersects(unsure) || reg.ty.base == Base::BtfId;
    Claim { kind, loose, off: reg.off, val: reg.val, class }
}

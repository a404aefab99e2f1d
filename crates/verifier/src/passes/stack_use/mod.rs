//! Which halves of stack slots are live, computed before the walk.
//!
//! Registers and slots that hold stack addresses are tracked forwards through each function
//! (including those passed by its caller), which determines what each insn reads and overwrites;
//! liveness is then computed backwards. A function that receives addresses of its callers' stacks
//! is analysed separately for each call; its reads of those stacks are attributed to the call.
//!
//! The result is an overapproximation: if an address is not known, all places to which it may point
//! count as read.
//!
//! Kernel: the stack liveness of 7.1, according to its log ("stack use/def").

mod live;
mod step;
mod touch;
pub(crate) mod touches;
mod value;

use crate::passes::call_facts::{callee_start, is_pseudo_call, is_pseudo_func};
use crate::passes::postorder::{Postorder, successors};
use crate::passes::stack_use::touches::{Halves, Known, Touches};
use crate::passes::subprogs::Subprogs;
use crate::passes::worklist::{Way, Worklist};
use rustc_hash::FxHashMap;
use skep_insn::Insn;
use skep_uapi::limits::MAX_CALL_FRAMES;
use std::cell::Cell;
use std::collections::hash_map::Entry;
use step::{Around, State};
use touch::{Used, Uses};
use value::Value;

/// Number of instances beyond which the whole stack counts as live.
const INSTANCES_MAX: usize = 4096;

impl Value {
    fn known(self) -> Known {
        match self {
            Value::Number(n) => Known::Number(n),
            Value::Map(map) => Known::Map(map),
            _ => Known::Nothing,
        }
    }
}

/// A function, analysed alone or as called by another.
#[derive(Clone, Debug, Default)]
struct Instance {
    /// First insn.
    start: u32,
    /// By frame, outermost first: what is live before each insn. Empty: nothing is live.
    live: [Vec<Halves>; MAX_CALL_FRAMES],
    /// Instances of callees that receive stack addresses, by call site.
    callees: FxHashMap<u32, u32>,
    /// Call sites that pass stack addresses to a callback, of which it is not known here which
    /// function it is.
    unknown: Vec<u32>,
}

/// See the module's header.
#[derive(Clone, Debug, Default)]
pub(crate) struct StackUse {
    instances: Vec<Instance>,
    /// By first insn: the function analysed alone.
    alone: FxHashMap<u32, u32>,
    /// Too many instances: everything counts as live.
    all_live: bool,
    /// Whether stack addresses are passed down through more functions than may be in each other.
    pub(crate) is_too_deep: bool,
}

/// How functions may be called.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Calls<'a> {
    /// By subprog: whether it is global.
    pub(crate) is_global: &'a [bool],
    /// Whether more than [`MAX_CALL_FRAMES`] functions may be in each other.
    pub(crate) has_more_frames: bool,
}

/// One frame of a state, for [`StackUse::live`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct At {
    /// First insn of the function.
    pub(crate) start: u32,
    /// The call of it (any number for the first frame).
    pub(crate) callsite: u32,
    /// The position of the state in it: for a caller, the insn after the call, or the call itself
    /// if that may run its callback again.
    pub(crate) insn: u32,
}

impl StackUse {
    /// Analyses all functions. Precondition: `check_cfg` has accepted the program, and there is no
    /// recursion.
    pub(crate) fn new(
        insns: &[Insn],
        subprogs: &Subprogs,
        order: &Postorder,
        touches: &impl Touches,
        calls: Calls<'_>,
    ) -> StackUse {
        let mut found = StackUse::default();
        if !insns.iter().any(|insn| insn.dst == 10 || insn.src == 10) {
            return found;
        }
        let lost = Cell::new(false);
        let is_target = targets(insns, subprogs, order);
        let is_target = is_target.as_slice();
        let lost = &lost;
        let found_now = &mut found;
        let mut pass = Pass {
            insns,
            subprogs,
            order,
            is_target,
            touches,
            lost,
            calls,
            chain: Vec::new(),
            found: found_now,
        };
        pass.all();
        if lost.get() {
            *pass.found = StackUse::default();
            pass.all();
        }
        found
    }

    /// The live halves in each frame of a state.
    pub(crate) fn live(&self, frames: &[At]) -> [Halves; MAX_CALL_FRAMES] {
        let mut live = [0; MAX_CALL_FRAMES];
        if self.all_live {
            return [Halves::MAX; MAX_CALL_FRAMES];
        }
        let (mut instance, mut base): (Option<&Instance>, usize) = (None, 0);
        for (i, at) in frames.iter().enumerate().take(MAX_CALL_FRAMES) {
            if instance.is_some_and(|caller| caller.unknown.contains(&at.callsite)) {
                live[..i].fill(Halves::MAX);
            }
            let called = instance.and_then(|caller| caller.callees.get(&at.callsite));
            let id = called.or_else(|| {
                base = i;
                self.alone.get(&at.start)
            });
            instance = id.and_then(|&id| self.instances.get(id as usize));
            let Some(instance) = instance else {
                live[i] = Halves::MAX;
                continue;
            };
            for (frame, of_frame) in instance.live.iter().enumerate().take(i - base + 1) {
                let local = at.insn.wrapping_sub(instance.start) as usize;
                live[base + frame] |= of_frame.get(local).copied().unwrap_or_default();
            }
        }
        live
    }

    /// Bytes allocated.
    pub(crate) fn bytes(&self) -> u64 {
        use crate::memory::capacity_bytes;
        let of_instance = |i: &Instance| {
            capacity_bytes(&i.unknown) + i.live.iter().map(capacity_bytes).sum::<u64>()
        };
        capacity_bytes(&self.instances) + self.instances.iter().map(of_instance).sum::<u64>()
    }
}

/// The insns of a function.
#[derive(Clone, Copy)]
struct Body {
    subprog: usize,
    start: u32,
    len: usize,
}

/// An insn of an instance of a function.
#[derive(Clone, Copy)]
struct InsnOf {
    instance: u32,
    idx: u32,
}

/// The pass over a program.
struct Pass<'a, T> {
    insns: &'a [Insn],
    subprogs: &'a Subprogs,
    order: &'a Postorder,
    is_target: &'a [bool],
    touches: &'a T,
    lost: &'a Cell<bool>,
    calls: Calls<'a>,
    /// The functions that are being analysed, the outermost first.
    chain: Vec<usize>,
    found: &'a mut StackUse,
}

impl<T: Touches> Pass<'_, T> {
    /// Callers come before callees: a function that receives addresses from a caller is not
    /// analysed alone, unless it is also walked alone.
    fn all(&mut self) {
        for subprog in self.callers_first() {
            let start = self.subprogs.starts()[subprog];
            let is_walked_alone = self.calls.is_global.get(subprog) == Some(&true);
            let mut instances = self.found.instances.iter();
            if is_walked_alone || !instances.any(|instance| instance.start == start) {
                let id = self.function(subprog, State::default(), &mut Vec::new());
                self.found.alone.insert(start, id);
            }
        }
    }

    fn callers_first(&self) -> Vec<usize> {
        let starts = self.subprogs.starts();
        let mut callees = vec![Vec::new(); starts.len()];
        let mut subprog = 0;
        for (idx, insn) in self.insns.iter().enumerate() {
            while starts.get(subprog + 1).is_some_and(|&start| start as usize <= idx) {
                subprog += 1;
            }
            if is_pseudo_call(insn) || is_pseudo_func(insn) {
                let start = callee_start(idx, insn);
                let callee = starts.binary_search(&(start as u32));
                callees[subprog].extend(callee.ok());
            }
        }
        let mut order = Vec::with_capacity(starts.len());
        let mut seen = vec![false; starts.len()];
        for root in 0..starts.len() {
            let mut path = vec![(root, 0)];
            if std::mem::replace(&mut seen[root], true) {
                continue;
            }
            while let Some((at, next)) = path.last_mut() {
                match callees[*at].get(*next) {
                    Some(&callee) => {
                        *next += 1;
                        if !std::mem::replace(&mut seen[callee], true) {
                            path.push((callee, 0));
                        }
                    }
                    None => {
                        order.push(*at);
                        path.pop();
                    }
                }
            }
        }
        order.reverse();
        order
    }

    /// The instance of a function with this entry state and these callers.
    fn function(&mut self, subprog: usize, entry: State, callers: &mut Vec<State>) -> u32 {
        let start = self.subprogs.starts()[subprog];
        let end = self.subprogs.starts().get(subprog + 1).copied();
        let len = (end.unwrap_or(self.insns.len() as u32) - start) as usize;
        let id = self.found.instances.len() as u32;
        self.found.instances.push(Instance { start, ..Instance::default() });
        if self.found.instances.len() > INSTANCES_MAX {
            self.found.all_live = true;
        }
        if self.found.all_live {
            return id;
        }
        let states = self.forwards(Body { subprog, start, len }, entry, callers);
        let mut uses = Uses::default();
        self.chain.push(subprog);
        for (leader, state) in states {
            self.uses_of_run(InsnOf { instance: id, idx: leader }, state, callers, &mut uses);
        }
        self.chain.pop();
        let order = self.order.of(subprog);
        let live = live::backwards(self.insns, order, start, len, &uses);
        self.found.instances[id as usize].live = live;
        id
    }

    /// The uses of the insns from a jump target to the next one.
    fn uses_of_run(
        &mut self,
        leader: InsnOf,
        mut state: State,
        callers: &mut Vec<State>,
        uses: &mut Uses,
    ) {
        let mut at = Some(leader.idx);
        while let Some(idx) = at {
            let around = Around { depth: callers.len(), callers, lost: self.lost };
            let insn = self.insns[idx as usize];
            let mut used = touch::used(insn, &state, &around, self.touches);
            self.call(InsnOf { idx, ..leader }, &state, callers, &mut used);
            uses.add(idx, &used);
            let around = Around { depth: callers.len(), callers, lost: self.lost };
            state.step(self.insns, idx, &around);
            at = self.goes_on(idx);
        }
    }

    /// The next insn, if this one is its only predecessor.
    fn goes_on(&self, idx: u32) -> Option<u32> {
        let next = successors(self.insns, idx as usize);
        next.as_slice().iter().copied().find(|&next| !self.is_target[next as usize])
    }

    /// A call of a function that receives stack addresses.
    fn call(&mut self, at: InsnOf, state: &State, callers: &mut Vec<State>, used: &mut Used) {
        let InsnOf { instance: caller, idx } = at;
        let insn = self.insns[idx as usize];
        let depth = callers.len();
        let mut entry = State::default();
        let start = if is_pseudo_call(&insn) {
            entry.regs[1..6].copy_from_slice(&state.regs[1..6]);
            callee_start(idx as usize, &insn) as u32
        } else if let Some(callback) = self.touches.callback(&insn) {
            let context = state.reg(callback.context as u8 + 1, depth);
            entry.regs[callback.taken_as + 1] = context;
            match state.reg(callback.function as u8 + 1, depth) {
                Value::Function(start) => start,
                _ if context.leads_to_stack() => {
                    used.reads[..=depth].fill(Halves::MAX);
                    self.found.instances[caller as usize].unknown.push(idx);
                    return;
                }
                _ => return,
            }
        } else {
            return;
        };
        if !entry.regs.iter().any(|value| value.leads_to_stack()) {
            return;
        }
        let Ok(subprog) = self.subprogs.starts().binary_search(&start) else { return };
        if depth + 1 >= MAX_CALL_FRAMES {
            // More frames than this are only known to be too many if they come back.
            self.found.is_too_deep |= !self.calls.has_more_frames || self.chain.contains(&subprog);
            return;
        }
        callers.push(state.clone());
        let callee = self.function(subprog, entry, callers);
        callers.pop();
        let instance = &self.found.instances[callee as usize];
        for (frame, live) in instance.live.iter().enumerate().take(depth + 1) {
            used.reads[frame] |= live.first().copied().unwrap_or_default();
        }
        self.found.instances[caller as usize].callees.insert(idx, callee);
    }

    /// The states before each reachable jump target of a function, and before its first insn.
    fn forwards(&self, body: Body, entry: State, callers: &[State]) -> Vec<(u32, State)> {
        let Body { subprog, start, len } = body;
        let around = Around { depth: callers.len(), callers, lost: self.lost };
        let mut states = FxHashMap::from_iter([(start, entry)]);
        let mut todo = Worklist::new(self.order.of(subprog), start, len, Way::Forwards);
        todo.push(start);
        while let Some(leader) = todo.pop() {
            let Some(mut state) = states.get(&leader).cloned() else { continue };
            let mut at = Some(leader);
            while let Some(idx) = at {
                state.step(self.insns, idx, &around);
                let next = successors(self.insns, idx as usize);
                for &next in next.as_slice().iter().filter(|&&i| self.is_target[i as usize]) {
                    if join_into(&mut states, next, &state) {
                        todo.push(next);
                    }
                }
                at = self.goes_on(idx);
            }
        }
        let mut states: Vec<(u32, State)> = states.into_iter().collect();
        states.sort_unstable_by_key(|state| state.0);
        states
    }
}

/// Joins the state on another path to `target`; returns whether that changed it.
fn join_into(states: &mut FxHashMap<u32, State>, target: u32, state: &State) -> bool {
    match states.entry(target) {
        Entry::Occupied(mut known) => known.get_mut().join(state),
        Entry::Vacant(unknown) => {
            unknown.insert(state.clone());
            true
        }
    }
}

/// Jump targets, and first insns of functions.
fn targets(insns: &[Insn], subprogs: &Subprogs, order: &Postorder) -> Vec<bool> {
    let mut is_target = vec![false; insns.len()];
    for &idx in &order.insns {
        let falls = idx + if insns[idx as usize].is_ld_imm64() { 2 } else { 1 };
        for &next in successors(insns, idx as usize).as_slice() {
            is_target[next as usize] |= next != falls;
        }
    }
    for &start in subprogs.starts() {
        is_target[start as usize] = true;
    }
    is_target
}

#[cfg(test)]
mod tests;

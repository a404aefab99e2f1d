//! Follows a run through the graph of the walk: at which node it is, and whether its state is
//! included in that node's.
//!
//! # Invariants
//! 1. The run is at a node of the graph and got there along its edges: jumps that are never taken
//!    according to the verifier have no node.
//! 2. New claims of a node are checked when the run reaches it; an existing claim remains true of
//!    an unchanged value. All claims of the frame are rechecked periodically.
//! 3. Where a path was pruned at a checkpoint, everything that mattered to the checkpoint is
//!    checked; scalars that did not matter and are outside of the checkpoint's state are in doubt
//!    from there on (`flow`).

use super::cut::{Hop, Ids, Member, hop_slots, is_class};
use super::fits::{Fits, Now, describe};
use super::flow::{self, Effect};
use super::place::{Judge, Origin, Place};
use super::step::{Found, Step};
use skep::insn::Insn;
use skep::insn::code::BPF_LD;
use skep_interp::{At, Host, Watch};
use skep_verifier::OwnHelper;
use skep_verifier::watch::{Change, ClaimKind, Graph, NONE, SLOTS};

/// All claims of a frame are checked once every this many insns.
const WHOLE: u64 = 64;

/// A program and the graph of its walk.
pub(super) struct Walked {
    pub(super) graph: Graph,
    pub(super) insns: Vec<Insn>,
    pub(super) effects: Vec<Effect>,
    /// Whether the insn still exists in the code that runs.
    pub(super) kept: Vec<bool>,
}

/// A run that left the verifier's states.
#[derive(Clone, Debug)]
pub(super) struct Outside {
    pub(super) insn: u32,
    pub(super) what: String,
}

/// How a function was entered that is verified on its own.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Entered {
    Run,
    Global,
    Later,
}

/// How the search for the next node continues if the path, passing insns that no longer exist, was
/// pruned at a checkpoint: from there on scalars may be in doubt.
#[derive(Clone, Copy)]
enum AfterCut {
    /// Requires what must hold whatever is in doubt: if there are two edges to an insn, selects the
    /// one taken.
    Surely,
    /// Only nodes whose claims match.
    Fits,
    /// Any node: if it is the wrong one, that shows later.
    InDoubt,
    /// The same, and the path has already been pruned.
    Passed,
}

/// The search for a node at insn `o`.
struct Search<'a> {
    o: u32,
    now: &'a Now<'a>,
    /// The nodes that lead there.
    path: Vec<u32>,
    /// Why the first of the nodes does not fit that does not.
    why: Option<String>,
}

/// A function that is verified on its own, and its callees.
struct Level {
    node: u32,
    places: Vec<Place>,
    entered: Entered,
}

pub(super) struct Tracker {
    walked: Walked,
    levels: Vec<Level>,
    /// Whether a run or callback begins with the next insn.
    begins: bool,
    /// Why it is no longer known at which node the run is.
    pub(super) lost: Option<&'static str>,
    pub(super) outside: Option<Outside>,
    /// Why the rest of the run proves nothing: it reads memory that the kernel would not let it
    /// read.
    hole: Option<&'static str>,
    /// Number of insns that ran, and how many of them before the run was lost.
    pub(super) ran: u64,
    pub(super) insns: u64,
    /// Print each step.
    pub(super) trace: bool,
    pub(super) cuts: u64,
    last_origin: u32,
    last_pc: usize,
    /// The address that the current insn accesses.
    addr: u64,
    packet_end: Option<u64>,
    path: Vec<u32>,
}

impl Tracker {
    pub(super) fn new(walked: Walked) -> Tracker {
        Tracker {
            walked,
            levels: Vec::new(),
            begins: false,
            lost: None,
            outside: None,
            hole: None,
            ran: 0,
            insns: 0,
            trace: false,
            cuts: 0,
            last_origin: u32::MAX,
            last_pc: 0,
            addr: 0,
            packet_end: None,
            path: Vec::new(),
        }
    }

    /// Prepares for a run.
    pub(super) fn reset(&mut self) {
        self.levels.clear();
        (self.begins, self.lost, self.packet_end) = (false, None, None);
        self.hole = None;
        self.last_origin = u32::MAX;
    }

    fn fail(&mut self, insn: u32, what: impl Into<String>) {
        if self.hole.is_some() {
            self.lost = self.hole;
            return;
        }
        self.lost = Some("outside");
        self.outside.get_or_insert(Outside { insn, what: what.into() });
    }

    fn begin(&mut self, o: u32, now: &Now<'_>) {
        let graph = &self.walked.graph;
        let nested = self.levels.last().map(|level| level.node);
        if let Some(node) = nested {
            let depth = graph.nodes[node as usize].depth;
            let into = |&child: &u32| {
                let child = &graph.nodes[child as usize];
                child.insn == o && child.depth > depth
            };
            let child = children(graph, node).find(into);
            if let Some(child) = child {
                return self.go(&[child], now, o);
            }
        }
        let roots = self.starts(&self.walked.graph.roots, o);
        match nested.is_some() || roots.is_empty() {
            true => {
                let later = self.starts(&self.walked.graph.later, o);
                self.enter(&later, Entered::Later, now, o);
            }
            false => self.enter(&roots, Entered::Run, now, o),
        }
    }

    /// Those of the first nodes `of` that belong to the function whose first remaining insn is `o`.
    fn starts(&self, of: &[u32], o: u32) -> Vec<u32> {
        let Walked { graph, kept, .. } = &self.walked;
        let first = |at: u32| graph.nodes[at as usize].insn;
        let begins = |at: u32| {
            first(at) <= o && !kept[first(at) as usize..o as usize].iter().any(|&kept| kept)
        };
        // Functions before it may have been removed completely.
        let nearest = of.iter().copied().filter(|&at| begins(at)).map(first).max();
        of.iter().copied().filter(|&at| Some(first(at)) == nearest).collect()
    }

    /// Enters a function that is verified on its own, at the matching one of these nodes.
    fn enter(&mut self, starts: &[u32], entered: Entered, now: &Now<'_>, o: u32) {
        let mut why = "none of it was walked".to_owned();
        for &start in starts {
            self.levels.push(Level { node: start, places: Vec::new(), entered });
            let fits = self.push_place(now, 0).and_then(|()| self.apply(start, now, false));
            match fits {
                Ok(()) => {
                    self.settle(start);
                    if self.walked.graph.nodes[start as usize].insn != o {
                        self.follow(start, o, now);
                    }
                    return;
                }
                Err(it) => why = it,
            }
            self.levels.pop();
        }
        self.fail(o, format!("enters a function: {why}"));
    }

    fn push_place(&mut self, now: &Now<'_>, callsite: u32) -> Fits {
        let level = self.levels.last_mut().ok_or("no level")?;
        let mut place = Place::new(now.regs[10]);
        place.callsite = callsite;
        if let Some(caller) = level.places.last() {
            place.origins[1..6].copy_from_slice(&caller.origins[1..6]);
            place.free = caller.free & 0x3e;
            place.dead = caller.dead & 0x3e;
        }
        level.places.push(place);
        Ok(())
    }

    /// An exception: the exception callback replaces the program.
    fn catch(&mut self, o: u32, now: &Now<'_>) {
        self.levels.clear();
        let starts = self.starts(&self.walked.graph.roots, o);
        match starts.is_empty() {
            true => self.lost = Some("an exception that the program does not catch"),
            false => self.enter(&starts, Entered::Run, now, o),
        }
    }

    /// Moves to the insn `o`.
    fn arrive(&mut self, o: u32, now: &Now<'_>) {
        let Some(level) = self.levels.last_mut() else { return self.lost = Some("nowhere") };
        let from = level.node;
        let at = &self.walked.graph.nodes[from as usize];
        let (insn, effect) =
            (self.walked.insns[at.insn as usize], self.walked.effects[at.insn as usize]);
        if effect.exits && at.depth == 1 && level.entered == Entered::Global {
            self.levels.pop();
            let Some(level) = self.levels.last_mut() else { return self.lost = Some("nowhere") };
            if let Some(place) = level.places.last_mut() {
                (place.free, place.dead) = (place.free & !0x3f, place.dead & !0x3f);
            }
            return self.follow(level_node(&self.levels), o, now);
        }
        let place = level.places.last();
        let sure = level.places.iter().all(Place::is_sure);
        if !sure {
            if let Some(reg) = place.and_then(|place| flow::reads_dead(insn, place)) {
                let (insn, text) = (at.insn, format!("r{reg} is read, and was taken for dead"));
                return self.fail(insn, text);
            }
            let enters = self
                .walked
                .graph
                .nodes
                .get(at.child as usize)
                .is_some_and(|it| it.depth > at.depth);
            let steps = !(effect.branches || enters && insn.is_pseudo_call());
            if steps {
                flow::step(insn, effect, &mut level.places, self.addr);
            }
        }
        self.follow(from, o, now);
    }

    fn follow(&mut self, from: u32, o: u32, now: &Now<'_>) {
        let graph = &self.walked.graph;
        let first = graph.nodes[from as usize].child;
        if let Some(child) = graph.nodes.get(first as usize)
            && child.insn == o
            && child.sibling == NONE
        {
            return self.go(&[first], now, o);
        }
        let path = std::mem::take(&mut self.path);
        let mut search = Search { o, now, path, why: None };
        let mut found = |after_cut| {
            search.path.clear();
            self.search(from, after_cut, &mut search)
        };
        if found(AfterCut::Surely) || found(AfterCut::Fits) || found(AfterCut::InDoubt) {
            self.go(&search.path, now, o);
        } else {
            self.enter_global(from, o, now, search.why);
        }
        self.path = search.path;
    }

    /// A matching node, reached through insns that no longer exist.
    fn search(&self, from: u32, after_cut: AfterCut, search: &mut Search<'_>) -> bool {
        let Search { o, now, .. } = *search;
        let graph = &self.walked.graph;
        let computes = self.walked.effects[graph.nodes[from as usize].insn as usize].computes;
        for child in children(graph, from) {
            let node = &graph.nodes[child as usize];
            let is_fork = computes && node.insn == graph.nodes[from as usize].insn;
            let is_gone = !self.walked.kept[node.insn as usize] && node.insn != o;
            if is_fork || !(node.insn == o || is_gone) {
                continue;
            }
            let fits = match after_cut {
                AfterCut::Passed => Ok(()),
                AfterCut::Surely => self.fits(from, child, now, true),
                AfterCut::Fits | AfterCut::InDoubt => self.fits(from, child, now, false),
            };
            if let Err(it) = fits {
                search.why.get_or_insert(it);
                continue;
            }
            search.path.push(child);
            if node.insn == o {
                return true;
            }
            let (on, after_cut) = match (graph.cuts.get(node.cut as usize), after_cut) {
                (None, it) => (child, it),
                (Some(cut), AfterCut::Surely | AfterCut::Fits) => (cut.to, after_cut),
                (Some(cut), _) => (cut.to, AfterCut::Passed),
            };
            if self.search(on, after_cut, search) {
                return true;
            }
            search.path.pop();
        }
        false
    }

    fn enter_global(&mut self, from: u32, o: u32, now: &Now<'_>, why: Option<String>) {
        let graph = &self.walked.graph;
        let at = graph.nodes[from as usize].insn;
        let is_call = self.walked.effects[at as usize].calls;
        let starts = self.starts(&graph.roots, o);
        match why {
            None if is_call && !starts.is_empty() => {
                self.enter(&starts, Entered::Global, now, o);
            }
            Some(why) => self.fail(at, why),
            None if self.walked.insns[at as usize].class() == BPF_LD => {
                self.lost = Some("packet load that ends a function");
            }
            None => self.fail(at, format!("goes on to insn {o}, which was not walked from here")),
        }
    }

    /// Whether the run may go from one node to the other, as far as that can be decided in advance;
    /// if `surely`, despite values in doubt.
    fn fits(&self, from: u32, id: u32, now: &Now<'_>, surely: bool) -> Fits {
        let Some(level) = self.levels.last() else { return Ok(()) };
        let graph = &self.walked.graph;
        let depth = usize::from(graph.nodes[id as usize].depth);
        let doubt = !surely && self.jump_in_doubt(level, from);
        let judge = self.judge(level);
        for change in graph.changes_of(id) {
            let frame = usize::from(change.frame);
            let is_top = frame + 1 == depth;
            let is_reg = change.at < SLOTS;
            // A result inherits the doubt of the callee, and a new frame that of its caller's
            // arguments.
            let returned = is_top && depth < level.places.len() && change.at == 0;
            let place = level.places.get(frame).filter(|_| !returned).or(level.places.last());
            let (Some(place), true, false) = (place, is_reg, doubt) else { continue };
            let reg = usize::from(change.at);
            let claim = &graph.claims[change.held.claim as usize];
            let is_new = frame >= level.places.len() && claim.kind != ClaimKind::Scalar;
            let skipped = is_new
                || place.dead >> reg & 1 == 1
                || (place.free >> reg & 1 == 1 && claim.kind == ClaimKind::Scalar && !surely);
            let value = if is_top { now.regs[reg] } else { place.regs[reg] };
            if !skipped && !judge.fits(claim, value, Origin::default()) {
                return Err(describe(change, claim, value));
            }
        }
        Ok(())
    }

    /// Whether the jump at that node depends on a value in doubt.
    fn jump_in_doubt(&self, level: &Level, at: u32) -> bool {
        let insn = self.walked.graph.nodes[at as usize].insn as usize;
        let branches = self.walked.effects[insn].branches;
        branches
            && level
                .places
                .last()
                .is_some_and(|place| flow::jumps_on_doubt(self.walked.insns[insn], place))
    }

    fn judge<'a>(&'a self, level: &'a Level) -> Judge<'a> {
        Judge { graph: &self.walked.graph, tops: &level.places, packet_end: self.packet_end }
    }

    /// Follows the path of nodes.
    fn go(&mut self, path: &[u32], now: &Now<'_>, o: u32) {
        for &id in path {
            let went = self.frames_of(id, now).and_then(|()| {
                let level = self.levels.last();
                let doubt = level.is_some_and(|level| self.jump_in_doubt(level, level.node));
                self.apply(id, now, doubt)
            });
            if let Err(why) = went {
                return self.fail(o, why);
            }
            if let Err(why) = self.stand(id, now) {
                return self.fail(o, why);
            }
        }
        self.take_fork(now);
        if self.insns.is_multiple_of(WHOLE)
            && let Err(why) = self.check_whole(now)
        {
            self.fail(o, why);
        }
    }

    /// If a scalar is walked as two branches, selects the matching one.
    fn take_fork(&mut self, now: &Now<'_>) {
        let node = level_node(&self.levels);
        let graph = &self.walked.graph;
        let Some(at) = graph.nodes.get(node as usize) else { return };
        if !self.walked.effects[at.insn as usize].computes {
            return;
        }
        let fork = children(graph, node).find(|&c| graph.nodes[c as usize].insn == at.insn);
        if let Some(fork) = fork.filter(|&fork| self.fits(node, fork, now, true).is_ok()) {
            let insn = at.insn;
            if let Err(why) = self.apply(fork, now, false) {
                return self.fail(insn, why);
            }
            if let Err(why) = self.stand(fork, now) {
                return self.fail(insn, why);
            }
            if level_node(&self.levels) != fork {
                self.take_fork(now);
            }
        }
    }

    /// Moves to the node or, if the path was pruned there, to the checkpoint that covers it.
    fn stand(&mut self, node: u32, now: &Now<'_>) -> Fits {
        self.settle(node);
        match self.walked.graph.nodes[node as usize].cut {
            NONE => Ok(()),
            cut => self
                .hop(cut, now)
                .map_err(|why| format!("cut off at a checkpoint that does not cover it: {why}")),
        }
    }

    fn settle(&mut self, node: u32) {
        if let Some(level) = self.levels.last_mut() {
            level.node = node;
        }
    }

    /// Adjusts the frames to the node.
    fn frames_of(&mut self, id: u32, now: &Now<'_>) -> Fits {
        let depth = usize::from(self.walked.graph.nodes[id as usize].depth);
        let Some(level) = self.levels.last_mut() else { return Err("no level".to_owned()) };
        let callsite = self.walked.graph.nodes[level.node as usize].insn;
        if depth > level.places.len() {
            self.push_place(now, callsite)?;
            let places = self.levels.last_mut().map(|level| &mut level.places[..]);
            let Some([.., caller, callee]) = places else { return Ok(()) };
            if self.begins {
                // A helper calls a callback with its own arguments.
                callee.origins = Default::default();
                (callee.free, callee.dead) = (0, 0);
            } else {
                (caller.free, caller.dead) = (caller.free & !0x3f, caller.dead & !0x3f);
            }
        } else if depth < level.places.len() {
            let Some(callee) = level.places.pop() else { return Ok(()) };
            // The result of a callback is returned to the helper.
            let returns = !self.walked.graph.nodes[level.node as usize].in_callback;
            if let Some(caller) = level.places.last_mut().filter(|_| returns) {
                caller.free = caller.free & !1 | (callee.free & 1);
                caller.origins[0] = callee.origins[0];
                caller.dead &= !1;
            }
        }
        Ok(())
    }

    /// Takes over the new claims of a node, and checks them.
    fn apply(&mut self, id: u32, now: &Now<'_>, doubt: bool) -> Fits {
        let Tracker { walked, levels, packet_end, addr, hole, .. } = self;
        let Some(level) = levels.last_mut() else { return Ok(()) };
        let from = walked.graph.nodes[level.node as usize].insn as usize;
        let step = Step {
            graph: &walked.graph,
            insn: walked.insns[from],
            effect: walked.effects[from],
            is_step: level.node != id,
            addr: *addr,
            doubt,
        };
        let mut found = Found { packet_end, hole };
        for change in step.graph.changes_of(id) {
            if change.at >= SLOTS {
                step.slot(change, &mut level.places, now, *found.packet_end)?;
            } else {
                step.register(change, &mut level.places, now, &mut found)?;
            }
        }
        let depth = usize::from(step.graph.nodes[id as usize].depth);
        let here = usize::from(step.graph.nodes[level.node as usize].depth) == depth;
        // A new claim may equal the previous one.
        for change in step.same(id, &level.places).into_iter().flatten().filter(|_| here) {
            match change.at {
                SLOTS.. => step.slot(&change, &mut level.places, now, *found.packet_end)?,
                _ => step.register(&change, &mut level.places, now, &mut found)?,
            }
        }
        Ok(())
    }

    /// The path was pruned: continues as the checkpoint's path did.
    fn hop(&mut self, cut: u32, now: &Now<'_>) -> Fits {
        self.cuts += 1;
        let Tracker { walked: Walked { graph, .. }, levels, packet_end, .. } = self;
        let cut = &graph.cuts[cut as usize];
        let Some(level) = levels.last_mut() else { return Ok(()) };
        let n = level.places.len();
        if cut.state.frames.len() != n {
            return Err(format!("{} frames, not {n}", cut.state.frames.len()));
        }
        let mut ids = Ids::default();
        for (i, (frame, matters)) in cut.state.frames.iter().zip(&cut.matters).enumerate() {
            for at in 0..10 {
                let judge = Judge { graph, tops: &level.places, packet_end: *packet_end };
                let place = &level.places[i];
                let (bit, held) = (1u16 << at, frame.regs[at]);
                let claim = &graph.claims[held.claim as usize];
                let value = if i + 1 == n { now.regs[at] } else { place.regs[at] };
                let live = matters.live & bit != 0;
                let scalar = claim.kind == ClaimKind::Scalar;
                let hard = !scalar || matters.precise & bit != 0;
                let origin = place.origins[at];
                let fits = place.dead & bit != 0
                    || judge.fits(claim, value, origin) && is_class(claim, value, origin);
                let was_free = place.free & bit != 0;
                if live && !fits && (hard || (cut.within && !was_free)) {
                    let change = Change { frame: i as u8, at: at as u8, held };
                    return Err(describe(&change, claim, value));
                }
                let keeps = live && place.dead & bit == 0;
                let at_id = Member { value, claim: *claim, held, hard, place: (i, at) };
                if keeps && fits {
                    ids.join(at_id)?;
                }
                let place = &mut level.places[i];
                place.dead = place.dead & !bit | if keeps { 0 } else { bit };
                place.free = place.free & !bit | if keeps && !fits { bit } else { 0 };
                place.held[at] = held;
            }
            let hop = Hop { graph, packet_end: *packet_end, cut, host: now.host };
            hop_slots(&hop, &mut level.places, i, &mut ids)?;
        }
        for (frame, at) in ids.apart {
            match at.checked_sub(usize::from(SLOTS)) {
                None => level.places[frame].free |= 1 << at,
                Some(spi) => level.places[frame].free_slots |= 1 << spi,
            }
        }
        level.node = cut.to;
        Ok(())
    }

    /// Checks all claims about the top frame's registers.
    fn check_whole(&mut self, now: &Now<'_>) -> Fits {
        let Some(level) = self.levels.last() else { return Ok(()) };
        let (Some(place), judge) = (level.places.last(), self.judge(level)) else { return Ok(()) };
        for at in 0..11 {
            let claim = &self.walked.graph.claims[place.held[at].claim as usize];
            let skipped = place.dead >> at & 1 == 1
                || (claim.kind == ClaimKind::Scalar && place.free >> at & 1 == 1);
            if !skipped && !judge.fits(claim, now.regs[at], place.origins[at]) {
                let frame = level.places.len() as u8 - 1;
                let change = Change { frame, at: at as u8, held: place.held[at] };
                return Err(describe(&change, claim, now.regs[at]));
            }
        }
        Ok(())
    }

    /// Records effects of the current insn that cannot be determined later.
    fn note(&mut self, now: &Now<'_>) {
        let Some(level) = self.levels.last_mut() else { return };
        let insn = self.walked.graph.nodes[level.node as usize].insn as usize;
        let effect = self.walked.effects[insn];
        if let Some((reg, off)) = effect.address {
            self.addr = now.regs[usize::from(reg).min(10)].wrapping_add(i64::from(off) as u64);
        }
        if effect.calls
            && let Some(place) = level.places.last_mut()
        {
            place.regs = *now.regs;
        }
    }
}

fn is_throw(insn: Insn) -> bool {
    insn.is_helper_call() && insn.imm == OwnHelper::Throw as i32
}

fn level_node(levels: &[Level]) -> u32 {
    levels.last().map_or(NONE, |level| level.node)
}

fn children(graph: &Graph, node: u32) -> impl Iterator<Item = u32> + '_ {
    let first = graph.nodes.get(node as usize).map(|node| node.child);
    let next = |&at: &u32| graph.nodes.get(at as usize).map(|node| node.sibling);
    std::iter::successors(first, next).take_while(|&at| at != NONE)
}

impl Watch for Tracker {
    fn enters(&mut self) {
        self.begins = true;
    }

    fn leaves(&mut self, host: &dyn Host) {
        if self.lost.is_some() {
            return;
        }
        let Some(level) = self.levels.last() else { return };
        if level.places.len() < 2 {
            self.levels.pop();
            return;
        }
        let [.., caller, callee] = &level.places[..] else { return };
        let (regs, callsite) = (caller.regs, callee.callsite);
        self.begins = false;
        self.arrive(callsite, &Now { regs: &regs, host });
        (self.last_origin, self.last_pc) = (callsite, 0);
    }

    fn insn(&mut self, at: &At<'_>) {
        self.ran += 1;
        if self.lost.is_some() {
            return;
        }
        self.insns += 1;
        let o = at.program.xlated.origin(at.pc);
        if o == self.last_origin && at.pc > self.last_pc && !self.begins {
            self.last_pc = at.pc;
            return;
        }
        let Some(regs) = at.regs.first_chunk::<11>() else { return };
        let now = Now { regs, host: at.host };
        let insns = at.program.xlated.insns();
        let threw = insns.get(self.last_pc).is_some_and(|insn| is_throw(*insn));
        if self.begins {
            self.begin(o, &now);
            self.begins = false;
        } else if threw {
            self.catch(o, &now);
        } else {
            self.arrive(o, &now);
        }
        if self.lost.is_none() {
            self.note(&now);
        }
        if let (true, Some(level)) = (self.trace, self.levels.last()) {
            let doubts = level.places.iter().map(|place| (place.free, place.dead));
            let (node, doubts) = (level.node, doubts.collect::<Vec<_>>());
            println!("{o}: node {node} in doubt and dead: {doubts:x?} regs {regs:x?}");
        }
        (self.last_origin, self.last_pc) = (o, at.pc);
    }
}

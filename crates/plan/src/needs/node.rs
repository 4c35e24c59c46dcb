//! One node over all possible orders of steps: the worst use of its resources, and the limits.

use std::collections::BTreeMap;

use super::surplus::Choice;
use super::touch::{LimitedResource, NodeTouch, Role, TouchAmounts};
use crate::checker::{NodeFigures, ReplayedCluster};
use crate::graph::{EdgeReason, Precedence, StepIdx, StepSet};
use htools_model::units::trunc_to_i64;
use htools_model::{Cluster, Mib, NodeIdx, NodeSpec, TagId};

/// Room that a step must find on its node, in every order.
#[derive(Debug, Clone, Copy)]
pub(super) struct NodeNeed {
    pub(super) node: NodeIdx,
    limited: LimitedResource,
    /// The step that arrives, by its position among those that touch the node.
    arrival: usize,
    /// Maximum use at that time, relative to the start.
    limit: i64,
}

impl NodeNeed {
    /// Reason for waiting if the need is not met.
    pub(super) fn reason(&self) -> EdgeReason<NodeIdx> {
        match self.limited {
            LimitedResource::MemoryAgainst(_) => EdgeReason::Mirror(self.node),
            LimitedResource::Tag(_) => EdgeReason::Tag(self.node),
            _ => EdgeReason::Room(self.node),
        }
    }
}

/// A node, with the steps so far that touch it.
pub(super) struct TouchedNode<'c> {
    cluster: &'c Cluster,
    spec: &'c NodeSpec,
    start: NodeFigures,
    /// For each other node, the memory reserved against its loss, if it is not 0 throughout the plan.
    reserves: BTreeMap<NodeIdx, i64>,
    tags: BTreeMap<TagId, i64>,
    touches: Vec<NodeTouch>,
    /// Use if nothing were ever given back.
    begun: TouchAmounts,
    /// Use at this point of the plan.
    now: TouchAmounts,
    /// The largest memory that must be free for an arrival.
    most_needed: i64,
    /// True if it fails N+1 at this point of the plan.
    failing: bool,
    /// True if the number of its used spindles is unknown.
    is_unknown: bool,
    /// The last step that had to follow all earlier ones.
    pub(super) settled: Option<StepIdx>,
}

impl<'c> TouchedNode<'c> {
    pub(super) fn of(state: &ReplayedCluster<'c>, node: NodeIdx) -> TouchedNode<'c> {
        let start = state.figures(node);
        TouchedNode {
            cluster: state.cluster,
            spec: state.spec(node),
            start,
            reserves: state.reserves(node).into_iter().map(|(peer, mem)| (peer, mem.0)).collect(),
            tags: state.tag_holders(node),
            touches: Vec::new(),
            begun: TouchAmounts::default(),
            now: TouchAmounts::default(),
            most_needed: 0,
            failing: start.n1_fail,
            is_unknown: false,
            settled: None,
        }
    }

    /// The steps so far.
    pub(super) fn steps(&self) -> impl Iterator<Item = StepIdx> {
        self.touches.iter().map(|touch| touch.step)
    }

    /// Adds the next step of the plan. Returns true if it must follow all earlier ones, because the rules for it depend
    /// on them.
    ///
    /// That is so in three cases:
    ///
    /// * The node fails N+1 before or after the step, since the rule does not hold for all arrivals then.
    /// * Some order could leave too little for the loss of several nodes.
    /// * An instance with an unknown number of spindles arrived, which counts as more than are left.
    pub(super) fn push(&mut self, touch: NodeTouch) -> bool {
        for peer in touch.begin.peers().chain(touch.end.peers()) {
            self.reserves.entry(peer).or_insert(0);
        }
        self.begun.absorb_taken(&touch.begin);
        self.begun.absorb_taken(&touch.end);
        self.now.absorb(&touch.begin);
        self.now.absorb(&touch.end);
        if touch.new_role.is_some_and(|new_role| new_role.role == Role::Secondary) {
            let need = self.cluster.instance(touch.instance).mem_reserved().0;
            self.most_needed = self.most_needed.max(need);
        }
        let spindles = self.cluster.instance(touch.instance).spindles;
        self.is_unknown |= self.spec.exclusive_storage && spindles.is_none();
        self.touches.push(touch);
        let taken = |limited| self.now.of(limited);
        let kept = self
            .reserves
            .iter()
            .map(|(peer, kept)| kept.saturating_add(taken(LimitedResource::MemoryAgainst(*peer))));
        let fails =
            self.start.mem_unallocated.0 <= kept.max().unwrap_or(0).max(taken(LimitedResource::Memory));
        std::mem::replace(&mut self.failing, fails) || fails || self.is_unknown || self.may_lack_reserve()
    }

    /// Tells if too little would be left for the loss of several nodes at once if nothing were ever given back.
    fn may_lack_reserve(&self) -> bool {
        if self.spec.joint_losses <= 1 {
            return false;
        }
        let begun = |(peer, kept): (&NodeIdx, &i64)| {
            kept.saturating_add(self.begun.of(LimitedResource::MemoryAgainst(*peer)))
        };
        let taken = self.begun.of(LimitedResource::Memory);
        // The reserve against a node includes memory that is counted as used.
        let mut kept: Vec<i64> =
            self.reserves.iter().map(begun).map(|kept| kept.saturating_sub(taken)).collect();
        kept.sort_unstable();
        let kept = kept.iter().rev().take(self.spec.joint_losses).map(|kept| (*kept).max(0));
        self.start.mem_unallocated.0 <= kept.fold(taken, i64::saturating_add)
    }

    /// Needs of the last step, and of earlier ones that it affects, that may not be met in some order.
    pub(super) fn demands(&self, node: NodeIdx) -> Vec<NodeNeed> {
        let Some((last, earlier)) = self.touches.split_last() else { return Vec::new() };
        let arrival = earlier.len();
        let taken = |(limited, limit): &(LimitedResource, i64)| self.begun.of(*limited) > *limit;
        let own = self.limits(last).into_iter().filter(taken);
        let mut demands: Vec<NodeNeed> =
            own.map(|(limited, limit)| NodeNeed { node, limited, arrival, limit }).collect();
        let exceeded = self.exceeded(last);
        if exceeded.is_empty() {
            return demands;
        }
        for (arrival, touch) in earlier.iter().enumerate().filter(|(_, touch)| touch.new_role.is_some()) {
            let limits = self.limits(touch).into_iter();
            let troubled = limits.filter(|limit| exceeded.contains(&limit.0) && taken(limit));
            demands.extend(troubled.map(|(limited, limit)| NodeNeed { node, limited, arrival, limit }));
        }
        demands
    }

    /// Scarce resources that a touch uses.
    fn exceeded(&self, touch: &NodeTouch) -> Vec<LimitedResource> {
        let takes = |limited: &LimitedResource| touch.begin.of(*limited) > 0 || touch.end.of(*limited) > 0;
        let against = self.reserves.keys().map(|peer| LimitedResource::MemoryAgainst(*peer));
        let all = touch.begin.limited().chain(touch.end.limited()).chain(against);
        let short = |limited: &LimitedResource| self.begun.of(*limited) > self.strictest(*limited);
        all.filter(takes).filter(short).collect()
    }

    /// Tells if a demand is met in every order in which `before` precede the last step. It is met if its time is over by
    /// then.
    pub(super) fn is_met(&self, demand: &NodeNeed, before: &StepSet, precedence: &Precedence) -> bool {
        let last = self.touches.len() - 1;
        let event = &self.touches[demand.arrival];
        if before.contains(event.step) {
            return true;
        }
        let amounts = |touch: &NodeTouch| (touch.begin.of(demand.limited), touch.end.of(demand.limited));
        let is_done = |step: StepIdx| {
            before.contains(step) || demand.arrival != last && precedence.precedes(step, event.step)
        };
        let mut taken = 0;
        let mut free = Vec::new();
        for (at, touch) in self.touches.iter().enumerate() {
            let (begin, end) = amounts(touch);
            if (begin, end) == (0, 0) {
                continue;
            }
            if at == demand.arrival || at == last {
                // Take the worse of being under way and being done.
                let at_end = at == demand.arrival && touch.new_role.is_some_and(|new_role| new_role.at_end);
                let end = if at_end { end } else { end.max(0) };
                taken = begin.saturating_add(end).saturating_add(taken);
            } else if is_done(touch.step) {
                taken = begin.saturating_add(end).saturating_add(taken);
            } else if demand.arrival == last || !precedence.precedes(event.step, touch.step) {
                // Resources are given back at the end only.
                let more = begin.max(0).saturating_add(end.max(0));
                let given = begin.min(0).saturating_add(end.min(0)).saturating_neg();
                free.push(FreeStep { step: touch.step, more, given });
            }
        }
        stays_within(demand.limit.saturating_sub(taken), &free, precedence)
    }

    /// The steps that help a demand if they precede the last one.
    pub(super) fn helpers(&self, demand: &NodeNeed) -> impl Iterator<Item = StepIdx> {
        let helps = move |(at, touch): &(usize, &NodeTouch)| {
            touch.end.of(demand.limited) < 0 || touch.begin.of(demand.limited) < 0 || *at == demand.arrival
        };
        let earlier = &self.touches[..self.touches.len() - 1];
        earlier.iter().enumerate().filter(helps).map(|(_, touch)| touch.step)
    }

    /// The strictest limit of any rule.
    fn strictest(&self, limited: LimitedResource) -> i64 {
        let (spec, start) = (self.spec, &self.start);
        let low = spec.disk_low.0.max(1);
        match limited {
            LimitedResource::Memory => less(start.mem_unallocated, 0),
            LimitedResource::MemoryAgainst(peer) => {
                less(start.mem_unallocated, self.reserves.get(&peer).copied().unwrap_or(0))
            }
            LimitedResource::PlannedMemory => less(start.mem_free_planned, self.most_needed),
            LimitedResource::Disk => start.disk_free.0.saturating_sub(low),
            LimitedResource::PlannedDisk => start.disk_free_planned.0.saturating_sub(low),
            LimitedResource::Spindles => start.spindles_free,
            LimitedResource::PlannedSpindles => start.spindles_free_planned,
            LimitedResource::SpindleUse => room_for(start.spindles_used, spec.spindle_limit),
            LimitedResource::PlannedSpindleUse => room_for(start.spindles_used_planned, spec.spindle_limit),
            LimitedResource::Vcpus => cpu_room(start.vcpus, spec),
            LimitedResource::PlannedVcpus => cpu_room(start.vcpus_planned, spec),
            LimitedResource::Tag(tag) => 1 - self.tags.get(&tag).copied().unwrap_or(0),
        }
    }

    /// Maximum use, relative to the start, after a touch has arrived, by the rules that apply to it.
    fn limits(&self, touch: &NodeTouch) -> Vec<(LimitedResource, i64)> {
        let Some(new_role) = touch.new_role else { return Vec::new() };
        let (instance, start) = (self.cluster.instance(touch.instance), &self.start);
        let local = instance.template.uses_local_storage();
        let exclusive = local && self.spec.exclusive_storage;
        let (primary, forced) = (new_role.role == Role::Primary, new_role.forced);
        let mut limits = Vec::new();
        let mut strict = |limited: LimitedResource, holds: bool| {
            limits.extend(holds.then(|| (limited, self.strictest(limited))));
        };
        let (real, planned) = (!instance.forthcoming, !forced);
        strict(LimitedResource::Memory, real && primary);
        strict(LimitedResource::Spindles, real && exclusive);
        strict(LimitedResource::PlannedSpindles, planned && exclusive);
        strict(LimitedResource::Disk, real && local && !forced);
        strict(LimitedResource::SpindleUse, real && local && !forced);
        strict(LimitedResource::Vcpus, real && primary && !forced);
        strict(LimitedResource::PlannedDisk, planned && local);
        strict(LimitedResource::PlannedSpindleUse, planned && local);
        strict(LimitedResource::PlannedVcpus, planned && primary);
        for peer in self.reserves.keys() {
            strict(LimitedResource::MemoryAgainst(*peer), real && !forced);
        }
        for tag in &instance.exclusion_tags {
            strict(LimitedResource::Tag(*tag), real && primary && !forced);
        }
        if real && local && forced && !new_role.has_disk {
            limits.push((LimitedResource::Disk, less(start.disk_free, 0)));
        }
        if planned {
            let need = if primary { 0 } else { instance.mem_reserved().0 };
            limits.push((LimitedResource::PlannedMemory, less(start.mem_free_planned, need)));
        }
        for (limited, most) in &mut limits {
            let of_memory = matches!(
                limited,
                LimitedResource::Memory | LimitedResource::MemoryAgainst(_) | LimitedResource::PlannedMemory
            );
            *most = most.saturating_add(if of_memory { new_role.conceded } else { 0 });
        }
        limits
    }
}

/// A step that can be under way, done or not begun at the time of a demand.
struct FreeStep {
    step: StepIdx,
    /// It takes so much when it begins, and before it ends.
    more: i64,
    /// It gives back so much at its end.
    given: i64,
}

/// Tells if free steps use no more than `limit` at once, in any order.
fn stays_within(limit: i64, free: &[FreeStep], precedence: &Precedence) -> bool {
    let most = free.iter().map(|one| i128::from(one.more)).sum::<i128>();
    let given = free.iter().map(|one| i128::from(one.given)).sum::<i128>();
    // At most, all is taken and nothing is given back yet.
    if most <= i128::from(limit) {
        return true;
    }
    // At least, all is given back when all is taken.
    if most - given > i128::from(limit) {
        return false;
    }
    let mut choice = Choice::default();
    let costs = free.iter().filter(|one| one.given > 0);
    let costs: Vec<(StepIdx, usize)> = costs.map(|one| (one.step, choice.cost(one.given))).collect();
    for one in free.iter().filter(|one| one.more > 0) {
        let needed = costs.iter().filter(|(other, _)| precedence.precedes(*other, one.step));
        choice.profit(one.more, needed.map(|(_, cost)| *cost).collect());
    }
    choice.best() <= limit
}

/// Maximum use of some memory or disk such that more than the reserve is left.
fn less(free: Mib, kept: i64) -> i64 {
    free.0.saturating_sub(kept).saturating_sub(1)
}

/// Spindle weight that may be added.
fn room_for(used: f64, limit: f64) -> i64 {
    // Without a limit, this is far beyond any use.
    let most = trunc_to_i64((limit - used).floor().clamp(-1e15, 1e15));
    if used + most as f64 > limit { most - 1 } else { most }
}

/// Number of virtual CPUs that may be added.
fn cpu_room(vcpus: i64, spec: &NodeSpec) -> i64 {
    const UNLIMITED: i64 = 1 << 50;
    if spec.vcpu_ratio < 0.0 {
        return UNLIMITED;
    }
    let fits = |more: i64| (vcpus.saturating_add(more)) as f64 / spec.cpu_total <= spec.vcpu_ratio;
    let most = (spec.vcpu_ratio * spec.cpu_total).floor().clamp(-1e15, 1e15);
    let most = trunc_to_i64(most).saturating_sub(vcpus);
    // Rounding may make the result wrong by one.
    (most - 1..=most + 1).rev().find(|more| fits(*more)).unwrap_or(most - 1)
}

//! Frees nodes.
//!
//! Candidates are tried one after the other, fewest instances first. A trial takes the cluster *as it is* and
//! sets the candidate and all nodes taken before offline. The candidate is taken if balancing leaves no
//! instance on these nodes and the others keep their reserve.
//!
//! In a large group, that would take long, since each trial moves all instances of all taken nodes again.
//! There, a trial continues from the state after the one before, with several candidates at a time. It balances
//! only if emptying the candidates is not enough, and no longer once that has helped none of the last few. The
//! result is then balanced from the beginning. If it fails, the longest prefix that succeeds is taken.
//!
//! In a very large group, even one balancing would take too long. There, instances only leave the freed nodes,
//! both in the trials and in the result. Balancing is left to the user.
//!
//! A freed node may make it possible to free another one. So the search continues from its own result until it
//! finds no more nodes, and the next run has nothing to do.
//!
//! When the search has to end, it tries no more candidates and stops balancing. It still makes a whole plan of
//! the result: the nodes are emptied from the beginning.

use std::sync::{Mutex, PoisonError};

use super::candidates::refusal;
use super::deep;
use super::expand::{suffices, with_online};
use super::harm::{hold, release};
use super::standby::bring_online;
use super::trial::{BalancedState, GroupScope};
use super::{
    Decision, GroupPlan, Hindrance, SqueezeOptions, SqueezeProgress, Standby, Swaps, UnfreedNode,
    balance_options,
};
use crate::balance::deep::order::{OrderedSteps, order};
use crate::moves::perform;
use crate::parallel;
use htools_model::score::Board;
use htools_model::{Cluster, Draft, InstanceIdx, NodeIdx, Placement, Step};

/// Up to this product of candidates and instances, every trial begins anew.
const SMALL: usize = 6_000;

/// Above this product, instances only leave the nodes that are freed.
const VERY_LARGE: usize = 1_000_000;

/// In a large group, the number of failed candidates in a row after which balancing is no longer tried.
const MOST_FAILURES_BEFORE_HASTE: usize = 8;

/// In a very large group, the number of failed candidates in a row after which the search ends. The rest have
/// more instances.
const MOST_FAILURES: usize = 128;

/// Like [`condense`], but an instance on an offline node stays there if it finds a place only by breaking
/// rules.
pub(super) fn condense_held(
    scope: &GroupScope<'_>,
    most: usize,
    state: &mut Draft,
) -> (GroupPlan, Option<Draft>) {
    let held = scope.held(state);
    hold(state, &held);
    let (plan, mut after) = condense(scope, most, state);
    after.iter_mut().for_each(|after| release(after, &held));
    release(state, &held);
    (plan, after)
}

/// Finds the nodes that can be freed. Also returns the cluster after that, if there are any.
fn condense(scope: &GroupScope<'_>, most: usize, state: &Cluster) -> (GroupPlan, Option<Draft>) {
    let way = TrialWay::of(scope);
    let (mut plan, mut after) = condense_by(scope, most, state, way);
    let next = |plan: &GroupPlan, after: &Option<Draft>, deep: bool| {
        bring_fewer_online(scope, most, state, plan, after.as_ref()?, deep)
    };
    while let Some((more, further)) = next(&plan, &after, false) {
        (plan, after) = (more, Some(further));
    }
    let is_best = |plan: &GroupPlan| scope.online().count() - plan.nodes.len() <= scope.fewest();
    if scope.options.deep && !is_best(&plan) {
        if let Some((more, further)) = deep::free_more(scope, most, state, &plan) {
            (plan, after) = (more, Some(further));
        }
        while !is_best(&plan)
            && let Some((more, further)) = next(&plan, &after, true)
        {
            (plan, after) = (more, Some(further));
        }
    }
    (plan, after)
}

/// Frees the nodes that the next runs would free from the state after a plan, and moves every instance there
/// directly. Nodes that the plan brings online may turn out not to be needed. No plan both frees nodes and
/// brings others online; instead, it brings fewer online, if they suffice. `deep` tells whether these runs search deeply.
pub(super) fn bring_fewer_online(
    scope: &GroupScope<'_>,
    most: usize,
    state: &Cluster,
    plan: &GroupPlan,
    reached: &Cluster,
    deep: bool,
) -> Option<(GroupPlan, Draft)> {
    let way = TrialWay::of(scope);
    if way == TrialWay::OnlyEmptied || scope.has_to_end() {
        return None;
    }
    let options = SqueezeOptions { deep, ..scope.options.clone() };
    let again = GroupScope::of(reached, scope.group, &options, scope.watch);
    if again.needs_more() {
        return None;
    }
    let (next, further) = condense(&again, most - plan.nodes.len(), reached);
    let further = further?;
    let is_online = further.nodes.iter().map(|n| !n.spec.offline).collect::<Vec<bool>>();
    let freed: Vec<NodeIdx> = scope.candidates.iter().copied().filter(|n| !is_online[n.get()]).collect();
    let on: Vec<Standby> = scope.standby.iter().copied().filter(|s| is_online[s.node.get()]).collect();
    if !freed.is_empty() && !on.is_empty() {
        let fewer = (on.len() < plan.nodes.len()).then(|| with_online(scope, state, &on));
        return fewer.filter(|fewer| fewer.enough).map(|fewer| fewer.plan(scope));
    }
    let mut draft = Draft::of(state);
    draft.set_offline(&freed, true);
    on.iter().for_each(|standby| bring_online(&mut draft, standby));
    let moved = further.instances.iter().filter(|i| i.placement() != state.instance(i.idx).placement());
    let placements: Vec<_> = moved.map(|i| (i.idx, i.placement())).collect();
    let steps = carried_out(scope, &mut draft, &placements)?;
    let is_good = if freed.is_empty() {
        suffices(scope, &draft, &on)
    } else {
        scope.objection(&draft, &freed, false).is_none()
    };
    let final_score = Board::new(&draft, &scope.nodes).score();
    let (offline_candidates, online_candidates) = (scope.candidates.clone(), scope.standby.clone());
    let initial_score = plan.initial_score;
    let plan = if freed.is_empty() {
        GroupPlan { nodes: on.iter().map(|s| s.node).collect(), steps, final_score, ..plan.clone() }
    } else {
        GroupPlan {
            nodes: freed,
            steps,
            initial_score,
            final_score,
            offline_candidates,
            online_candidates,
            ..next
        }
    };
    is_good.then_some((plan, draft))
}

/// Brings instances to `placements`, in an order in which each move is possible. Returns the steps, or `None` if there are
/// none.
pub(super) fn carried_out(
    scope: &GroupScope<'_>,
    draft: &mut Draft,
    placements: &[(InstanceIdx, Placement)],
) -> Option<Vec<Step>> {
    let options = balance_options(scope.options);
    let OrderedSteps { steps, given_up, .. } =
        order(draft, &scope.nodes, &options, placements, placements.len());
    let made = steps.iter().all(|step| perform(draft, step.instance, step.mv, &options.rules).is_ok());
    (made && given_up.is_empty()).then_some(steps)
}

/// After nodes were brought online, frees the nodes that the next run would free. With [`Swaps::PreviouslyOnline`], these
/// are only nodes that were online before. With [`Swaps::All`], such nodes are preferred if nothing is left to
/// free after them.
pub(super) fn after_expansion(
    scope: &GroupScope<'_>,
    most: usize,
    plan: &GroupPlan,
    reached: &Draft,
) -> Option<(GroupPlan, Draft)> {
    let swaps = scope.options.swaps;
    let wanted = swaps != Swaps::None && plan.decision == Decision::Expand && plan.enough;
    if !wanted || scope.has_to_end() {
        return None;
    }
    let left_alone = [&scope.options.left_alone[..], &plan.nodes].concat();
    let others = SqueezeOptions { left_alone, ..scope.options.clone() };
    let swap = free_again(scope, &others, most, reached);
    if swaps == Swaps::PreviouslyOnline {
        return swap;
    }
    let is_settled = |after: &Draft| free_again(scope, scope.options, most, after).is_none();
    swap.filter(|(_, after)| is_settled(after)).or_else(|| free_again(scope, scope.options, most, reached))
}

/// Frees nodes of the scope's group in the state after a plan; `None` if there are none.
fn free_again(
    scope: &GroupScope<'_>,
    options: &SqueezeOptions,
    most: usize,
    reached: &Draft,
) -> Option<(GroupPlan, Draft)> {
    let again = GroupScope::of(reached, scope.group, options, scope.watch);
    if again.needs_more() {
        return None;
    }
    let (plan, further) = condense_held(&again, most, &mut Draft::of(reached));
    Some((plan, further?))
}

/// Method of trying candidates; see the module documentation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TrialWay {
    /// Each trial starts from the original state.
    Anew,
    /// Each trial starts from the state after the one before.
    Onwards,
    /// Like `Onwards`, but without any balancing.
    OnlyEmptied,
}

impl TrialWay {
    /// The method for a group of this size.
    fn of(scope: &GroupScope<'_>) -> TrialWay {
        let instances = scope.cluster.instances_of(scope.group).len();
        match scope.candidates.len().saturating_mul(instances) {
            size if size <= SMALL => TrialWay::Anew,
            size if size <= VERY_LARGE => TrialWay::Onwards,
            _ => TrialWay::OnlyEmptied,
        }
    }
}

/// Like [`condense`], with the given method.
pub(super) fn condense_by(
    scope: &GroupScope<'_>,
    most: usize,
    state: &Cluster,
    way: TrialWay,
) -> (GroupPlan, Option<Draft>) {
    let mut walk = CandidateWalk {
        scope,
        state,
        way,
        fixed: scope.fixed(),
        most,
        freed: Vec::new(),
        kept: Vec::new(),
        reached: None,
        spare: Mutex::default(),
    };
    let order: Vec<NodeIdx> = scope.candidates.iter().rev().copied().collect();
    if way == TrialWay::Anew {
        walk.anew(&order);
    } else {
        walk.onwards(&order);
        walk.confirm();
    }
    let CandidateWalk { freed, mut kept, reached, .. } = walk;
    let is_candidate = scope.cluster.mask(&scope.candidates);
    for node in scope.online().filter(|n| !is_candidate[n.get()]) {
        kept.extend(refusal(scope.cluster, node, scope.options).map(|why| UnfreedNode { node, why }));
    }
    kept.sort_by_key(|kept| kept.node);
    let initial_score = scope.initial_score();
    let (steps, final_score, after) = match reached {
        Some(BalancedState { cluster, steps, score }) => (steps, score, Some(cluster)),
        None => (Vec::new(), initial_score, None),
    };
    let is_freed = scope.cluster.mask(&freed);
    let nodes: Vec<NodeIdx> = scope.candidates.iter().copied().filter(|n| is_freed[n.get()]).collect();
    let plan = GroupPlan {
        group: scope.group,
        decision: if nodes.is_empty() { Decision::Nothing } else { Decision::Condense },
        nodes,
        steps,
        offline_candidates: scope.candidates.clone(),
        online_candidates: scope.standby.clone(),
        missing: None,
        exposed: None,
        enough: true,
        kept,
        initial_score,
        final_score,
        start: None,
    };
    (plan, after)
}

type TriedCandidate = Result<BalancedState, Hindrance>;

/// The candidates examined so far, with the results.
struct CandidateWalk<'a> {
    scope: &'a GroupScope<'a>,
    /// The cluster before any change in this group.
    state: &'a Cluster,
    way: TrialWay,
    fixed: Vec<Option<InstanceIdx>>,
    most: usize,
    /// In the order in which they were taken.
    freed: Vec<NodeIdx>,
    kept: Vec<UnfreedNode>,
    /// The balanced state with all of `freed` offline.
    reached: Option<BalancedState>,
    /// Copies of the present state. A failed trial is undone and leaves its copy to the next.
    spare: Mutex<Vec<Draft>>,
}

impl CandidateWalk<'_> {
    /// Tries every candidate from the original state. Several are tried in parallel, assuming that each has the
    /// same outcome as the last one. If the assumption proves wrong, those trials are discarded.
    fn anew(&mut self, order: &[NodeIdx]) {
        let width = parallel::threads();
        let (mut at, mut taking) = (0, true);
        while at < order.len() {
            if self.ends(&order[at..]) {
                return;
            }
            if self.decided(order[at]) {
                at += 1;
                continue;
            }
            let batch: Vec<NodeIdx> = order[at..].iter().copied().take(width).collect();
            let batch: Vec<NodeIdx> =
                batch.into_iter().take_while(|n| self.fixed[n.get()].is_none()).collect();
            let sets: Vec<Vec<NodeIdx>> = (0..batch.len())
                .map(|k| {
                    let added = if taking { &batch[..=k] } else { &batch[k..=k] };
                    self.freed.iter().chain(added).copied().collect()
                })
                .filter(|set: &Vec<NodeIdx>| set.len() <= self.most)
                .collect();
            let tried: Vec<TriedCandidate> = parallel::map_with(&sets, || (), |(), set| self.try_anew(set));
            for (node, tried) in batch.into_iter().zip(tried) {
                at += 1;
                let took = tried.is_ok();
                self.record(node, tried);
                if took != taking {
                    taking = took;
                    break;
                }
            }
        }
    }

    /// Tries candidates on the present state: several together while that succeeds, and several in parallel
    /// when it does not.
    fn onwards(&mut self, order: &[NodeIdx]) {
        let width = parallel::threads();
        let most_failures = if self.way == TrialWay::OnlyEmptied { MOST_FAILURES } else { usize::MAX };
        let (mut at, mut size, mut failures) = (0, 1, 0);
        while at < order.len() {
            if self.ends(&order[at..]) {
                return;
            }
            if self.decided(order[at]) {
                at += 1;
                continue;
            }
            if failures == most_failures {
                self.kept.push(UnfreedNode { node: order[at], why: Hindrance::Unlikely });
                at += 1;
                continue;
            }
            let free = order[at..].iter().take_while(|n| self.fixed[n.get()].is_none()).count();
            let count = size.min(free).min(self.most - self.freed.len());
            if count > 1 {
                let batch = &order[at..at + count];
                let all: Vec<NodeIdx> = self.freed.iter().chain(batch).copied().collect();
                // For several candidates together, the obstacle does not matter.
                let tried =
                    if self.scope.lacks_spindles(&all) { None } else { self.go_on(batch, false).ok() };
                match tried {
                    Some(reached) => {
                        self.freed = all;
                        self.reach(reached);
                        at += count;
                        size = count * 2;
                    }
                    None => size = count / 2,
                }
                continue;
            }
            let beside = if failures > 0 { width.min(free).min(most_failures - failures) } else { 1 };
            let thorough = failures < MOST_FAILURES_BEFORE_HASTE && self.way != TrialWay::OnlyEmptied;
            let tried: Vec<TriedCandidate> =
                parallel::map_with(&order[at..at + beside], || (), |(), node| self.go_on(&[*node], thorough));
            for tried in tried {
                let took = tried.is_ok();
                self.record(order[at], tried);
                at += 1;
                size = if took { 2 } else { 1 };
                failures = if took { 0 } else { failures + 1 };
                if took {
                    break;
                }
            }
        }
    }

    /// Returns true if the search must end, and records the remaining candidates as not tried.
    fn ends(&mut self, rest: &[NodeIdx]) -> bool {
        let candidates = self.scope.candidates.len();
        let looked_at = candidates - rest.len();
        (self.scope.watch.progress)(SqueezeProgress { looked_at, candidates, freed: self.freed.len() });
        let ends = self.scope.has_to_end();
        if ends {
            let not_tried = |node: &NodeIdx| UnfreedNode { node: *node, why: Hindrance::NotTried };
            self.kept.extend(rest.iter().map(not_tried));
        }
        ends
    }

    /// Frees more nodes in the present state. With `thorough`, it may do more than move their instances away.
    fn go_on(&self, batch: &[NodeIdx], thorough: bool) -> TriedCandidate {
        let freed: Vec<NodeIdx> = self.freed.iter().chain(batch).copied().collect();
        if let Some(why) = self.scope.hopeless(&freed) {
            return Err(why);
        }
        let start = self.reached.as_ref().map_or(self.state, |reached| &reached.cluster);
        let spare = || self.spare.lock().unwrap_or_else(PoisonError::into_inner);
        let copy = spare().pop();
        let mut cluster = copy.unwrap_or_else(|| Draft::of(start));
        let unchanged = cluster.mark();
        cluster.set_offline(batch, true);
        let mut moved = self.scope.evacuated(cluster);
        let mut objection = self.scope.objection(&moved.cluster, &freed, true);
        if objection.is_some() && thorough {
            moved = self.scope.balanced(moved.cluster);
            objection = self.scope.objection(&moved.cluster, &freed, true);
        }
        let Some(why) = objection else { return Ok(moved) };
        moved.cluster.back_to(unchanged);
        spare().push(moved.cluster);
        Err(why)
    }

    /// Sets the state from which trials continue.
    fn reach(&mut self, reached: BalancedState) {
        self.reached = Some(reached);
        self.spare.get_mut().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Balances from the beginning with all taken nodes offline, and drops as many of them as necessary.
    fn confirm(&mut self) {
        let (mut good, mut bad) = (0, self.freed.len() + 1);
        let (mut reached, mut why) = (None, None);
        // Usually only the last few are too many.
        let mut back = 1;
        while good + 1 < bad {
            let next = match &reached {
                None => bad.saturating_sub(back).max(1),
                Some(_) => good + (bad - good) / 2,
            };
            match self.try_anew(&self.freed[..next]) {
                Ok(balanced) => (good, reached) = (next, Some(balanced)),
                Err(obstacle) => (bad, why) = (next, Some(obstacle)),
            }
            back *= 2;
        }
        self.reached = reached;
        if let Some(why) = why {
            for node in self.freed.drain(good..) {
                self.kept.push(UnfreedNode { node, why: why.clone() });
            }
        }
    }

    /// Returns true if a candidate is excluded without a trial, and records the reason.
    fn decided(&mut self, node: NodeIdx) -> bool {
        let fixed = self.fixed[node.get()].map(Hindrance::Fixed);
        let why = fixed.or((self.freed.len() >= self.most).then_some(Hindrance::MaxNodes)).or_else(|| {
            let set: Vec<NodeIdx> = self.freed.iter().copied().chain([node]).collect();
            self.scope.hopeless(&set)
        });
        let decided = why.is_some();
        self.kept.extend(why.map(|why| UnfreedNode { node, why }));
        decided
    }

    /// Balances the original group with some nodes offline, or only empties these nodes.
    fn try_anew(&self, freed: &[NodeIdx]) -> TriedCandidate {
        if let Some(why) = self.scope.hopeless(freed) {
            return Err(why);
        }
        let mut cluster = Draft::of(self.state);
        cluster.set_offline(freed, true);
        let balanced = match self.way {
            TrialWay::OnlyEmptied => self.scope.evacuated(cluster),
            TrialWay::Anew | TrialWay::Onwards => self.scope.balanced(cluster),
        };
        match self.scope.objection(&balanced.cluster, freed, false) {
            Some(why) => Err(why),
            None => Ok(balanced),
        }
    }

    fn record(&mut self, node: NodeIdx, tried: TriedCandidate) {
        match tried {
            Ok(balanced) => {
                self.freed.push(node);
                self.reach(balanced);
            }
            Err(why) => self.kept.push(UnfreedNode { node, why }),
        }
    }
}

//! Brings nodes online.

use super::condense::{bring_fewer_online, condense_held};
use super::harm::{Baseline, release};
use super::standby::{SizeSource, bring_online};
use super::trial::{BalancedState, GroupScope};
use super::{Decision, GroupPlan, Standby};
use htools_model::{Cluster, Draft, Instance, NodeIdx};

/// The group with some standby nodes online.
pub(super) struct Expanded {
    nodes: Vec<NodeIdx>,
    balanced: BalancedState,
    /// True if the minimal reserve holds.
    pub enough: bool,
    /// True if nothing is worse than before, without holding any instance in its place for that.
    harmless: bool,
}

/// Brings standby nodes online. Nodes that are not needed after instances have moved are freed or stay offline.
pub(super) fn expand_or_condense(
    scope: &GroupScope<'_>,
    most: usize,
    state: &Draft,
) -> (GroupPlan, Option<Draft>) {
    let (mut plan, mut after) = expand(scope, most, state);
    if !plan.enough {
        return (plan, after);
    }
    if plan.nodes.is_empty() {
        let condensed = condense_held(scope, most, &mut state.clone());
        if !condensed.0.nodes.is_empty() {
            return condensed;
        }
    }
    while let Some((more, further)) = after
        .as_ref()
        .and_then(|reached| bring_fewer_online(scope, most, state, &plan, reached, scope.options.deep))
    {
        (plan, after) = (more, Some(further));
    }
    (plan, after)
}

/// Finds the smallest number of standby nodes with which balancing restores the minimal reserve and makes
/// nothing worse. If there is none, it takes the first number that restores it; otherwise all nodes. Also
/// returns the cluster after that.
fn expand(scope: &GroupScope<'_>, most: usize, state: &Cluster) -> (GroupPlan, Option<Draft>) {
    let wanted = scope.standby.len().min(most);
    let mut best = with_online(scope, state, &[]);
    for count in 1..=wanted {
        if (best.enough && best.harmless) || scope.has_to_end() {
            break;
        }
        let tried = with_online(scope, state, &scope.standby[..count]);
        if !best.enough || (tried.enough && tried.harmless) {
            best = tried;
        }
    }
    let (plan, cluster) = best.plan(scope);
    (plan, Some(cluster))
}

impl Expanded {
    /// The plan that leads to this state, and the cluster after it.
    pub(super) fn plan(self, scope: &GroupScope<'_>) -> (GroupPlan, Draft) {
        let Expanded { nodes, balanced: BalancedState { cluster, steps, score }, enough, .. } = self;
        let plan = GroupPlan {
            group: scope.group,
            decision: Decision::Expand,
            nodes,
            steps,
            offline_candidates: scope.candidates.clone(),
            online_candidates: scope.standby.clone(),
            missing: scope.missing.clone(),
            exposed: scope.exposed,
            enough,
            kept: Vec::new(),
            initial_score: scope.initial_score(),
            final_score: score,
            start: None,
        };
        (plan, cluster)
    }
}

/// Brings standby nodes online and balances the group.
pub(super) fn with_online(scope: &GroupScope<'_>, state: &Cluster, standby: &[Standby]) -> Expanded {
    let mut start = Draft::of(state);
    standby.iter().for_each(|s| bring_online(&mut start, s));
    let (mut balanced, held) = scope.balanced_within_rules(&start, |cluster| scope.balanced(cluster));
    let enough = suffices(scope, &balanced.cluster, standby);
    release(&mut balanced.cluster, &held);
    let soft = scope.options.ignore_soft_errors;
    let harm = || Baseline::of(&start, &scope.nodes).harm(&balanced.cluster, &scope.nodes);
    let harmless = soft || (held.is_empty() && harm().is_none());
    Expanded { nodes: standby.iter().map(|s| s.node).collect(), balanced, enough, harmless }
}

/// Returns true if every online node has the minimal reserve, and no movable instance is left on an offline
/// node. Nodes of unknown size are ignored.
pub(super) fn suffices(scope: &GroupScope<'_>, after: &Cluster, standby: &[Standby]) -> bool {
    let unknown = |n| standby.iter().any(|s| s.node == n && s.source == SizeSource::Unknown);
    let asked: Vec<_> = scope.nodes.iter().copied().filter(|n| !unknown(*n)).collect();
    let stranded = |i: &Instance| {
        let spec = &after.node(i.primary).spec;
        spec.group == scope.group && spec.offline && i.is_movable() && i.auto_balance
    };
    let online = asked.iter().any(|n| !after.node(*n).spec.offline);
    online
        && scope.minimal.first_lack(after, &asked).is_none()
        && !after.instances.iter().any(stranded)
        && scope.unusable(&scope.minimal, after).is_none()
}

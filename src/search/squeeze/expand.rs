//! Bringing nodes online.

use super::trial::{Balanced, Scope};
use super::{Decision, GroupPlan, Standby};
use crate::model::{Cluster, Instance};
use crate::search::squeeze::standby::{SizeSource, bring_online};

/// Finds the first so many standby nodes with which balancing makes the minimal reserve
/// hold; all of them, if it never does. Returns the cluster after that, too.
pub(super) fn expand(scope: &Scope<'_>, most: usize, state: &Cluster) -> (GroupPlan, Option<Cluster>) {
    let wanted = scope.standby.len().min(most);
    let mut count = 0;
    let (balanced, enough) = loop {
        let balanced = with_online(scope, state, &scope.standby[..count]);
        let enough = suffices(scope, &balanced, &scope.standby[..count]);
        if enough || count == wanted || scope.has_to_end() {
            break (balanced, enough);
        }
        count += 1;
    };
    let Balanced { cluster, steps, score } = balanced;
    let plan = GroupPlan {
        group: scope.group,
        decision: Decision::Expand,
        nodes: scope.standby[..count].iter().map(|s| s.node).collect(),
        steps,
        offline_candidates: scope.candidates.clone(),
        online_candidates: scope.standby.clone(),
        missing: scope.missing.clone(),
        exposed: scope.exposed,
        enough,
        kept: Vec::new(),
        initial_score: scope.initial_score(),
        final_score: score,
    };
    (plan, Some(cluster))
}

fn with_online(scope: &Scope<'_>, state: &Cluster, standby: &[Standby]) -> Balanced {
    let mut cluster = state.clone();
    standby.iter().for_each(|s| bring_online(&mut cluster, s));
    scope.balanced(cluster)
}

/// Whether every online node has the minimal reserve, and nothing that balancing could
/// move is left on an offline node. Nodes of which nothing is known are not asked.
fn suffices(scope: &Scope<'_>, balanced: &Balanced, standby: &[Standby]) -> bool {
    let after = &balanced.cluster;
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

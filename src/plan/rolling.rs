//! The work of a rolling reboot, to be looked at: group after group, instances leave, nodes are rebooted and waited for,
//! instances come back. The commands of it are in [`maintenance`](super::maintenance).

use std::collections::BTreeMap;

use super::back::leading;
use super::names::Impossible;
use super::work::{Builder, Task, Work};
use crate::model::{
    Cluster, Concession, Instance, InstanceIdx, Move, MovedMeanwhile, NodeIdx, Placement, Step,
};

/// The steps of groups, each given by its nodes and by what is elsewhere while they are down; `offline` if all instances
/// are stopped meanwhile.
///
/// # Errors
/// A name that Ganeti cannot have.
pub fn reboots<'p>(
    cluster: &Cluster,
    parts: impl IntoIterator<Item = (&'p [NodeIdx], &'p [MovedMeanwhile])>,
    offline: bool,
) -> Result<Work, Impossible> {
    let mut work = Builder::default();
    for (nodes, moved) in parts {
        let moved: BTreeMap<InstanceIdx, &MovedMeanwhile> = moved.iter().map(|m| (m.instance, m)).collect();
        let concerned =
            cluster.instances.iter().filter(|i| !i.forthcoming && i.nodes().any(|n| nodes.contains(&n)));
        let (mut away, mut stopped) = (Vec::new(), Vec::new());
        for instance in concerned {
            let runs_here = instance.status.is_running() && nodes.contains(&instance.primary);
            let stays = !instance.template.has_secondary() && !moved.contains_key(&instance.idx);
            if runs_here && (offline || stays) {
                stopped.push(instance);
            }
            away.extend(leaves(instance, moved.get(&instance.idx).copied(), runs_here && !offline));
        }
        let back: Vec<Step> = away.iter().filter_map(returning).collect();
        let named = || nodes.iter().map(|node| cluster.node(*node).spec.name.clone());
        // no group is down before the one before is back
        work.barrier();
        work.instances(cluster, &Task::Stop, &stopped);
        work.free_moves(cluster, &away);
        work.nodes(&Task::Reboot, named(), |_| Vec::new());
        work.nodes(&Task::Await, named(), |_| Vec::new());
        work.free_moves(cluster, &back);
        work.instances(cluster, &Task::Start, &stopped);
    }
    work.finish()
}

/// How an instance leaves; nothing if it stays.
fn leaves(instance: &Instance, moved: Option<&MovedMeanwhile>, live: bool) -> Option<Step> {
    let here = Placement { primary: instance.primary, secondary: instance.mirror() };
    let plain = |place: Placement| Placement {
        secondary: place.secondary.filter(|_| instance.template.has_secondary()),
        ..place
    };
    let (mv, from, to) = match (moved, here.secondary) {
        (Some(moved), _) => {
            let (from, to) = (plain(moved.from), plain(moved.to));
            (leading(from, to)?, from, to)
        }
        (None, Some(secondary)) if live => {
            (Move::Failover, here, Placement { primary: secondary, secondary: Some(here.primary) })
        }
        (None, _) => return None,
    };
    Some(Step { instance: instance.idx, mv, from, to, score: 0.0, concession: Concession::None })
}

/// The same step, the other way round.
fn returning(step: &Step) -> Option<Step> {
    Some(Step { mv: leading(step.to, step.from)?, from: step.to, to: step.from, ..*step })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::cluster;

    #[test]
    fn one_group_is_back_before_the_next_one_goes() {
        let nodes: Vec<String> = (1..=3).map(|n| format!("n{n}|9000|0|8000|90000|80000|9|N|u|1")).collect();
        let nodes: Vec<&str> = nodes.iter().map(String::as_str).collect();
        let instances = [
            "web|100|1000|1|running|Y|n1|n2|drbd||1",
            "local|100|1000|1|running|Y|n3||plain||1",
            "idle|100|1000|1|ADMIN_down|Y|n2|n1|drbd||1",
        ];
        let cluster = cluster(&nodes, &instances, &[]);
        let [n1, n2, n3] = [0, 1, 2].map(NodeIdx::new);
        let parts: [&[NodeIdx]; 2] = [&[n1], &[n2, n3]];
        let work = reboots(&cluster, parts.map(|nodes| (nodes, &[][..])), false).unwrap();
        let titles: Vec<String> = work.steps.iter().map(super::super::work::WorkStep::title).collect();
        let first = ["web", "reboot n1", "wait for n1", "web"];
        let second = ["stop local", "reboot n2", "reboot n3", "wait for n2", "wait for n3", "start local"];
        assert_eq!(titles, [&first[..], &second[..]].concat());
        let waits = |at: usize| -> Vec<usize> {
            let edges = work.edges.iter().filter(|edge| edge.after.get() == at);
            edges.map(|edge| edge.before.get()).collect()
        };
        let found: Vec<Vec<usize>> = (0..titles.len()).map(waits).collect();
        let wanted: [&[usize]; 10] = [&[], &[0], &[1], &[2], &[3], &[3], &[4], &[5], &[6], &[8]];
        assert_eq!(found, wanted);
    }
}

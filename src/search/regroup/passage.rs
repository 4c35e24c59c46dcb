//! How an instance gets from one group to another.

use crate::model::{Cluster, GroupIdx, Instance, InstanceIdx, Mib, Placement};
use crate::search::{Move, Step};

/// A move of an instance to another group, as Ganeti carries it out.
///
/// What is on external storage changes its node. A DRBD instance leaves an offline primary
/// node first; then a node of the other group becomes its secondary, takes over, and the
/// other node of that group becomes the secondary. So one of the two copies is always
/// complete where it is.
#[derive(Debug, Clone, PartialEq)]
pub struct Passage {
    /// The instance.
    pub instance: InstanceIdx,
    /// The group that it leaves.
    pub source: GroupIdx,
    /// The group where it goes.
    pub target: GroupIdx,
    /// Its nodes before.
    pub from: Placement,
    /// Its nodes afterwards.
    pub to: Placement,
    /// The moves, in order.
    pub legs: Vec<Step>,
    /// Disk space that is copied.
    pub copied: Mib,
    /// The score of the cluster afterwards.
    pub score: f64,
}

impl Passage {
    /// The way of an instance from where it is to two nodes of another group, or to one.
    pub fn of(cluster: &Cluster, instance: &Instance, to: Placement, score: f64) -> Passage {
        let from = Placement { primary: instance.primary, secondary: instance.mirror() };
        let mut at = from;
        let mut legs = Vec::with_capacity(4);
        let mut go = |mv: Move, to: Placement| {
            legs.push(Step { instance: instance.idx, mv, from: at, to, score });
            at = to;
            to
        };
        let mut copied = Mib::ZERO;
        match (from.secondary, to.secondary) {
            (Some(old), Some(new)) => {
                let mut here = from;
                if cluster.node(from.primary).spec.offline {
                    here = go(Move::Failover, Placement { primary: old, secondary: Some(from.primary) });
                }
                let first = to.primary;
                go(Move::ReplaceSecondary(first), Placement { secondary: Some(first), ..here });
                go(Move::Failover, Placement { primary: first, secondary: Some(here.primary) });
                go(Move::ReplaceSecondary(new), to);
                copied = instance.disk + instance.disk;
            }
            _ => {
                go(Move::FailoverTo(to.primary), to);
            }
        }
        let group = |p: Placement| cluster.node(p.primary).spec.group;
        Passage {
            instance: instance.idx,
            source: group(from),
            target: group(to),
            from,
            to,
            legs,
            copied,
            score,
        }
    }

    /// The same, with the score of the cluster afterwards.
    pub(super) fn scored(mut self, score: f64) -> Passage {
        self.legs.iter_mut().for_each(|leg| leg.score = score);
        Passage { score, ..self }
    }
}

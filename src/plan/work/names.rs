//! Work as plans again, for a cluster that knows its names.

use std::collections::HashMap;

use super::{NamedPlacement, Relocation, Unknown};
use crate::model::{Cluster, InstanceIdx, Mib, NodeIdx, Placement};
use crate::search::Step;
use crate::search::regroup::Passage;

/// What the names of a cluster mean.
pub(super) struct ClusterNames<'c> {
    nodes: HashMap<&'c str, NodeIdx>,
    instances: HashMap<&'c str, InstanceIdx>,
}

impl<'c> ClusterNames<'c> {
    pub(super) fn of(cluster: &'c Cluster) -> ClusterNames<'c> {
        ClusterNames {
            nodes: cluster.nodes.iter().map(|node| (node.spec.name.as_str(), node.spec.idx)).collect(),
            instances: cluster.instances.iter().map(|i| (i.name.as_str(), i.idx)).collect(),
        }
    }

    pub(super) fn step(&self, instance: &str, step: &Relocation, number: usize) -> Result<Step, Unknown> {
        let unknown = |kind, name: &str| Unknown { step: number, kind, name: name.to_owned() };
        let node =
            |name: &String| self.nodes.get(name.as_str()).copied().ok_or_else(|| unknown("node", name));
        let place = |place: &NamedPlacement| {
            let secondary = place.secondary.as_ref().map(node).transpose()?;
            Ok(Placement { primary: node(&place.primary)?, secondary })
        };
        let known = self.instances.get(instance).copied();
        let target = step.target.as_ref().map(node).transpose()?;
        Ok(Step {
            instance: known.ok_or_else(|| unknown("instance", instance))?,
            mv: step.way.towards(target).ok_or_else(|| unknown("node", ""))?,
            from: place(&step.from)?,
            to: place(&step.to)?,
            score: 0.0,
        })
    }
}

impl ClusterNames<'_> {
    /// A move between groups; nothing if it has no legs.
    pub(super) fn passage(
        &self,
        cluster: &Cluster,
        instance: &str,
        legs: &[Relocation],
        number: usize,
    ) -> Option<Result<Passage, Unknown>> {
        let legs: Result<Vec<Step>, Unknown> =
            legs.iter().map(|leg| self.step(instance, leg, number)).collect();
        let legs = match legs {
            Ok(legs) => legs,
            Err(unknown) => return Some(Err(unknown)),
        };
        let (from, to) = (legs.first()?.from, legs.last()?.to);
        let group = |p: Placement| cluster.node(p.primary).spec.group;
        let (source, target) = (group(from), group(to));
        let instance = legs.first()?.instance;
        // the checker asks for neither
        let (copied, score) = (Mib::ZERO, 0.0);
        Some(Ok(Passage { instance, source, target, from, to, legs, copied, score }))
    }
}

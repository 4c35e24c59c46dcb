//! Conversion of work to plans for a cluster that has its names.

use std::collections::HashMap;

use super::{Relocation, Unknown};
use htools_model::{Cluster, InstanceIdx, Leg, Move, NodeIdx, Step};

/// Nodes and instances of a cluster by their names.
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
            |name: String| self.nodes.get(name.as_str()).copied().ok_or_else(|| unknown("node", &name));
        let known = self.instances.get(instance).copied();
        Ok(Step {
            instance: known.ok_or_else(|| unknown("instance", instance))?,
            mv: step.mv.clone().try_map(node)?,
            from: step.from.clone().try_map(node)?,
            to: step.to.clone().try_map(node)?,
            score: 0.0,
            concession: step.concession.clone().try_map(|name| {
                self.instances.get(name.as_str()).copied().ok_or_else(|| unknown("instance", &name))
            })?,
        })
    }

    /// A move between groups, with every leg listed.
    pub(super) fn crossing(
        &self,
        instance: &str,
        legs: &[Relocation],
        number: usize,
    ) -> Result<Step, Unknown> {
        let steps: Vec<Step> =
            legs.iter().map(|leg| self.step(instance, leg, number)).collect::<Result<_, _>>()?;
        let each: Vec<Leg> = steps.iter().flat_map(|step| step.mv.legs()).collect();
        let whole = steps.first().zip(steps.last()).zip(Move::of_legs(each));
        let step = whole.map(|((first, last), mv)| Step { mv, to: last.to, ..*first });
        let chained = |step: &Step| {
            step.legs().map(|(_, from, to)| (from, to)).eq(steps.iter().map(|s| (s.from, s.to)))
        };
        let unknown = || Unknown { step: number, kind: "move by its legs for", name: instance.to_owned() };
        step.filter(chained).ok_or_else(unknown)
    }
}

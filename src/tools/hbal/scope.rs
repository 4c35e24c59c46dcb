//! The node group that is balanced, and its description before the first step.

use super::HbalOptions;
use super::views::Text;
use crate::model::{Cluster, GroupIdx, InstanceIdx, Members, Mib, NodeIdx};
use crate::redundancy::n_plus_one::Failures;
use crate::report::balance::plan::json::BalancedGroup;
use crate::report::debug;
use crate::tools::listing;
use crate::tools::output::Output;

/// The group being balanced.
#[derive(Clone)]
pub(super) struct BalancedScope {
    pub group: GroupIdx,
    pub nodes: Vec<NodeIdx>,
    /// Instances whose primary node is in the group.
    pub instances: Vec<InstanceIdx>,
    failures: Failures,
    /// Nodes that pass N+1, offline ones included.
    happy: Vec<NodeIdx>,
}

impl BalancedScope {
    /// The group in its present state.
    pub(super) fn of(cluster: &Cluster, group: GroupIdx) -> BalancedScope {
        let members =
            Members { nodes: cluster.nodes_of(group).to_vec(), instances: cluster.instances_of(group) };
        BalancedScope::with(cluster, group, members)
    }

    /// The group with its members, if they are known already.
    pub(super) fn with(cluster: &Cluster, group: GroupIdx, members: Members) -> BalancedScope {
        let Members { nodes, instances } = members;
        let failures = Failures::of(cluster, &nodes);
        let happy = nodes.iter().copied().filter(|n| !failures.nodes.contains(n)).collect();
        BalancedScope { group, instances, nodes, failures, happy }
    }

    fn policy_violating(&self, cluster: &Cluster) -> Vec<NodeIdx> {
        use crate::model::PolicyHealth::Fine;
        self.happy.iter().copied().filter(|n| cluster.node(*n).policy_health() != Fine).collect()
    }

    /// Prints the state of the group.
    pub(super) fn describe(
        &self,
        cluster: &Cluster,
        options: &HbalOptions,
        text: &mut Text<'_>,
    ) -> anyhow::Result<()> {
        let level = options.load.verbosity;
        text.line(format!("Group size {} nodes, {} instances", self.nodes.len(), self.instances.len()))?;
        text.line(format!("Selected node group: {}", cluster.group(self.group).name))?;
        let bad = &self.failures;
        if level >= 1 {
            let (nodes, instances) = (bad.nodes.len(), bad.instances);
            text.line(format!("Initial check done: {nodes} bad nodes, {instances} bad instances."))?;
        }
        let name = |n: &NodeIdx| cluster.node(*n).spec.name.as_str();
        if level > 4 {
            text.line(format!("Bad nodes: {}", debug::list(bad.nodes.iter().map(name))))?;
            text.line(format!("N+1 happy nodes: {}", debug::list(self.happy.iter().map(name))))?;
            let health = self.happy.iter().map(|n| (name(n), cluster.node(*n).policy_health()));
            text.line(format!("Node policy status: {}", debug::policy_status(health)))?;
        }
        if !bad.none() {
            text.line(
                "Cluster is not N+1 happy, continuing but no guarantee that the cluster will end N+1 happy.",
            )?;
        }
        let violating = self.policy_violating(cluster).len();
        if violating > 0 {
            text.line(format!("The cluster contains {violating} policy-violating nodes."))?;
            text.line(if options.balance.rules.ignore_soft_errors {
                "Continuing, ignoring soft errors."
            } else {
                "Continuing, but the set of moves might be too restricted; \
                     consider using the --ignore-soft-errors option."
            })?;
        }
        Ok(())
    }

    /// Prints the lists of instances and nodes on standard error.
    pub(super) fn print_lists(
        &self,
        when: &str,
        options: &HbalOptions,
        cluster: &Cluster,
        output: &mut Output,
    ) -> anyhow::Result<()> {
        if options.output.print_instances {
            listing::instances(output, when, cluster, &self.instances)?;
        }
        if let Some(fields) = &options.output.print_nodes {
            listing::nodes(output, &format!("{when} cluster"), cluster, &self.nodes, fields)?;
        }
        Ok(())
    }

    /// Sums of the unallocated memory and the free disk space of all nodes.
    pub(super) fn totals(&self, cluster: &Cluster) -> (Mib, Mib) {
        let nodes = || self.nodes.iter().map(|n| cluster.node(*n));
        let mem = nodes().map(|n| n.state.ledger.mem_unallocated(&n.spec)).sum();
        (mem, nodes().map(|n| n.state.ledger.disk_free).sum())
    }

    /// The group's part of a JSON document.
    pub(super) fn json(&self, cluster: &Cluster) -> BalancedGroup {
        let group = cluster.group(self.group);
        let names = |nodes: &[NodeIdx]| nodes.iter().map(|n| cluster.node(*n).spec.name.clone()).collect();
        BalancedGroup {
            name: group.name.clone(),
            uuid: group.uuid.clone(),
            nodes: self.nodes.len(),
            instances: self.instances.len(),
            bad_nodes: names(&self.failures.nodes),
            bad_instances: self.failures.instances,
            policy_violating_nodes: names(&self.policy_violating(cluster)),
        }
    }
}

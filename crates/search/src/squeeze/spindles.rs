//! Quick check of the spindles, before a trial of freeing nodes.

use super::trial::GroupScope;
use htools_model::NodeIdx;

impl GroupScope<'_> {
    /// Returns true if freeing these nodes certainly fails because of spindles. The instances on them have more
    /// weight than all other nodes together can still take. So an instance would stay, or a node would exceed
    /// the spindle ratio of its policy (by more than before).
    ///
    /// A move takes the same weight from one node as it brings to another, and never brings any to an offline
    /// node.
    pub(super) fn lacks_spindles(&self, freed: &[NodeIdx]) -> bool {
        let cluster = self.cluster;
        let specs = || self.nodes.iter().map(|n| &cluster.node(*n).spec);
        // Nodes with exclusive storage have no weight.
        if self.options.ignore_soft_errors || specs().any(|spec| spec.exclusive_storage) {
            return false;
        }
        let is_freed = cluster.mask(freed);
        let stays = |n: &NodeIdx| !is_freed[n.get()] && !cluster.node(*n).spec.offline;
        let room = |n: NodeIdx| {
            let node = cluster.node(n);
            (node.spec.spindle_limit - node.state.ledger.spindles_used).max(0.0)
        };
        let room: f64 = self.nodes.iter().copied().filter(stays).map(room).sum();
        let residents = cluster.residents(&self.nodes);
        let instances = residents.iter().map(|i| cluster.instance(*i));
        let (mut leaving, mut absurd) = (0.0, false);
        for instance in instances.filter(|i| i.template.uses_local_storage() && !i.forthcoming) {
            absurd |= !(0..1 << 20).contains(&instance.spindle_use);
            let there = instance.nodes().filter(|n| is_freed[n.get()]).count();
            leaving += instance.spindle_use as f64 * there as f64;
        }
        // The margin covers fractional limits.
        !absurd && leaving > room + 0.5
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::tests::group;
    use super::super::*;
    use super::*;
    use htools_testkit::cluster;

    /// Nodes with one or two spindles, and heavy instances.
    fn crowded() -> impl Strategy<Value = (Cluster, Vec<NodeIdx>)> {
        let nodes = prop::collection::vec((1i64..3, prop::bool::weighted(0.1)), 3..7);
        let instances = prop::collection::vec((any::<u8>(), any::<u8>(), 1i64..25, 0..3), 1..16);
        (nodes, instances, 1usize..4).prop_map(|(nodes, instances, freed)| {
            let count = nodes.len();
            let row = |(at, (spindles, offline)): (usize, (i64, bool))| {
                let role = if offline { 'Y' } else { 'N' };
                format!("n{at}|90000|0|80000|900000|800000|90|{role}|u|{spindles}")
            };
            let nodes: Vec<String> = nodes.into_iter().enumerate().map(row).collect();
            let row = |(at, (p, s, weight, kind)): (usize, (u8, u8, i64, i32))| {
                let p = usize::from(p) % count;
                let s = (p + 1 + usize::from(s) % (count - 1)) % count;
                let (s, template) = match kind {
                    0 => (String::new(), "ext"),
                    _ => (format!("n{s}"), "drbd"),
                };
                format!("i{at}|100|10|1|running|Y|n{p}|{s}|{template}||{weight}")
            };
            let instances: Vec<String> = instances.into_iter().enumerate().map(row).collect();
            let rows = |rows: &'_ [String]| rows.iter().map(|r| r.clone().leak() as &str).collect::<Vec<_>>();
            let cluster = cluster(&rows(&nodes), &rows(&instances), &[]);
            let online = cluster.all_nodes().into_iter().filter(|n| !cluster.node(*n).spec.offline);
            let freed = online.take(freed).collect();
            (cluster, freed)
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

        /// If a set is excluded without a trial, the trial fails, too.
        #[test]
        fn what_is_ruled_out_fails((cluster, freed) in crowded()) {
            let options = SqueezeOptions { reach: Reach::All, capacity_checks: false, ..SqueezeOptions::default() };
            let deadline = Deadline::never();
            let scope = GroupScope::of(&cluster, group(), &options, SqueezeWatch { deadline: &deadline, progress: &|_| {} });
            if scope.lacks_spindles(&freed) {
                let mut start = Draft::of(&cluster);
                start.set_offline(&freed, true);
                let emptied = scope.evacuated(start.clone());
                prop_assert!(scope.objection(&emptied.cluster, &freed, true).is_some());
                let balanced = scope.balanced(start);
                prop_assert!(scope.objection(&balanced.cluster, &freed, true).is_some());
            }
        }
    }

    #[test]
    fn just_enough_is_enough() {
        let nodes = [
            "n0|9000|0|8000|90000|80000|9|N|u|1",
            "n1|9000|0|8000|90000|80000|9|N|u|1",
            "n2|9000|0|8000|90000|80000|9|N|u|1",
        ];
        let lacks = |weight: i64| {
            let instance = format!("i|100|10|1|running|Y|n0|n1|drbd||{weight}");
            let cluster = cluster(&nodes, &[&instance, "j|100|10|1|running|Y|n1|n2|drbd||12"], &[]);
            let (options, deadline) = (SqueezeOptions::default(), Deadline::never());
            let scope = GroupScope::of(
                &cluster,
                group(),
                &options,
                SqueezeWatch { deadline: &deadline, progress: &|_| {} },
            );
            scope.lacks_spindles(&[NodeIdx::new(0)])
        };
        // The limit is 32. With 20 in use on n1, nothing is left there, and 20 on n2.
        assert!(!lacks(20));
        assert!(lacks(21));
    }
}

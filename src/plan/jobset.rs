//! Which steps of a plan can run at the same time.

use std::collections::HashSet;

use crate::model::{Cluster, NodeIdx, Step};

/// Steps that touch different nodes and can run at the same time; positions in
/// the plan, in order.
pub type Jobset = Vec<usize>;

/// Groups the steps of a plan, from the last one backwards: a step joins the
/// jobset under construction if it touches none of that jobset's nodes, else it
/// begins a new one, which runs before. Looking back from the end keeps what the
/// goal needs last together; grouping from the start would give other jobsets.
pub fn jobsets(cluster: &Cluster, steps: &[Step]) -> Vec<Jobset> {
    let touched: Vec<Vec<NodeIdx>> = steps.iter().map(|step| step.nodes(cluster).collect()).collect();
    disjoint(&touched)
}

/// The same for steps of any kind, given by the nodes that each touches.
pub fn disjoint(steps: &[Vec<NodeIdx>]) -> Vec<Jobset> {
    let mut sets: Vec<Jobset> = Vec::new();
    let mut touched: HashSet<NodeIdx> = HashSet::new();
    for (position, nodes) in steps.iter().enumerate().rev() {
        let disjoint = !nodes.iter().any(|n| touched.contains(n));
        if !disjoint || sets.is_empty() {
            sets.push(Jobset::new());
            touched.clear();
        }
        if let Some(set) = sets.last_mut() {
            set.push(position);
        }
        touched.extend(nodes);
    }
    sets.reverse();
    sets.iter_mut().for_each(|set| set.reverse());
    sets
}

/// The jobsets of plans that have no node in common, carried out side by side: the first ones
/// together, the second ones, and so on. Each plan comes with the number of its steps; positions
/// are those in all plans one behind the other.
pub fn side_by_side<'p>(plans: impl IntoIterator<Item = (usize, &'p [Jobset])>) -> Vec<Jobset> {
    let mut joined: Vec<Jobset> = Vec::new();
    let mut offset = 0;
    for (steps, jobsets) in plans {
        joined.resize(joined.len().max(jobsets.len()), Jobset::new());
        for (set, more) in joined.iter_mut().zip(jobsets) {
            set.extend(more.iter().map(|at| at + offset));
        }
        offset += steps;
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Draft, Move, NodeIdx};
    use crate::search::{BalanceOptions, Balancer};
    use crate::testing::cluster;

    #[test]
    fn steps_join_those_behind_them() {
        let nodes = ["15000", "19000", "19000", "18000", "14000"];
        let nodes: Vec<String> =
            (0..).zip(nodes).map(|(n, free)| format!("N{n}|20000|0|{free}|1000|1000|9|N|u|1")).collect();
        let instances =
            [(2000, 3), (3000, 4), (1000, 1), (2000, 4), (1000, 4), (2000, 0), (1000, 2), (3000, 0)];
        let instances: Vec<String> = (0..)
            .zip(instances)
            .map(|(i, (mem, node))| format!("i{i}|{mem}|0|1|running|Y|N{node}||ext||1"))
            .collect();
        let nodes: Vec<&str> = nodes.iter().map(String::as_str).collect();
        let instances: Vec<&str> = instances.iter().map(String::as_str).collect();
        let mut cluster = Draft::from(cluster(&nodes, &instances, &[]));
        let all = cluster.all_nodes();
        let mut balancer = Balancer::new(&mut cluster, &all, BalanceOptions::default());
        let steps: Vec<Step> = std::iter::from_fn(|| balancer.next_step()).collect();
        let to = |n| Move::FailoverTo(NodeIdx::new(n));
        assert_eq!(steps.iter().map(|s| s.mv).collect::<Vec<_>>(), [to(1), to(2), to(3)]);
        // the second step shares no node with the first, and yet waits for it: it belongs to the third
        assert_eq!(jobsets(&cluster, &steps), [vec![0], vec![1, 2]]);
    }

    #[test]
    fn plans_side_by_side() {
        let plans: [(usize, &[Jobset]); 3] =
            [(3, &[vec![0], vec![1, 2]]), (0, &[]), (3, &[vec![0, 1], vec![], vec![2]])];
        assert_eq!(side_by_side(plans), [vec![0, 3, 4], vec![1, 2], vec![5]]);
        assert_eq!(side_by_side([]), Vec::<Jobset>::new());
    }

    #[test]
    fn no_steps_no_jobsets() {
        assert_eq!(jobsets(&cluster(&[], &[], &[]), &[]), Vec::<Jobset>::new());
    }
}

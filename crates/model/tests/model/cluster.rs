//! Members of groups while instances move.

use htools_model::{Cluster, Draft, GroupIdx, Instance, InstanceIdx, NodeIdx, Placement};
use htools_testkit::groups;

/// The instances of a group, found by checking every instance.
fn looked_up(cluster: &Cluster, group: GroupIdx) -> Vec<InstanceIdx> {
    let is_there = |i: &&Instance| cluster.node(i.primary).spec.group == group;
    cluster.instances.iter().filter(is_there).map(|i| i.idx).collect()
}

#[test]
fn groups_know_their_members_while_instances_move() {
    let node = |at: usize| format!("n{at}|9000|0|9000|9000|9000|9|N|{}|1", ["u", "v", "w"][at % 3]);
    let instance = |at: usize| {
        let (secondary, template) =
            if at.is_multiple_of(2) { (format!("n{}", at % 4 + 1), "drbd") } else { (String::new(), "ext") };
        let planned = if at.is_multiple_of(3) { 'Y' } else { 'N' };
        format!("i{at}|1|1|1|running|Y|n{}|{secondary}|{template}||1|-|{planned}", at % 4)
    };
    let (nodes, instances): (Vec<String>, Vec<String>) =
        ((0..6).map(node).collect(), (0..24).map(instance).collect());
    let mut draft: Draft = groups(&["u", "v", "w", "x"], &nodes, &instances, &[]).into();
    let check = |draft: &Draft| {
        for group in draft.groups.iter().map(|g| g.idx) {
            assert_eq!(draft.instances_of(group), looked_up(draft, group));
            assert_eq!(draft.members()[group.get()].instances, looked_up(draft, group));
            let nodes = draft.nodes.iter().filter(|n| n.spec.group == group).map(|n| n.spec.idx);
            assert_eq!(draft.nodes_of(group), nodes.collect::<Vec<_>>());
            let has_node = |i: &&Instance| i.nodes().any(|n| draft.node(n).spec.group == group);
            let residents = draft.instances.iter().filter(has_node).map(|i| i.idx);
            assert_eq!(draft.residents(draft.nodes_of(group)), residents.collect::<Vec<_>>());
        }
    };
    check(&draft);
    let start = draft.mark();
    for moved in draft.all_instances() {
        let Placement { primary, secondary } = draft.instance(moved).placement();
        let next = |node: NodeIdx| NodeIdx::new((node.get() + 1) % 6);
        draft.relocate(moved, Placement { primary: next(primary), secondary: secondary.map(next) }, 0, &[]);
        check(&draft);
    }
    draft.back_to(start);
    check(&draft);
}

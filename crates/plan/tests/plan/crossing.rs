//! The check of moves between groups.

use htools_model::{Cluster, Instance, Move, NodeIdx, Placement, Rule, Step, TagTable};
use htools_plan::checker::{Fault, JobsetFault, Replay, check_crossings, check_jobsets};
use htools_plan::jobset::jobsets;
use htools_search::groups::crossing;
use htools_testkit::{groups, sets};

fn node(name: &str, free: i64) -> String {
    format!("{name}|9000|0|{free}|90000|80000|9|N|{}|1||N|0|0", &name[..1])
}

/// A DRBD instance on `a1` and `a2`, an rbd one on `a1`, and groups with the given rows.
fn two_groups(rows: &[&str]) -> Cluster {
    let nodes = [node("a1", 7000), node("a2", 9000), node("b1", 9000), node("b2", 9000), node("b3", 9000)];
    let instances = ["d|1000|1000|1|running|Y|a1|a2|drbd||1", "e|1000|1000|1|running|Y|a1||rbd||1"];
    groups(rows, &nodes, &instances.map(str::to_owned), &[])
}

const ROWS: [&str; 2] = ["a||drbd,rbd", "b||drbd,rbd"];

fn idx(cluster: &Cluster, name: &str) -> NodeIdx {
    cluster.nodes.iter().find(|n| n.spec.name == name).unwrap().spec.idx
}

fn instance<'c>(cluster: &'c Cluster, name: &str) -> &'c Instance {
    cluster.instances.iter().find(|i| i.name == name).unwrap()
}

/// The step of an instance to the given nodes.
fn step(cluster: &Cluster, name: &str, to: &[&str]) -> Step {
    let nodes: Vec<NodeIdx> = to.iter().map(|n| idx(cluster, n)).collect();
    let to = Placement { primary: nodes[0], secondary: nodes.get(1).copied() };
    crossing(cluster, instance(cluster, name), to, 0.0)
}

fn verdict(cluster: &Cluster, steps: &[Step]) -> Result<Replay, Fault> {
    check_crossings(cluster, steps).map_err(|violation| violation.fault)
}

#[test]
fn what_is_right_is_accepted() {
    let cluster = two_groups(&ROWS);
    let plan = [step(&cluster, "d", &["b1", "b2"]), step(&cluster, "e", &["b3"])];
    let replay = verdict(&cluster, &plan).unwrap();
    assert_eq!(replay.placement(plan[0].instance), plan[0].to);
    // Both leave a1, one after another.
    assert_eq!(jobsets(&cluster, &plan), sets(&[&[0], &[1]]));
    assert!(matches!(check_jobsets(&plan, &sets(&[&[0, 1]])), Err(JobsetFault::SharedNode { step: 2, .. })));
    assert_eq!(check_jobsets(&plan, &sets(&[&[0]])), Err(JobsetFault::Missing(2)));
}

#[test]
fn tags_policies_and_pools_are_kept() {
    let to_b = |rows: &[&str], name: &str| {
        let cluster = two_groups(rows);
        let nodes: &[&str] = if name == "d" { &["b1", "b2"] } else { &["b1"] };
        verdict(&cluster, &[step(&cluster, name, nodes)]).map(drop)
    };
    assert_eq!(to_b(&ROWS, "d"), Ok(()));
    let deny = |rows| to_b(rows, "e").unwrap_err();
    assert_eq!(deny(&["a||drbd,rbd", "b|htools:intergroup:deny|rbd"]), Fault::Denied("b".into()));
    assert_eq!(deny(&["a|htools:intergroup:deny|drbd,rbd", "b||rbd"]), Fault::Denied("a".into()));
    let storage = Fault::Storage("b1".into());
    assert_eq!(deny(&["a|htools:pool:x|drbd,rbd", "b|htools:pool:y|rbd"]), storage);
    assert_eq!(to_b(&["a||drbd,rbd", "b||rbd"], "d").unwrap_err(), storage);
}

#[test]
fn one_copy_at_a_time_from_one_end_to_the_other() {
    let cluster = two_groups(&ROWS);
    let good = step(&cluster, "d", &["b1", "b2"]);
    let with = |change: &dyn Fn(&mut Step)| {
        let mut changed = good;
        change(&mut changed);
        verdict(&cluster, &[changed]).unwrap_err()
    };
    let [primary, secondary] = ["b1", "b2"].map(|name| idx(&cluster, name));
    // Only one new node, in either role.
    let half = with(&|p| p.mv = Move::ReplaceAndFailover(primary));
    assert!(matches!(half, Fault::OtherDestination { .. }), "{half:?}");
    let half = with(&|p| p.mv = Move::FailoverAndReplace(secondary));
    assert!(matches!(half, Fault::OtherDestination { .. }), "{half:?}");
    assert_eq!(with(&|p| p.mv = Move::FailoverTo(primary)), Fault::WrongKind);
    assert_eq!(with(&|p| p.mv = Move::ReplaceBoth(primary, primary)), Fault::NotNew("b1".into()));
    // One node in each group.
    assert_eq!(with(&|p| p.to.secondary = Some(p.from.primary)), Fault::Groups);
    assert_eq!(with(&|p| p.to = p.from), Fault::Groups);
    let elsewhere = with(&|p| p.from.primary = p.to.primary);
    assert!(matches!(elsewhere, Fault::Elsewhere { .. }), "{elsewhere:?}");
}

#[test]
fn groups_stay_healthy() {
    let mut cluster = two_groups(&ROWS);
    let last = idx(&cluster, "b3").get();
    cluster.nodes[last].spec.offline = true;
    // An offline node without instances is allowed, but no instance may go there.
    assert!(verdict(&cluster, &[step(&cluster, "d", &["b1", "b2"])]).is_ok());
    let fault = verdict(&cluster, &[step(&cluster, "e", &["b3"])]).unwrap_err();
    assert_eq!(fault, Fault::LegOffline(1));
    // b2 has 500 MiB unallocated.
    let mut cluster = two_groups(&ROWS);
    let at = idx(&cluster, "b2").get();
    cluster.nodes[at].spec.mem_total = 500.0;
    let fault = verdict(&cluster, &[step(&cluster, "d", &["b1", "b2"])]).unwrap_err();
    assert!(matches!(fault, Fault::Rule(_)), "{fault:?}");
    assert!(fault.to_string().contains("'b2' would break the rule on"), "{fault}");
}

#[test]
fn what_may_not_move_does_not() {
    let mut cluster = two_groups(&ROWS);
    cluster.instances[1].details_mut().auto_balance = false;
    let fault = verdict(&cluster, &[step(&cluster, "e", &["b1"])]).unwrap_err();
    assert_eq!(fault, Fault::Immovable);
    let mut missing = step(&cluster, "d", &["b1", "b2"]);
    missing.to.primary = NodeIdx::new(99);
    assert_eq!(verdict(&cluster, &[missing]).unwrap_err(), Fault::NoNode(99));
}

/// This includes the failover from an offline node.
#[test]
fn migration_tags_are_kept_in_every_leg() {
    let with_tag = |receives: bool| {
        let mut cluster = two_groups(&ROWS);
        let (a1, a2) = (idx(&cluster, "a1").get(), idx(&cluster, "a2").get());
        let tag = TagTable::default().intern("hv:1");
        cluster.nodes[a1].spec.migration_tags = [tag].into_iter().collect();
        if receives {
            cluster.nodes[a2].spec.receivable_tags = [tag].into_iter().collect();
        }
        cluster.nodes[a1].spec.offline = true;
        verdict(&cluster, &[step(&cluster, "d", &["b1", "b2"])])
    };
    assert!(with_tag(true).is_ok());
    let fault = with_tag(false).unwrap_err();
    let Fault::Rule(unmet) = &fault else { panic!("{fault:?}") };
    assert_eq!((unmet.node.as_str(), unmet.rule), ("a2", Rule::MigrationTags));
}

#[test]
fn exported_pools_are_kept() {
    let mut cluster = two_groups(&ROWS);
    let plan = [step(&cluster, "e", &["b1"])];
    cluster.groups[1].disk_parameters.rbd_pool = "ssd".into();
    assert_eq!(verdict(&cluster, &plan).unwrap_err(), Fault::Storage("b1".into()));
    cluster.groups[0].disk_parameters.rbd_pool = "ssd".into();
    assert!(verdict(&cluster, &plan).is_ok());
    // The pool does not matter for DRBD.
    cluster.groups[0].disk_parameters.rbd_pool = "hdd".into();
    assert!(verdict(&cluster, &[step(&cluster, "d", &["b1", "b2"])]).is_ok());
}

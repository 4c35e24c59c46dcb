use super::*;
use crate::model::Instance;
use crate::plan::regroup::jobsets;
use crate::testing::groups;

fn node(name: &str, free: i64) -> String {
    format!("{name}|9000|0|{free}|90000|80000|9|N|{}|1||N|0|0", &name[..1])
}

/// A DRBD instance on `a1` and `a2`, an rbd one on `a1`, and groups with rows as given.
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

/// The way of an instance to some nodes.
fn passage(cluster: &Cluster, name: &str, to: &[&str]) -> Passage {
    let nodes: Vec<NodeIdx> = to.iter().map(|n| idx(cluster, n)).collect();
    let to = Placement { primary: nodes[0], secondary: nodes.get(1).copied() };
    Passage::of(cluster, instance(cluster, name), to, 0.0)
}

fn verdict(cluster: &Cluster, passages: &[Passage]) -> Result<Replay, PassageFault> {
    check_passages(cluster, passages, &jobsets(passages)).map_err(|violation| violation.fault)
}

#[test]
fn what_is_right_is_accepted() {
    let cluster = two_groups(&ROWS);
    let plan = [passage(&cluster, "d", &["b1", "b2"]), passage(&cluster, "e", &["b3"])];
    let replay = verdict(&cluster, &plan).unwrap();
    assert_eq!(replay.placement(plan[0].instance), plan[0].to);
    // both leave a1: one after the other
    assert_eq!(jobsets(&plan), [vec![0], vec![1]]);
    let at_once = check_passages(&cluster, &plan, &[vec![0, 1]]);
    assert_eq!(at_once.unwrap_err().fault, PassageFault::Jobsets);
    assert_eq!(check_passages(&cluster, &plan, &[vec![0]]).unwrap_err().fault, PassageFault::Jobsets);
}

#[test]
fn tags_policies_and_pools_are_kept() {
    let to_b = |rows: &[&str], name: &str| {
        let cluster = two_groups(rows);
        let nodes: &[&str] = if name == "d" { &["b1", "b2"] } else { &["b1"] };
        verdict(&cluster, &[passage(&cluster, name, nodes)]).map(drop)
    };
    assert_eq!(to_b(&ROWS, "d"), Ok(()));
    let deny = |rows| to_b(rows, "e").unwrap_err();
    assert_eq!(deny(&["a||drbd,rbd", "b|htools:intergroup:deny|rbd"]), PassageFault::Denied("b".into()));
    assert_eq!(deny(&["a|htools:intergroup:deny|drbd,rbd", "b||rbd"]), PassageFault::Denied("a".into()));
    let storage = PassageFault::Storage("b1".into());
    assert_eq!(deny(&["a|htools:pool:x|drbd,rbd", "b|htools:pool:y|rbd"]), storage);
    assert_eq!(to_b(&["a||drbd,rbd", "b||rbd"], "d").unwrap_err(), storage);
}

#[test]
fn one_copy_at_a_time_from_one_end_to_the_other() {
    let cluster = two_groups(&ROWS);
    let good = passage(&cluster, "d", &["b1", "b2"]);
    let with = |change: &dyn Fn(&mut Passage)| {
        let mut changed = good.clone();
        change(&mut changed);
        verdict(&cluster, &[changed]).unwrap_err()
    };
    // both new nodes in one leg
    let jump = |p: &mut Passage| {
        p.legs.truncate(1);
        p.legs[0].to = p.to;
    };
    assert_eq!(with(&jump), PassageFault::Chain(1));
    assert_eq!(with(&|p| p.legs.truncate(2)), PassageFault::Chain(2));
    let late = |p: &mut Passage| {
        p.legs.remove(0);
    };
    assert_eq!(with(&late), PassageFault::Chain(1));
    let foreign = |p: &mut Passage| p.legs[1].mv = Move::FailoverTo(p.to.primary);
    assert_eq!(with(&foreign), PassageFault::Step(Fault::WrongKind));
    // one node here, one there
    assert_eq!(with(&|p| p.to.secondary = Some(p.from.primary)), PassageFault::Groups);
    assert_eq!(with(&|p| p.target = p.source), PassageFault::Groups);
    let elsewhere = with(&|p| p.from.primary = p.to.primary);
    assert!(matches!(elsewhere, PassageFault::Step(Fault::Elsewhere { .. })), "{elsewhere:?}");
}

#[test]
fn groups_stay_healthy() {
    let mut cluster = two_groups(&ROWS);
    let last = idx(&cluster, "b3").get();
    cluster.nodes[last].spec.offline = true;
    // an empty node may be offline, but nothing goes there
    assert!(verdict(&cluster, &[passage(&cluster, "d", &["b1", "b2"])]).is_ok());
    let fault = verdict(&cluster, &[passage(&cluster, "e", &["b3"])]).unwrap_err();
    assert_eq!(fault, PassageFault::Offline(1));
    // b2 has 500 MiB unallocated
    let mut cluster = two_groups(&ROWS);
    let at = idx(&cluster, "b2").get();
    cluster.nodes[at].spec.mem_total = 500.0;
    let fault = verdict(&cluster, &[passage(&cluster, "d", &["b1", "b2"])]).unwrap_err();
    assert!(matches!(fault, PassageFault::Step(Fault::Rule(_))), "{fault:?}");
    assert!(fault.to_string().contains("'b2' would break the rule on"), "{fault}");
}

#[test]
fn what_may_not_move_does_not() {
    let mut cluster = two_groups(&ROWS);
    cluster.instances[1].auto_balance = false;
    let fault = verdict(&cluster, &[passage(&cluster, "e", &["b1"])]).unwrap_err();
    assert_eq!(fault, PassageFault::Step(Fault::Immovable));
    let mut missing = passage(&cluster, "d", &["b1", "b2"]);
    missing.to.primary = NodeIdx::new(99);
    assert_eq!(verdict(&cluster, &[missing]).unwrap_err(), PassageFault::Step(Fault::NoNode(99)));
}

/// The failover from an offline node, too.
#[test]
fn migration_tags_are_kept_in_every_leg() {
    let with_tag = |receives: bool| {
        let mut cluster = two_groups(&ROWS);
        let (a1, a2) = (idx(&cluster, "a1").get(), idx(&cluster, "a2").get());
        let tag = crate::model::TagTable::default().intern("hv:1");
        cluster.nodes[a1].spec.migration_tags = [tag].into_iter().collect();
        if receives {
            cluster.nodes[a2].spec.receivable_tags = [tag].into_iter().collect();
        }
        cluster.nodes[a1].spec.offline = true;
        verdict(&cluster, &[passage(&cluster, "d", &["b1", "b2"])])
    };
    assert!(with_tag(true).is_ok());
    let fault = with_tag(false).unwrap_err();
    let PassageFault::Step(Fault::Rule(unmet)) = &fault else { panic!("{fault:?}") };
    assert_eq!((unmet.node.as_str(), unmet.rule), ("a2", crate::model::Rule::MigrationTags));
}

#[test]
fn exported_pools_are_kept() {
    let mut cluster = two_groups(&ROWS);
    let plan = [passage(&cluster, "e", &["b1"])];
    cluster.groups[1].disk_parameters.rbd_pool = "ssd".into();
    assert_eq!(verdict(&cluster, &plan).unwrap_err(), PassageFault::Storage("b1".into()));
    cluster.groups[0].disk_parameters.rbd_pool = "ssd".into();
    assert!(verdict(&cluster, &plan).is_ok());
    // DRBD has nothing to do with it
    cluster.groups[0].disk_parameters.rbd_pool = "hdd".into();
    assert!(verdict(&cluster, &[passage(&cluster, "d", &["b1", "b2"])]).is_ok());
}

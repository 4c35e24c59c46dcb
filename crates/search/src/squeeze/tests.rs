mod settling;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use proptest::prelude::*;

use super::condense::TrialWay;
use super::trial::GroupScope;
use super::*;
use htools_model::known_tags::STANDBY_SIZE;
use htools_model::redundancy::global::Departures;
use htools_model::standby::NodeSize;
use htools_testkit::cluster;

pub(super) fn group() -> GroupIdx {
    GroupIdx::new(0)
}

/// The plans with the clusters before and after each, replayed by the checker.
pub(super) fn replayed<'a>(
    found: &'a Squeeze,
    cluster: &'a Cluster,
) -> impl Iterator<Item = (&'a GroupPlan, &'a Cluster, &'a Cluster)> {
    found.plans.iter().enumerate().map(move |(at, plan)| {
        let before = plan.start(cluster);
        let after = found.plans.get(at + 1).map_or(&found.after, |next| next.start(cluster));
        let mut switched = Draft::of(before);
        plan.switch(&mut switched);
        let nodes = cluster.nodes_of(plan.group);
        let replay = htools_plan::checker::check(&switched, nodes, &plan.steps, Default::default());
        assert!(replay.map(|r| r.leads_to(after)).unwrap_or(false));
        (plan, before, after)
    })
}

pub(super) fn run(cluster: &Cluster, options: &SqueezeOptions) -> GroupPlan {
    squeeze(cluster, &[group()], options).plans.remove(0)
}

fn options() -> SqueezeOptions {
    // The standard instance has 128 MiB.
    SqueezeOptions { capacity_checks: false, ..SqueezeOptions::default() }
}

fn names(cluster: &Cluster, nodes: &[NodeIdx]) -> Vec<String> {
    nodes.iter().map(|n| cluster.node(*n).spec.name.clone()).collect()
}

fn why(cluster: &Cluster, plan: &GroupPlan, node: &str) -> Hindrance {
    let found = plan.kept.iter().find(|k| cluster.node(k.node).spec.name == node);
    found.map(|k| k.why.clone()).expect("a kept node")
}

fn node(name: &str, free: i64, role: &str, tags: &str) -> String {
    format!("{name}|4000|0|{free}|90000|90000|9|{role}|u|1|{tags}")
}

fn built(nodes: &[String], instances: &[&str]) -> Cluster {
    cluster(&nodes.iter().map(String::as_str).collect::<Vec<_>>(), instances, &[])
}

#[test]
fn reserves_round_down_and_never_wrap() {
    let policy = htools_model::InstancePolicy::default();
    let memory = |factor| Reserve::of(&policy, factor).memory().0;
    assert_eq!([memory(1.99), memory(0.0), memory(-0.001)], [254, 0, -1]);
    assert!(memory(1e300) > 1 << 40 && memory(-1e300) < 0);
}

#[test]
fn offline_nodes_need_no_reserve() {
    let nodes = [node("a", 4000, "M", ""), node("b", 4000, "N", ""), node("off", 0, "Y", "")];
    let cluster = built(&nodes, &["i|100|0|1|running|Y|off||ext||1"]);
    let plan = run(&cluster, &options());
    assert_eq!(plan.decision, Decision::Condense);
    assert_eq!(names(&cluster, &plan.nodes), ["b"]);
}

#[test]
fn what_is_stuck_elsewhere_does_not_keep_nodes_online() {
    let nodes = [node("a", 4000, "M", ""), node("b", 4000, "N", ""), node("off", 3900, "Y", "")];
    let cluster = built(&nodes, &["stuck|100|0|1|running|Y|off||plain||1"]);
    assert_eq!(names(&cluster, &run(&cluster, &options()).nodes), ["b"]);
}

/// With `--all`, instances with disks on one node only are stopped and copied off the freed node; others stay.
#[test]
fn with_all_a_node_gets_free_of_disks_that_only_it_has() {
    let nodes = [node("a", 4000, "M", ""), node("b", 3900, "N", ""), node("off", 3900, "Y", "")];
    let instances = [
        "p|100|70|1|running|Y|b||plain||1",
        "f|100|70|1|ADMIN_down|Y|b||file||1",
        "stuck|100|0|1|running|Y|off||plain||1",
    ];
    let cluster = built(&nodes, &instances);
    for reach in [Reach::External, Reach::Drbd] {
        let plan = run(&cluster, &SqueezeOptions { reach, ..options() });
        assert_eq!(why(&cluster, &plan, "b"), Hindrance::NotInReach(InstanceIdx::new(0)));
    }
    let all = SqueezeOptions { reach: Reach::All, ..options() };
    let Squeeze { plans, after, .. } = squeeze(&cluster, &[group()], &all);
    assert_eq!(names(&cluster, &plans[0].nodes), ["b"]);
    assert!(plans[0].steps.iter().all(|step| step.copies_while_stopped(&cluster)));
    let to: Vec<usize> = after.instances.iter().map(|instance| instance.primary.get()).collect();
    assert_eq!(to, [0, 0, 2]);
    assert_eq!(after.nodes[0].state.ledger.disk_free.0, 90_000 - 70);
    // An excluded instance stays.
    let mut excluded = Draft::of(&cluster);
    excluded.set_immobile(&[InstanceIdx::new(1)], Some(Immobile::Excluded));
    let plan = run(&excluded, &all);
    assert_eq!(why(&cluster, &plan, "b"), Hindrance::Fixed(InstanceIdx::new(1)));
    // The disks need room, too.
    let small = [node("a", 4000, "M", "").replace("90000|90000", "90000|60"), node("b", 3900, "N", "")];
    let plan = run(&built(&small, &instances[..1]), &all);
    assert_eq!(plan.decision, Decision::Nothing);
}

#[test]
fn a_node_that_is_off_counts_by_its_tag_a_file_or_its_like() {
    let full = |tags: &str| {
        let off = format!("off|0|0|0|0|0|0|Y|u|1|htools:standby:x{tags}");
        let instances = ["i|2000|0|1|running|Y|a||ext||1", "j|1900|0|1|running|Y|a||ext||1"];
        built(&[node("a", 100, "M", ""), off], &instances)
    };
    let untagged = full("");
    let plan = run(&untagged, &options());
    assert_eq!((plan.decision, plan.enough, plan.steps.len()), (Decision::Expand, true, 1));
    assert_eq!(plan.online_candidates[0].source, SizeSource::Like(NodeIdx::new(0)));
    // The node is too small for either instance and the reserve.
    let small = NodeSize {
        memory: 1000,
        node_memory: 0,
        disk: 10,
        free_disk: 10,
        cpus: 4,
        node_cpus: 0,
        spindles: 1,
        free_spindles: 0,
    };
    let tagged = full(&format!(",{}", small.tag()));
    let plan = run(&tagged, &options());
    assert_eq!((plan.online_candidates[0].source, plan.enough), (SizeSource::Tag, false));
    let raw = htools_ganeti::load::text::parse("g|u|preferred||\n\noff|9000|0|9000|1|1|4|N|u\n\n\n\n", "x");
    if let Ok(raw) = raw {
        let known_sizes = Sizes::of(&raw.nodes);
        let plan = run(&untagged, &SqueezeOptions { known_sizes, ..options() });
        assert_eq!(plan.online_candidates[0].source, SizeSource::File);
    }
}

#[test]
fn where_very_many_in_a_row_cannot_be_freed_the_others_are_not_tried() {
    let nodes: Vec<String> = (0..140).map(|at| node(&format!("n{at}"), 1500, "N", "")).collect();
    let rows: Vec<String> = (0..140).map(|at| format!("i{at}|2500|0|1|running|Y|n{at}||ext||1")).collect();
    let rows: Vec<&str> = rows.iter().map(String::as_str).collect();
    let (cluster, options) = (built(&nodes, &rows), options());
    let deadline = Deadline::never();
    let scope =
        GroupScope::of(&cluster, group(), &options, SqueezeWatch { deadline: &deadline, progress: &|_| {} });
    let kept = |way| condense::condense_by(&scope, usize::MAX, &cluster, way).0.kept;
    let unlikely = |way| kept(way).iter().filter(|kept| kept.why == Hindrance::Unlikely).count();
    assert_eq!([TrialWay::Onwards, TrialWay::OnlyEmptied].map(unlikely), [0, 12]);
}

#[test]
fn sizes_survive_as_tags() {
    let cluster = built(&[node("a", 4000, "M", "")], &[]);
    let size = NodeSize::of(cluster.node(NodeIdx::new(0)));
    assert_eq!(NodeSize::from_tag(&size.tag()), Some(size));
    assert!(size.tag().chars().all(|c| c.is_ascii_alphanumeric() || "-:/".contains(c)), "{}", size.tag());
    for bad in [
        "",
        "1",
        "1/2/3/4/5/6/7",
        "0/0/0/0/0/0/0/0",
        "1/-1/1/1/1/1/1/1",
        "9/9/9/9/9/9/9/99999999999999999999",
    ] {
        assert_eq!(NodeSize::from_tag(&format!("{STANDBY_SIZE}{bad}")), None, "{bad}");
    }
}

#[test]
fn standby_nodes_have_an_order() {
    let tags = ["auto", "word", "20", "3", "other,htools:standby:7"];
    let nodes = tags
        .iter()
        .enumerate()
        .map(|(at, tag)| node(&format!("n{at}"), 4000, "Y", &format!("htools:standby:{tag}")));
    let nodes: Vec<String> = nodes.chain([node("on", 4000, "M", "")]).collect();
    let cluster = built(&nodes, &[]);
    let plan = run(&cluster, &options());
    let order: Vec<NodeIdx> = plan.online_candidates.iter().map(|s| s.node).collect();
    assert_eq!(names(&cluster, &order), ["n3", "n4", "n2", "n1", "n0"]);
}

#[test]
fn nodes_say_why_they_stay() {
    let nodes = ["m", "file", "fixed", "pri", "sec", "free"];
    let nodes: Vec<String> =
        nodes.iter().map(|n| node(n, 3900, if *n == "m" { "M" } else { "N" }, "")).collect();
    let instances = [
        "f|100|0|1|running|Y|file||file||1",
        "x|100|0|1|running|N|fixed||ext||1",
        "d|100|10|1|running|Y|pri|sec|drbd||1",
        "e|100|10|1|running|Y|free||ext||1",
    ];
    let cluster = built(&nodes, &instances);
    let plan = run(&cluster, &options());
    assert_eq!(names(&cluster, &plan.nodes), ["free"]);
    let instance = InstanceIdx::new;
    assert_eq!(why(&cluster, &plan, "m"), Hindrance::Master);
    assert_eq!(why(&cluster, &plan, "file"), Hindrance::NotInReach(instance(0)));
    assert_eq!(why(&cluster, &plan, "fixed"), Hindrance::Fixed(instance(1)));
    assert_eq!(why(&cluster, &plan, "pri"), Hindrance::NotInReach(instance(2)));
    assert_eq!(why(&cluster, &plan, "sec"), Hindrance::SecondaryOf(instance(2)));
    let plan = run(&cluster, &SqueezeOptions { reach: Reach::All, max_nodes: Some(0), ..options() });
    assert_eq!(why(&cluster, &plan, "file"), Hindrance::MaxNodes);
    assert_eq!(why(&cluster, &plan, "fixed"), Hindrance::Fixed(instance(1)));
    assert_eq!(why(&cluster, &plan, "free"), Hindrance::MaxNodes);
    let left_alone = vec![NodeIdx::new(5)];
    let plan = run(&cluster, &SqueezeOptions { left_alone, ..options() });
    assert_eq!(why(&cluster, &plan, "free"), Hindrance::LeftAlone);
}

#[test]
fn drbd_instances_move_if_they_may() {
    let nodes: Vec<String> =
        ["m", "b", "c", "d"].iter().map(|n| node(n, 3900, if *n == "m" { "M" } else { "N" }, "")).collect();
    let cluster = built(&nodes, &["i|100|10|1|running|Y|c|d|drbd||1"]);
    assert_eq!(names(&cluster, &run(&cluster, &options()).nodes), ["b"]);
    let plan = run(&cluster, &SqueezeOptions { reach: Reach::Drbd, ..options() });
    assert_eq!(plan.nodes.len(), 2);
    assert!(!plan.steps.is_empty());
}

#[test]
fn a_group_keeps_a_node() {
    let cluster = built(&[node("a", 4000, "N", ""), node("b", 4000, "N", "")], &[]);
    let plan = run(&cluster, &options());
    assert_eq!(names(&cluster, &plan.nodes), ["b"]);
    assert_eq!(why(&cluster, &plan, "a"), Hindrance::LastNode);
}

#[test]
fn a_reserve_that_must_not_be_used_is_none() {
    let nodes =
        [node("a", 2000, "M", ""), node("b", 3000, "N", ""), node("s", 4000, "Y", "htools:standby:x")];
    let instances = [
        "i|1000|0|1|running|Y|a||ext||1",
        "j|1000|0|1|running|Y|a||ext||1",
        "k|1000|0|1|running|Y|b||ext||1",
    ];
    let cluster = built(&nodes, &instances);
    // Either node has 1024 MiB, but the other one could not take all of it then.
    let options = SqueezeOptions { minimal: 8.0, target: 8.0, ..SqueezeOptions::default() };
    let plan = run(&cluster, &options);
    assert_eq!((plan.decision, plan.enough), (Decision::Expand, true));
    assert_eq!((names(&cluster, &plan.nodes), plan.missing), (vec!["s".to_owned()], None));
    assert_eq!(plan.exposed, Some(NodeIdx::new(1)));
    let unchecked = SqueezeOptions { capacity_checks: false, ..options.clone() };
    assert_eq!(run(&cluster, &unchecked).decision, Decision::Nothing);
    // A node that would have to come back is not freed either.
    let all_on = built(&[&nodes[..2], &[node("s", 4000, "N", "")]].concat(), &instances);
    assert_eq!(why(&all_on, &run(&all_on, &options), "s"), Hindrance::Exposed(NodeIdx::new(1)));
    assert_eq!(names(&all_on, &run(&all_on, &unchecked).nodes), ["s"]);
}

pub(super) fn any_cluster() -> impl Strategy<Value = (Cluster, SqueezeOptions)> {
    let nodes = prop::collection::vec((0usize..8, 1i64..4), 2..9);
    let instances = prop::collection::vec((any::<u8>(), any::<u8>(), 1i64..12, 0u8..12), 0..24);
    let reach = prop::sample::select(vec![Reach::External, Reach::Drbd, Reach::All]);
    let switches = (any::<bool>(), any::<bool>());
    (nodes, instances, reach, switches, 0.0f64..4.0, 0.0f64..4.0).prop_map(
        |(nodes, instances, reach, (capacity_checks, deep), minimal, more)| {
            let count = nodes.len();
            let mut used = vec![0; count];
            let mut rows = Vec::new();
            for (at, (p, s, mem, kind)) in instances.into_iter().enumerate() {
                let (p, mem) = (usize::from(p) % count, mem * 100);
                let s = (p + 1 + usize::from(s) % (count - 1)) % count;
                let room = nodes[p].1 * 1500 - used[p] - mem;
                if room < 0 {
                    continue;
                }
                used[p] += mem;
                let balanced = if kind == 0 { "N" } else { "Y" };
                let (second, template) = match kind {
                    1 => (String::new(), "plain"),
                    2 => (String::new(), "file"),
                    3..=5 => (format!("n{s}"), "drbd"),
                    _ => (String::new(), "ext"),
                };
                rows.push(format!("i{at}|{mem}|10|1|running|{balanced}|n{p}|{second}|{template}||1"));
            }
            let nodes: Vec<String> = (0..)
                .zip(&nodes)
                .map(|(at, (kind, size)): (usize, _)| {
                    let (role, tags) = match kind {
                        _ if at == 0 => ("M", ""),
                        0 => ("Y", "htools:standby:auto"),
                        1 => ("Y", ""),
                        _ => ("N", ""),
                    };
                    let total = size * 1500;
                    format!("n{at}|{total}|0|{}|90000|80000|9|{role}|u|1|{tags}", total - used[at])
                })
                .collect();
            let rows: Vec<&str> = rows.iter().map(String::as_str).collect();
            let options = SqueezeOptions {
                minimal,
                target: minimal + more,
                reach,
                capacity_checks,
                deep,
                ..SqueezeOptions::default()
            };
            (built(&nodes, &rows), options)
        },
    )
}

/// Checks what must hold after nodes were freed.
fn assert_kept(before: &Cluster, after: &Cluster, plan: &GroupPlan, options: &SqueezeOptions) {
    for instance in &after.instances {
        assert!(!instance.nodes().any(|n| plan.nodes.contains(&n)), "{} is left", instance.name);
    }
    let target = Reserve::of(&before.policy, options.target);
    let nodes = before.nodes_of(plan.group).to_vec();
    assert_eq!(target.first_lack(after, &nodes), None);
    let online = |n: &NodeIdx| !before.node(*n).spec.offline;
    let at_risk = || htools_model::redundancy::global::nodes_at_risk(before, &nodes, Departures::BySize);
    if options.capacity_checks && !at_risk().iter().any(online) {
        assert_eq!(target.unusable(after, &nodes, &mut None), None);
    }
    let stay = nodes.iter().filter(|n| !after.node(**n).spec.offline).count();
    assert!(fewest_online(before, plan.group, options) <= stay, "the bound is above a plan");
    for node in after.nodes.iter().filter(|n| !n.spec.offline) {
        let before = before.node(node.spec.idx).state.ledger.n1_fail;
        assert!(before || !node.state.ledger.n1_fail, "{} fails N+1", node.spec.name);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn plans_keep_their_promises((cluster, options) in any_cluster()) {
        let found = squeeze(&cluster, &[group()], &options);
        let nodes = cluster.nodes_of(group()).to_vec();
        for (plan, before, after) in replayed(&found, &cluster) {
            match plan.decision {
                Decision::Condense => assert_kept(before, after, plan, &options),
                Decision::Nothing => prop_assert!(plan.nodes.is_empty() && plan.steps.is_empty()),
                Decision::Expand => {
                    let minimal = Reserve::of(&cluster.policy, options.minimal);
                    prop_assert!(!plan.enough || minimal.first_lack(after, &nodes).is_none());
                    prop_assert!(plan.enough || plan.nodes.len() == plan.online_candidates.len());
                }
            }
        }
    }

    #[test]
    fn a_run_on_its_own_result_does_nothing((cluster, options) in any_cluster()) {
        let Squeeze { plans, after, .. } = squeeze(&cluster, &[group()], &options);
        if plans.iter().all(|plan| plan.enough) {
            prop_assert_eq!(run(&after, &options).decision, Decision::Nothing);
        }
    }

    #[test]
    fn large_groups_get_valid_plans_by_the_quicker_way((cluster, options) in any_cluster()) {
        let deadline = Deadline::never();
        let scope = GroupScope::of(&cluster, group(), &options, SqueezeWatch { deadline: &deadline, progress: &|_| {} });
        for way in [TrialWay::Onwards, TrialWay::OnlyEmptied] {
            if !scope.needs_more() {
                let (plan, after) = condense::condense_by(&scope, usize::MAX, &cluster, way);
                if let Some(after) = after {
                    assert_kept(&cluster, &after, &plan, &options);
                }
            }
        }
    }

    #[test]
    fn what_is_found_until_an_interrupt_is_a_whole_plan(
        (cluster, options) in any_cluster(),
        asked in 0usize..40,
    ) {
        // The search is interrupted when it examines the candidate with this number.
        let interrupted = Arc::new(AtomicBool::new(asked == 0));
        let deadline = Deadline::new(None, Arc::clone(&interrupted));
        let progress = |now: SqueezeProgress| interrupted.store(now.looked_at >= asked, Ordering::SeqCst);
        let watch = SqueezeWatch { deadline: &deadline, progress: &progress };
        for way in [TrialWay::Anew, TrialWay::Onwards, TrialWay::OnlyEmptied] {
            let scope = GroupScope::of(&cluster, group(), &options, watch);
            if scope.needs_more() {
                continue;
            }
            let (plan, after) = condense::condense_by(&scope, usize::MAX, &cluster, way);
            if let Some(after) = after {
                assert_kept(&cluster, &after, &plan, &options);
            }
            let not_tried = plan.kept.iter().any(|kept| kept.why == Hindrance::NotTried);
            prop_assert!(!not_tried || scope.stopped() == Some(Stopped::Interrupt));
        }
        interrupted.store(true, Ordering::SeqCst);
        let Squeeze { plans, after, .. } = squeeze_watched(&cluster, &[group()], &options, watch);
        if plans[0].decision == Decision::Condense {
            assert_kept(&cluster, &after, &plans[0], &options);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// Undoing restores every number to the last bit, and the order of all lists.
    #[test]
    fn what_is_taken_back_was_never_done((cluster, options) in any_cluster(), freed in 1usize..3) {
        let deadline = Deadline::never();
        let scope = GroupScope::of(&cluster, group(), &options, SqueezeWatch { deadline: &deadline, progress: &|_| {} });
        let freed: Vec<NodeIdx> = scope.online().take(freed).collect();
        let mut tried = Draft::of(&cluster);
        let unchanged = tried.mark();
        tried.set_offline(&freed, true);
        let emptied = scope.evacuated(tried);
        let mut tried = scope.balanced(emptied.cluster).cluster;
        tried.back_to(unchanged);
        prop_assert_eq!(format!("{:?}", tried.into_cluster()), format!("{:?}", cluster));
    }
}

//! A small cluster whose metrics, move scores and first step are known from the reference.

use htools::load::merge::{finish, merge};
use htools::load::raw::{RawCluster, RawGroup, RawInstance, RawNode};
use htools::model::{
    AllocPolicy, Cluster, Disk, DiskParameters, DiskTemplate, Draft, GroupIdx, InstanceIdx, InstancePolicy,
    Mib, Move, NodeIdx, Outage, RunStatus, Step,
};
use htools::plan::checker::{CheckOptions, Fault, JobsetFault, check, check_jobsets, check_scores};
use htools::plan::graph::StepIdx;
use htools::plan::jobset::Jobset;
use htools::redundancy::n_plus_one::unavoidable_score;
use htools::score::{Board, TABLE};
use htools::search::moves::Trial;
use htools::search::{BalanceOptions, Balancer, MoveRules};

const N1: usize = 0;
const N2: usize = 1;
const N3: usize = 2;

fn node(name: &str, mem: f64, mem_free: i64, disk: f64, disk_free: i64, cpus: f64, spindles: i64) -> RawNode {
    RawNode {
        name: name.to_owned(),
        mem_total: mem,
        mem_node: Mib(512),
        mem_free: Mib(mem_free),
        disk_total: disk,
        disk_free: Mib(disk_free),
        cpu_total: cpus,
        cpu_node: 1,
        cpu_speed: 1.0,
        spindle_total: spindles,
        spindle_free: 0,
        exclusive_storage: false,
        offline: false,
        outage: Outage::default(),
        master: false,
        group: GroupIdx::new(0),
        tags: Vec::new(),
        hypervisor: None,
    }
}

fn instance(
    name: &str,
    mem: i64,
    disk: i64,
    vcpus: i64,
    nodes: &[usize],
    template: DiskTemplate,
) -> RawInstance {
    RawInstance {
        name: name.to_owned(),
        mem: Mib(mem),
        disk: Mib(disk),
        disks: vec![Disk { size: Mib(disk), spindles: None }],
        vcpus,
        status: RunStatus::Running,
        auto_balance: true,
        primary: NodeIdx::new(nodes[0]),
        secondary: nodes.get(1).map(|n| NodeIdx::new(*n)),
        template,
        spindle_use: 1,
        tags: Vec::new(),
        networks: Vec::new(),
        forthcoming: false,
    }
}

fn cluster() -> Draft {
    let raw = RawCluster {
        groups: vec![RawGroup {
            name: "default".to_owned(),
            uuid: "uuid-1".to_owned(),
            alloc_policy: AllocPolicy::Preferred,
            networks: Vec::new(),
            policy: InstancePolicy::default(),
            disk_parameters: DiskParameters::default(),
            tags: Vec::new(),
        }],
        nodes: vec![
            node("n1", 8192.0, 4480, 102_400.0, 71_680, 4.0, 2),
            node("n2", 8192.0, 6656, 102_400.0, 81_920, 4.0, 2),
            node("n3", 16384.0, 15872, 204_800.0, 204_800, 8.0, 4),
        ],
        instances: vec![
            instance("web", 2048, 20480, 2, &[N1, N2], DiskTemplate::Drbd),
            instance("db", 1024, 10240, 1, &[N1], DiskTemplate::Plain),
            instance("aux", 1024, 0, 1, &[N2], DiskTemplate::Ext),
        ],
        ..RawCluster::default()
    };
    let mut cluster = merge(raw, &Default::default()).expect("nothing to select");
    finish(&mut cluster, Mib(0));
    cluster.into()
}

/// Checks metrics by name; all others must be 0.
fn assert_metrics(cluster: &Cluster, expected: &[(&str, f64)], tolerance: f64) {
    let components = Board::new(cluster, &cluster.all_nodes()).components();
    for (metric, value) in TABLE.iter().zip(&components.values) {
        let known = expected.iter().find(|e| e.0 == metric.name).map_or(0.0, |e| e.1);
        assert!((value - known).abs() <= tolerance, "{}: {value} is not {known}", metric.name);
    }
}

#[test]
fn metrics_at_the_start() {
    let cluster = cluster();
    let all = [
        ("free_mem_cv", 0.1741484739302134),
        ("free_disk_cv", 0.12472191289246473),
        ("reserved_mem_cv", 0.11785113019775792),
        ("vcpu_ratio_cv", 0.35843021946010944),
        ("cpu_load_cv", 0.816496580927726),
        ("mem_load_cv", 0.816496580927726),
        ("disk_load_cv", 0.9428090415820634),
        ("net_load_cv", 0.816496580927726),
        ("spindles_cv", 0.01275775907699572),
        ("free_mem_cv_forth", 0.1741484739302134),
        ("free_disk_cv_forth", 0.12472191289246473),
        ("vcpu_ratio_cv_forth", 0.35843021946010944),
        ("spindles_cv_forth", 0.01275775907699572),
        ("reserved_mem_rtotal", 0.25),
    ];
    assert_metrics(&cluster, &all, 0.0);
    let nodes = cluster.all_nodes();
    assert_eq!(Board::new(&cluster, &nodes).score(), 4.242708279922782);
    assert_eq!(unavoidable_score(&cluster, &nodes), 0.015625);
}

#[test]
fn memory_at_the_start() {
    let cluster = cluster();
    let figures = |n: usize| {
        let node = cluster.node(NodeIdx::new(n));
        let ledger = &node.state.ledger;
        (ledger.mem_unallocated(&node.spec).0, ledger.mem_reserved.0, ledger.n1_fail)
    };
    assert_eq!([N1, N2, N3].map(figures), [(4480, 0, false), (6656, 2048, false), (15872, 0, false)]);
}

#[test]
fn scores_of_all_moves() {
    let cluster = cluster();
    let board = Board::new(&cluster, &cluster.all_nodes());
    let (n1, n3) = (NodeIdx::new(N1), NodeIdx::new(N3));
    let scores = [
        (0, Move::Failover, 4.23506363),
        (0, Move::ReplaceSecondary(n3), 3.68164913),
        (0, Move::ReplaceAndFailover(n3), 0.86816962),
        (0, Move::ReplacePrimary(n3), 0.78099231),
        (0, Move::FailoverAndReplace(n3), 3.58682717),
        (2, Move::FailoverTo(n1), 6.56190927),
        (2, Move::FailoverTo(n3), 3.76951491),
    ];
    for (instance, mv, expected) in scores {
        let instance = cluster.instance(InstanceIdx::new(instance));
        let trial = Trial::new(&cluster, instance, &MoveRules::default());
        let outcome = trial.run(mv).expect("a possible move");
        let score = board.score_with(outcome.touched(), 0);
        assert!((score - expected).abs() < 5e-9, "{mv:?}: {score} is not {expected}");
    }
}

fn balance(cluster: &mut Draft, options: BalanceOptions) -> Vec<Step> {
    let nodes = cluster.all_nodes();
    let mut balancer = Balancer::new(cluster, &nodes, options);
    std::iter::from_fn(|| balancer.next_step()).collect()
}

fn first_step(rules: MoveRules) -> (Move, f64) {
    let steps = balance(&mut cluster(), BalanceOptions { rules, max_length: 1, ..Default::default() });
    (steps[0].mv, (steps[0].score * 1e8).round() / 1e8)
}

#[test]
fn the_best_move_of_each_restricted_set() {
    let n3 = NodeIdx::new(N3);
    let all = MoveRules::default();
    assert_eq!(first_step(all), (Move::ReplacePrimary(n3), 0.78099231));
    let only_disks = MoveRules { instance_moves: false, ..all };
    assert_eq!(first_step(only_disks), (Move::ReplaceSecondary(n3), 3.68164913));
    let only_instances = MoveRules { disk_moves: false, ..all };
    assert_eq!(first_step(only_instances), (Move::FailoverTo(n3), 3.76951491));
    let steps = balance(&mut cluster(), BalanceOptions { rules: only_instances, ..Default::default() });
    assert_eq!(steps[1].mv, Move::Failover);
    assert!((steps[1].score - 1.08266378).abs() < 5e-9);
}

#[test]
fn metrics_after_the_first_step() {
    let mut cluster = cluster();
    balance(&mut cluster, BalanceOptions { max_length: 1, ..Default::default() });
    let after = [
        ("free_mem_cv", 0.01948780),
        ("free_disk_cv", 0.04714045),
        ("reserved_mem_cv", 0.11785113),
        ("vcpu_ratio_cv", 0.05892557),
        ("disk_load_cv", 0.47140452),
        ("spindles_cv", 0.00368285),
        ("free_mem_cv_forth", 0.01948780),
        ("free_disk_cv_forth", 0.04714045),
        ("vcpu_ratio_cv_forth", 0.05892557),
        ("spindles_cv_forth", 0.00368285),
        ("reserved_mem_rtotal", 0.25),
    ];
    assert_metrics(&cluster, &after, 5e-9);
    let components = Board::new(&cluster, &cluster.all_nodes()).components();
    assert!((components.score() - 0.78099231).abs() < 5e-9);
}

#[test]
fn without_online_nodes_instances_on_offline_ones_count() {
    let mut cluster = cluster().into_cluster();
    for node in &mut cluster.nodes {
        node.spec.offline = true;
    }
    let board = Board::new(&cluster, &cluster.all_nodes());
    // three primaries and one secondary
    assert_eq!((board.score(), board.components().values.len()), (3.0 * 20.0 + 4.0, TABLE.len()));
    assert_eq!(Board::new(&cluster, &[]).components().values.len(), 0);
}

#[test]
fn the_first_flags_compare_unallocated_memory_with_the_reserve() {
    let flags = |mem_free: i64| {
        let mut cluster = cluster().into_cluster();
        cluster.nodes[N2].spec.mem_free = Mib(mem_free);
        finish(&mut cluster, Mib(0));
        cluster.nodes[N2].state.ledger.n1_fail
    };
    assert_eq!([2047, 2048, 2049].map(flags), [true, true, false]);
}

/// The plan that moves `web` away from n1 and then `aux` to n1 or n3.
fn plan() -> (Cluster, Vec<Step>) {
    let start = cluster().into_cluster();
    let options = BalanceOptions { min_gain: 0.0, min_gain_limit: 0.0, ..Default::default() };
    let steps = balance(&mut Draft::of(&start), options);
    (start, steps)
}

#[test]
fn the_checker_names_the_rule_and_the_figures() {
    let (mut start, steps) = plan();
    let nodes = start.all_nodes();
    assert!(check(&start, &nodes, &steps, CheckOptions::default()).is_ok());
    assert_eq!(check_scores(&start, &nodes, &steps), Ok(()));
    // n2 must run `web` while n3 becomes the new primary.
    start.nodes[N2].spec.mem_unaccounted = Mib(5000);
    let violation = check(&start, &nodes, &steps, CheckOptions::default()).expect_err("n2 is full");
    let Fault::Rule(unmet) = &violation.fault else { panic!("{violation}") };
    assert_eq!((violation.step, unmet.node.as_str(), unmet.needed, unmet.there), (1, "n2", 0.0, -392.0));
    assert_eq!(
        violation.to_string(),
        "step 1, instance 'web': node 'n2' would break the rule on unallocated memory: limit 0, found -392"
    );
    start.nodes[N2].spec.offline = true;
    let violation = check(&start, &nodes, &steps, CheckOptions::default()).expect_err("n2 is offline");
    assert_eq!(violation.fault, Fault::Offline("n2".to_owned()));
}

fn sets(positions: &[&[usize]]) -> Vec<Jobset> {
    positions.iter().map(|set| set.iter().copied().map(StepIdx::new).collect()).collect()
}

#[test]
fn jobsets_hold_every_step_once_in_order_on_nodes_of_its_own() {
    let (_, steps) = plan();
    let first = steps[0];
    let steps = [first, first];
    assert_eq!(check_jobsets(&steps, &sets(&[&[0], &[1]])), Ok(()));
    assert_eq!(check_jobsets(&[], &[]), Ok(()));
    let shared = JobsetFault::SharedNode { jobset: 1, step: 2, node: NodeIdx::new(N1) };
    assert_eq!(check_jobsets(&steps, &sets(&[&[0, 1]])), Err(shared));
    assert_eq!(check_jobsets(&steps, &sets(&[&[0]])), Err(JobsetFault::Missing(2)));
    let twice = JobsetFault::OutOfOrder { jobset: 2, step: 1, expected: 2 };
    assert_eq!(check_jobsets(&steps, &sets(&[&[0], &[0]])), Err(twice));
    let swapped = JobsetFault::OutOfOrder { jobset: 1, step: 2, expected: 1 };
    assert_eq!(check_jobsets(&steps, &sets(&[&[1], &[0]])), Err(swapped));
    assert_eq!(check_jobsets(&steps, &sets(&[&[7]])), Err(JobsetFault::NoStep { jobset: 1, step: 8 }));
}

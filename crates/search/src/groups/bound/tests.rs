//! Comparison with all orders of departure and all places, on small clusters.

use std::cell::RefCell;
use std::collections::HashSet;

use proptest::prelude::*;

use super::super::compress::{compress, compress_until};
use super::*;
use htools_model::{Draft, NodeIdx, Placement};
use htools_testkit::groups;

/// A random node, in small numbers.
#[derive(Debug, Clone)]
struct NodeRecipe {
    memory: i64,
    disk: i64,
    cpus: i64,
    spindles: i64,
    online: bool,
    tags: &'static str,
}

/// A random group. The name's first letter is the policy, and the templates are those of its policy.
#[derive(Debug, Clone)]
struct GroupRecipe {
    policy: &'static str,
    tags: &'static str,
    templates: &'static str,
    nodes: Vec<NodeRecipe>,
}

/// A random instance on the nodes with these numbers, counted around.
#[derive(Debug, Clone)]
struct InstanceRecipe {
    memory: i64,
    disk: i64,
    cpus: i64,
    primary: usize,
    secondary: usize,
    template: &'static str,
    status: &'static str,
    tags: &'static str,
    balanced: bool,
}

fn node() -> impl Strategy<Value = NodeRecipe> {
    let tags = prop::sample::select(vec!["", "", "", "", "htools:migration:x", "htools:allowmigration:x::x"]);
    (3i64..9, 3i64..12, 1i64..3, 1i64..3, prop::bool::weighted(0.97), tags).prop_map(
        |(memory, disk, cpus, spindles, online, tags)| NodeRecipe {
            memory,
            disk,
            cpus,
            spindles,
            online,
            tags,
        },
    )
}

fn group() -> impl Strategy<Value = GroupRecipe> {
    let policy = prop::sample::select(vec!["", "", "", "", "", "", "", "", "~", "-"]);
    let tags = prop::sample::select(vec![
        "",
        "",
        "",
        "",
        "",
        "",
        "",
        "",
        "htools:pool:ssd",
        "htools:pool:ext",
        "htools:intergroup:deny",
    ]);
    let templates = prop::sample::select(vec!["drbd,ext,diskless", "drbd,ext,diskless", "drbd,ext", "ext"]);
    (policy, tags, templates, prop::collection::vec(node(), 1..4))
        .prop_map(|(policy, tags, templates, nodes)| GroupRecipe { policy, tags, templates, nodes })
}

fn instance() -> impl Strategy<Value = InstanceRecipe> {
    let template = prop::sample::select(vec![
        "drbd", "drbd", "drbd", "drbd", "ext", "ext", "ext", "ext", "diskless", "plain",
    ]);
    let status = prop::sample::select(vec!["running", "running", "running", "ADMIN_down"]);
    let tags = prop::sample::select(vec!["", "", "", "", "", "ha:a", "htools:pool:ssd"]);
    let sizes = (1i64..5, 1i64..4, 1i64..3);
    (sizes, any::<(u8, u8)>(), template, status, tags, prop::bool::weighted(0.97)).prop_map(
        |((memory, disk, cpus), (primary, secondary), template, status, tags, balanced)| InstanceRecipe {
            memory,
            disk,
            cpus,
            primary: primary.into(),
            secondary: secondary.into(),
            template,
            status,
            tags,
            balanced,
        },
    )
}

/// A cluster with the instances that find memory and disk. Secondaries are in the groups of the primaries.
fn built(recipes: &[GroupRecipe], instances: &[InstanceRecipe]) -> Cluster {
    let name = |at: usize, recipe: &GroupRecipe| format!("{}g{at}", recipe.policy);
    let rows: Vec<String> = (recipes.iter().enumerate())
        .map(|(at, recipe)| format!("{}|{}|{}", name(at, recipe), recipe.tags, recipe.templates))
        .collect();
    let nodes: Vec<(usize, &NodeRecipe)> = recipes
        .iter()
        .enumerate()
        .flat_map(|(at, recipe)| recipe.nodes.iter().map(move |node| (at, node)))
        .collect();
    let mut memory: Vec<i64> = nodes.iter().map(|(_, node)| node.memory * 500).collect();
    let mut disk: Vec<i64> = nodes.iter().map(|(_, node)| node.disk * 1500).collect();
    let mut instance_rows = Vec::new();
    for (at, recipe) in instances.iter().enumerate() {
        let p = recipe.primary % nodes.len();
        let beside: Vec<usize> = (0..nodes.len()).filter(|n| *n != p && nodes[*n].0 == nodes[p].0).collect();
        let mirrored = recipe.template == "drbd";
        if mirrored && beside.is_empty() {
            continue;
        }
        let s = mirrored.then(|| beside[recipe.secondary % beside.len()]);
        let (size, stored) = (recipe.memory * 260, recipe.disk * 1024);
        let taken = if recipe.template == "drbd" || recipe.template == "plain" { stored } else { 0 };
        if memory[p] <= size || disk[p] <= taken || s.is_some_and(|s| disk[s] <= taken) {
            continue;
        }
        memory[p] -= if recipe.status == "running" { size } else { 0 };
        disk[p] -= taken;
        let second = s.map_or(String::new(), |s| {
            disk[s] -= taken;
            format!("n{s}")
        });
        let InstanceRecipe { cpus, status, template, tags, .. } = recipe;
        let balanced = if recipe.balanced { "Y" } else { "N" };
        instance_rows.push(format!(
            "i{at}|{size}|{stored}|{cpus}|{status}|{balanced}|n{p}|{second}|{template}|{tags}|1"
        ));
    }
    let node_row = |(at, (group, node)): (usize, &(usize, &NodeRecipe))| {
        let role = if node.online { "N" } else { "Y" };
        let of = name(*group, &recipes[*group]);
        format!(
            "n{at}|{}|0|{}|{}|{}|{}|{role}|{of}|{}|{}|N|{}",
            node.memory * 500,
            memory[at],
            node.disk * 1500,
            disk[at],
            node.cpus,
            node.spindles,
            node.tags,
            node.spindles,
        )
    };
    let node_rows: Vec<String> = nodes.iter().enumerate().map(node_row).collect();
    let rows: Vec<&str> = rows.iter().map(String::as_str).collect();
    let mut cluster = groups(&rows, &node_rows, &instance_rows, &["htools:iextags:ha"]);
    for node in &mut cluster.nodes {
        node.spec.vcpu_ratio = 3.0;
        node.spec.spindle_limit = node.spec.spindle_total as f64 * 2.0;
    }
    cluster
}

/// States that are compared at most.
const STATES: usize = 2000;

/// Tells if some order of departures empties a group. `None` if there are too many states.
struct Search<'c> {
    cluster: &'c Cluster,
    placing: Placing<'c>,
    residents: Vec<InstanceIdx>,
    places: Vec<Placement>,
    seen: HashSet<Vec<Placement>>,
}

impl Search<'_> {
    fn empties(&mut self, draft: &mut Draft, left: usize) -> Option<bool> {
        if left == 0 {
            return Some(true);
        }
        for idx in self.residents.clone() {
            let instance = draft.instance(idx).clone();
            let home = self.cluster.node(self.cluster.instance(idx).primary).spec.group;
            if draft.node(instance.primary).spec.group != home {
                continue;
            }
            let roles = if instance.template.has_secondary() { 2 } else { 1 };
            for place in self.places.clone() {
                if place.secondary.map_or(1, |_| 2) != roles {
                    continue;
                }
                let start = draft.mark();
                if self.placing.put(draft, idx, place).is_some() {
                    let state = self.residents.iter().map(|i| draft.instance(*i).placement()).collect();
                    if self.seen.insert(state) && self.empties(draft, left - 1)? {
                        return Some(true);
                    }
                    draft.back_to(start);
                }
                if self.seen.len() > STATES {
                    return None;
                }
            }
        }
        Some(false)
    }
}

/// Tells if a group can be emptied. `None` if there are too many states.
fn can_be_emptied(cluster: &Cluster, group: GroupIdx, options: &RegroupOptions) -> Option<bool> {
    let setting = Setting::of(cluster, options);
    let residents = residents(cluster, group);
    if residents.is_empty() || options.max_moves.is_some_and(|most| residents.len() > most) {
        return Some(false);
    }
    let elsewhere = |n: &NodeIdx| cluster.node(*n).spec.group != group;
    let nodes: Vec<NodeIdx> = cluster.all_nodes().into_iter().filter(elsewhere).collect();
    let partners = |p: NodeIdx| {
        let beside = move |s: &NodeIdx| *s != p && cluster.node(*s).spec.group == cluster.node(p).spec.group;
        let secondaries = nodes.iter().copied().filter(beside).map(Some);
        std::iter::once(None).chain(secondaries).map(move |secondary| Placement { primary: p, secondary })
    };
    let places = nodes.iter().flat_map(|p| partners(*p)).collect();
    let placing = Placing::new(cluster, &setting);
    let count = residents.len();
    let mut search = Search { cluster, placing, residents, places, seen: HashSet::new() };
    search.empties(&mut Draft::of(cluster), count)
}

/// Numbers of groups that were compared, that can be emptied, that a plan empties, that cannot be emptied, and of these
/// without and with a proof.
#[derive(Debug, Default)]
struct Tally {
    compared: usize,
    possible: usize,
    planned: usize,
    impossible: usize,
    proven: usize,
    /// Groups that were refuted by sums only.
    by_sums: usize,
}

#[test]
fn no_order_empties_more_groups_than_the_bound() {
    let tally = RefCell::new(Tally::default());
    let input = (
        prop::collection::vec(group(), 2..4),
        prop::collection::vec(instance(), 1..8),
        prop::bool::weighted(0.6),
        prop::option::weighted(0.2, 1usize..4),
    );
    let config = ProptestConfig { failure_persistence: None, cases: 8000, ..ProptestConfig::default() };
    let mut runner = proptest::test_runner::TestRunner::new(config);
    let run = runner.run(&input, |(recipes, instances, capacity_checks, max_moves)| {
        let cluster = built(&recipes, &instances);
        let options = RegroupOptions { capacity_checks, max_moves };
        let found = compress(&cluster, &cluster.groups_with_nodes(), &options);
        let proof = found.proof(&cluster, &options, &Deadline::never());
        let setting = Setting::of(&cluster, &options);
        let ground = EmptyingGround {
            cluster: &cluster,
            setting: &setting,
            placing: &Placing::new(&cluster, &setting),
            max_moves,
            deadline: &Deadline::never(),
        };
        let mut tally = tally.borrow_mut();
        let mut possible = 0;
        for candidate in &found.candidates {
            let residents = residents(&cluster, candidate.group);
            let Some(can_be) = can_be_emptied(&cluster, candidate.group, &options) else { return Ok(()) };
            let is_emptied = matches!(candidate.outcome, Compressed::Emptied(_));
            let refuted = ground.refutes(candidate.group);
            prop_assert!(!is_emptied || can_be, "a plan is not found by brute force: {:?}", candidate);
            prop_assert!(!refuted || !can_be, "refuted, but {:?} can be emptied", candidate);
            prop_assert_eq!(proof.undecided.contains(&candidate.group), !refuted && !is_emptied);
            possible += usize::from(can_be);
            tally.compared += 1;
            tally.possible += usize::from(can_be);
            tally.planned += usize::from(is_emptied);
            let held = |i: &InstanceIdx| ground.always_stays(cluster.instance(*i));
            if !can_be && !residents.is_empty() && !residents.iter().any(held) {
                tally.impossible += 1;
                tally.proven += usize::from(refuted);
                let guests = guests(&ground, candidate.group, &residents).expect("amounts are plausible");
                tally.by_sums += usize::from(refuted && !guests.iter().any(Guest::has_no_place));
            }
        }
        prop_assert!(possible <= proof.most, "{} of at most {} groups", possible, proof.most);
        Ok(())
    });
    run.unwrap_or_else(|error| panic!("{error}"));
    let tally = tally.into_inner();
    assert!(tally.compared > 5000 && tally.possible > 1000 && tally.by_sums > 200, "{tally:?}");
    assert!(tally.proven * 100 > tally.impossible * 95, "{tally:?}");
}

/// Bound and undecided groups if `a` has these instances, and `b` has nodes with 9000 MiB memory each.
fn proven(nodes: usize, template: &str, memory: &[i64], capacity_checks: bool) -> (usize, usize) {
    let row =
        |name: String, free: i64| format!("{name}|99000|0|{free}|900000|800000|9|N|{}|9||N|9", &name[..1]);
    let free = 99000 - memory.iter().sum::<i64>();
    let there = (1..=nodes).map(|at| row(format!("b{at}"), 9000).replace("99000|0", "9000|0"));
    let rows = [row("a1".to_owned(), free), row("a2".to_owned(), 99000)].into_iter().chain(there);
    let second = if template == "drbd" { "a2" } else { "" };
    let instance =
        |(at, size): (usize, &i64)| format!("i{at}|{size}|1024|1|running|Y|a1|{second}|{template}||1");
    let instances: Vec<String> = memory.iter().enumerate().map(instance).collect();
    let cluster = groups(&["a||drbd,ext", "b||drbd,ext"], &rows.collect::<Vec<_>>(), &instances, &[]);
    let options = RegroupOptions { capacity_checks, max_moves: None };
    let found = compress(&cluster, &cluster.groups_with_nodes(), &options);
    let proof = found.proof(&cluster, &options, &Deadline::never());
    assert_eq!(proof.most, proof.emptied + proof.undecided.len());
    (proof.most, proof.undecided.len())
}

#[test]
fn simple_bounds() {
    // Of 9000 MiB, 1 must stay free. The empty group b cannot be emptied.
    assert_eq!(proven(2, "ext", &[4000; 4], false), (1, 0));
    assert_eq!(proven(2, "ext", &[4000; 5], false), (0, 0), "two fit on a node");
    assert_eq!(proven(2, "ext", &[9000], false), (0, 0));
    // If a node is lost, one holds all.
    assert_eq!(proven(2, "ext", &[4000; 2], true), (1, 0));
    assert_eq!(proven(2, "ext", &[4000; 3], true), (0, 0));
    // Each node keeps as much as the other has.
    assert_eq!(proven(2, "drbd", &[4000; 2], false), (1, 0));
    assert_eq!(proven(2, "drbd", &[4000; 3], false), (0, 0));
    assert_eq!(proven(1, "drbd", &[1000], false), (0, 0), "there is no second node");
    // None of the small ones fits beside the large one, and not all of them fit on the other node.
    assert_eq!(proven(2, "ext", &[6000, 3001, 3001, 3001], false), (1, 1));
}

#[test]
fn groups_are_undecided_after_the_deadline() {
    let rows = ["a1|9000|0|8000|900000|800000|9|N|a|9||N|9", "b1|9000|0|9000|900000|800000|9|N|b|9||N|9"];
    let instance = "i|1000|1024|1|running|Y|a1||ext||1".to_owned();
    let cluster = groups(&["a||ext", "b||ext"], &rows.map(str::to_owned), &[instance], &[]);
    let options = RegroupOptions { capacity_checks: false, max_moves: None };
    let deadline = Deadline::new(Some(std::time::Duration::ZERO), Default::default());
    let found = compress_until(&cluster, &cluster.groups_with_nodes(), &options, &deadline);
    let proof = found.proof(&cluster, &options, &deadline);
    assert_eq!((proof.most, proof.emptied, proof.undecided.len()), (1, 0, 1));
}

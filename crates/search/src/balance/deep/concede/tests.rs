use super::super::order::{OrderedSteps, order};
use crate::balance::{BalanceOptions, Concessions};
use htools_model::{Cluster, Concession, InstanceIdx, Mib, NodeIdx, Placement};
use htools_plan::checker::{CheckOptions, check, check_scores};
use htools_plan::graph::Strength;
use htools_plan::jobset::jobsets;
use htools_plan::work::{Task, Work};
use htools_testkit::cluster;

/// A node with 4,096 MiB for instances, of which `free` are free.
fn node(name: &str, free: i64) -> String {
    format!("{name}|4196|100|{free}|90000|90000|9|N|u|1")
}

fn instance(name: &str, memory: i64, node: &str) -> String {
    format!("{name}|{memory}|1000|1|running|Y|{node}||ext||1")
}

fn made(nodes: &[String], instances: &[String]) -> Cluster {
    let as_str = |lines: &[String]| lines.iter().map(String::clone).collect::<Vec<_>>();
    let (nodes, instances) = (as_str(nodes), as_str(instances));
    let nodes: Vec<&str> = nodes.iter().map(String::as_str).collect();
    cluster(&nodes, &instances.iter().map(String::as_str).collect::<Vec<_>>(), &[])
}

/// Two full nodes whose instances must change places, and optionally an empty third node.
fn swap(with_third: bool) -> Cluster {
    let mut nodes = vec![node("n1", 96), node("n2", 596)];
    nodes.extend(with_third.then(|| node("n3", 4096)));
    made(&nodes, &[instance("vm1", 4000, "n1"), instance("vm2", 3500, "n2")])
}

/// The steps that take each instance to the node with the given number.
fn ordered(cluster: &Cluster, to: &[usize], concessions: Concessions) -> OrderedSteps {
    let nodes: Vec<NodeIdx> = (0..cluster.nodes.len()).map(NodeIdx::new).collect();
    let options = BalanceOptions { concessions, ..BalanceOptions::default() };
    let place = |(at, to): (usize, &usize)| {
        (InstanceIdx::new(at), Placement { primary: NodeIdx::new(*to), secondary: None })
    };
    let placements: Vec<_> = to.iter().enumerate().map(place).collect();
    let ordered = order(cluster, &nodes, &options, &placements, usize::MAX);
    check(cluster, &nodes, &ordered.steps, CheckOptions::default()).unwrap();
    check_scores(cluster, &nodes, &ordered.steps).unwrap();
    ordered
}

const NOTHING: Concessions = Concessions { interruptions: false, overcommit: false };
const STOPS: Concessions = Concessions { interruptions: true, overcommit: false };
const CROWDS: Concessions = Concessions { interruptions: false, overcommit: true };

fn conceded(ordered: &OrderedSteps) -> Vec<(usize, Concession)> {
    ordered.steps.iter().map(|step| (step.instance.get(), step.concession)).collect()
}

#[test]
fn a_swap_goes_over_a_third_node() {
    for concessions in [NOTHING, STOPS, CROWDS] {
        let ordered = ordered(&swap(true), &[1, 0], concessions);
        assert_eq!((ordered.steps.len(), ordered.detours.len()), (3, 1));
        assert!(ordered.steps.iter().all(|step| step.concession.is_none()));
    }
}

#[test]
fn a_swap_without_one_is_given_up_unless_something_is_conceded() {
    let full = swap(false);
    assert_eq!(ordered(&full, &[1, 0], NOTHING).given_up.len(), 2);
    let stopped = InstanceIdx::new(1);
    // The smaller instance is stopped: both need 4000 + 3500 of 4096 MiB, and one MiB must stay free.
    let memory = Mib(4000 + 3500 - 4096 + 1);
    assert_eq!(
        conceded(&ordered(&full, &[1, 0], STOPS)),
        [(0, Concession::Interruption { memory, stopped }), (1, Concession::Restart)]
    );
    assert_eq!(
        conceded(&ordered(&full, &[1, 0], CROWDS)),
        [(0, Concession::Overcommit(memory)), (1, Concession::None)]
    );
}

#[test]
fn a_circle_of_three_needs_one_interruption() {
    let nodes = [node("n1", 96), node("n2", 596), node("n3", 296)];
    let instances = [instance("vm1", 4000, "n1"), instance("vm2", 3500, "n2"), instance("vm3", 3800, "n3")];
    let ordered = ordered(&made(&nodes, &instances), &[1, 2, 0], STOPS);
    assert_eq!(ordered.steps.len(), 3);
    let stops = conceded(&ordered);
    assert!(
        matches!(stops[0].1, Concession::Interruption { stopped, .. } if stopped.get() == 1),
        "{stops:?}"
    );
    assert_eq!(stops.iter().filter(|(_, concession)| *concession == Concession::Restart).count(), 1);
}

#[test]
fn what_is_not_only_about_memory_is_not_conceded() {
    // The new node also lacks disk, which is a limit of its policy for its own storage.
    let full = |spec: &str| {
        let nodes = [node("n1", 96), spec.to_owned()];
        made(&nodes, &[instance("vm1", 4000, "n1"), instance("vm2", 3500, "n2")])
    };
    let offline = "n2|4196|100|596|90000|90000|9|Y|u|1";
    let ordered = ordered(&full(offline), &[1, 0], STOPS);
    assert!(ordered.given_up.contains(&InstanceIdx::new(0)), "{ordered:?}");
}

#[test]
fn an_interruption_is_as_short_as_it_can_be() {
    let full = swap(false);
    let steps = ordered(&full, &[1, 0], STOPS).steps;
    let work = Work::of(&full, &steps, &jobsets(&full, &steps), CheckOptions::default()).unwrap();
    assert_eq!(work.fault(), None);
    let titles: Vec<String> = work.steps.iter().map(|step| step.title()).collect();
    assert_eq!(titles, ["stop vm2", "vm1", "vm2", "start vm2"]);
    let edges: Vec<(usize, usize, Strength)> =
        work.edges.iter().map(|edge| (edge.before.number(), edge.after.number(), edge.strength)).collect();
    use Strength::{Must, Should, Space};
    assert_eq!(edges, [(1, 2, Space), (2, 3, Space), (1, 4, Must), (3, 4, Should)]);
    // The work, written and read again, is the same.
    let all: Vec<_> = work.all().collect();
    let moves = work.steps_on(&full, &all).unwrap();
    let again = Work::rebuilt(&full, &moves, work.jobsets.clone(), CheckOptions::default()).unwrap();
    assert_eq!(again, work);
    assert_eq!(work.steps.iter().filter(|step| matches!(step.task, Task::Stop | Task::Start)).count(), 2);
}

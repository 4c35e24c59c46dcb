//! A Pacemaker cluster as nodes and instances. No sequence of moves may break a rule. The rules are computed plainly
//! from the configuration.

use std::collections::{BTreeMap, BTreeSet};

use htools::affinity::bridges::instances::{
    HoldReason, MovableResources, ResourcesAsInstances, resources_as_instances,
};
use htools::generate::random::Random;
use htools::load::merge::{MergeOptions, finish, merge};
use htools::model::{Cluster, Draft, InstanceIdx, Mib, Move, NodeIdx};
use htools::pacemaker::{AllocationScore, HostIdx, ResourceIdx, WorkingSet, cib};
use htools::search::balance::deep::DeepOptions;
use htools::search::balance::deep::headway::{DeepWatch, SearchProgress};
use htools::search::balance::deep::plan::{DeepGoal, plan};
use htools::search::moves::{MoveRules, perform};
use htools::search::{BalanceOptions, Balancer, Deadline};

use super::transition::random_cib::{self, Dimensions};

/// Host of every running resource, by resource.
type RunningAt = Vec<Option<HostIdx>>;

/// Suffix of the names of violated wishes.
const WISH: &str = " (a wish)";
const MOVABLE: [MovableResources; 2] = [
    MovableResources { restarts: false, weightless: false },
    MovableResources { restarts: true, weightless: true },
];

/// Violations of the rules, with their amounts.
fn wrongs(set: &WorkingSet, at: &RunningAt) -> BTreeMap<String, i64> {
    let mut wrongs = BTreeMap::new();
    let primitives = || set.resource_indices().filter(|one| set.resource(*one).is_primitive());
    for host in set.host_indices() {
        for kind in set.attribute_indices() {
            let here = primitives().filter(|one| at[one.get()] == Some(host));
            let charges = set.charges.iter().filter(|charge| charge.host == host);
            let taken: i64 = here.map(|one| set.resource(one).utilization.get(kind)).sum();
            let charged: i64 = charges.map(|charge| charge.utilization.get(kind)).sum();
            let over = taken + charged - set.host(host).capacity.get(kind);
            if over > 0 {
                wrongs.insert(format!("{} of {}", set.host(host).name, set.attributes[kind.get()]), over);
            }
        }
    }
    for one in primitives() {
        if let Some(host) = at[one.get()]
            && set.resource(one).scores.or_never(host) == AllocationScore::MINUS_INFINITY
        {
            wrongs.insert(format!("{} where it must never be", set.resource(one).id), 1);
        }
    }
    let values = |one: ResourceIdx, attribute: Option<&str>| -> BTreeSet<String> {
        let hosts = set.primitives(&one).iter().filter_map(|member| at[member.get()]).collect::<Vec<_>>();
        let value = |host: HostIdx| match attribute {
            None | Some("#uname") => set.host(host).name.clone(),
            Some(name) => set.host(host).attribute(name).unwrap_or_default().to_owned(),
        };
        hosts.into_iter().map(value).collect()
    };
    for colocation in &set.colocations {
        let [dependent, primary] = [colocation.dependent, colocation.primary]
            .map(|one| values(one, colocation.attribute.as_deref()));
        let both = !dependent.is_empty() && !primary.is_empty();
        let must = colocation.score > AllocationScore::ZERO && !dependent.is_subset(&primary);
        let never = colocation.score < AllocationScore::ZERO && !dependent.is_disjoint(&primary);
        if both && (must || never) {
            let (one, other) = (colocation.dependent, colocation.primary);
            let name = |one: ResourceIdx| &set.resource(one).id;
            let wish = if colocation.score.is_infinite() { "" } else { WISH };
            wrongs.insert(format!("{} and {} by {}{wish}", name(one), name(other), colocation.id), 1);
        }
    }
    wrongs
}

fn cluster(view: &ResourcesAsInstances) -> Cluster {
    let mut cluster = merge(view.raw.clone(), &MergeOptions::default()).unwrap();
    finish(&mut cluster, Mib::ZERO);
    cluster
}

/// A cluster during a series of moves, and the hosts of its resources.
struct Replay<'a> {
    set: &'a WorkingSet,
    view: &'a ResourcesAsInstances,
    at: RunningAt,
}

impl Replay<'_> {
    /// Makes a move and compares the violations after it with those before it; for a wish, with those before the
    /// first move.
    fn step(&mut self, instance: InstanceIdx, to: NodeIdx, about: &str) {
        let (start, before) = (wrongs(self.set, &running(self.set)), wrongs(self.set, &self.at));
        let unit = &self.view.units[instance.get()];
        assert_eq!(unit.hold, None, "{about}");
        unit.members.iter().for_each(|member| self.at[member.get()] = Some(HostIdx::new(to.get())));
        let name = &self.set.resource(unit.resource).id;
        for (wrong, much) in wrongs(self.set, &self.at) {
            let before = if wrong.ends_with(WISH) { &start } else { &before };
            let was = before.get(&wrong).copied().unwrap_or_default();
            assert!(
                much <= was,
                "{about}: {name} to {}: {wrong}",
                self.set.host(HostIdx::new(to.get())).name
            );
        }
    }
}

fn random_clusters(count: u64) -> impl Iterator<Item = (u64, WorkingSet)> {
    let document = move |number: u64| {
        let mut random = Random::stream(12, number);
        let clones = number.is_multiple_of(2);
        let (hosts, primitives) = (2 + random.below(5), 2 + random.below(14));
        (
            number,
            random_cib::document(
                Dimensions { hosts, primitives, clones, failures: false, several: false, changed: false },
                &mut random,
            ),
        )
    };
    // Clusters partly outside the model are included; the resources outside stay where they are.
    let read =
        |(number, text): (u64, String)| cib::parse(&text, &number.to_string()).ok().map(|set| (number, set));
    (0..count).map(document).filter_map(read)
}

/// Random clusters with their views, each with and without the resources that move only on request. Each view has a
/// name.
fn views(count: u64) -> impl Iterator<Item = (u64, String, WorkingSet, ResourcesAsInstances)> {
    let view = |(number, set): (u64, WorkingSet)| {
        MOVABLE.map(|movable| {
            let view = resources_as_instances(&set, movable);
            (number, format!("{number}, {movable:?}"), set.clone(), view)
        })
    };
    random_clusters(count).flat_map(view)
}

fn running(set: &WorkingSet) -> RunningAt {
    set.resources.iter().map(|of| of.active).collect()
}

#[test]
fn no_move_breaks_anything() {
    let mut made = 0;
    for (number, about, set, view) in views(1500) {
        let mut draft = Draft::from(cluster(&view));
        let mut replay = Replay { set: &set, view: &view, at: running(&set) };
        let mut random = Random::stream(13, number);
        for _ in 0..if view.units.is_empty() { 0 } else { 60 } {
            let instance = InstanceIdx::new(random.below(draft.instances.len()));
            let to = NodeIdx::new(random.below(draft.nodes.len()));
            let of = draft.instance(instance);
            if !of.auto_balance || of.primary == to || draft.node(to).spec.offline {
                continue;
            }
            if perform(&mut draft, instance, Move::FailoverTo(to), &MoveRules::default()).is_ok() {
                replay.step(instance, to, &about);
                made += 1;
            }
        }
    }
    assert!(made > 5000, "{made}");
}

#[test]
fn no_step_of_a_plan_breaks_anything() {
    let mut made = 0;
    for (_, about, set, view) in views(600) {
        let mut draft = Draft::from(cluster(&view));
        let nodes = draft.all_nodes();
        let mut replay = Replay { set: &set, view: &view, at: running(&set) };
        let mut balancer = Balancer::new(&mut draft, &nodes, BalanceOptions::default());
        for _ in 0..20 {
            let Some(step) = balancer.next_step() else { break };
            replay.step(step.instance, step.to.primary, &about);
            made += 1;
        }
    }
    assert!(made > 300, "{made}");
}

#[test]
fn no_step_of_a_deep_plan_breaks_anything() {
    let mut made = 0;
    for (_, about, set, view) in views(300) {
        let mut draft = Draft::from(cluster(&view));
        let nodes = draft.all_nodes();
        let mut replay = Replay { set: &set, view: &view, at: running(&set) };
        let goal = DeepGoal::Best(DeepOptions { effort: 2000, ..DeepOptions::of(&draft, &nodes) });
        let watch = DeepWatch { deadline: &Deadline::never(), headway: &SearchProgress::default() };
        let found = plan(&mut draft, &nodes, &BalanceOptions::default(), &goal, watch);
        for step in &found.ordered.steps {
            replay.step(step.instance, step.to.primary, &about);
            made += 1;
        }
    }
    assert!(made > 150, "{made}");
}

/// Resources that would restart are not moved.
#[test]
fn only_what_migrates_is_moved_without_restarts() {
    for (number, set) in random_clusters(300) {
        for unit in resources_as_instances(&set, MovableResources::default()).units {
            let migrates = unit.members.iter().all(|member| set.resource(*member).allow_migrate);
            assert!(migrates || unit.hold.is_some(), "{number}: {}", set.resource(unit.resource).id);
        }
    }
}

/// Every running resource is an instance or counts as staying. The nodes have the capacity that the staying ones
/// leave.
#[test]
fn nothing_that_runs_is_lost() {
    for (number, set) in random_clusters(300) {
        let view = resources_as_instances(&set, MovableResources::default());
        let as_instances: usize = view.units.iter().map(|unit| unit.members.len()).sum();
        let beside: usize = [HoldReason::Clone, HoldReason::Unsupported]
            .iter()
            .map(|reason| view.held.get(reason).copied().unwrap_or_default())
            .sum();
        assert_eq!(as_instances + beside, view.running, "{number}");
        let cluster = cluster(&view);
        let Some(memory) = set.attribute_indices().find(|kind| set.attributes[kind.get()] == "memory") else {
            continue;
        };
        for host in set.host_indices() {
            let primitives = set.resource_indices().filter(|one| set.resource(*one).active == Some(host));
            let taken = primitives.filter(|one| set.resource(*one).is_primitive());
            let taken: i64 = taken.map(|one| set.resource(one).utilization.get(memory)).sum();
            let charges = set.charges.iter().filter(|charge| charge.host == host);
            let charged: i64 = charges.map(|charge| charge.utilization.get(memory)).sum();
            let node = &cluster.nodes[host.get()];
            let free = set.host(host).capacity.get(memory) - taken - charged;
            // One MiB more than there is; see the test below.
            let shown = node.state.ledger.mem_unallocated(&node.spec);
            if set.host(host).capacity.get(memory) > 0 {
                assert_eq!(shown, Mib(free + 1), "{number}: {}", set.host(host).name);
            }
        }
    }
}

/// Ganeti keeps the last MiB of a node free; Pacemaker can use it.
#[test]
fn a_node_can_be_filled_to_the_last() {
    let set = cib::parse(include_str!("../../data/pacemaker-six-nodes.xml"), "six").unwrap();
    let view = resources_as_instances(&set, MovableResources { restarts: true, weightless: true });
    let names: Vec<&str> = view.units.iter().map(|unit| set.resource(unit.resource).id.as_str()).collect();
    let mut draft = Draft::from(cluster(&view));
    let (build, zeta) = (names.iter().position(|name| *name == "build1").unwrap(), 5);
    assert_eq!(draft.node(NodeIdx::new(zeta)).spec.name, "zeta");
    let to = Move::FailoverTo(NodeIdx::new(zeta));
    assert!(perform(&mut draft, InstanceIdx::new(build), to, &MoveRules::default()).is_ok());
    // All eight CPUs are in use.
    let node = draft.node(NodeIdx::new(zeta));
    assert_eq!((node.state.ledger.vcpus, node.spec.cpu_total), (8, 8.0));
}

//! Choice of a node for an arriving machine, by strategy.

use std::collections::HashMap;

use super::nights;
use super::tenants::Tenants;
use super::timeline::Timeline;
use crate::{ChoiceDetail, Fleet, choose};
use htools_model::{Draft, Instance, InstanceDetails, InstanceIdx, NodeIdx, TagArrival};
use htools_pacemaker::preference::Preference;
use htools_pacemaker::working_set::{Host, HostState, Strategy, WorkingSet};
use htools_pacemaker::{AllocationScore, AttributeIdx, Capacities, HostIdx, ScoreTable};
use htools_search::place::{Conditions, InstanceToPlace, PlaceTester, Targets, find};

/// A strategy, with its state about the running machines. It knows those that are there at the beginning.
pub(super) trait Chooser {
    /// The node for an arriving machine, if there is one.
    fn choose(&mut self, rental: usize, tenants: &Tenants<'_>) -> Option<usize>;

    /// Records that a machine was started on a node.
    fn started(&mut self, rental: usize, node: usize);

    /// Records that a machine was stopped.
    fn stopped(&mut self, rental: usize, node: usize);
}

/// Choice by affinity keys.
pub(super) struct ByKeys(Fleet);

impl ByKeys {
    pub(super) fn new(timeline: &Timeline) -> ByKeys {
        ByKeys(timeline.fleet().clone())
    }
}

impl Chooser for ByKeys {
    fn choose(&mut self, rental: usize, tenants: &Tenants<'_>) -> Option<usize> {
        let options = &tenants.timeline.fleet().options;
        // Equal machines must not get the same random numbers.
        self.0.options.tie_seed = options.tie_seed.map(|seed| seed.wrapping_add(rental as u64));
        let kind = tenants.timeline.rentals()[rental].machine;
        choose(&self.0, &tenants.occupancy, kind, None, ChoiceDetail::Scores).node
    }

    fn started(&mut self, _: usize, _: usize) {}

    fn stopped(&mut self, _: usize, _: usize) {}
}

const MEMORY: usize = 0;
const VCPUS: usize = 1;

/// The nodes of a timeline as empty hosts for Pacemaker. Both are ordered by name.
pub(super) fn hosts(timeline: &Timeline) -> WorkingSet {
    let fleet = timeline.fleet();
    let host = |at: usize| {
        let node = &fleet.nodes[at];
        #[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss)]
        // The conversion saturates at the largest number.
        let vcpus = (node.cpus as f64 * node.cpu_ratio).floor() as i64;
        Host {
            id: node.name.clone(),
            name: node.name.clone(),
            // The last MiB of a node must stay free.
            capacity: amounts(nights::room(fleet, at).0 - 1, vcpus),
            state: HostState { online: node.running, ..HostState::default() },
            ..Host::default()
        }
    };
    WorkingSet {
        symmetric: true,
        attributes: ["memory", "vcpus"].map(str::to_owned).to_vec(),
        hosts: (0..fleet.nodes.len()).map(host).collect(),
        ..WorkingSet::default()
    }
}

/// Capacity that an arriving machine needs.
pub(super) fn needed(timeline: &Timeline, rental: usize) -> Capacities {
    let machine = timeline.machine(rental);
    amounts(machine.ram.0, i64::try_from(machine.vcpus).unwrap_or(i64::MAX))
}

fn amounts(memory: i64, vcpus: i64) -> Capacities {
    let mut amounts = Capacities::default();
    amounts.set(AttributeIdx::new(MEMORY), memory);
    amounts.set(AttributeIdx::new(VCPUS), vcpus);
    amounts
}

/// Pacemaker's choice for one more resource, while all running ones stay.
pub(super) struct ByPreference<'t> {
    timeline: &'t Timeline,
    preference: Preference,
}

impl<'t> ByPreference<'t> {
    pub(super) fn new(timeline: &'t Timeline, set: &'t WorkingSet, strategy: Strategy) -> ByPreference<'t> {
        let mut chooser = ByPreference { timeline, preference: Preference::new(set, strategy) };
        timeline.residents().for_each(|(rental, node)| chooser.started(rental, node));
        chooser
    }
}

impl Chooser for ByPreference<'_> {
    fn choose(&mut self, rental: usize, tenants: &Tenants<'_>) -> Option<usize> {
        // If free capacities compare in a circle, hosts without room also affect the order.
        let mut table = ScoreTable::empty(tenants.counts.len());
        for node in 0..tenants.counts.len() {
            let score = if tenants.can_take(rental, node) {
                AllocationScore::ZERO
            } else {
                AllocationScore::MINUS_INFINITY
            };
            table.set(HostIdx::new(node), score);
        }
        let best = self.preference.best(&table, None)?.host;
        (table.or_never(best) >= AllocationScore::ZERO).then_some(best.get())
    }

    fn started(&mut self, rental: usize, node: usize) {
        self.preference.free[node].charge(&needed(self.timeline, rental));
        self.preference.placed[node] += 1;
    }

    fn stopped(&mut self, rental: usize, node: usize) {
        self.preference.free[node].add(&needed(self.timeline, rental));
        self.preference.placed[node] -= 1;
    }
}

/// hail's choice for an instance that needs one node.
pub(super) struct ByScore<'t> {
    timeline: &'t Timeline,
    draft: Draft,
    nodes: Vec<NodeIdx>,
    targets: Targets,
    instances: HashMap<usize, InstanceIdx>,
    /// Numbers of instances that were taken off.
    spare: Vec<InstanceIdx>,
}

impl<'t> ByScore<'t> {
    pub(super) fn new(timeline: &'t Timeline) -> ByScore<'t> {
        let draft = Draft::from(nights::cluster(timeline, timeline.residents()));
        let nodes = draft.all_nodes();
        let usable = nodes.iter().copied().filter(|node| !draft.node(*node).spec.offline).collect();
        ByScore {
            timeline,
            draft,
            nodes,
            targets: Targets::Singles(usable),
            instances: timeline.residents().map(|(rental, _)| (rental, InstanceIdx::new(rental))).collect(),
            spare: Vec::new(),
        }
    }

    fn instance(&self, rental: usize) -> Instance {
        let machine = self.timeline.machine(rental);
        Instance::from(InstanceDetails {
            mem: machine.ram,
            vcpus: i64::try_from(machine.vcpus).unwrap_or(i64::MAX),
            ..InstanceDetails::blank(machine.name.clone(), nights::TEMPLATE)
        })
    }
}

impl Chooser for ByScore<'_> {
    fn choose(&mut self, rental: usize, _: &Tenants<'_>) -> Option<usize> {
        let instance = self.instance(rental);
        let newcomer = InstanceToPlace::from(&instance);
        let found = find(&self.draft, &self.nodes, newcomer, &self.targets, &Conditions::default());
        found.best.map(|(_, place)| place.placement.primary.get())
    }

    fn started(&mut self, rental: usize, node: usize) {
        let instance = self.instance(rental);
        let place =
            PlaceTester::new(&self.draft, &instance, &Conditions::default()).single(NodeIdx::new(node));
        let place = place.expect("the rule of the cluster is that of the fleet");
        let idx = self.spare.pop().unwrap_or_else(|| InstanceIdx::new(self.draft.instances.len()));
        self.draft.enter(idx, &instance, &place);
        self.instances.insert(rental, idx);
    }

    fn stopped(&mut self, rental: usize, node: usize) {
        let Some(idx) = self.instances.remove(&rental) else { return };
        let details = self.draft.node(NodeIdx::new(node));
        let left = details.state.ledger.remove_primary(
            &details.spec,
            self.draft.instance(idx),
            0,
            TagArrival::default(),
        );
        self.draft.take_off(idx, left);
        self.spare.push(idx);
    }
}

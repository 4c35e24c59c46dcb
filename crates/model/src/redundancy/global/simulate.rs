//! Simulation that empties one node step by step, as the definition of global redundancy says.
//!
//! 1. DRBD instances fail over.
//! 2. Instances on shared storage are relocated, in the order of [`Departures`], to where the score of the group is
//!    best.
//! 3. Copies of all other instances are made, largest first, where the score of the whole set is best.
//!
//! Ties go to the later node. Only impossible placements are forbidden: soft limits are ignored.

use std::collections::{BTreeMap, HashMap};

use super::Departures;
use super::figures::Figures;
use super::outlook::Outlook;
use crate::score::batch::{ChangedState, Scorer};
use crate::score::interval::{Interval, Running};
use crate::score::metrics::lanes;
use crate::score::{Board, Touched};
use crate::{
    Class, Cluster, DiskCheck, GroupIdx, Instance, InstanceIdx, Ledger, Mib, NodeIdx, NodeSpec, NodeState,
    Obstacle, Place, Rule, Strictness, TagArrival,
};

/// An instance that finds no place when its node is lost.
#[derive(Debug, Clone, PartialEq)]
pub struct UnplacedInstance {
    /// The instance.
    pub instance: InstanceIdx,
    /// The candidate nodes with the obstacle on each. Empty if the instance has no candidates at all.
    pub obstacles: Vec<NodeObstacle>,
}

/// Reason that a node cannot take an instance over.
#[derive(Debug, Clone, PartialEq)]
pub struct NodeObstacle {
    /// The node.
    pub node: NodeIdx,
    /// Its numbers at that time.
    pub ledger: Ledger,
    /// The obstacle.
    pub obstacle: Obstacle,
}

/// A board with bounds for its scores.
#[derive(Clone)]
struct BoundedBoard {
    board: Board,
    running: Running,
}

impl BoundedBoard {
    fn new(cluster: &Cluster, nodes: &[NodeIdx]) -> BoundedBoard {
        let board = Board::new(cluster, nodes);
        let running = Running::of(&board);
        BoundedBoard { board, running }
    }
}

/// The boards with which simulations of one state and one set of nodes begin, each made when it is first needed.
#[derive(Default)]
pub(super) struct InitialBoards {
    groups: HashMap<GroupIdx, BoundedBoard>,
    set: Option<BoundedBoard>,
}

impl InitialBoards {
    /// The board for relocations within a group, of which `nodes` count.
    fn of_group(&mut self, cluster: &Cluster, group: GroupIdx, nodes: &[NodeIdx]) -> BoundedBoard {
        self.groups.entry(group).or_insert_with(|| BoundedBoard::new(cluster, nodes)).clone()
    }

    /// The board for copies, which can go to all `nodes`.
    fn of_set(&mut self, cluster: &Cluster, nodes: &[NodeIdx]) -> BoundedBoard {
        self.set.get_or_insert_with(|| BoundedBoard::new(cluster, nodes)).clone()
    }
}

/// Tells if all primaries of `node` find a place when it is lost. `nodes` (ascending) is the set of nodes that count.
pub fn evacuates(cluster: &Cluster, nodes: &[NodeIdx], node: NodeIdx, departures: Departures) -> bool {
    let loss = LossInputs { cluster, arrival: None, nodes, lost: &[node] };
    relocate_lost_primaries(&loss, &mut InitialBoards::default(), Question::WhetherAll(departures)).is_empty()
}

/// The same after a new instance has arrived. `boards` are those of the state before.
pub(super) fn evacuates_with(
    cluster: &Cluster,
    boards: &mut InitialBoards,
    (instance, place): (&Instance, &Place),
    figures: &Figures,
    node: NodeIdx,
) -> bool {
    let mut arrived = Instance {
        idx: InstanceIdx::new(cluster.instances.len()),
        primary: place.placement.primary,
        secondary: place.placement.secondary,
        location_score: place.location_score,
        ..instance.clone()
    };
    arrived.settle_pools(&cluster.node(place.placement.primary).spec);
    let question = Question::WhetherAll(figures.departures());
    let arrival = Some((&arrived, place));
    let loss = LossInputs { cluster, arrival, nodes: figures.nodes(), lost: &[node] };
    relocate_lost_primaries(&loss, boards, question).is_empty()
}

/// The primaries of one group's `nodes` (ascending) that find no place if the nodes `lost` are lost together. Some of
/// `lost` may be in other groups.
pub fn casualties(cluster: &Cluster, nodes: &[NodeIdx], lost: &[NodeIdx]) -> Vec<UnplacedInstance> {
    let loss = LossInputs { cluster, arrival: None, nodes, lost };
    relocate_lost_primaries(&loss, &mut InitialBoards::default(), Question::WhoAndWhy)
}

/// [`casualties`] among the instances that keep their disks, without the obstacles.
pub(super) fn without_copies(cluster: &Cluster, nodes: &[NodeIdx], lost: &[NodeIdx]) -> Vec<InstanceIdx> {
    let loss = LossInputs { cluster, arrival: None, nodes, lost };
    let casualties = relocate_lost_primaries(&loss, &mut InitialBoards::default(), Question::Who);
    casualties.into_iter().map(|casualty| casualty.instance).collect()
}

/// Question about a loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Question {
    /// Is there an instance without a place? The first one found ends the simulation.
    WhetherAll(Departures),
    /// All instances without a place, with the obstacles.
    WhoAndWhy,
    /// Instances without a place, among those that keep their disks.
    Who,
}

impl Question {
    fn departures(self) -> Departures {
        match self {
            Question::WhetherAll(departures) => departures,
            Question::WhoAndWhy | Question::Who => Departures::BySize,
        }
    }
}

/// An instance that is not in the cluster yet, and its place.
type NewInstance<'a> = (&'a Instance, &'a Place);

/// A loss to simulate.
struct LossInputs<'a> {
    cluster: &'a Cluster,
    /// An instance that arrives before the loss.
    arrival: Option<NewInstance<'a>>,
    /// The nodes that count, ascending.
    nodes: &'a [NodeIdx],
    lost: &'a [NodeIdx],
}

/// Finds places for the primaries of the lost nodes, as far as the question needs them.
fn relocate_lost_primaries(
    inputs: &LossInputs<'_>,
    initial: &mut InitialBoards,
    question: Question,
) -> Vec<UnplacedInstance> {
    let LossInputs { cluster, arrival, nodes, lost } = *inputs;
    let stop = matches!(question, Question::WhetherAll(_));
    let emptied = || lost.iter().filter(|n| nodes.binary_search(n).is_ok());
    let Some(first) = emptied().next() else { return Vec::new() };
    let existing = arrival.map(|(instance, _)| instance).filter(|i| !i.forthcoming);
    let primaries = |class: Class| -> Vec<&Instance> {
        let of_node = |n: &NodeIdx| {
            let there = cluster.node(*n).state.primaries.iter().rev().map(|i| cluster.instance(*i));
            let node = *n;
            existing.filter(|i| i.primary == node).into_iter().chain(there)
        };
        emptied().flat_map(of_node).filter(|i| Class::of(i.template) == class).collect()
    };
    let [failover, mut relocate, mut recreate] =
        [Class::Failover, Class::Relocate, Class::Recreate].map(primaries);
    if question == Question::Who {
        recreate.clear();
    }
    question.departures().sort(&mut relocate, &mut recreate);
    let group = cluster.node(*first).spec.group;
    let of_group: Vec<NodeIdx> =
        nodes.iter().copied().filter(|n| cluster.node(*n).spec.group == group).collect();
    let escapes: Vec<NodeIdx> =
        of_group.iter().copied().filter(|n| !lost.contains(n) && !cluster.node(*n).spec.offline).collect();
    let mut loss = Emptying {
        cluster,
        changed: BTreeMap::new(),
        boards: [
            (!relocate.is_empty()).then(|| initial.of_group(cluster, group, &of_group)),
            (!recreate.is_empty()).then(|| initial.of_set(cluster, nodes)),
        ],
        verdict_only: question != Question::WhoAndWhy,
    };
    if let Some((instance, place)) = arrival {
        loss.arrive(instance, place);
    }
    let mut casualties = Vec::new();
    // Sums cannot tell anything about recreated instances.
    let looks_ahead = stop && recreate.is_empty();
    let mut outlook = None;
    for (instance, class) in
        [&failover, &relocate, &recreate].into_iter().flatten().map(|i| (*i, Class::of(i.template)))
    {
        if looks_ahead && class == Class::Relocate {
            let outlook = outlook.get_or_insert_with(|| loss.outlook(*first, &relocate, &escapes));
            match outlook.as_ref().and_then(Outlook::verdict) {
                Some(true) => break,
                Some(false) => {
                    casualties.push(UnplacedInstance { instance: instance.idx, obstacles: Vec::new() });
                    break;
                }
                None => {}
            }
        }
        let placed = match class {
            Class::Failover => loss.fail_over(instance, lost),
            Class::Relocate => loss.relocate(instance, &escapes).map(|to| {
                let room = loss.room(to);
                outlook.iter_mut().flatten().for_each(|outlook| outlook.leave(room));
            }),
            Class::Recreate => loss.recreate(instance, &escapes),
        };
        if let Err(obstacles) = placed {
            casualties.push(UnplacedInstance { instance: instance.idx, obstacles });
            if stop {
                break;
            }
        }
    }
    casualties
}

/// A cluster while nodes of it are being emptied.
struct Emptying<'c> {
    cluster: &'c Cluster,
    /// The nodes that differ.
    changed: BTreeMap<NodeIdx, NodeState>,
    /// Boards of the group (for relocation) and of the set (for recreation), if they are needed.
    boards: [Option<BoundedBoard>; 2],
    /// Set if the obstacles are not needed.
    verdict_only: bool,
}

/// Positions in `boards`.
const GROUP: usize = 0;
const SET: usize = 1;

/// A node that can take an instance, and the new states of the nodes that change, its own last.
struct Offer<'a> {
    node: NodeIdx,
    touched: Vec<Touched<'a>>,
    spread_change: i64,
    interval: Interval,
}

/// The new primary node, and its ledger then.
type Best = (NodeIdx, Ledger);

/// Result of placing an instance; the error lists the obstacles.
type Relocated = Result<(), Vec<NodeObstacle>>;

impl<'c> Emptying<'c> {
    fn spec(&self, node: NodeIdx) -> &'c NodeSpec {
        &self.cluster.node(node).spec
    }

    fn state(&self, node: NodeIdx) -> &NodeState {
        self.changed.get(&node).unwrap_or_else(|| &self.cluster.node(node).state)
    }

    fn change(&mut self, node: NodeIdx) -> &mut NodeState {
        self.changed.entry(node).or_insert_with(|| self.cluster.node(node).state.clone())
    }

    fn without_primary(&self, node: NodeIdx, instance: &Instance) -> Ledger {
        let state = self.state(node);
        let tags = TagArrival::of_primary(state, instance);
        state.ledger.remove_primary(self.spec(node), instance, instance.location_score, tags)
    }

    /// Tells if a node has the memory for one more primary.
    fn has_room(&self, node: NodeIdx, instance: &Instance) -> bool {
        instance.forthcoming || self.room(node) - instance.mem_in_use() > Mib::ZERO
    }

    /// Unallocated memory of a node.
    fn room(&self, node: NodeIdx) -> Mib {
        self.state(node).ledger.mem_unallocated(self.spec(node))
    }

    /// `node` with `instance` as one more primary, unless that is impossible.
    fn with_primary(
        &self,
        node: NodeIdx,
        before: Ledger,
        instance: &Instance,
    ) -> Result<Ledger, Box<NodeObstacle>> {
        let tags = TagArrival::of(self.state(node), instance);
        before
            .add_primary(self.spec(node), instance, instance.location_score, tags, Strictness::Forced)
            .map_err(|rule| {
                Box::new(NodeObstacle { node, ledger: before, obstacle: Obstacle::Primary(rule) })
            })
    }

    /// Records an obstacle at a node in its present state.
    fn obstacle(&self, node: NodeIdx, obstacle: Obstacle) -> NodeObstacle {
        NodeObstacle { node, ledger: self.state(node).ledger, obstacle }
    }

    /// Swaps the roles of the two nodes of a DRBD instance.
    fn fail_over(&mut self, instance: &Instance, lost: &[NodeIdx]) -> Relocated {
        let node = instance.primary;
        let mirror = instance.mirror().ok_or_else(Vec::new)?;
        let (from, to) = (self.spec(node), self.spec(mirror));
        let fixed = if lost.contains(&mirror) && mirror != node {
            Some(Obstacle::Lost)
        } else if to.offline {
            Some(Obstacle::Offline)
        } else if !from.can_migrate_to(to) {
            Some(Obstacle::Primary(Rule::MigrationTags))
        } else {
            None
        };
        if let Some(obstacle) = fixed {
            return Err(vec![self.obstacle(mirror, obstacle)]);
        }
        let (reserve, left) = self.state(mirror).reserve_without(to, instance);
        let without = self.state(mirror).ledger.remove_secondary(to, instance, reserve);
        let new_mirror = self.with_primary(mirror, without, instance).map_err(|o| vec![*o])?;
        let held = self.state(node).peers.get(mirror);
        let disk = if from.offline { DiskCheck::Ignored } else { DiskCheck::Needed };
        let before = self.without_primary(node, instance);
        let new_node =
            before.add_secondary(from, instance, held, Strictness::Forced, disk).map_err(|rule| {
                vec![NodeObstacle { node, ledger: before, obstacle: Obstacle::Secondary(rule) }]
            })?;
        self.settle(&[(node, new_node), (mirror, new_mirror)], instance, Some(node), mirror);
        self.change(mirror).peers.set_or_drop(node, left);
        let need = instance.mem_reserved();
        self.change(node).peers.set(mirror, held + need);
        Ok(())
    }

    /// Early verdict on these instances before they leave `node`; `None` if sums cannot help.
    fn outlook(&self, node: NodeIdx, relocate: &[&Instance], escapes: &[NodeIdx]) -> Option<Outlook> {
        // The sums do not consider pools that only some nodes reach.
        let group = self.cluster.group(self.spec(node).group);
        if relocate.iter().any(|instance| group.offers.lack(&instance.needs)) {
            return None;
        }
        let sizes = relocate.iter().map(|i| i.mem_in_use()).collect();
        let reachable = escapes.iter().filter(|t| self.spec(node).can_migrate_to(self.spec(**t)));
        Outlook::of(sizes, reachable.map(|t| self.room(*t)))
    }

    /// Moves an instance on shared storage to the best of the escape nodes, and returns that node.
    fn relocate(&mut self, instance: &Instance, escapes: &[NodeIdx]) -> Result<NodeIdx, Vec<NodeObstacle>> {
        let node = instance.primary;
        let left = self.without_primary(node, instance);
        let allows = |n: NodeIdx| {
            let allowed = self.spec(node).can_migrate_to(self.spec(n));
            if allowed { Ok(()) } else { Err(Obstacle::Primary(Rule::MigrationTags)) }
        };
        let (to, arrived) = self.best(GROUP, escapes, allows, instance, Some((node, left)))?;
        self.settle(&[(node, left), (to, arrived)], instance, Some(node), to);
        Ok(to)
    }

    /// Makes a copy of an instance on the best of the escape nodes; the original stays.
    fn recreate(&mut self, instance: &Instance, escapes: &[NodeIdx]) -> Relocated {
        let accepts = |n: NodeIdx| {
            let spec = self.spec(n);
            let policy = &self.cluster.group(spec.group).policy;
            policy.accepts(instance, spec.exclusive_storage).map_err(Obstacle::Policy)
        };
        let (to, arrived) = self.best(SET, escapes, accepts, instance, None)?;
        self.settle(&[(to, arrived)], instance, None, to);
        Ok(())
    }

    /// The allowed target with the smallest score; the later one among equals.
    ///
    /// # Errors
    /// The obstacles on all targets, if none is allowed.
    fn best(
        &self,
        board: usize,
        targets: &[NodeIdx],
        allows: impl Fn(NodeIdx) -> Result<(), Obstacle>,
        instance: &Instance,
        left: Option<(NodeIdx, Ledger)>,
    ) -> Result<Best, Vec<NodeObstacle>> {
        let Some(BoundedBoard { board, running }) = &self.boards[board] else { return Err(Vec::new()) };
        let from = left.map(|(node, _)| self.spec(node));
        let mut obstacles = Vec::new();
        let mut offers = Vec::new();
        for &target in targets.iter().filter(|t| !self.verdict_only || self.has_room(**t, instance)) {
            let allowed = allows(target).map_err(|obstacle| Box::new(self.obstacle(target, obstacle)));
            let after = allowed.and_then(|()| self.with_primary(target, self.state(target).ledger, instance));
            match after {
                Err(obstacle) if !self.verdict_only => obstacles.push(*obstacle),
                Err(_) => {}
                Ok(after) => {
                    let changed = left.into_iter().chain([(target, after)]);
                    let touched: Vec<Touched<'_>> =
                        changed.map(|(n, after)| self.touched(n, after)).collect();
                    let spread_change = board.spread().change(instance, from, Some(self.spec(target)));
                    let spread = board.spread().surplus() + spread_change;
                    let interval = running.interval(board, &touched, spread);
                    offers.push(Offer { node: target, touched, spread_change, interval });
                }
            }
        }
        best_of(board, offers).ok_or(obstacles)
    }

    fn touched(&self, node: NodeIdx, after: Ledger) -> Touched<'_> {
        Touched { spec: self.spec(node), before: &self.state(node).ledger, after }
    }

    /// Adds a new instance at a place.
    fn arrive(&mut self, instance: &Instance, place: &Place) {
        let (to, secondary) = (place.placement.primary, place.placement.secondary);
        let backing = secondary.zip(place.secondary);
        let ledgers: Vec<(NodeIdx, Ledger)> = [(to, place.primary)].into_iter().chain(backing).collect();
        self.settle(&ledgers, instance, None, to);
        if let Some(mirror) = instance.mirror().filter(|_| !instance.forthcoming) {
            let peers = &mut self.change(mirror).peers;
            peers.set(to, peers.get(to) + instance.mem_reserved());
        }
    }

    /// Makes a change final: `instance` now runs on `to`.
    fn settle(
        &mut self,
        ledgers: &[(NodeIdx, Ledger)],
        instance: &Instance,
        from: Option<NodeIdx>,
        to: NodeIdx,
    ) {
        let mut boards = std::mem::take(&mut self.boards);
        let touched: Vec<Touched<'_>> = ledgers.iter().map(|(n, after)| self.touched(*n, *after)).collect();
        for BoundedBoard { board, running } in boards.iter_mut().flatten() {
            for (row, values) in touched.iter().filter_map(|t| Some((board.row(t.spec.idx)?, t))) {
                running.replace(&board.rows()[row], &lanes(values.spec, &values.after));
            }
            board.commit(&touched, instance, from.map(|n| self.spec(n)), self.spec(to));
        }
        self.boards = boards;
        for (node, after) in ledgers {
            self.change(*node).ledger = *after;
        }
        for (node, by) in [(from, -1), (Some(to), 1)] {
            let Some(node) =
                node.filter(|_| !(instance.exclusion_tags.is_empty() && instance.keys.is_empty()))
            else {
                continue;
            };
            let state = self.change(node);
            state.tag_count.add_tags(&instance.exclusion_tags, by);
            state.key_count.add_keys(&instance.keys, by);
        }
    }
}

/// The offer with the smallest score; the later one among equals. Exact scores are computed only where the bounds leave
/// the choice open.
fn best_of(board: &Board, mut offers: Vec<Offer<'_>>) -> Option<Best> {
    let known = offers.iter().all(|o| !o.interval.lo.is_nan() && !o.interval.hi.is_nan());
    if known {
        let limit = offers.iter().map(|o| o.interval.hi).fold(f64::INFINITY, f64::min);
        offers.retain(|o| o.interval.lo <= limit);
    }
    let chosen = |offer: &Offer<'_>| Some((offer.node, offer.touched.last()?.after));
    if let [only] = &offers[..] {
        return chosen(only);
    }
    let states: Vec<ChangedState<'_>> =
        offers.iter().map(|o| ChangedState { touched: &o.touched, spread_change: o.spread_change }).collect();
    let scores = Scorer::of(board).scores(&states);
    let mut best: Option<(f64, &Offer<'_>)> = None;
    for (score, offer) in scores.into_iter().zip(&offers) {
        if !best.is_some_and(|b| score > b.0) {
            best = Some((score, offer));
        }
    }
    best.and_then(|b| chosen(b.1))
}

//! The constant part of a deep search: the nodes, the movable instances, their contributions to the figures of
//! a node, and the weights of the figures.

use std::collections::HashMap;

use super::super::BalanceOptions;
use super::super::bounds::lanes::{amounts, scales};
use super::super::is_on_offline;
use super::appraise::{LaneRow, MOST_LANES, stride};
use crate::MoveRules;
use crate::moves::Repertoire;
use htools_model::score::metrics::{Aggregate, Count, LANES, Lanes, TABLE, lane};
use htools_model::score::{Board, Touched};
use htools_model::{
    Cluster, ClusterRoom, Instance, InstanceIdx, Mirroring, NodeIdx, NodeSpec, Placement, WORTH_PARTS,
    Weights,
};

/// Stands for a missing slot.
pub(crate) const NOWHERE: u32 = u32::MAX;

/// The slots of an instance's nodes. Only instances mirrored by Ganeti have a secondary here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Seat {
    /// The slot of the primary node.
    pub primary: u32,
    /// The slot of the secondary node, or [`NOWHERE`].
    pub secondary: u32,
}

impl Seat {
    /// Returns true if the two seats have no node in common.
    pub(crate) fn keeps_none_of(self, other: Seat) -> bool {
        [self.primary, self.secondary].iter().all(|slot| *slot != other.primary && *slot != other.secondary)
    }
}

/// An instance that may move.
#[derive(Debug, Clone)]
pub(crate) struct Mobile {
    /// Index of the instance in the cluster.
    pub instance: InstanceIdx,
    /// Seat at the start.
    pub home: Seat,
    /// Memory in use, in MiB; 0 for forthcoming instances.
    pub mem: i64,
    /// Memory that its secondary node keeps, in MiB; 0 for forthcoming instances.
    pub need: i64,
    /// Size of its disks, in MiB.
    pub disk: i64,
    /// True if Ganeti mirrors it.
    pub mirrored: bool,
    /// Contribution to counts: 1, or 0 for forthcoming instances.
    pub counts: i64,
    /// True if it has exclusion tags or affinity keys.
    pub tagged: bool,
}

/// Role of a node in the search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SlotStanding {
    /// Its figures count, and it may receive instances.
    Online,
    /// Instances on it count as faults.
    Offline,
    /// It does not belong to the set.
    Outside,
}

/// The deviations of the score that can change. Lanes that are equal for all nodes and instances are merged.
#[derive(Debug, Clone, Default)]
pub(crate) struct LaneList {
    /// Number of each lane in [`lane`].
    pub lane: Vec<usize>,
    /// Weight of each lane's deviation.
    pub weight: Vec<f64>,
    /// Position of the reserve among them, if it can change.
    pub reserve: Option<usize>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct CountWeights {
    /// Instances on nodes that fail N+1.
    pub on_failing: f64,
    /// Primaries with the same exclusion tag on a node.
    pub conflicts: f64,
    pub locations: f64,
    /// Weight of the affinity costs, for each of their units.
    pub keys: f64,
    /// Instances on offline nodes.
    pub offline: f64,
    pub offline_primaries: f64,
    /// Weight of the surplus of the spread.
    pub spread: f64,
    /// Weight of the sum of the reserves, each as a share of its node's memory.
    pub reserved: f64,
}

impl CountWeights {
    fn of(all: &Weights) -> CountWeights {
        let mut weights = CountWeights::default();
        for (at, metric) in TABLE.iter().enumerate() {
            let to = match metric.kind {
                Aggregate::OnlineCount(Count::OnFailingNodes) => &mut weights.on_failing,
                Aggregate::OnlineCount(Count::TagConflicts) => &mut weights.conflicts,
                Aggregate::OnlineCount(Count::LocationSum) => &mut weights.locations,
                Aggregate::OnlineCount(Count::KeyCost) => &mut weights.keys,
                Aggregate::OfflineCount(Count::Instances) => &mut weights.offline,
                Aggregate::OfflineCount(Count::Primaries) => &mut weights.offline_primaries,
                Aggregate::Spread => &mut weights.spread,
                Aggregate::Sum(_) => &mut weights.reserved,
                _ => continue,
            };
            *to += all.of(at);
        }
        weights.keys /= WORTH_PARTS;
        weights
    }
}

/// A further rule of a search: returns true if the nodes that a proposal changes may be so afterwards.
pub(crate) type Restraint<'c> = dyn Fn(&[Touched<'_>]) -> bool + Sync + 'c;

/// The constant data of a search: see the module documentation.
pub(crate) struct Terrain<'c> {
    /// The cluster at the start.
    pub cluster: &'c Cluster,
    pub rules: MoveRules,
    /// A rule on the nodes that change, besides those of moves.
    pub restraint: Option<&'c Restraint<'c>>,
    /// True if an instance may take two moves to its seat if both of its nodes are offline.
    pub in_two_moves: bool,
    /// Node of each slot. The nodes of the set come first, in order.
    pub nodes: Vec<NodeIdx>,
    /// Role of each slot.
    pub standing: Vec<SlotStanding>,
    /// The online slots of the set, in order.
    pub online: Vec<u32>,
    /// The instances that may move, in order.
    pub mobiles: Vec<Mobile>,
    /// The lanes that can change.
    pub lanes: LaneList,
    pub weights: CountWeights,
    /// Part of the score that comes from lanes that cannot change.
    pub constant: f64,
    stride: usize,
    lane_weights: LaneRow,
    /// By slot and lane, the factors of the amounts.
    scale: Vec<f64>,
    /// For each mobile, its kind. Mobiles of a kind add the same amounts to the lanes of any node.
    pub(super) kinds: Vec<u32>,
    /// For each kind, its first mobile.
    pub(super) samples: Vec<u32>,
    /// By kind, storage kind, role and lane, the amount that a mobile adds before scaling.
    amount: Vec<f64>,
    /// True if any node has migration tags.
    migration_tags: bool,
    /// True if locations can make a difference.
    pub located: bool,
    /// True if instances with an unknown number of spindles may come to nodes with exclusive storage. The free
    /// spindles of these nodes are then not a sum over the instances.
    pub unknown_spindles: bool,
    /// For each slot, true if the node has exclusive storage.
    exclusive: Vec<bool>,
}

/// Returns true if a lane follows membership in either role instead of the primary role alone.
fn of_members(k: usize) -> bool {
    matches!(
        k,
        lane::FREE_DISK | lane::DISK_LOAD | lane::SPINDLES | lane::FREE_DISK_PLANNED | lane::SPINDLES_PLANNED
    )
}

impl<'c> Terrain<'c> {
    /// Reads the set `nodes` (ascending) of a cluster.
    pub(crate) fn of(cluster: &'c Cluster, nodes: &[NodeIdx], options: &BalanceOptions) -> Terrain<'c> {
        let board = Board::new(cluster, nodes);
        let rules = options.rules;
        let takes_part = |i: &&Instance| {
            i.is_movable()
                && i.auto_balance
                && (!options.evacuate || is_on_offline(cluster, i))
                && can_move(cluster, i, &rules)
        };
        let there = cluster.instances_on(nodes);
        let movable: Vec<&Instance> = there.iter().map(|i| cluster.instance(*i)).filter(takes_part).collect();
        let mut slots: Vec<NodeIdx> = nodes.to_vec();
        let mut slot_of: HashMap<NodeIdx, u32> = HashMap::new();
        for node in nodes.iter().copied().chain(movable.iter().filter_map(|i| i.mirror())) {
            let next = slot_of.len() as u32;
            if *slot_of.entry(node).or_insert(next) == next && next as usize >= nodes.len() {
                slots.push(node);
            }
        }
        let standing: Vec<SlotStanding> = slots.iter().map(|n| standing(cluster, &board, *n)).collect();
        let online =
            (0..slots.len() as u32).filter(|s| standing[*s as usize] == SlotStanding::Online).collect();
        let mobiles: Vec<Mobile> = movable.iter().map(|i| mobile(i, &slot_of)).collect();
        let spec = |slot: &NodeIdx| &cluster.node(*slot).spec;
        let mut terrain = Terrain {
            cluster,
            rules,
            restraint: None,
            in_two_moves: false,
            standing,
            online,
            mobiles,
            lanes: LaneList::default(),
            weights: CountWeights::of(&cluster.weights),
            constant: 0.0,
            stride: 0,
            lane_weights: [0.0; MOST_LANES],
            scale: Vec::new(),
            amount: Vec::new(),
            kinds: Vec::new(),
            samples: Vec::new(),
            migration_tags: slots.iter().any(|n| !spec(n).migration_tags.is_empty()),
            located: slots.iter().any(|n| !spec(n).location_tags.is_empty())
                || movable.iter().any(|i| !i.desired_locations.is_empty()),
            unknown_spindles: slots.iter().any(|n| spec(n).exclusive_storage)
                && movable.iter().any(|i| i.spindles.is_none()),
            exclusive: slots.iter().map(|n| spec(n).exclusive_storage).collect(),
            nodes: slots,
        };
        terrain.choose_lanes(&board, &movable);
        terrain
    }

    /// Like [`Terrain::of`], with nodes that must be emptied. Instances on them count as if on offline nodes,
    /// and no instance goes there. Every instance that may move at all takes part.
    pub(crate) fn evacuating(
        cluster: &'c Cluster,
        nodes: &[NodeIdx],
        options: &BalanceOptions,
        emptied: &[NodeIdx],
    ) -> Terrain<'c> {
        let mut terrain = Terrain::of(cluster, nodes, options);
        for (slot, node) in terrain.nodes.iter().enumerate() {
            if terrain.standing[slot] != SlotStanding::Outside {
                let left = if emptied.contains(node) { SlotStanding::Offline } else { SlotStanding::Online };
                // Nodes that are offline already are not part of the request.
                let offline = cluster.node(*node).spec.offline && !emptied.contains(node);
                terrain.standing[slot] = if offline { SlotStanding::Outside } else { left };
            }
        }
        let standing = &terrain.standing;
        terrain.online.retain(|slot| standing[*slot as usize] == SlotStanding::Online);
        terrain
    }

    /// Sorts the mobiles by kind. Returns the amounts that each kind adds to the lanes of nodes without and
    /// with exclusive storage.
    fn choose_kinds(&mut self, movable: &[&Instance]) -> Vec<[Lanes; 2]> {
        let (mut known, mut all) = (HashMap::new(), Vec::new());
        for ((mobile, entry), instance) in (0..).zip(&self.mobiles).zip(movable) {
            let amounts = [amounts(instance, false), amounts(instance, true)];
            let bits = amounts.map(|lanes| lanes.map(f64::to_bits));
            let kind = *known.entry((entry.mirrored, bits)).or_insert(all.len() as u32);
            if kind as usize == all.len() {
                all.push(amounts);
                self.samples.push(mobile);
            }
            self.kinds.push(kind);
        }
        all
    }

    /// Finds the lanes that can change, and the contribution of the others.
    fn choose_lanes(&mut self, board: &Board, movable: &[&Instance]) {
        let weight = self.cluster.weights.deviations();
        let amounts = self.choose_kinds(movable);
        let scales: Vec<_> = self.nodes.iter().map(|n| scales(&self.cluster.node(*n).spec)).collect();
        let mirrors = self.mobiles.iter().any(|m| m.mirrored && m.need > 0);
        let same = |a: usize, b: usize| {
            of_members(a) == of_members(b)
                && amounts.iter().all(|roles| roles.iter().all(|x| x[a] == x[b]))
                && scales.iter().all(|s| s[a] == s[b])
                && board.rows().iter().all(|row| row[a].to_bits() == row[b].to_bits())
        };
        let deviations = deviations(board);
        let mut lanes = LaneList::default();
        for k in 0..LANES {
            let odd = self.unknown_spindles && matches!(k, lane::FREE_DISK | lane::FREE_DISK_PLANNED);
            let changes = odd || amounts.iter().any(|roles| roles.iter().any(|x| x[k] != 0.0));
            if k == lane::RESERVED_MEM && mirrors {
                lanes.reserve = Some(lanes.lane.len());
            } else if weight[k] == 0.0 && k != lane::RESERVED_MEM {
                continue;
            } else if !changes || k == lane::RESERVED_MEM {
                self.constant += if weight[k] > 0.0 { weight[k] * deviations[k] } else { 0.0 };
                if k == lane::RESERVED_MEM {
                    self.constant +=
                        self.weights.reserved * board.rows().iter().map(|row| row[k]).sum::<f64>();
                }
                continue;
            } else if let Some(twin) = (0..lanes.lane.len()).find(|at| !odd && same(lanes.lane[*at], k)) {
                lanes.weight[twin] += weight[k];
                continue;
            }
            lanes.lane.push(k);
            lanes.weight.push(weight[k]);
        }
        self.stride = stride(lanes.lane.len());
        let beyond = || std::iter::repeat_n(0.0, stride(lanes.lane.len()) - lanes.lane.len());
        for slot in &scales {
            self.scale.extend(lanes.lane.iter().map(|k| slot[*k]).chain(beyond()));
        }
        for roles in &amounts {
            for x in roles {
                self.amount.extend(lanes.lane.iter().map(|k| x[*k]).chain(beyond()));
                let of_member = |k: &usize| if of_members(*k) { x[*k] } else { 0.0 };
                self.amount.extend(lanes.lane.iter().map(of_member).chain(beyond()));
            }
        }
        self.lane_weights[..lanes.weight.len()].copy_from_slice(&lanes.weight);
        self.lanes = lanes;
    }

    /// Returns true if a lane is the sum of the amounts of its instances.
    pub(crate) fn is_sum(&self, at: usize) -> bool {
        let k = self.lanes.lane[at];
        !(self.unknown_spindles && matches!(k, lane::FREE_DISK | lane::FREE_DISK_PLANNED))
    }

    /// Number of lanes.
    pub(crate) fn width(&self) -> usize {
        self.lanes.lane.len()
    }

    /// Length of a row with a number for each lane; entries beyond [`width`](Terrain::width) are zero.
    pub(super) fn stride(&self) -> usize {
        self.stride
    }

    /// The weight of each lane's deviation.
    pub(super) fn lane_weights(&self) -> &LaneRow {
        &self.lane_weights
    }

    /// Factors from amounts to lane values on the node of a slot.
    pub(crate) fn scale(&self, slot: u32) -> &[f64] {
        let stride = self.stride();
        &self.scale[slot as usize * stride..][..stride]
    }

    /// Amounts that a mobile adds to a slot's lanes before scaling, as a primary or as a secondary.
    pub(crate) fn amounts(&self, mobile: u32, slot: u32, secondary: bool) -> &[f64] {
        let stride = self.stride();
        let exclusive = usize::from(self.exclusive[slot as usize]);
        let kind = self.kinds[mobile as usize] as usize;
        &self.amount[((kind * 2 + exclusive) * 2 + usize::from(secondary)) * stride..][..stride]
    }

    pub(crate) fn spec(&self, slot: u32) -> &'c NodeSpec {
        &self.cluster.node(self.nodes[slot as usize]).spec
    }

    pub(crate) fn instance(&self, mobile: u32) -> &'c Instance {
        self.cluster.instance(self.mobiles[mobile as usize].instance)
    }

    /// The room for further instances that the search keeps, if any. Emptying nodes comes first.
    pub(crate) fn room(&self) -> Option<&'c ClusterRoom> {
        let is_left = |slot: u32| self.standing.get(slot as usize) == Some(&SlotStanding::Offline);
        let must_leave = |mobile: &Mobile| is_left(mobile.home.primary) || is_left(mobile.home.secondary);
        let room = self.cluster.room().map(AsRef::as_ref);
        room.filter(|_| !self.rules.ignore_soft_errors && !self.mobiles.iter().any(must_leave))
    }

    /// Returns true if the slot is an online node of the set.
    pub(crate) fn is_online(&self, slot: u32) -> bool {
        self.standing.get(slot as usize) == Some(&SlotStanding::Online)
    }

    /// Returns true if instances can migrate from one slot to the other.
    pub(crate) fn migrates(&self, from: u32, to: u32) -> bool {
        !self.migration_tags || self.spec(from).can_migrate_to(self.spec(to))
    }

    pub(crate) fn placement(&self, mobile: u32, seat: Seat) -> Placement {
        let instance = self.instance(mobile);
        let mirrored = self.mobiles[mobile as usize].mirrored;
        Placement {
            primary: self.nodes[seat.primary as usize],
            secondary: if mirrored {
                self.nodes.get(seat.secondary as usize).copied()
            } else {
                instance.secondary
            },
        }
    }
}

/// The deviation of each lane at the start.
fn deviations(board: &Board) -> [f64; LANES] {
    let mut deviations = [0.0; LANES];
    for (metric, value) in TABLE.iter().zip(board.components().values) {
        if let Aggregate::Deviation(k) = metric.kind {
            deviations[k] = value;
        }
    }
    deviations
}

fn can_move(cluster: &Cluster, instance: &Instance, rules: &MoveRules) -> bool {
    match instance.template.mirroring() {
        Mirroring::None => !Repertoire::of(cluster, instance, false, rules).to_target.is_empty(),
        Mirroring::External => rules.instance_moves,
        Mirroring::Internal => {
            (rules.disk_moves || rules.instance_moves)
                && instance.mirror().is_some_and(|s| s != instance.primary)
        }
    }
}

fn standing(cluster: &Cluster, board: &Board, node: NodeIdx) -> SlotStanding {
    match (board.contains(node), cluster.node(node).spec.offline) {
        (false, _) => SlotStanding::Outside,
        (true, true) => SlotStanding::Offline,
        (true, false) => SlotStanding::Online,
    }
}

fn mobile(instance: &Instance, slot_of: &HashMap<NodeIdx, u32>) -> Mobile {
    let slot = |node: Option<NodeIdx>| node.map_or(NOWHERE, |n| slot_of[&n]);
    let exists = !instance.forthcoming;
    Mobile {
        instance: instance.idx,
        home: Seat { primary: slot(Some(instance.primary)), secondary: slot(instance.mirror()) },
        mem: instance.mem_in_use().0,
        need: if exists && instance.template.has_secondary() { instance.mem_reserved().0 } else { 0 },
        disk: instance.disk.0,
        mirrored: instance.template.has_secondary(),
        counts: i64::from(exists),
        tagged: !instance.exclusion_tags.is_empty() || !instance.keys.is_empty(),
    }
}

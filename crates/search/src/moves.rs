//! The moves of one instance, in the order in which they are tried, and the effect of each on the nodes that it
//! touches.

mod ends;
mod put;

pub(crate) use ends::Ends;

use smallvec::SmallVec;

use crate::place::kept_room::RoomNumbers;
use htools_model::score::Touched;
use htools_model::{
    Cluster, ClusterRoom, Concession, DiskCheck, Draft, Instance, InstanceIdx, Ledger, Mib, Mirroring, Move,
    NodeIdx, NodeRoom, NodeSpec, Placement, ReserveChange, Rule, Step, Strictness, TagArrival,
};

/// Restrictions on moves from the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MoveRules {
    /// Allow moves that copy disks (off with `--no-disk-moves`).
    pub disk_moves: bool,
    /// Allow moves that interrupt or migrate the instance (off with `--no-instance-moves`).
    pub instance_moves: bool,
    /// Only offline nodes may be left (`--restricted-migration`).
    pub restricted_migration: bool,
    /// Allow everything that is not impossible (`--ignore-soft-errors`).
    pub ignore_soft_errors: bool,
}

impl Default for MoveRules {
    fn default() -> Self {
        MoveRules {
            disk_moves: true,
            instance_moves: true,
            restricted_migration: false,
            ignore_soft_errors: false,
        }
    }
}

/// A kind of move to a new node.
pub(crate) type TargetMove = fn(NodeIdx) -> Move;

/// The moves to consider for one instance.
#[derive(Debug, Clone, Copy)]
pub struct Repertoire {
    /// The roles may be swapped; this is tried first.
    pub failover: bool,
    /// The kinds of moves to each new node, in the order in which they are tried.
    pub to_target: &'static [TargetMove],
}

impl Repertoire {
    /// The moves of `instance` under `rules`. `mirror_usable` is true if its secondary is an online node of the
    /// set that is balanced.
    pub fn of(cluster: &Cluster, instance: &Instance, mirror_usable: bool, rules: &MoveRules) -> Repertoire {
        let none = Repertoire { failover: false, to_target: &[] };
        match instance.template.mirroring() {
            // The instance is stopped for the copy, so this is allowed only off a node that goes out of use;
            // see `squeeze::loosened`.
            Mirroring::None
                if rules.instance_moves
                    && rules.disk_moves
                    && instance.is_movable()
                    && cluster.node(instance.primary).spec.offline =>
            {
                Repertoire { failover: false, to_target: &[Move::FailoverTo] }
            }
            Mirroring::None => none,
            Mirroring::External if !rules.instance_moves => none,
            Mirroring::External => Repertoire { failover: false, to_target: &[Move::FailoverTo] },
            Mirroring::Internal => {
                let mirror_usable = mirror_usable && rules.instance_moves;
                let primary_online = !cluster.node(instance.primary).spec.offline;
                Repertoire {
                    failover: mirror_usable,
                    to_target: mirrored_moves(mirror_usable, primary_online, rules),
                }
            }
        }
    }

    /// Number of moves with `targets` new nodes.
    pub(crate) fn len(&self, targets: usize) -> usize {
        usize::from(self.failover) + self.to_target.len() * targets
    }
}

fn mirrored_moves(mirror_usable: bool, primary_online: bool, rules: &MoveRules) -> &'static [TargetMove] {
    if !rules.disk_moves {
        return &[];
    }
    if !rules.instance_moves || (rules.restricted_migration && primary_online) {
        return &[Move::ReplaceSecondary];
    }
    match (mirror_usable, rules.restricted_migration) {
        (true, true) => &[Move::ReplaceSecondary, Move::ReplaceAndFailover, Move::FailoverAndReplace],
        (true, false) => &[
            Move::ReplaceSecondary,
            Move::ReplaceAndFailover,
            Move::ReplacePrimary,
            Move::FailoverAndReplace,
        ],
        (false, _) => &[Move::ReplaceSecondary, Move::ReplaceAndFailover],
    }
}

/// The node that refuses a move, and the rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refusal {
    /// The node.
    pub node: NodeIdx,
    /// The rule.
    pub rule: Rule,
    /// True if the node refuses it as a primary, false as a secondary.
    pub role_is_primary: bool,
}

/// Result of a possible move.
#[derive(Debug, Clone, Copy)]
pub struct Outcome<'a> {
    /// The instance's nodes afterwards.
    pub placement: Placement,
    /// Its location score afterwards.
    pub location_score: i64,
    touched: [Touched<'a>; Move::MOST_NODES],
    count: usize,
}

impl<'a> Outcome<'a> {
    /// The nodes that change.
    pub fn touched(&self) -> &[Touched<'a>] {
        &self.touched[..self.count]
    }

    /// The changed nodes with their ledgers after the move.
    pub fn ledgers(&self) -> Vec<(NodeIdx, Ledger)> {
        self.touched().iter().map(|t| (t.spec.idx, t.after)).collect()
    }
}

/// A node before the instance arrives or leaves.
struct Side<'a> {
    spec: &'a NodeSpec,
    before: &'a Ledger,
    tags: TagArrival,
}

impl<'a> Side<'a> {
    fn new(cluster: &'a Cluster, node: NodeIdx, instance: &Instance) -> Side<'a> {
        let node = cluster.node(node);
        let tags = TagArrival::of(&node.state, instance);
        Side { spec: &node.spec, before: &node.state.ledger, tags }
    }

    fn touched(&self, after: Ledger) -> Touched<'a> {
        Touched { spec: self.spec, before: self.before, after }
    }

    /// Turns a rule into this node's refusal of a primary.
    fn refuse_primary(&self) -> impl Fn(Rule) -> Refusal + use<> {
        let node = self.spec.idx;
        move |rule| Refusal { node, rule, role_is_primary: true }
    }

    /// Turns a rule into this node's refusal of a secondary.
    fn refuse_secondary(&self) -> impl Fn(Rule) -> Refusal + use<> {
        let node = self.spec.idx;
        move |rule| Refusal { node, rule, role_is_primary: false }
    }
}

/// Computes the moves of one instance on the ledgers of the nodes concerned, step by step as Ganeti performs
/// them. The cluster is not changed.
pub struct Trial<'a> {
    cluster: &'a Cluster,
    instance: &'a Instance,
    primary: Side<'a>,
    /// The primary node (P) without the instance.
    primary_left: Ledger,
    /// Conflicts of the instance's tags, and the cost of its keys, on its present primary.
    own_tags: TagArrival,
    mirror: Option<Mirror<'a>>,
    soft: bool,
    crowded: bool,
    /// True if the reserve of the group is not checked.
    alone: bool,
}

/// The secondary node (S), before and after losing the instance.
struct Mirror<'a> {
    side: Side<'a>,
    left: Ledger,
}

impl<'a> Trial<'a> {
    /// Prepares the moves of `instance`.
    pub fn new(cluster: &'a Cluster, instance: &'a Instance, rules: &MoveRules) -> Trial<'a> {
        let primary = Side::new(cluster, instance.primary, instance);
        let state = &cluster.node(instance.primary).state;
        let own_tags = TagArrival::of_primary(state, instance);
        let primary_left =
            primary.before.remove_primary(primary.spec, instance, instance.location_score, own_tags);
        let mirror = instance.mirror().map(|node| {
            let side = Side::new(cluster, node, instance);
            let (reserve, _) = cluster.node(node).state.reserve_without(side.spec, instance);
            let left = side.before.remove_secondary(side.spec, instance, reserve);
            Mirror { side, left }
        });
        Trial {
            cluster,
            instance,
            primary,
            primary_left,
            own_tags,
            mirror,
            soft: rules.ignore_soft_errors,
            crowded: false,
            alone: false,
        }
    }

    /// Applies a concession.
    #[must_use]
    pub(crate) fn conceding(self, concession: Concession) -> Trial<'a> {
        if concession.memory() > Mib::ZERO { self.crowded() } else { self }
    }

    /// Does not require the memory on the new nodes yet.
    #[must_use]
    pub(crate) fn crowded(self) -> Trial<'a> {
        Trial { crowded: true, ..self }
    }

    /// Checks the nodes of the move only, not the other nodes of the group.
    #[must_use]
    pub(crate) fn alone(self) -> Trial<'a> {
        Trial { alone: true, ..self }
    }

    fn strictness(&self, forced: bool) -> Strictness {
        if self.crowded {
            Strictness::Crowded
        } else if forced || self.soft {
            Strictness::Forced
        } else {
            Strictness::Strict
        }
    }

    fn check_migration(&self, from: &NodeSpec, to: &NodeSpec) -> Result<(), Refusal> {
        if from.can_migrate_to(to) {
            return Ok(());
        }
        Err(Refusal { node: to.idx, rule: Rule::MigrationTags, role_is_primary: true })
    }

    fn mirror(&self) -> Result<&Mirror<'a>, Refusal> {
        self.mirror.as_ref().ok_or(Refusal {
            node: self.primary.spec.idx,
            rule: Rule::NotMirrored,
            role_is_primary: false,
        })
    }

    /// Memory that `node` already reserves for the failure of `primary`.
    fn peer(&self, node: NodeIdx, primary: NodeIdx) -> Mib {
        self.cluster.node(node).state.peers.get(primary)
    }

    pub(crate) fn instance(&self) -> &'a Instance {
        self.instance
    }

    /// P without the instance.
    pub(crate) fn primary_left(&self) -> &Ledger {
        &self.primary_left
    }

    /// S without the instance, if it is mirrored.
    pub(crate) fn mirror_left(&self) -> Option<&Ledger> {
        self.mirror.as_ref().map(|m| &m.left)
    }

    /// Tries a move.
    ///
    /// # Errors
    /// The first rule that one of its steps breaks, and the node.
    pub fn run(&self, mv: Move) -> Result<Outcome<'a>, Refusal> {
        let outcome = self.run_alone(mv)?;
        self.keeps_room(&outcome)?;
        if self.primary.spec.joint_losses <= 1 {
            return Ok(outcome);
        }
        let to = outcome.placement.primary;
        let is_bound = !(self.alone || self.soft || self.primary.spec.offline || to == self.instance.primary);
        let breaks = |change: ReserveChange| !change.is_allowed();
        if is_bound && self.reserve_change(to).is_some_and(breaks) {
            return Err(Refusal { node: to, rule: Rule::GroupReserve, role_is_primary: true });
        }
        Ok(outcome)
    }

    /// Checks the room for further instances after a move. Instances that leave a lost node need not keep any.
    fn keeps_room(&self, outcome: &Outcome<'_>) -> Result<(), Refusal> {
        let mut own =
            [Some(self.primary.spec), self.mirror.as_ref().map(|m| m.side.spec)].into_iter().flatten();
        let is_free = self.alone || self.soft || own.any(|spec| spec.offline);
        let Some(room) = self.cluster.room().filter(|_| !is_free) else { return Ok(()) };
        if room.allows(&room_changes(room, outcome)) {
            return Ok(());
        }
        let Placement { primary, secondary } = outcome.placement;
        let moved = Some(primary).filter(|node| *node != self.instance.primary);
        let node = moved.or(secondary).unwrap_or(primary);
        Err(Refusal { node, rule: Rule::KeptRoom, role_is_primary: node == primary })
    }

    /// Numbers of further instances that must fit after a move, and that do; `None` if no room is kept.
    pub(crate) fn room_numbers(&self, mv: Move) -> Option<RoomNumbers> {
        let room = self.cluster.room()?;
        let outcome = self.run_alone(mv).ok()?;
        Some(RoomNumbers { needed: room.count(), fitting: room.count_with(&room_changes(room, &outcome)) })
    }

    /// Change of the reserve of `to`'s group if the instance runs on that node.
    pub(crate) fn reserve_change(&self, to: NodeIdx) -> Option<ReserveChange> {
        self.cluster.reserve_change(self.instance, self.instance.primary, to)
    }

    fn run_alone(&self, mv: Move) -> Result<Outcome<'a>, Refusal> {
        match mv {
            Move::Failover => self.failover(mv),
            Move::FailoverTo(t) => self.failover_to(mv, t),
            Move::ReplaceSecondary(t) => self.replace_secondary(mv, t),
            Move::ReplaceAndFailover(t) => self.replace_and_failover(mv, t),
            Move::ReplacePrimary(t) => self.replace_primary(mv, t),
            Move::FailoverAndReplace(t) => self.failover_and_replace(mv, t),
            Move::ReplaceBoth(t, u) | Move::FailoverAndReplaceBoth(t, u) => self.replace_both(mv, t, u),
        }
    }

    fn outcome<const N: usize>(&self, mv: Move, location_score: i64, ends: [Touched<'a>; N]) -> Outcome<'a> {
        let mut touched = [ends[0]; Move::MOST_NODES];
        touched[..N].copy_from_slice(&ends);
        Outcome { placement: mv.placement(self.instance), location_score, touched, count: N }
    }

    fn failover(&self, mv: Move) -> Result<Outcome<'a>, Refusal> {
        let (p, s, i) = (&self.primary, self.mirror()?, self.instance);
        self.check_migration(p.spec, s.side.spec)?;
        let strictness = self.strictness(p.spec.offline);
        let location = i.location_score;
        let new_s = s
            .left
            .add_primary(s.side.spec, i, location, s.side.tags, strictness)
            .map_err(s.side.refuse_primary())?;
        let disk = if p.spec.offline { DiskCheck::Ignored } else { DiskCheck::Needed };
        let peer = self.peer(p.spec.idx, s.side.spec.idx);
        let new_p = self
            .primary_left
            .add_secondary(p.spec, i, peer, strictness, disk)
            .map_err(p.refuse_secondary())?;
        Ok(self.outcome(mv, location, [p.touched(new_p), s.side.touched(new_s)]))
    }

    fn failover_to(&self, mv: Move, target: NodeIdx) -> Result<Outcome<'a>, Refusal> {
        let (p, i) = (&self.primary, self.instance);
        let t = Side::new(self.cluster, target, i);
        // A stopped instance does not migrate.
        if i.template.is_movable() {
            self.check_migration(p.spec, t.spec)?;
        }
        let strictness = self.strictness(p.spec.offline);
        let location = i.location_score;
        let new_t =
            t.before.add_primary(t.spec, i, location, t.tags, strictness).map_err(t.refuse_primary())?;
        Ok(self.outcome(mv, location, [p.touched(self.primary_left), t.touched(new_t)]))
    }

    fn replace_secondary(&self, mv: Move, target: NodeIdx) -> Result<Outcome<'a>, Refusal> {
        let (p, s, i) = (&self.primary, self.mirror()?, self.instance);
        let t = Side::new(self.cluster, target, i);
        let location = self.cluster.common_locations(p.spec.idx, target);
        let mut new_t = self.enter_as_secondary(s, &t, self.peer(target, p.spec.idx))?;
        if target == s.side.spec.idx {
            // It is checked as if it were added to itself, but its memory is reserved once.
            let (_, left) = self.cluster.node(target).state.reserve_without(t.spec, i);
            new_t = Ledger { joint: t.before.joint, ..self.enter_as_secondary(s, &t, left)? };
        }
        // The primary is entered again on its node with the new location score.
        let new_p = self
            .primary_left
            .add_primary(p.spec, i, location, self.own_tags, Strictness::Forced)
            .map_err(p.refuse_primary())?;
        Ok(self.outcome(mv, location, [p.touched(new_p), s.side.touched(s.left), t.touched(new_t)]))
    }

    /// The new node (T) as the secondary instead of S.
    fn enter_as_secondary(&self, s: &Mirror<'_>, t: &Side<'_>, peer: Mib) -> Result<Ledger, Refusal> {
        let strictness = self.strictness(s.side.spec.offline);
        let new = t.before.add_secondary(t.spec, self.instance, peer, strictness, DiskCheck::Needed);
        new.map_err(t.refuse_secondary())
    }

    /// State of a node other than S after [`Move::ReplaceSecondary`]; `None` if it refuses.
    pub(crate) fn new_secondary(&self, target: NodeIdx) -> Option<Touched<'a>> {
        let t = Side::new(self.cluster, target, self.instance);
        let peer = self.peer(target, self.primary.spec.idx);
        let entered = self.enter_as_secondary(self.mirror.as_ref()?, &t, peer);
        entered.ok().map(|after| t.touched(after))
    }

    fn replace_and_failover(&self, mv: Move, target: NodeIdx) -> Result<Outcome<'a>, Refusal> {
        let (p, s, i) = (&self.primary, self.mirror()?, self.instance);
        let t = Side::new(self.cluster, target, i);
        let location = self.cluster.common_locations(target, p.spec.idx);
        self.check_migration(p.spec, t.spec)?;
        let strictness = self.strictness(false);
        let new_t =
            t.before.add_primary(t.spec, i, location, t.tags, strictness).map_err(t.refuse_primary())?;
        let strictness = self.strictness(s.side.spec.offline);
        let peer = self.peer(p.spec.idx, target);
        let new_p = self
            .primary_left
            .add_secondary(p.spec, i, peer, strictness, DiskCheck::Needed)
            .map_err(p.refuse_secondary())?;
        Ok(self.outcome(mv, location, [p.touched(new_p), s.side.touched(s.left), t.touched(new_t)]))
    }

    fn replace_primary(&self, mv: Move, target: NodeIdx) -> Result<Outcome<'a>, Refusal> {
        let (p, s, i) = (&self.primary, self.mirror()?, self.instance);
        let t = Side::new(self.cluster, target, i);
        let location = self.cluster.common_locations(target, s.side.spec.idx);
        self.check_migration(p.spec, s.side.spec)?;
        self.check_migration(s.side.spec, t.spec)?;
        let strictness = self.strictness(p.spec.offline);
        // S must run the instance for a while.
        let meanwhile = s
            .left
            .add_primary(s.side.spec, i, location, s.side.tags, strictness)
            .map_err(s.side.refuse_primary())?;
        let back = meanwhile.remove_primary(s.side.spec, i, location, s.side.tags);
        let new_t =
            t.before.add_primary(t.spec, i, location, t.tags, strictness).map_err(t.refuse_primary())?;
        let peer = self.peer(s.side.spec.idx, target);
        let new_s = back
            .add_secondary(s.side.spec, i, peer, strictness, DiskCheck::Needed)
            .map_err(s.side.refuse_secondary())?;
        Ok(self.outcome(
            mv,
            location,
            [p.touched(self.primary_left), s.side.touched(new_s), t.touched(new_t)],
        ))
    }

    fn failover_and_replace(&self, mv: Move, target: NodeIdx) -> Result<Outcome<'a>, Refusal> {
        let (p, s, i) = (&self.primary, self.mirror()?, self.instance);
        let t = Side::new(self.cluster, target, i);
        let location = self.cluster.common_locations(s.side.spec.idx, target);
        self.check_migration(p.spec, s.side.spec)?;
        let strictness = self.strictness(p.spec.offline);
        let new_s = s
            .left
            .add_primary(s.side.spec, i, location, s.side.tags, strictness)
            .map_err(s.side.refuse_primary())?;
        let peer = self.peer(target, s.side.spec.idx);
        let new_t = t
            .before
            .add_secondary(t.spec, i, peer, strictness, DiskCheck::Needed)
            .map_err(t.refuse_secondary())?;
        Ok(self.outcome(
            mv,
            location,
            [p.touched(self.primary_left), s.side.touched(new_s), t.touched(new_t)],
        ))
    }

    /// Intermediate nodes only have to be possible, since the instance does not stay there.
    fn replace_both(&self, mv: Move, target: NodeIdx, other: NodeIdx) -> Result<Outcome<'a>, Refusal> {
        let (p, s, i) = (&self.primary, self.mirror()?, self.instance);
        let [t, u] = [target, other].map(|node| Side::new(self.cluster, node, i));
        let location = self.cluster.common_locations(target, other);
        let mut from = p.spec;
        if matches!(mv, Move::FailoverAndReplaceBoth(..)) {
            self.check_migration(from, s.side.spec)?;
            from = s.side.spec;
            let there = s.left.add_primary(from, i, location, s.side.tags, Strictness::Forced);
            there.map_err(s.side.refuse_primary())?;
        }
        self.check_migration(from, t.spec)?;
        let strictness = self.strictness(false);
        let new_t =
            t.before.add_primary(t.spec, i, location, t.tags, strictness).map_err(t.refuse_primary())?;
        let peer = self.peer(other, target);
        let new_u = u.before.add_secondary(u.spec, i, peer, strictness, DiskCheck::Needed);
        let new_u = new_u.map_err(u.refuse_secondary())?;
        let left = [p.touched(self.primary_left), s.side.touched(s.left)];
        Ok(self.outcome(mv, location, [left[0], left[1], t.touched(new_t), u.touched(new_u)]))
    }
}

/// The room of the nodes that a move touches.
fn room_changes(
    room: &ClusterRoom,
    outcome: &Outcome<'_>,
) -> SmallVec<[(NodeIdx, NodeRoom); Move::MOST_NODES]> {
    let changes = outcome.touched().iter();
    changes.map(|touched| (touched.spec.idx, room.node_room(touched.spec, &touched.after))).collect()
}

/// Performs a move that only its own nodes may refuse, as part of several that were checked together.
///
/// # Errors
/// The refusal; the cluster is then unchanged.
pub(crate) fn perform_alone(
    draft: &mut Draft,
    idx: InstanceIdx,
    mv: Move,
    rules: &MoveRules,
) -> Result<(), Refusal> {
    let outcome = Trial::new(draft, draft.instance(idx), rules).alone().run(mv)?;
    let (to, location_score, ledgers) = (outcome.placement, outcome.location_score, outcome.ledgers());
    draft.relocate(idx, to, location_score, &ledgers);
    Ok(())
}

/// Performs a move.
///
/// # Errors
/// The refusal; the cluster is then unchanged.
pub fn perform(draft: &mut Draft, idx: InstanceIdx, mv: Move, rules: &MoveRules) -> Result<(), Refusal> {
    make(draft, idx, mv, rules, Concession::None)
}

/// Performs a step with its concession.
///
/// # Errors
/// The refusal; the cluster is then unchanged.
pub fn perform_step(draft: &mut Draft, step: &Step, rules: &MoveRules) -> Result<(), Refusal> {
    make(draft, step.instance, step.mv, rules, step.concession)
}

fn make(
    draft: &mut Draft,
    idx: InstanceIdx,
    mv: Move,
    rules: &MoveRules,
    concession: Concession,
) -> Result<(), Refusal> {
    let outcome = Trial::new(draft, draft.instance(idx), rules).conceding(concession).run(mv)?;
    let (to, location_score, ledgers) = (outcome.placement, outcome.location_score, outcome.ledgers());
    draft.relocate(idx, to, location_score, &ledgers);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(mirror_usable: bool, primary_online: bool, rules: MoveRules) -> Vec<Move> {
        let n = NodeIdx::new(9);
        mirrored_moves(mirror_usable, primary_online, &rules).iter().map(|kind| kind(n)).collect()
    }

    #[test]
    fn who_is_stopped_for_a_copy_only_leaves_nodes_that_go() {
        use htools_model::Immobile;
        let nodes = ["n1|4096|0|3072|10240|9216|4|N|u|1", "n2|4096|0|4096|10240|10240|4|N|u|1"];
        let mut cluster = htools_testkit::cluster(&nodes, &["i|1024|1024|1|running|Y|n1||plain||1"], &[]);
        let count = |cluster: &Cluster, rules: &MoveRules| {
            Repertoire::of(cluster, &cluster.instances[0], false, rules).len(1)
        };
        let all = MoveRules::default();
        assert_eq!(cluster.instances[0].immobile, Some(Immobile::Template));
        assert_eq!(count(&cluster, &all), 0);
        cluster.nodes[0].spec.offline = true;
        assert_eq!(count(&cluster, &all), 0);
        cluster.instances[0].immobile = None;
        assert_eq!(count(&cluster, &all), 1);
        assert_eq!(count(&cluster, &MoveRules { disk_moves: false, ..all }), 0);
        assert_eq!(count(&cluster, &MoveRules { instance_moves: false, ..all }), 0);
        cluster.nodes[0].spec.offline = false;
        assert_eq!(count(&cluster, &all), 0);
    }

    #[test]
    fn moves_of_mirrored_instances_to_one_node() {
        use Move::{FailoverAndReplace, ReplaceAndFailover, ReplacePrimary, ReplaceSecondary};
        let n = NodeIdx::new(9);
        let all = MoveRules::default();
        let restricted = MoveRules { restricted_migration: true, ..all };
        let no_disks = MoveRules { disk_moves: false, ..restricted };
        let no_instances = MoveRules { instance_moves: false, ..restricted };
        for online in [true, false] {
            let four = [ReplaceSecondary(n), ReplaceAndFailover(n), ReplacePrimary(n), FailoverAndReplace(n)];
            assert_eq!(kinds(true, online, all), four);
            assert_eq!(kinds(false, online, all), [ReplaceSecondary(n), ReplaceAndFailover(n)]);
            assert_eq!(kinds(true, online, no_disks), []);
            assert_eq!(kinds(true, online, no_instances), [ReplaceSecondary(n)]);
            assert_eq!(kinds(false, online, no_instances), [ReplaceSecondary(n)]);
        }
        assert_eq!(kinds(true, true, restricted), [ReplaceSecondary(n)]);
        assert_eq!(kinds(false, true, restricted), [ReplaceSecondary(n)]);
        let leaving = [ReplaceSecondary(n), ReplaceAndFailover(n), FailoverAndReplace(n)];
        assert_eq!(kinds(true, false, restricted), leaving);
        assert_eq!(kinds(false, false, restricted), [ReplaceSecondary(n), ReplaceAndFailover(n)]);
    }
}

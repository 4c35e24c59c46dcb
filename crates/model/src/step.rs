//! Vocabulary of changes: a [`Leg`] is a single operation of Ganeti, a [`Move`] is decided as a whole, and a [`Step`]
//! adds the instance and its placements.
//!
//! [`Move::legs`] is the only definition of the legs of a move. Opcodes, commands, documents, costs and the checker of
//! plans are derived from it.

use serde::{Deserialize, Serialize};

use super::cluster::Cluster;
use super::index::{GroupIdx, InstanceIdx, NodeIdx};
use super::instance::Instance;
use super::kinds::Mirroring;
use super::units::Mib;

/// The nodes of an instance, by index or by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Placement<N = NodeIdx> {
    /// The primary node.
    pub primary: N,
    /// The secondary node, if any.
    #[serde(default = "Option::default", skip_serializing_if = "Option::is_none")]
    pub secondary: Option<N>,
}

impl<N> Placement<N> {
    /// The nodes, the primary one first.
    pub fn nodes(self) -> impl Iterator<Item = N> {
        [Some(self.primary), self.secondary].into_iter().flatten()
    }

    /// Converts the nodes.
    ///
    /// # Errors
    /// The first error of `map`.
    pub fn try_map<M, E>(self, mut map: impl FnMut(N) -> Result<M, E>) -> Result<Placement<M>, E> {
        Ok(Placement { primary: map(self.primary)?, secondary: self.secondary.map(map).transpose()? })
    }
}

/// A single operation of Ganeti on an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Leg<N = NodeIdx> {
    /// Its nodes swap roles, by live migration or failover.
    Failover,
    /// The instance goes to this node. Either its storage is external, or it is stopped while its disks are copied.
    FailoverTo(N),
    /// The disks are copied to this node, which becomes the secondary.
    ReplaceSecondary(N),
}

impl<N: Clone> Leg<N> {
    /// Placement after this leg, from placement `at`.
    pub fn from(self, at: Placement<N>) -> Placement<N> {
        match self {
            Leg::Failover => Placement {
                primary: at.secondary.unwrap_or_else(|| at.primary.clone()),
                secondary: Some(at.primary),
            },
            Leg::FailoverTo(node) => Placement { primary: node, ..at },
            Leg::ReplaceSecondary(node) => Placement { secondary: Some(node), ..at },
        }
    }
}

/// A move of one instance. P and S are its present primary and secondary. Serialised as `way` and `target`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "way", content = "target", rename_all = "snake_case")]
pub enum Move<N = NodeIdx> {
    /// P and S swap roles.
    Failover,
    /// An instance without a mirror goes to this node. Either its storage is external, or its disks are copied
    /// ([`Step::copies_while_stopped`]).
    FailoverTo(N),
    /// This node becomes the secondary.
    ReplaceSecondary(N),
    /// This node becomes the secondary, then the primary; P becomes the secondary.
    ReplaceAndFailover(N),
    /// This node becomes the primary; S stays the secondary.
    ReplacePrimary(N),
    /// S becomes the primary and this node the secondary.
    FailoverAndReplace(N),
    /// The first node becomes the secondary, then the primary. The second becomes the secondary. One of the two copies
    /// is always complete.
    ReplaceBoth(N, N),
    /// The same result after a failover, because P is offline.
    FailoverAndReplaceBoth(N, N),
}

impl<N> Move<N> {
    /// The legs of the move, in order.
    pub fn legs(self) -> impl Iterator<Item = Leg<N>> {
        use Leg::{Failover as Go, ReplaceSecondary as Copy};
        let legs = match self {
            Move::Failover => [Some(Go), None, None, None],
            Move::FailoverTo(t) => [Some(Leg::FailoverTo(t)), None, None, None],
            Move::ReplaceSecondary(t) => [Some(Copy(t)), None, None, None],
            Move::ReplaceAndFailover(t) => [Some(Copy(t)), Some(Go), None, None],
            Move::ReplacePrimary(t) => [Some(Go), Some(Copy(t)), Some(Go), None],
            Move::FailoverAndReplace(t) => [Some(Go), Some(Copy(t)), None, None],
            Move::ReplaceBoth(t, u) => [Some(Copy(t)), Some(Go), Some(Copy(u)), None],
            Move::FailoverAndReplaceBoth(t, u) => [Some(Go), Some(Copy(t)), Some(Go), Some(Copy(u))],
        };
        legs.into_iter().flatten()
    }

    /// The move that consists of these legs, if there is one.
    pub fn of_legs(legs: impl IntoIterator<Item = Leg<N>>) -> Option<Move<N>> {
        let mut legs = legs.into_iter().fuse();
        let four = [legs.next(), legs.next(), legs.next(), legs.next()];
        if legs.next().is_some() {
            return None;
        }
        use Leg::{Failover as Go, ReplaceSecondary as Copy};
        Some(match four {
            [Some(Go), None, None, None] => Move::Failover,
            [Some(Leg::FailoverTo(t)), None, None, None] => Move::FailoverTo(t),
            [Some(Copy(t)), None, None, None] => Move::ReplaceSecondary(t),
            [Some(Copy(t)), Some(Go), None, None] => Move::ReplaceAndFailover(t),
            [Some(Go), Some(Copy(t)), Some(Go), None] => Move::ReplacePrimary(t),
            [Some(Go), Some(Copy(t)), None, None] => Move::FailoverAndReplace(t),
            [Some(Copy(t)), Some(Go), Some(Copy(u)), None] => Move::ReplaceBoth(t, u),
            [Some(Go), Some(Copy(t)), Some(Go), Some(Copy(u))] => Move::FailoverAndReplaceBoth(t, u),
            _ => return None,
        })
    }

    /// The nodes that the instance did not have before; the new primary comes first.
    pub fn targets(self) -> impl Iterator<Item = N> {
        let targets = match self {
            Move::Failover => [None, None],
            Move::FailoverTo(t)
            | Move::ReplaceSecondary(t)
            | Move::ReplaceAndFailover(t)
            | Move::ReplacePrimary(t)
            | Move::FailoverAndReplace(t) => [Some(t), None],
            Move::ReplaceBoth(t, u) | Move::FailoverAndReplaceBoth(t, u) => [Some(t), Some(u)],
        };
        targets.into_iter().flatten()
    }

    /// The first of [`targets`](Self::targets).
    pub fn target(self) -> Option<N> {
        self.targets().next()
    }

    /// Converts the nodes.
    ///
    /// # Errors
    /// The first error of `map`.
    pub fn try_map<M, E>(self, mut map: impl FnMut(N) -> Result<M, E>) -> Result<Move<M>, E> {
        Ok(match self {
            Move::Failover => Move::Failover,
            Move::FailoverTo(t) => Move::FailoverTo(map(t)?),
            Move::ReplaceSecondary(t) => Move::ReplaceSecondary(map(t)?),
            Move::ReplaceAndFailover(t) => Move::ReplaceAndFailover(map(t)?),
            Move::ReplacePrimary(t) => Move::ReplacePrimary(map(t)?),
            Move::FailoverAndReplace(t) => Move::FailoverAndReplace(map(t)?),
            Move::ReplaceBoth(t, u) => Move::ReplaceBoth(map(t)?, map(u)?),
            Move::FailoverAndReplaceBoth(t, u) => Move::FailoverAndReplaceBoth(map(t)?, map(u)?),
        })
    }
}

impl Move {
    /// Maximum number of nodes that a move touches.
    pub const MOST_NODES: usize = 4;

    /// Placement of the instance after the move.
    pub fn placement(self, instance: &Instance) -> Placement {
        let from = instance.placement();
        self.legs().fold(from, |at, leg| leg.from(at))
    }
}

/// Concession that makes a step possible if no order of steps makes room for it. The instance is an index or a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Concession<I = InstanceIdx> {
    /// No concession.
    #[default]
    None,
    /// Its new primary node may have this much less memory than the rules require, until another instance leaves.
    Overcommit(Mib),
    /// The same, but an instance that leaves the node later is stopped until then, so that its memory is free.
    Interruption {
        /// Memory missing by the rules.
        memory: Mib,
        /// The instance that is stopped.
        stopped: I,
    },
    /// The instance was stopped for others, and is started on its new node.
    Restart,
}

impl<I> Concession<I> {
    /// Memory that may be missing.
    pub fn memory(&self) -> Mib {
        match self {
            Concession::Overcommit(memory) | Concession::Interruption { memory, .. } => *memory,
            Concession::None | Concession::Restart => Mib::ZERO,
        }
    }

    /// Tells if nothing is conceded.
    pub fn is_none(&self) -> bool {
        matches!(self, Concession::None)
    }

    /// Converts the instance.
    ///
    /// # Errors
    /// The error of `map`.
    pub fn try_map<J, E>(self, map: impl FnOnce(I) -> Result<J, E>) -> Result<Concession<J>, E> {
        Ok(match self {
            Concession::None => Concession::None,
            Concession::Overcommit(memory) => Concession::Overcommit(memory),
            Concession::Interruption { memory, stopped } => {
                Concession::Interruption { memory, stopped: map(stopped)? }
            }
            Concession::Restart => Concession::Restart,
        })
    }
}

/// A move as a part of a plan.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step {
    /// The instance that moves.
    pub instance: InstanceIdx,
    /// The move.
    pub mv: Move,
    /// Placement before.
    pub from: Placement,
    /// Placement after.
    pub to: Placement,
    /// Score of the cluster afterwards.
    pub score: f64,
    /// Concession made for the step.
    pub concession: Concession,
}

impl Step {
    /// The legs, each with the placements before and after it.
    pub fn legs(&self) -> impl Iterator<Item = (Leg, Placement, Placement)> {
        self.mv.legs().scan(self.from, |at, leg| {
            let from = std::mem::replace(at, leg.from(*at));
            Some((leg, from, *at))
        })
    }

    /// Tells if the instance is running when a leg from placement `from` begins, so that it is live-migrated. Otherwise
    /// it fails over. An instance that moves to another group from an offline node leaves that node first. Nothing runs
    /// there, so it is started if it should run.
    pub fn migrates(&self, cluster: &Cluster, from: Placement) -> bool {
        let instance = cluster.instance(self.instance);
        let is_rescued = |at| self.leaves_offline(cluster, at);
        let runs =
            if is_rescued(self.from) { instance.status.uses_memory() } else { instance.status.is_running() };
        // Disks that only the old node has are copied while the instance is stopped.
        let stays_up =
            instance.template.mirroring() != Mirroring::None && self.concession != Concession::Restart;
        runs && !is_rescued(from) && !instance.forthcoming && stays_up
    }

    /// Tells if the instance is stopped while its disks, which only the old node has, are copied to the new node.
    pub fn copies_while_stopped(&self, cluster: &Cluster) -> bool {
        let instance = cluster.instance(self.instance);
        instance.template.mirroring() == Mirroring::None && !instance.forthcoming
    }

    /// Tells if a leg from placement `from` leaves an offline node on the way to another group.
    pub fn leaves_offline(&self, cluster: &Cluster, from: Placement) -> bool {
        self.crosses(cluster) && cluster.node(from.primary).spec.offline
    }

    /// The groups of its primary nodes before and after.
    pub fn groups(&self, cluster: &Cluster) -> (GroupIdx, GroupIdx) {
        let group = |at: Placement| cluster.node(at.primary).spec.group;
        (group(self.from), group(self.to))
    }

    /// Tells if the instance moves to another group.
    pub fn crosses(&self, cluster: &Cluster) -> bool {
        let (source, target) = self.groups(cluster);
        source != target
    }

    /// Disk space that is copied.
    pub fn copied(&self, cluster: &Cluster) -> Mib {
        let stopped = self.copies_while_stopped(cluster);
        let copies = self.mv.legs().filter(|leg| stopped || matches!(leg, Leg::ReplaceSecondary(_)));
        copies.map(|_| cluster.instance(self.instance).disk).sum()
    }

    /// The nodes that the step touches: those of the instance before and after. The old secondary counts only if the
    /// disk template uses one.
    pub fn nodes(&self, cluster: &Cluster) -> impl Iterator<Item = NodeIdx> + use<> {
        let mirrored = cluster.instance(self.instance).template.has_secondary();
        let secondary = self.from.secondary.filter(|_| mirrored);
        self.to.nodes().chain(Placement { secondary, ..self.from }.nodes())
    }
}

/// An instance that is elsewhere while a group of nodes is down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MovedMeanwhile {
    /// The instance.
    pub instance: InstanceIdx,
    /// Usual placement.
    pub from: Placement,
    /// Placement in the meantime.
    pub to: Placement,
}

impl MovedMeanwhile {
    /// Tells if primary and secondary only swap roles.
    pub fn is_failover(&self) -> bool {
        Some(self.to.primary) == self.from.secondary && self.to.secondary == Some(self.from.primary)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Move<char>; 8] = [
        Move::Failover,
        Move::FailoverTo('t'),
        Move::ReplaceSecondary('t'),
        Move::ReplaceAndFailover('t'),
        Move::ReplacePrimary('t'),
        Move::FailoverAndReplace('t'),
        Move::ReplaceBoth('t', 'u'),
        Move::FailoverAndReplaceBoth('t', 'u'),
    ];

    #[test]
    fn legs_tell_the_move() {
        for mv in ALL {
            assert_eq!(Move::of_legs(mv.legs()), Some(mv));
        }
        assert_eq!(Move::<char>::of_legs([Leg::Failover, Leg::Failover]), None);
        assert_eq!(Move::<char>::of_legs([]), None);
        let five = [Leg::Failover, Leg::ReplaceSecondary('t')].into_iter().cycle().take(5);
        assert_eq!(Move::of_legs(five), None);
    }

    #[test]
    fn what_is_written_is_read() {
        let texts = ALL.map(|mv| serde_json::to_string(&mv).unwrap());
        assert_eq!(texts[0], r#"{"way":"failover"}"#);
        assert_eq!(texts[4], r#"{"way":"replace_primary","target":"t"}"#);
        assert_eq!(texts[6], r#"{"way":"replace_both","target":["t","u"]}"#);
        for (mv, text) in ALL.into_iter().zip(texts) {
            assert_eq!(serde_json::from_str::<Move<char>>(&text).unwrap(), mv);
        }
    }

    #[test]
    fn legs_lead_to_the_end_of_the_move() {
        let [p, s, t, u] = [0, 1, 2, 3].map(NodeIdx::new);
        let from = Placement { primary: p, secondary: Some(s) };
        let to = |primary, secondary| Placement { primary, secondary: Some(secondary) };
        for (mv, end) in [
            (Move::Failover, to(s, p)),
            (Move::ReplaceSecondary(t), to(p, t)),
            (Move::ReplaceAndFailover(t), to(t, p)),
            (Move::ReplacePrimary(t), to(t, s)),
            (Move::FailoverAndReplace(t), to(s, t)),
            (Move::ReplaceBoth(t, u), to(t, u)),
            (Move::FailoverAndReplaceBoth(t, u), to(t, u)),
        ] {
            let step = Step {
                instance: InstanceIdx::new(0),
                mv,
                from,
                to: end,
                score: 0.0,
                concession: Concession::None,
            };
            assert_eq!(step.legs().last().map(|(_, _, at)| at), Some(end), "{mv:?}");
        }
        let alone = Placement { primary: p, secondary: None };
        assert_eq!(Leg::FailoverTo(t).from(alone), Placement { primary: t, secondary: None });
    }
}

//! Upper bound of the number of groups that can be emptied, each by itself. docs/bounds.md has the proof.
//!
//! A group counts unless some rule, or the sum of some resource, proves that it cannot be emptied, in whatever order its
//! instances leave and wherever they go.

mod demand;
mod hosts;
#[cfg(test)]
mod tests;

use self::hosts::{Guest, guests};
use super::compress::{Compressed, Compression, residents};
use super::{Placing, RegroupOptions, Setting, reach};
use crate::Deadline;
use crate::parallel::map_with;
use crate::why::StayCause;
use htools_model::{Cluster, GroupIdx, Instance, InstanceIdx, Rule};

/// Upper bound of the number of groups that can be emptied, each by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EmptyingProof {
    /// The bound: the groups that the search emptied, and the undecided ones.
    pub most: usize,
    /// Number of groups that the search emptied.
    pub emptied: usize,
    /// Groups that the search did not empty, without a proof that they cannot be emptied.
    pub undecided: Vec<GroupIdx>,
}

impl Compression {
    /// Bounds the number of requested groups that can be emptied. Every group is emptied by itself, and all instances of
    /// other groups stay where they are. Groups that are not examined before the deadline are undecided.
    pub fn proof(&self, cluster: &Cluster, options: &RegroupOptions, deadline: &Deadline) -> EmptyingProof {
        let setting = Setting::of(cluster, options);
        let ground = EmptyingGround {
            cluster,
            setting: &setting,
            placing: &Placing::new(cluster, &setting),
            max_moves: options.max_moves,
            deadline,
        };
        let is_emptied = |outcome: &Compressed| matches!(outcome, Compressed::Emptied(_));
        let others = self.candidates.iter().filter(|candidate| !is_emptied(&candidate.outcome));
        let others: Vec<GroupIdx> = others.map(|candidate| candidate.group).collect();
        let refuted = map_with(&others, || (), |(), group| ground.refutes(*group));
        let undecided = others.iter().zip(refuted).filter(|(_, refuted)| !refuted);
        let undecided: Vec<GroupIdx> = undecided.map(|(group, _)| *group).collect();
        let emptied = self.candidates.len() - others.len();
        EmptyingProof { most: emptied + undecided.len(), emptied, undecided }
    }
}

/// The state before any move, and the rules.
struct EmptyingGround<'c> {
    cluster: &'c Cluster,
    setting: &'c Setting,
    placing: &'c Placing<'c>,
    max_moves: Option<usize>,
    deadline: &'c Deadline,
}

impl EmptyingGround<'_> {
    /// Tells if there is a proof that a group cannot be emptied.
    fn refutes(&self, group: GroupIdx) -> bool {
        let residents = residents(self.cluster, group);
        let instances = || residents.iter().map(|i| self.cluster.instance(*i));
        // Every instance needs a move of its own.
        residents.is_empty()
            || self.max_moves.is_some_and(|most| residents.len() > most)
            || instances().any(|instance| self.always_stays(instance))
            || self.lacks_places(group, &residents)
    }

    /// Tells if an instance cannot leave its group, whatever else moves.
    fn always_stays(&self, instance: &Instance) -> bool {
        match reach::hold(self.cluster, instance) {
            None => false,
            // A failover may become possible after other instances have left.
            Some(StayCause::NoFailover(_, rule)) => rule == Rule::MigrationTags,
            Some(_) => true,
        }
    }

    /// Tells if there is a proof that the other groups lack places for all instances.
    fn lacks_places(&self, group: GroupIdx, residents: &[InstanceIdx]) -> bool {
        match guests(self, group, residents) {
            Some(guests) => guests.iter().any(Guest::has_no_place) || demand::exceeds(self, &guests),
            None => false,
        }
    }
}

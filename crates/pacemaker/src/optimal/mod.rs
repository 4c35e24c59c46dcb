//! The best placement: one that keeps all rules, and of those the one that is best stage by stage. It is looked for
//! from several starts: what is left out makes room for itself by chains of changes, single changes make the rest better, and
//! where the cluster is small enough, everything is tried. docs/pacemaker.md tells the rules and the stages.

mod answer;
mod bound;
mod chains;
mod clones;
mod disturbances;
mod draft;
mod exact;
mod improve;
mod limits;
mod rules;
mod shake;
mod ties;
mod value;
mod ways;

pub use limits::PlacingLimits;
pub use value::{PlacingStage, ThenGoal};

use super::additions::AdditionLog;
use super::index::{HostIdx, ResourceIdx};
use super::place::{PlacingError, place};
use super::placing::AllPlaced;
use super::score::AllocationScore;
use super::working_set::{Strategy, WorkingSet};
use clones::PlacedBefore;
use draft::PlacingDraft;
use exact::Exhaustive;
use htools_model::deadline::Stopped;
use improve::Improvement;
use rules::PlacingRules;
use value::PlacementValue;

/// How many primitives of a priority the best placement runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PriorityCount {
    /// The priority.
    pub priority: AllocationScore,
    /// How many should run.
    pub wanted: usize,
    /// How many have a place.
    pub placed: usize,
    /// No placement that runs as many of each higher priority runs more than this.
    pub bound: usize,
}

/// What is known of the best placement that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Optimum {
    /// What decides last.
    pub then: ThenGoal,
    /// How many run, by priority, highest first.
    pub counts: Vec<PriorityCount>,
    /// The sum of what those that were placed are worth where they are.
    pub score: i64,
    /// The last stage up to which no placement is better; none, if one could run more.
    pub proved: Option<PlacingStage>,
    /// How much was tried.
    pub steps: u64,
    /// What ended the search, if it did not come to its own end.
    pub stopped: Option<Stopped>,
    /// The primitives that Pacemaker would put elsewhere although a location constraint for each one that is placed
    /// named its host with the score INFINITY.
    pub not_followed: Vec<ResourceIdx>,
}

impl Optimum {
    /// Whether no placement is better in anything that counts but names.
    pub fn is_proved(&self) -> bool {
        self.proved >= Some(PlacingStage::Then)
    }
}

/// Finds the best placement of a cluster, or the best that is found within the limits.
///
/// # Errors
/// Those of [`place`].
pub fn optimal(set: &WorkingSet, then: ThenGoal, limits: &PlacingLimits) -> Result<AllPlaced, PlacingError> {
    let before = PlacedBefore::of(set)?;
    let rules = PlacingRules::of(set, &before);
    let mut search = OptimalSearch { rules: &rules, then, limits, steps: 0 };
    let starts = search.starts()?;
    let mut best: Option<PlacingDraft<'_>> = None;
    for start in starts {
        let found = search.improved(start);
        if best.as_ref().is_none_or(|best| found.value() > best.value()) {
            best = Some(found);
        }
    }
    let mut best = best.unwrap_or_else(|| search.empty());
    best.steps = search.steps;
    shake::shake(&mut best, &limits.part(2));
    Improvement::new(&mut best, limits, 0).polish();
    search.steps = best.steps;
    let (hosts, value, proved) = search.exhaust(best);
    answer::all_placed(&search, hosts, &value, proved)
}

/// What the scores in the best placement of a cluster are made of.
pub(super) fn additions(set: &WorkingSet, placed: &AllPlaced) -> Result<AdditionLog, PlacingError> {
    answer::additions(set, placed)
}

/// The search for the best placement.
struct OptimalSearch<'l, 'r> {
    rules: &'r PlacingRules<'r>,
    then: ThenGoal,
    limits: &'l PlacingLimits,
    steps: u64,
}

/// Most steps for trying everything, of each kind.
const ALL: u64 = 3_000_000;

impl<'r> OptimalSearch<'_, 'r> {
    fn empty(&self) -> PlacingDraft<'r> {
        let mut draft = PlacingDraft::new(self.rules, self.then);
        draft.steps = self.steps;
        draft
    }

    /// The placements to begin with: all where they run, and as the strategies that look at room place them.
    fn starts(&mut self) -> Result<Vec<PlacingDraft<'r>>, PlacingError> {
        let set = self.rules.set;
        let running = |one: ResourceIdx| self.rules.home(one);
        let mut drafts = vec![self.filled(running)];
        let own = set.strategy();
        let others = [Strategy::Utilization, Strategy::Balanced, Strategy::Minimal];
        let known = others.into_iter().filter(|other| *other != own);
        for strategy in [own].into_iter().filter(|own| *own != Strategy::Default).chain(known) {
            let placed = place(set, strategy)?;
            drafts.push(self.filled(|one| placed.host(one)));
        }
        let mut starts: Vec<PlacingDraft<'r>> = Vec::new();
        for draft in drafts {
            let is_new = starts.iter().all(|other| other.hosts() != draft.hosts());
            if is_new && self.limits.allow(draft.moves()) {
                starts.push(draft);
            }
        }
        Ok(starts)
    }

    /// The placement in which those have the places that are wanted which the rules allow, by priority.
    fn filled(&self, wanted: impl Fn(ResourceIdx) -> Option<HostIdx>) -> PlacingDraft<'r> {
        let mut draft = self.empty();
        loop {
            let mut again = false;
            for resource in &self.rules.movable {
                let host = wanted(*resource).filter(|_| draft.host(*resource).is_none());
                if let Some(host) = host.filter(|host| draft.can_be(*resource, *host)) {
                    draft.put(*resource, Some(host));
                    again = true;
                }
            }
            if !again {
                return draft;
            }
        }
    }

    /// A placement made better.
    fn improved(&mut self, mut draft: PlacingDraft<'r>) -> PlacingDraft<'r> {
        draft.steps = self.steps;
        let mut improvement = Improvement::new(&mut draft, self.limits, 0);
        improvement.place_all();
        improvement.polish();
        self.steps = draft.steps;
        draft
    }

    /// Tries everything that can be better, stage after stage, and tells up to which stage nothing is.
    fn exhaust(
        &mut self,
        best: PlacingDraft<'r>,
    ) -> (Vec<Option<HostIdx>>, PlacementValue, Option<PlacingStage>) {
        let mut hosts = best.hosts().to_vec();
        let mut value = best.value();
        let mut proved = bound::proved(self.rules, &value);
        let stages =
            [PlacingStage::Placed, PlacingStage::Disruption, PlacingStage::Then, PlacingStage::Names];
        for stage in stages {
            if proved >= Some(stage) {
                continue;
            }
            let search = Exhaustive::new(self.empty(), self.limits, ALL, stage, value.clone());
            let exhausted = search.run();
            self.steps += exhausted.steps;
            if let Some(better) = exhausted.better {
                value = self.valued(&better);
                hosts = better;
            }
            if !exhausted.complete {
                break;
            }
            proved = Some(stage);
        }
        (hosts, value, proved)
    }

    /// How good a placement is.
    fn valued(&self, hosts: &[Option<HostIdx>]) -> PlacementValue {
        let mut draft = self.empty();
        for resource in &self.rules.movable {
            draft.put(*resource, hosts[resource.get()]);
        }
        draft.value()
    }
}

//! The search for the best placement: initial placements, their improvement, and trying everything.

use super::super::index::{HostIdx, ResourceIdx};
use super::super::optimum::{PlacingStage, ThenGoal};
use super::super::place::{PlacingError, place};
use super::super::working_set::Strategy;
use super::bound;
use super::draft::PlacingDraft;
use super::exact::Exhaustive;
use super::improve::Improvement;
use super::limits::PlacingLimits;
use super::rules::PlacingRules;
use super::shake::shake;
use super::value::PlacementValue;

pub(super) struct OptimalSearch<'l, 'r> {
    pub(super) rules: &'r PlacingRules<'r>,
    pub(super) then: ThenGoal,
    pub(super) limits: &'l PlacingLimits,
    pub(super) steps: u64,
}

pub(super) struct BestFound {
    /// By resource, its host.
    pub(super) hosts: Vec<Option<HostIdx>>,
    pub(super) value: PlacementValue,
    /// The last stage up to which no placement is better.
    pub(super) proved: Option<PlacingStage>,
}

/// Greatest number of steps for trying everything, per stage.
const ALL: u64 = 3_000_000;

impl<'r> OptimalSearch<'_, 'r> {
    /// Finds the best placement from several starts.
    pub(super) fn run(&mut self) -> Result<BestFound, PlacingError> {
        let starts = self.starts()?;
        let mut best: Option<PlacingDraft<'_>> = None;
        for start in starts {
            let found = self.improved(start);
            if best.as_ref().is_none_or(|best| found.value() > best.value()) {
                best = Some(found);
            }
        }
        let mut best = best.unwrap_or_else(|| self.empty());
        best.steps = self.steps;
        shake(&mut best, &self.limits.part(2));
        Improvement::new(&mut best, self.limits, 0).polish();
        self.steps = best.steps;
        Ok(self.exhaust(best))
    }

    fn empty(&self) -> PlacingDraft<'r> {
        let mut draft = PlacingDraft::new(self.rules, self.then);
        draft.steps = self.steps;
        draft
    }

    /// Initial placements: everything where it runs, and the results of the strategies that respect capacities.
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

    /// The placement in which resources have their wanted hosts, by priority and as far as the rules allow.
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

    /// Improves a placement.
    fn improved(&mut self, mut draft: PlacingDraft<'r>) -> PlacingDraft<'r> {
        draft.steps = self.steps;
        let mut improvement = Improvement::new(&mut draft, self.limits, 0);
        improvement.place_all();
        improvement.polish();
        self.steps = draft.steps;
        draft
    }

    /// Tries everything that can be better, stage by stage, and notes up to which stage nothing is.
    fn exhaust(&mut self, best: PlacingDraft<'r>) -> BestFound {
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
        BestFound { hosts, value, proved }
    }

    /// The value of a placement.
    fn valued(&self, hosts: &[Option<HostIdx>]) -> PlacementValue {
        let mut draft = self.empty();
        for resource in &self.rules.movable {
            draft.put(*resource, hosts[resource.get()]);
        }
        draft.value()
    }
}

//! Replaces two moves of the same instance in a plan by one.
//!
//! A step-by-step search does not always take the shortest way: an instance that moved from A to B goes on to C
//! when there is room. The plan can skip B if every step between the two moves is still possible and still
//! gains.

use super::balance::{GroupBalanceOptions, MoveCandidate};
use super::load::Loads;
use super::place::put_back;
use super::{Placing, Setting};
use htools_model::{Cluster, Draft, InstanceIdx, Placement, Step};

/// A plan so far, with the state after it.
#[derive(Debug, Clone)]
pub(super) struct PlanSoFar<'s> {
    pub(super) steps: Vec<Step>,
    pub(super) placing: Placing<'s>,
    pub(super) loads: Loads,
    pub(super) after: Draft,
}

/// An instance and its placement after a step.
#[derive(Debug, Clone, Copy)]
struct PlacementAfter {
    instance: InstanceIdx,
    to: Placement,
}

impl<'s> PlanSoFar<'s> {
    /// A plan without steps.
    pub(super) fn begin(
        start: &Cluster,
        setting: &'s Setting,
        options: &GroupBalanceOptions,
    ) -> PlanSoFar<'s> {
        PlanSoFar {
            steps: Vec::new(),
            placing: Placing::new(start, setting),
            loads: Loads::of(start, options.loads),
            after: Draft::of(start),
        }
    }

    /// The same plan with one move instead of the last step and an earlier one of the same instance. Returns
    /// `None` if there is no earlier one or the direct move does not work.
    pub(super) fn without_detour(
        &self,
        start: &Cluster,
        setting: &'s Setting,
        options: &GroupBalanceOptions,
    ) -> Option<PlanSoFar<'s>> {
        let (last, earlier) = self.steps.split_last()?;
        let instance = last.instance;
        let first = earlier.iter().rposition(|step| step.instance == instance)?;
        let target = last.groups(start).1;
        let there_and_back = earlier[first].groups(start).0 == target;
        let between: Vec<PlacementAfter> = earlier[first + 1..].iter().map(placement_after).collect();
        let direct = Some(placement_after(last)).filter(|_| !there_and_back);
        let from = PlanSoFar::at(&self.steps[..first], start, setting, options)?;
        // The order of the plan is kept, if possible.
        let late = from.clone().along(&between, direct, options);
        let anew = || from.along_as_it_gains([&between[..], direct.as_slice()].concat(), options);
        let course = late.or_else(anew)?;
        let health = |course: &PlanSoFar<'_>| course.placing.health(target);
        (health(&course) <= health(self)).then_some(course)
    }

    /// The state after some steps of a plan.
    fn at(
        steps: &[Step],
        start: &Cluster,
        setting: &'s Setting,
        options: &GroupBalanceOptions,
    ) -> Option<PlanSoFar<'s>> {
        let mut after = Draft::of(start);
        for step in steps {
            put_back(&mut after, step.instance, step.to)?;
        }
        let (placing, loads) = (Placing::new(&after, setting), Loads::of(&after, options.loads));
        Some(PlanSoFar { steps: steps.to_vec(), placing, loads, after })
    }

    /// Makes some steps. The direct move comes when a step is impossible without it, or at the end.
    fn along(
        mut self,
        hops: &[PlacementAfter],
        mut direct: Option<PlacementAfter>,
        options: &GroupBalanceOptions,
    ) -> Option<PlanSoFar<'s>> {
        for placement_after in hops {
            if self.step(*placement_after, options).is_none() {
                self.step(direct.take()?, options)?;
                self.step(*placement_after, options)?;
            }
        }
        if let Some(direct) = direct {
            self.step(direct, options)?;
        }
        Some(self)
    }

    /// Makes some steps in the order in which the plan would choose among them.
    fn along_as_it_gains(
        mut self,
        mut hops: Vec<PlacementAfter>,
        options: &GroupBalanceOptions,
    ) -> Option<PlanSoFar<'s>> {
        while !hops.is_empty() {
            let outlook = self.loads.outlook();
            let rank = |(at, PlacementAfter { instance, to }): (usize, &PlacementAfter)| {
                let target = self.after.node(to.primary).spec.group;
                // The moves of one instance keep their order.
                let is_first = hops[..at].iter().all(|earlier| earlier.instance != *instance);
                let gain = outlook.gain(&self.loads, *instance, target)
                    - options.cost(self.after.instance(*instance));
                is_first.then(|| (MoveCandidate::new(&self.after, *instance, target, gain), at))
            };
            let mut order: Vec<(MoveCandidate, usize)> = hops.iter().enumerate().filter_map(rank).collect();
            order.sort_unstable_by(|a, b| b.cmp(a));
            let made = order.into_iter().find(|(_, at)| self.step(hops[*at], options).is_some());
            hops.remove(made?.1);
        }
        Some(self)
    }

    /// Makes a step, if it is possible and gains enough.
    fn step(
        &mut self,
        PlacementAfter { instance, to }: PlacementAfter,
        options: &GroupBalanceOptions,
    ) -> Option<()> {
        let before = self.loads.score();
        let mut loads = self.loads.clone();
        loads.relocate(instance, self.after.node(to.primary).spec.group);
        let score = loads.score();
        let cost = options.cost(self.after.instance(instance));
        if !(before > options.min_score) || !options.is_worth(before - score - cost) {
            return None;
        }
        let step = self.placing.put(&mut self.after, instance, to)?;
        self.placing.refresh(&self.after, step.groups(&self.after).0);
        self.loads = loads;
        self.steps.push(Step { score, ..step });
        Some(())
    }
}

fn placement_after(step: &Step) -> PlacementAfter {
    PlacementAfter { instance: step.instance, to: step.to }
}

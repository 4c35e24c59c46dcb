//! Actions that wait until another resource was looked for on remote nodes.

use super::super::index::{HostIdx, ResourceIdx};
use super::super::working_set::OrderedPair;
use super::action::ActionTask::{MigrateTo, Start, Stop};
use super::connections;
use super::constraints::Constraints;
use htools_plan::graph::StepIdx;

impl Constraints<'_> {
    /// Makes later resources that stop and have a place stop only after the first was looked for. Of an interleaved clone,
    /// the instance with the place of the first waits.
    pub(super) fn look_before_restart(&mut self, pair: OrderedPair) {
        let place = |part: ResourceIdx| self.changes.by_place[part.get()].runs_on();
        let near = place(pair.first).filter(|_| self.set.resource(pair.then).interleaves());
        for part in self.set.primitives(&pair.then).to_vec() {
            if place(part).is_some() && near.is_none_or(|near| place(part) == Some(near)) {
                self.look_for_parts(pair.first, self.true_stop(part));
            }
        }
    }

    /// Makes the first resource of an order stop, or leave its node live, only after the second was looked for.
    pub(super) fn look_before_stop(&mut self, pair: OrderedPair) {
        if !self.set.resource(pair.then).is_primitive() {
            return;
        }
        for task in [Stop, MigrateTo] {
            self.look_for_parts(pair.then, self.actions.with(task, pair.first));
        }
    }

    /// Makes each member of a group stop only after the member before it was looked for, if it stops on a node that is
    /// there.
    pub(super) fn look_before_members(&mut self, members: &[ResourceIdx]) {
        for pair in members.windows(2) {
            self.look_for_parts(pair[0], self.true_stop(pair[1]));
        }
    }

    /// The stop of a resource on a node that is not lost.
    fn true_stop(&self, resource: ResourceIdx) -> Option<StepIdx> {
        let is_lost = |host: HostIdx| self.set.host(host).state.unclean;
        self.actions
            .with(Stop, resource)
            .filter(|stop| !self.actions.all[stop.get()].host.is_some_and(is_lost))
    }

    /// Makes the instances of a clone start only after one of them was looked for.
    pub(super) fn look_before_instances(&mut self, clone: ResourceIdx, instance: ResourceIdx) {
        self.look_for_parts(instance, self.actions.with(Start, clone));
    }

    /// Makes a step wait until all parts of a resource were looked for on remote nodes.
    fn look_for_parts(&mut self, sought: ResourceIdx, step: Option<StepIdx>) {
        if self.set.groups().any(|group| group == sought) {
            return;
        }
        for part in self.set.primitives(&sought).to_vec() {
            connections::look_for(self.set, self.changes, self.actions, part, step);
        }
    }
}

//! Effect of `resource-discovery="exclusive"`: a resource may run only on the hosts that such constraints name. The
//! other values (`never`, `always`) change no placement.

use std::collections::{BTreeSet, HashMap};

use super::index::{HostIdx, ResourceIdx};
use super::score::AllocationScore;
use super::working_set::WorkingSet;

impl WorkingSet {
    /// The clone or group that a resource belongs to, or the resource itself.
    pub(super) fn outermost(&self, resource: ResourceIdx) -> ResourceIdx {
        self.clone_of(resource).or(self.resource(resource).group).unwrap_or(resource)
    }

    /// The resources whose locations count for one: itself, its group and its clone.
    pub(super) fn located_with(&self, resource: ResourceIdx) -> impl Iterator<Item = ResourceIdx> + use<> {
        let wholes = [self.resource(resource).group, self.clone_of(resource)];
        std::iter::once(resource).chain(wholes.into_iter().flatten())
    }

    /// The constraint that limits a resource to the hosts named by it and its like, if there is one.
    pub fn exclusive_rule(&self, resource: ResourceIdx) -> Option<&str> {
        self.resource(self.outermost(resource)).exclusive.as_deref()
    }

    /// The constraint that keeps a resource from a host by not naming it, if there is one.
    pub(super) fn barred_by(&self, resource: ResourceIdx, host: HostIdx) -> Option<&str> {
        let rule = self.exclusive_rule(resource)?;
        let wholes: Vec<ResourceIdx> = self.located_with(resource).collect();
        let mut named = self.locations.iter().filter(|location| location.exclusive && location.host == host);
        (!named.any(|location| wholes.contains(&location.resource))).then_some(rule)
    }

    /// Forbids resources with exclusive locations, and their parts, all hosts that these do not name. For a part, only
    /// the outermost resource's locations can have this effect.
    pub(super) fn confine(&mut self) {
        if self.resources.iter().all(|resource| resource.exclusive.is_none()) {
            return;
        }
        let mut named: HashMap<ResourceIdx, BTreeSet<HostIdx>> = HashMap::new();
        for location in self.locations.iter().filter(|location| location.exclusive) {
            named.entry(location.resource).or_default().insert(location.host);
        }
        for resource in self.resource_indices() {
            if self.exclusive_rule(resource).is_none() {
                continue;
            }
            let lists: Vec<&BTreeSet<HostIdx>> =
                self.located_with(resource).filter_map(|one| named.get(&one)).collect();
            let may = |host: HostIdx| lists.iter().any(|hosts| hosts.contains(&host));
            self.resources[resource.get()]
                .scores
                .update(|host, score| if may(host) { score } else { AllocationScore::MINUS_INFINITY });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::cib::parse;
    use super::super::optimal::{PlacingLimits, ThenGoal, optimal};
    use super::super::place::place;
    use super::super::why::{HostHindrance, PlacementExplainer};
    use super::*;
    use htools_model::deadline::Deadline;

    const LOOKED_FOR: &str =
        include_str!("../../../tests/fixtures/pacemaker/clones/only-where-looked-for.xml");

    fn named(set: &WorkingSet, id: &str) -> ResourceIdx {
        set.resource_indices().find(|one| set.resource(*one).id == id).unwrap()
    }

    #[test]
    fn what_bars_a_host_is_told() {
        let set = parse(LOOKED_FOR, "t").unwrap();
        let placed = place(&set, set.strategy()).unwrap();
        let explainer = PlacementExplainer::of(&set, set.strategy(), &placed).unwrap();
        let barred = |id: &str| {
            let reasons = explainer.why(named(&set, id)).unwrap();
            let is_barred = |hindrance: &&HostHindrance| matches!(hindrance, HostHindrance::Exclusive(_));
            let hosts = reasons.hosts.iter();
            hosts
                .filter(|finding| finding.hindrance.as_ref().filter(is_barred).is_some())
                .map(|finding| finding.host.get())
                .collect::<Vec<usize>>()
        };
        let all: [(&str, Vec<usize>); 4] =
            [("one", vec![1, 3]), ("two", vec![0, 3]), ("full", vec![0, 1, 2]), ("here", vec![])];
        for (id, hosts) in all {
            assert_eq!(barred(id), hosts, "{id}");
        }
    }

    /// A location of a group member allows it another host, but keeps it from none.
    #[test]
    fn no_strategy_goes_where_it_may_not() {
        let set = parse(LOOKED_FOR, "t").unwrap();
        assert_eq!(set.barred_by(named(&set, "g1"), HostIdx::new(0)), Some("g-site"));
        assert_eq!(set.barred_by(named(&set, "g2"), HostIdx::new(0)), None);
        assert_eq!(set.barred_by(named(&set, "h1"), HostIdx::new(0)), None);
        let limits = PlacingLimits { steps: 10_000, moves: None, deadline: Deadline::never() };
        let best = optimal(&set, ThenGoal::Balanced, &limits).unwrap();
        assert!(best.records.iter().filter(|record| record.host.is_some()).count() > 8);
        for record in &best.records {
            let barred = record.host.and_then(|host| set.barred_by(record.resource, host));
            assert_eq!(barred, None, "{}", set.resource(record.resource).id);
        }
    }
}

//! What was changed in the configuration since a resource was started.

use roxmltree::Node;

use super::super::index::HostIdx;
use super::super::score::AllocationScore;
use super::super::working_set::{Host, Revision};
use super::document::{child, children};
use super::history::NotedParameters;
use super::parameters::{Parameters, lists};
use super::spans::milliseconds;
use super::{HostRecord, Reader, rules};

impl<'a, 'i> Reader<'a, 'i> {
    /// What was changed of a primitive since it was started on a host, where the status calls it `name`. Its parameters are in
    /// `sources`: its own element and its template's, then that of its group, then that of its clone.
    pub(super) fn revision(
        &self,
        sources: &[Vec<Node<'a, 'i>>],
        agent: &str,
        (name, host): (&str, HostIdx),
    ) -> Revision {
        let here = self.records_of(name).iter().filter(|record| record.host == host);
        let revisions = here.map(|HostRecord { history, .. }| {
            if history.agent != agent {
                return Revision::Agent;
            }
            let of = |noted: &NotedParameters| {
                judged(noted, &self.parameters(sources, &noted.operation, self.set.host(host)))
            };
            history.noted.iter().map(of).max().unwrap_or_default()
        });
        revisions.max().unwrap_or_default()
    }

    /// The parameters of an operation that is not repeated, on a host.
    pub(super) fn parameters(
        &self,
        sources: &[Vec<Node<'a, 'i>>],
        operation: &str,
        host: &Host,
    ) -> Parameters<'a> {
        let mut parameters = Parameters::default();
        sources.iter().for_each(|elements| self.add_parameters(&mut parameters, elements, host));
        let operations = sources.first().into_iter().flatten().filter_map(|of| child(*of, "operations"));
        let operations = operations.filter_map(|list| self.meant(list));
        let is_it = |of: &Node<'a, 'i>| {
            of.attribute("name") == Some(operation) && of.attribute("interval").map_or(0, milliseconds) == 0
        };
        if let Some(operation) = operations.flat_map(|list| children(list, "op")).find(is_it) {
            self.add_parameters(&mut parameters, &[operation], host);
        }
        parameters
    }

    /// Adds what the sets of some elements say on a host, those with higher scores first.
    fn add_parameters(&self, to: &mut Parameters<'a>, elements: &[Node<'a, 'i>], host: &Host) {
        let sets = elements.iter().flat_map(|element| children(*element, "instance_attributes"));
        let mut sets: Vec<Node<'a, 'i>> = sets.filter_map(|set| self.meant(set)).collect();
        let score =
            |set: &Node<'_, '_>| set.attribute("score").and_then(AllocationScore::parse).unwrap_or_default();
        sets.sort_by_key(|set| std::cmp::Reverse(score(set)));
        let is_coordinator = self.set.coordinator.is_some_and(|of| self.set.host(of).id == host.id);
        let holds = |set: &Node<'a, 'i>| {
            let rule = children(*set, "rule").next();
            rule.is_none_or(|rule| rules::holds(rule, host, is_coordinator, &self.clock))
        };
        for pair in sets.into_iter().filter(holds).flat_map(|set| children(set, "nvpair")) {
            let Some(meant) = self.meant(pair) else { continue };
            let name = pair.attribute("name").or_else(|| meant.attribute("name"));
            if let (Some(name), Some(value)) = (name, meant.attribute("value")) {
                to.add(name, value);
            }
        }
    }
}

/// What the difference between what was noted and what is now asks for. A check sum that is missing is a difference, as
/// Pacemaker has it; a change of secrets alone is none.
fn judged(noted: &NotedParameters, now: &Parameters<'_>) -> Revision {
    let is_open = |name: &str| !lists(&noted.secret, name);
    if !noted.open.is_empty() && now.check_sum(is_open).is(&noted.open) {
        return Revision::None;
    }
    let has_list = !noted.restarting.is_empty();
    let restarts = |name: &str| !has_list || lists(&noted.restarting, name);
    let can_reload = !noted.restart.is_empty();
    if can_reload && !now.check_sum(restarts).is(&noted.restart) {
        return Revision::Parameters;
    }
    match (now.check_sum(|_| true).is(&noted.all), can_reload) {
        (true, _) => Revision::None,
        (false, true) => Revision::Reload,
        (false, false) => Revision::Parameters,
    }
}

//! The lines in which crm_simulate shows scores and capacities, for comparisons by diff.

use crate::placement::capacity::Capacities;
use crate::placement::placing::{AllPlaced, PlacingEvent};
use crate::placement::{AttributeIdx, HostIdx, ResourceIdx, ScoreTable, WorkingSet};

use super::container::Container;
use super::order::by_shown_name;

/// The lines of `crm_simulate -S -s -U` about capacities and scores: Original, every resource, Remaining.
pub fn lines(set: &WorkingSet, allocation: &AllPlaced) -> Vec<String> {
    let hosts = by_shown_name(set);
    let mut page = ScoreLines { set, hosts, kinds: Vec::new(), lines: Vec::new() };
    page.kinds = set.hosts.iter().map(|host| page.container(&host.capacity)).collect();
    let before: Vec<&Capacities> = set.hosts.iter().map(|host| &host.capacity).collect();
    page.capacities("Original", &before);
    for event in &allocation.events {
        match event {
            PlacingEvent::Group(scores) => {
                scores.iter().for_each(|(of, table)| page.scores("pcmk__group_assign", *of, table));
            }
            PlacingEvent::Primitive(at) => {
                let record = &allocation.records[*at];
                page.scores("pcmk__primitive_assign", record.resource, &record.scores);
                if let Some(host) = record.host {
                    page.charge(record.resource, host);
                }
            }
        }
    }
    let after: Vec<&Capacities> = allocation.remaining.iter().collect();
    page.capacities("Remaining", &after);
    page.lines
}

struct ScoreLines<'a> {
    set: &'a WorkingSet,
    hosts: Vec<HostIdx>,
    /// By host, the order of its kinds of capacity.
    kinds: Vec<Container<'a>>,
    lines: Vec<String>,
}

impl<'a> ScoreLines<'a> {
    fn container(&self, amounts: &Capacities) -> Container<'a> {
        let mut container = Container::default();
        amounts.iter().for_each(|(kind, _)| container.insert(&self.set.attributes[kind.get()], kind));
        container
    }

    fn capacities(&mut self, when: &str, amounts: &[&Capacities]) {
        for host in self.hosts.clone() {
            let name = &self.set.host(host).name;
            let texts = self.amounts(&self.kinds[host.get()].kinds(), amounts[host.get()]);
            self.lines.push(format!("{when}: {name} capacity:{texts}"));
        }
    }

    fn scores(&mut self, function: &str, of: ResourceIdx, table: &ScoreTable) {
        let id = &self.set.resource(of).id;
        let scored = self.hosts.iter().filter_map(|host| Some((*host, table.get(*host)?)));
        let line = |(host, score): (HostIdx, _)| {
            format!("{function}: {id} allocation score on {}: {score}", self.set.host(host).name)
        };
        let lines: Vec<String> = scored.map(line).collect();
        self.lines.extend(lines);
    }

    fn charge(&mut self, of: ResourceIdx, host: HostIdx) {
        let of = self.set.resource(of);
        let kinds = self.container(&of.utilization).kinds();
        for kind in &kinds {
            self.kinds[host.get()].insert(&self.set.attributes[kind.get()], *kind);
        }
        let texts = self.amounts(&kinds, &of.utilization);
        let name = &self.set.host(host).name;
        self.lines.push(format!("pcmk__finalize_assignment: {} utilization on {name}:{texts}", of.id));
    }

    fn amounts(&self, kinds: &[AttributeIdx], amounts: &Capacities) -> String {
        let text =
            |kind: &AttributeIdx| format!(" {}={}", self.set.attributes[kind.get()], amounts.get(*kind));
        kinds.iter().map(text).collect()
    }
}

//! Scores and capacities in the format of crm_simulate, for comparisons with diff. Each release has its own words.

use crate::pacemaker::capacity::Capacities;
use crate::pacemaker::placing::{AllPlaced, Assignment, PlacingEvent};
use crate::pacemaker::promotion::{ExtraInstance, PromotionScore};
use crate::pacemaker::{
    AllocationScore, AttributeIdx, HostIdx, Release, ResourceIdx, ScoreTable, WorkingSet, by_shown_name,
};

use super::container::Container;

/// Passes the lines of `crm_simulate -S -s -U` about capacities and scores to `tell`, one at a time, because there are
/// as many as hosts times resources. The order is: original capacity, every resource, remaining capacity.
///
/// # Errors
/// The first error of `tell`, after which it is not called again.
pub fn each_line<E>(
    set: &WorkingSet,
    placed: &AllPlaced,
    tell: impl FnMut(&str) -> Result<(), E>,
) -> Result<(), E> {
    let hosts = by_shown_name(set);
    let kinds = set.hosts.iter().map(|host| container(set, &host.capacity)).collect();
    let words = ScoreWords::of(set.release);
    let mut tell = tell;
    let tell = |line: &str| match words.bullet {
        "" => tell(line),
        bullet => tell(&format!("{bullet}{line}")),
    };
    let mut page = ScoreLines { set, words, hosts, kinds, tell };
    let before: Vec<&Capacities> = set.hosts.iter().map(|host| &host.capacity).collect();
    page.capacities("Original", &before)?;
    for event in &placed.events {
        match event {
            PlacingEvent::Group(scores) => page.tables("pcmk__group_assign", scores)?,
            PlacingEvent::Clone(scores) => page.tables(words.clone, scores)?,
            PlacingEvent::Bundle(scores) => page.tables(words.bundle, scores)?,
            PlacingEvent::Primitive(at) => page.primitive(&placed.records[*at])?,
            PlacingEvent::Promotion { clone, scores, extra } => page.promotions(*clone, scores, *extra)?,
            PlacingEvent::Tried(record) => page.primitive(record)?,
        }
    }
    let after: Vec<&Capacities> = placed.remaining.iter().collect();
    page.capacities("Remaining", &after)
}

/// The words of a release that differ from those of others.
#[derive(Clone, Copy)]
struct ScoreWords {
    /// In front of each line.
    bullet: &'static str,
    /// The function that places clones.
    clone: &'static str,
    bundle: &'static str,
    /// The function that charges hosts.
    charge: &'static str,
    /// Behind an instance without a host that could be promoted.
    nowhere: &'static str,
}

impl ScoreWords {
    fn of(release: Release) -> ScoreWords {
        match release {
            Release::V2_1_5 => ScoreWords {
                bullet: "",
                clone: "pcmk__clone_allocate",
                bundle: "pcmk__bundle_allocate",
                charge: "pcmk__finalize_assignment",
                nowhere: "on none: 0",
            },
            Release::V3_0_0 | Release::V3_0_2 => ScoreWords {
                bullet: "  * ",
                clone: "pcmk__clone_assign",
                bundle: "pcmk__bundle_assign",
                charge: "pcmk__assign_resource",
                nowhere: "(inactive): -INFINITY",
            },
        }
    }
}

struct ScoreLines<'a, F> {
    set: &'a WorkingSet,
    words: ScoreWords,
    hosts: Vec<HostIdx>,
    /// For each host, the order of its kinds of capacity.
    kinds: Vec<Container<'a>>,
    tell: F,
}

fn container<'a>(set: &'a WorkingSet, amounts: &Capacities) -> Container<'a> {
    let mut container = Container::default();
    amounts.iter().for_each(|(kind, _)| container.insert(&set.attributes[kind.get()], kind));
    container
}

impl<E, F: FnMut(&str) -> Result<(), E>> ScoreLines<'_, F> {
    fn capacities(&mut self, when: &str, amounts: &[&Capacities]) -> Result<(), E> {
        let shows_all = self.set.release.shows_capacities_in_containers();
        let mut shown = self.hosts.iter().filter(|host| shows_all || !self.set.host(**host).replica);
        shown.try_for_each(|host| {
            let name = &self.set.host(*host).name;
            let texts = texts(self.set, &self.kinds[host.get()].kinds(), amounts[host.get()]);
            (self.tell)(&format!("{when}: {name} capacity:{texts}"))
        })
    }

    fn tables(&mut self, function: &str, tables: &[(ResourceIdx, ScoreTable)]) -> Result<(), E> {
        tables.iter().try_for_each(|(of, table)| self.scores(function, *of, table))
    }

    fn primitive(&mut self, record: &Assignment) -> Result<(), E> {
        // Scores of resources that are no longer configured are not shown.
        if !self.set.resource(record.resource).orphaned {
            self.scores("pcmk__primitive_assign", record.resource, &record.scores)?;
        }
        record.host.map_or(Ok(()), |host| self.charge(record.resource, host))
    }

    fn scores(&mut self, function: &str, of: ResourceIdx, table: &ScoreTable) -> Result<(), E> {
        // Most of the line repeats from host to host, and often the score does, too.
        let mut line = format!("{function}: {} allocation score on ", self.set.resource(of).id);
        let start = line.len();
        let mut last = (AllocationScore::ZERO, AllocationScore::ZERO.to_string());
        self.hosts.iter().filter_map(|host| Some((*host, table.get(*host)?))).try_for_each(|(host, score)| {
            if score != last.0 {
                last = (score, score.to_string());
            }
            line.truncate(start);
            line.push_str(&self.set.host(host).name);
            line.push_str(": ");
            line.push_str(&last.1);
            (self.tell)(&line)
        })
    }

    fn promotions(
        &mut self,
        clone: ResourceIdx,
        scores: &[PromotionScore],
        extra: Option<ExtraInstance>,
    ) -> Result<(), E> {
        let line = |one: &PromotionScore| {
            let id = &self.set.resource(one.instance).id;
            match one.host {
                Some(host) => {
                    format!("{id} promotion score on {}: {}", self.set.host(host).name, one.score)
                }
                None => format!("{id} promotion score {}", self.words.nowhere),
            }
        };
        let mut lines: Vec<String> = scores.iter().map(line).collect();
        if let (Some(extra), Some(first)) = (extra, self.set.resource(clone).members.first()) {
            let name = self.set.common_name(*first);
            let name = name.rsplit_once(':').map_or(name, |(name, _)| name);
            lines.insert(
                extra.place,
                format!("{name}:{} promotion score {}", extra.number, self.words.nowhere),
            );
        }
        lines.iter().try_for_each(|line| (self.tell)(line))
    }

    fn charge(&mut self, of: ResourceIdx, host: HostIdx) -> Result<(), E> {
        let of = self.set.resource(of);
        let kinds = container(self.set, &of.utilization).kinds();
        for kind in &kinds {
            self.kinds[host.get()].insert(&self.set.attributes[kind.get()], *kind);
        }
        let texts = texts(self.set, &kinds, &of.utilization);
        let name = &self.set.host(host).name;
        (self.tell)(&format!("{}: {} utilization on {name}:{texts}", self.words.charge, of.id))
    }
}

fn texts(set: &WorkingSet, kinds: &[AttributeIdx], amounts: &Capacities) -> String {
    let text = |kind: &AttributeIdx| format!(" {}={}", set.attributes[kind.get()], amounts.get(*kind));
    kinds.iter().map(text).collect()
}

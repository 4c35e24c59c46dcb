//! Turns the best placement into a result of placing, and finds where Pacemaker would deviate from it.

use super::super::additions::{AdditionLog, ScoreSource};
use super::super::index::{HostIdx, ResourceIdx};
use super::super::optimum::{Optimum, PlacingStage, PriorityCount};
use super::super::place::{PlacingError, place, place_noting};
use super::super::placing::{AllPlaced, Assignment, DecidedBy, PlacingEvent};
use super::super::promotion::RunState;
use super::super::score::{AllocationScore, HostScore, ScoreTable};
use super::super::working_set::{LocationScore, WorkingSet};
use super::before::PlacedBefore;
use super::bound;
use super::promotions;
use super::rules::{PlacingRules, ZoneTie};
use super::search::{BestFound, OptimalSearch};

/// Builds the result. Its order is that in which Pacemaker places resources that prefer their hosts in the best
/// placement.
pub(super) fn all_placed(
    search: &OptimalSearch<'_, '_>,
    found: BestFound,
) -> Result<AllPlaced, PlacingError> {
    let BestFound { hosts, value, proved } = found;
    let (rules, set) = (search.rules, search.rules.set);
    let preferring = preferring(rules, &hosts);
    let mut placed = place(&preferring, set.strategy())?;
    let counts = |one: &ResourceIdx| rules.counts(*one);
    let not_followed = not_followed(rules, &placed, &hosts);
    placed.promoted = rules.before.promoted().to_vec();
    for event in &mut placed.events {
        if let PlacingEvent::Promotion { clone, .. } = event
            && let Some(chosen) = rules.before.promotion(*clone)
        {
            event.clone_from(chosen);
        }
    }
    for record in &mut placed.records {
        let resource = record.resource;
        if is_kept(rules, record, &hosts) {
            continue;
        }
        *record = Assignment {
            scores: scores(rules, &hosts, resource, &mut AdditionLog::off()),
            chain: vec![resource],
            needed: Some(set.resource(resource).utilization.clone()),
            host: hosts[resource.get()],
            decided_by: match record.decided_by {
                kept @ (DecidedBy::Unmanaged | DecidedBy::StopAll) => kept,
                _ => DecidedBy::Optimum,
            },
            order_dependent: false,
            resource,
        };
    }
    placed.remaining = set.room();
    for record in &placed.records {
        if let Some(host) = record.host {
            set.charge(&mut placed.remaining[host.get()], &set.resource(record.resource).utilization);
        }
    }
    let bounds = bound::most(rules, &value.placed);
    let is_proved = proved.is_some();
    let counts = rules.priorities.iter().enumerate().map(|(level, priority)| PriorityCount {
        priority: *priority,
        wanted: set
            .resource_indices()
            .filter(counts)
            .filter(|one| set.resource(*one).priority == *priority)
            .count(),
        placed: value.placed[level],
        bound: if is_proved { value.placed[level] } else { bounds[level] },
    });
    placed.optimum = Some(Optimum {
        then: search.then,
        counts: counts.collect(),
        score: value.score,
        proved,
        steps: search.steps,
        stopped: search.limits.deadline.reached().filter(|_| proved < Some(PlacingStage::Names)),
        not_followed,
        pinned: rules.before.pinned().to_vec(),
    });
    Ok(placed)
}

/// Returns true if a resource keeps Pacemaker's record: it was placed beforehand, and gets the same host.
fn is_kept(rules: &PlacingRules<'_>, record: &Assignment, hosts: &[Option<HostIdx>]) -> bool {
    rules.before.includes(record.resource) && record.host == hosts[record.resource.get()]
}

/// The parts of the scores in the best placement.
pub(super) fn additions(set: &WorkingSet, best: &AllPlaced) -> Result<AdditionLog, PlacingError> {
    let before = PlacedBefore::as_in(set, best)?;
    let rules = &PlacingRules::of(set, &before);
    let hosts: Vec<Option<HostIdx>> = set.resource_indices().map(|one| best.host(one)).collect();
    let preferring = preferring(rules, &hosts);
    let mut log = preferring.initial_additions();
    let placed = place_noting(&preferring, set.strategy(), &mut log)?;
    log.rename(|source| match source {
        ScoreSource::Location(at) if at >= set.locations.len() => ScoreSource::Optimum,
        source => source,
    });
    let initial = set.initial_additions();
    for record in placed.records.iter().filter(|record| !is_kept(rules, record, &hosts)) {
        log.replace(record.resource, initial.additions(record.resource));
        scores(rules, &hosts, record.resource, &mut log);
    }
    Ok(log)
}

/// The primitives that should run, but that Pacemaker would place elsewhere all the same. Instances of a clone are
/// interchangeable.
fn not_followed(rules: &PlacingRules<'_>, placed: &AllPlaced, hosts: &[Option<HostIdx>]) -> Vec<ResourceIdx> {
    let set = rules.set;
    let state = |host: Option<HostIdx>, promoted: bool| RunState { host, promoted }.running();
    let promoted = rules.before.promoted();
    let wanted = set.by_common_name(|one| state(hosts[one.get()], promoted[one.get()]));
    let found = set.by_common_name(|one| state(placed.host(one), placed.promoted[one.get()]));
    let differs = |one: &ResourceIdx| wanted.get(set.common_name(*one)) != found.get(set.common_name(*one));
    let should_run = |one: &ResourceIdx| set.resource(*one).is_primitive() && set.should_run(*one);
    set.resource_indices().filter(should_run).filter(differs).collect()
}

/// The cluster with the score INFINITY for each placed resource on its host.
fn preferring(rules: &PlacingRules<'_>, hosts: &[Option<HostIdx>]) -> WorkingSet {
    let mut set = rules.set.clone();
    for resource in &rules.movable {
        if let Some(host) = hosts[resource.get()] {
            set.locations.push(LocationScore {
                id: String::new(),
                resource: *resource,
                host,
                score: AllocationScore::INFINITY,
                exclusive: false,
            });
        }
    }
    promotions::prefer(&mut set, rules.before.choice());
    set.set_scores();
    set
}

/// Scores of a resource on each host, given the final hosts of the others. The parts beyond its own scores are noted.
fn scores(
    rules: &PlacingRules<'_>,
    hosts: &[Option<HostIdx>],
    resource: ResourceIdx,
    log: &mut AdditionLog,
) -> ScoreTable {
    let details = rules.set.resource(resource);
    let mut scores = details.scores.clone();
    let mut add = |source, score, counts: &dyn Fn(HostIdx) -> bool| {
        let there = scores.iter().map(|(host, _)| host).filter(|host| counts(*host));
        let there: Vec<HostScore> = there.map(|host| HostScore { host, score }).collect();
        there.iter().for_each(|one| scores.add(one.host, one.score));
        log.note(resource, source, there.into_iter());
    };
    let never = AllocationScore::MINUS_INFINITY;
    let is_near = |tie: &ZoneTie, host: HostIdx| {
        hosts[tie.other.get()].is_some_and(|there| rules.agree(tie.zone, host, there))
    };
    if details.stopped {
        add(ScoreSource::Stopped, never, &|_| true);
    }
    for tie in &rules.primaries[resource.get()] {
        add(tie.source, never, &|host| !is_near(tie, host));
    }
    for tie in &rules.apart[resource.get()] {
        add(tie.source, never, &|host| is_near(tie, host));
    }
    for tie in &rules.wishes[resource.get()] {
        add(tie.source, AllocationScore::of(tie.score), &|host| is_near(tie, host));
    }
    scores
}

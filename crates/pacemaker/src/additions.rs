//! The parts of scores. The code that adds to a table of scores notes each part here, if a caller asked for them;
//! placing alone notes nothing.

use super::index::{HostIdx, ResourceIdx};
use super::score::{AllocationScore, HostScore, ScoreTable};

/// Source of a part of a score. Constraints are named by their positions in the working set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScoreSource {
    /// The score of the host itself.
    Host,
    /// A location, by the position of its first score in [`WorkingSet::locations`](super::WorkingSet::locations).
    Location(usize),
    /// The health of the host.
    Health,
    /// The resource runs there, and prefers to stay.
    Stickiness,
    /// The agent of an instance wants it to be promoted there.
    Promotion,
    /// The resource runs there, and is not managed.
    Unmanaged,
    /// The resource failed there too often.
    Failures,
    /// The resource is no longer configured.
    Orphaned,
    /// The resource runs on several hosts, and is then stopped on all of them.
    RunsTwice,
    /// The resource may only be where some constraints name a host (`resource-discovery=exclusive`).
    Exclusive,
    /// The host is a guest or remote node, on which resources of this kind never run.
    Guest,
    /// A ticket is missing: the position of the constraint in [`Tickets::rules`](super::tickets::Tickets::rules).
    Ticket(usize),
    /// The resource is meant to be stopped.
    Stopped,
    /// A colocation of the resource, by its position in [`WorkingSet::colocations`](super::WorkingSet::colocations).
    With(usize),
    /// A colocation of another resource with this one: a share of that resource's score.
    Of(usize),
    /// Another instance of its clone is there.
    Instance,
    /// Its clone is not wanted there.
    Clone,
    /// Another resource that it should not meet is there.
    Exclusion,
    /// The best placement puts it there.
    Optimum,
}

/// Additions to the scores of a resource for one reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScoreAddition {
    /// Source of the additions.
    pub source: ScoreSource,
    /// Owner of the wish: the resource itself, or another one whose wishes count.
    pub resource: ResourceIdx,
    /// Amounts other than 0, in host order.
    pub scores: Vec<HostScore>,
}

/// All additions to the scores of resources, in order, if they are noted at all.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AdditionLog {
    /// By resource; `None` if nothing is noted.
    by_resource: Option<Vec<Vec<ScoreAddition>>>,
}

impl AdditionLog {
    /// A log that notes nothing.
    pub(super) fn off() -> AdditionLog {
        AdditionLog { by_resource: None }
    }

    /// A log for a number of resources.
    pub(super) fn new(resources: usize) -> AdditionLog {
        AdditionLog { by_resource: Some(vec![Vec::new(); resources]) }
    }

    /// Returns true if additions are noted.
    pub(super) fn is_on(&self) -> bool {
        self.by_resource.is_some()
    }

    /// The additions to the scores of a resource, in order.
    pub fn additions(&self, resource: ResourceIdx) -> &[ScoreAddition] {
        self.by_resource.as_ref().map_or(&[], |all| &all[resource.get()])
    }

    /// The parts of the score of a resource on a host, in the order in which they were added.
    pub fn parts(&self, resource: ResourceIdx, host: HostIdx) -> Vec<ScorePart> {
        let part = |addition: &ScoreAddition| {
            let at = addition.scores.binary_search_by_key(&host, |one| one.host).ok()?;
            let score = addition.scores[at].score;
            Some(ScorePart { score, source: addition.source, resource: addition.resource })
        };
        self.additions(resource).iter().filter_map(part).collect()
    }

    /// Notes additions to the scores of a resource, on hosts in order.
    pub(super) fn note(
        &mut self,
        resource: ResourceIdx,
        source: ScoreSource,
        scores: impl Iterator<Item = HostScore>,
    ) {
        if self.is_on() {
            self.push(resource, ScoreAddition { source, resource, scores: scores.collect() });
        }
    }

    /// Notes an addition on one host.
    pub(super) fn note_one(
        &mut self,
        resource: ResourceIdx,
        source: ScoreSource,
        host: HostIdx,
        score: AllocationScore,
    ) {
        self.note(resource, source, std::iter::once(HostScore { host, score }));
    }

    /// Notes the differences between two tables.
    pub(super) fn note_change(
        &mut self,
        resource: ResourceIdx,
        source: ScoreSource,
        before: &ScoreTable,
        after: &ScoreTable,
    ) {
        let changed = |(host, now): (HostIdx, AllocationScore)| {
            let old = before.get(host).unwrap_or_default();
            let score = if now.is_infinite() || old.is_infinite() {
                now
            } else {
                AllocationScore::of(i64::from(now.get()) - i64::from(old.get()))
            };
            (now != old).then_some(HostScore { host, score })
        };
        self.note(resource, source, after.iter().filter_map(changed));
    }

    /// Replaces the additions to the scores of a resource.
    pub(super) fn replace(&mut self, resource: ResourceIdx, additions: &[ScoreAddition]) {
        if let Some(all) = &mut self.by_resource {
            all[resource.get()] = additions.to_vec();
        }
    }

    /// Replaces the sources of all additions.
    pub(super) fn rename(&mut self, other: impl Fn(ScoreSource) -> ScoreSource) {
        let all = self.by_resource.iter_mut().flatten().flatten();
        all.for_each(|addition| addition.source = other(addition.source));
    }

    /// Takes back what was noted of a resource on a host, as another score takes its place.
    pub(super) fn forget(&mut self, resource: ResourceIdx, host: HostIdx) {
        let additions = self.by_resource.iter_mut().flat_map(|all| &mut all[resource.get()]);
        additions.for_each(|addition| addition.scores.retain(|score| score.host != host));
    }

    /// Appends an addition without its zero amounts, merged into the last one if it continues that.
    pub(super) fn push(&mut self, to: ResourceIdx, mut addition: ScoreAddition) {
        let Some(all) = &mut self.by_resource else { return };
        addition.scores.retain(|one| one.score != AllocationScore::ZERO);
        let Some(first) = addition.scores.first() else { return };
        let all = &mut all[to.get()];
        if let Some(last) = all.last_mut()
            && (last.source, last.resource) == (addition.source, addition.resource)
            && last.scores.last().is_some_and(|one| one.host < first.host)
        {
            last.scores.extend(addition.scores);
            return;
        }
        all.push(addition);
    }
}

/// A part of the score of a resource on a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScorePart {
    /// The amount.
    pub score: AllocationScore,
    /// Source of the amount.
    pub source: ScoreSource,
    /// Owner of the wish: the resource itself, or another one whose wishes count.
    pub resource: ResourceIdx,
}

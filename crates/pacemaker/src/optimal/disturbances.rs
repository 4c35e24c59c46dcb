//! Which running resources are interrupted because something that they need is.

use super::super::index::ResourceIdx;
use super::super::transition::induced::Need;
use super::draft::PlacingDraft;

/// What becomes of a resource, as far as others feel it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Disturbance {
    /// It runs on, or goes on being stopped.
    None,
    /// It moves while it runs.
    Migrates,
    /// It is stopped and started.
    Restarts,
    /// It is started.
    Starts,
    /// It is stopped.
    Stops,
}

/// By resource, what becomes of it.
pub(super) struct Disturbances<'d, 'r> {
    draft: &'d PlacingDraft<'r>,
    own: Vec<Disturbance>,
    all: Vec<Disturbance>,
}

impl<'d, 'r> Disturbances<'d, 'r> {
    /// Follows all mandatory orders, until nothing changes any more.
    pub(super) fn of(draft: &'d PlacingDraft<'r>) -> Disturbances<'d, 'r> {
        let set = draft.rules.set;
        let own: Vec<Disturbance> = set.resource_indices().map(|one| own(draft, one)).collect();
        let mut found = Disturbances { draft, all: own.clone(), own };
        while draft.rules.interrupting.iter().any(|need| found.follow(need))
            || draft.rules.giving_up.iter().any(|need| found.give_up(need))
        {}
        found
    }

    fn follow(&mut self, need: &Need) -> bool {
        let set = self.draft.rules.set;
        let is_group = |resource| set.resource(resource).is_group();
        // a group, and a member for those behind it, are interrupted by a live migration, too
        let by_member = set.resource(need.first).group.is_some()
            && set.resource(need.first).group == set.resource(need.then).group;
        let heavy = is_group(need.first) || by_member;
        let all = set.primitives(&need.first);
        let firsts = || all.iter().map(|first| self.all[first.get()]);
        let migrates = || heavy && firsts().any(|first| first == Disturbance::Migrates);
        let starts = || firsts().any(|one| matches!(one, Disturbance::Starts | Disturbance::Restarts));
        let stops = || firsts().any(|one| matches!(one, Disturbance::Stops | Disturbance::Restarts));
        let (comes_up, goes_down) = (starts() || migrates(), stops() || (is_group(need.first) && migrates()));
        let mut changed = false;
        for then in set.primitives(&need.then).iter() {
            let runs = set.is_managed(*then) && self.draft.host(*then).is_some();
            let now = self.all[then.get()];
            let is_hit = match now {
                Disturbance::None => runs && comes_up && set.resource(*then).active.is_some(),
                Disturbance::Migrates => !is_group(need.then) && goes_down,
                _ => false,
            };
            if is_hit {
                self.all[then.get()] = Disturbance::Restarts;
                changed = true;
            }
        }
        changed
    }

    fn give_up(&mut self, need: &Need) -> bool {
        let set = self.draft.rules.set;
        let of_group = set.resource(need.first).is_group();
        let goes_down = |first: &ResourceIdx| match self.all[first.get()] {
            Disturbance::Stops | Disturbance::Restarts => true,
            Disturbance::Migrates => of_group,
            _ => false,
        };
        let gives_up = set.resource(need.then).is_primitive()
            && self.all[need.then.get()] == Disturbance::Migrates
            && set.primitives(&need.first).iter().any(goes_down);
        if gives_up {
            self.all[need.then.get()] = Disturbance::Restarts;
        }
        gives_up
    }

    /// The numbers of stops and of live migrations, given what they are without orders.
    pub(super) fn count(&self, stops: usize, migrations: usize) -> (usize, usize) {
        let pairs = || self.own.iter().zip(&self.all).filter(|(own, all)| own != all);
        let given_up = pairs().filter(|(own, _)| **own == Disturbance::Migrates).count();
        (stops + pairs().count(), migrations - given_up.min(migrations))
    }
}

/// What becomes of a resource by its own place.
fn own(draft: &PlacingDraft<'_>, resource: ResourceIdx) -> Disturbance {
    let set = draft.rules.set;
    let of = set.resource(resource);
    if !of.is_primitive() || !set.is_managed(resource) {
        return Disturbance::None;
    }
    match (of.active, draft.host(resource)) {
        (None, None) => Disturbance::None,
        (None, Some(_)) => Disturbance::Starts,
        (Some(_), None) => Disturbance::Stops,
        (Some(from), Some(to)) if from == to => Disturbance::None,
        (Some(from), Some(_)) if of.allow_migrate && set.host(from).state.online => Disturbance::Migrates,
        (Some(_), Some(_)) => Disturbance::Restarts,
    }
}

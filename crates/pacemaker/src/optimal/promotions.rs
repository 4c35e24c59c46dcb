//! Choices of the instances that are promoted. As many as possible are promoted; where several choices are possible and
//! other resources depend on them, each is tried.

use super::super::index::{HostIdx, ResourceIdx};
use super::super::place::{PlacingError, place};
use super::super::placing::{AllPlaced, PlacingEvent};
use super::super::promotion::{PromotionPart, PromotionSource, Role};
use super::super::score::{AllocationScore, HostScore};
use super::super::working_set::{LocationScore, Strategy, WorkingSet};

/// Greatest number of choices that are tried.
const MOST: usize = 32;

/// An instance that a choice promotes, and its host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ChosenInstance {
    clone: ResourceIdx,
    host: HostIdx,
}

/// Placement of a cluster by its own strategy, with instances that were chosen to be promoted.
#[derive(Debug, Clone)]
pub(super) struct PromotedPlacement {
    /// The placement.
    pub(super) placed: AllPlaced,
    /// The promoted instances.
    pub(super) choice: Vec<ChosenInstance>,
    /// Sum of the promotion scores of the promoted instances, as Pacemaker computes them; 0 where only one choice counts.
    pub(super) score: i64,
}

/// Instances of a clone that can be promoted, and the number of those that are.
struct CloneChoices {
    clone: ResourceIdx,
    /// Hosts of the instances that can be promoted, with their scores, the best one in front.
    possible: Vec<HostScore>,
    /// Number of promoted instances.
    count: usize,
}

/// The placements of a cluster with each choice of promoted instances, that of the cluster's own strategy in front.
///
/// # Errors
/// Those of placing the resources.
pub(super) fn choices(set: &WorkingSet, alone: bool) -> Result<Vec<PromotedPlacement>, PlacingError> {
    let own = place(set, strategy(set))?;
    let clones = clone_choices(set, &own);
    let of_clones: Vec<Vec<Vec<ChosenInstance>>> = clones.iter().map(CloneChoices::all).collect();
    let number = of_clones.iter().map(Vec::len).fold(1, usize::saturating_mul);
    let own_choice = chosen(set, &own);
    let score = total_score(&clones, &own_choice);
    let mut all = vec![PromotedPlacement { placed: own, choice: own_choice.clone(), score }];
    if alone || number == 1 || number > MOST {
        return Ok(all);
    }
    for choice in combinations(&of_clones) {
        if is_made(&own_choice, &choice) {
            continue;
        }
        let placed = place_promoting(set, &choice)?;
        // A choice can be out of reach, if a rule forbids it.
        if is_made(&chosen(set, &placed), &choice) {
            let (score, choice) = (total_score(&clones, &choice), chosen(set, &placed));
            all.push(PromotedPlacement { placed, choice, score });
        }
    }
    Ok(all)
}

/// The placement in which the same instances are promoted as in a best placement.
///
/// # Errors
/// Those of placing the resources.
pub(super) fn as_in(set: &WorkingSet, best: &AllPlaced) -> Result<PromotedPlacement, PlacingError> {
    let own = place(set, strategy(set))?;
    let (own_choice, choice) = (chosen(set, &own), chosen(set, best));
    let placed = if own_choice == choice { own } else { place_promoting(set, &choice)? };
    Ok(PromotedPlacement { placed, choice, score: 0 })
}

/// The strategy by which clones are placed: that of the cluster, or `utilization` if that ignores capacities.
fn strategy(set: &WorkingSet) -> Strategy {
    match set.strategy() {
        Strategy::Default => Strategy::Utilization,
        roomy => roomy,
    }
}

/// Places a cluster in which these instances are preferred for promotions.
fn place_promoting(set: &WorkingSet, choice: &[ChosenInstance]) -> Result<AllPlaced, PlacingError> {
    let mut preferring = set.clone();
    prefer(&mut preferring, choice);
    let mut placed = place(&preferring, strategy(set))?;
    // The set of the caller does not have the added locations.
    let is_added = |part: &PromotionPart| matches!(part.source, PromotionSource::Location(at) if at >= set.promotion_locations.len());
    let scores = placed.events.iter_mut().filter_map(|event| match event {
        PlacingEvent::Promotion { scores, .. } => Some(scores),
        _ => None,
    });
    for part in scores.flatten().flat_map(|score| &mut score.parts).filter(|part| is_added(part)) {
        part.source = PromotionSource::BestPlacement;
    }
    Ok(placed)
}

/// Adds the wish to promote these instances.
pub(super) fn prefer(set: &mut WorkingSet, choice: &[ChosenInstance]) {
    let location = |one: &ChosenInstance| LocationScore {
        id: String::new(),
        resource: one.clone,
        host: one.host,
        score: AllocationScore::INFINITY,
        exclusive: false,
    };
    set.promotion_locations.extend(choice.iter().map(location));
}

/// The promoted instances of all clones, sorted.
fn chosen(set: &WorkingSet, placed: &AllPlaced) -> Vec<ChosenInstance> {
    let mut chosen = Vec::new();
    for clone in set.clones().filter(|clone| set.promotion(*clone).is_some()) {
        let promoted =
            set.primitives(&clone).into_owned().into_iter().filter(|part| placed.promoted[part.get()]);
        let hosts = promoted.filter_map(|part| placed.host(part));
        chosen.extend(hosts.map(|host| ChosenInstance { clone, host }));
    }
    chosen.sort_unstable();
    chosen.dedup();
    chosen
}

/// Returns true if a choice for some clones is part of what is promoted, and no others of these clones are.
fn is_made(promoted: &[ChosenInstance], choice: &[ChosenInstance]) -> bool {
    let concerned = promoted.iter().filter(|one| choice.iter().any(|other| other.clone == one.clone));
    concerned.eq(choice.iter())
}

/// Sum of the promotion scores of a choice.
fn total_score(clones: &[CloneChoices], choice: &[ChosenInstance]) -> i64 {
    let score = |one: &ChosenInstance| {
        let clone = clones.iter().find(|choices| choices.clone == one.clone)?;
        let there = clone.possible.iter().find(|there| there.host == one.host)?;
        Some(i64::from(there.score.get()))
    };
    choice.iter().filter_map(score).sum()
}

/// The clones on whose promoted instances other resources depend, with the instances that can be promoted.
fn clone_choices(set: &WorkingSet, own: &AllPlaced) -> Vec<CloneChoices> {
    let counts = |clone: ResourceIdx| {
        let is_for_role = |role: Option<Role>, one: ResourceIdx| role.is_some() && one == clone;
        set.colocations.iter().any(|colocation| {
            is_for_role(colocation.primary_role, colocation.primary)
                && !set.resource(colocation.dependent).is_clone()
        })
    };
    let of_event = |event: &PlacingEvent| {
        let PlacingEvent::Promotion { clone, scores, .. } = event else { return None };
        let is_managed = set.primitives(clone).iter().all(|part| set.is_managed(*part));
        if !counts(*clone) || !is_managed {
            return None;
        }
        let can_be = scores.iter().filter(|one| one.score >= AllocationScore::ZERO);
        let possible: Vec<HostScore> =
            can_be.filter_map(|one| Some(HostScore { host: one.host?, score: one.score })).collect();
        let count = set.resource(*clone).promotion.as_ref()?.most.min(possible.len());
        Some(CloneChoices { clone: *clone, possible, count })
    };
    own.events.iter().filter_map(of_event).collect()
}

impl CloneChoices {
    /// All choices for the clone: sorted sets of the greatest possible number of instances. If there are too many,
    /// the number of those returned is above [`MOST`].
    fn all(&self) -> Vec<Vec<ChosenInstance>> {
        let mut all: Vec<Vec<ChosenInstance>> = vec![Vec::new()];
        let mut hosts: Vec<HostIdx> = self.possible.iter().map(|there| there.host).collect();
        hosts.sort_unstable();
        for (at, host) in hosts.iter().enumerate() {
            let left = hosts.len() - at - 1;
            let with = |choice: &Vec<ChosenInstance>| {
                let one = ChosenInstance { clone: self.clone, host: *host };
                choice.iter().copied().chain([one]).collect::<Vec<_>>()
            };
            let grown: Vec<_> = all.iter().filter(|choice| choice.len() < self.count).map(with).collect();
            all.retain(|choice| choice.len() + left >= self.count);
            all.extend(grown);
            if all.len() > MOST * MOST {
                break;
            }
        }
        all
    }
}

/// All combinations of one choice for each clone, sorted.
fn combinations(of_clones: &[Vec<Vec<ChosenInstance>>]) -> Vec<Vec<ChosenInstance>> {
    let mut all: Vec<Vec<ChosenInstance>> = vec![Vec::new()];
    for choices in of_clones {
        let with = |before: &Vec<ChosenInstance>| {
            choices.iter().map(|choice| before.iter().chain(choice).copied().collect()).collect::<Vec<_>>()
        };
        all = all.iter().flat_map(with).collect();
    }
    all.iter_mut().for_each(|choice| choice.sort_unstable());
    all
}

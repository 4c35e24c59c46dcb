//! Parts of scores: by Pacemaker's arithmetic they add up to the scores that place resources and that
//! `--crm-simulate-format` prints.

use std::fs;

use super::pacemaker;
use super::transition::random_cib::{self, Dimensions};
use htools::generate::random::Random;
use htools::pacemaker::cib::GuestReading;
use htools::pacemaker::optimal::{PlacingLimits, ThenGoal};
use htools::pacemaker::why::{HostHindrance, PlacementExplainer};
use htools::pacemaker::{
    AdditionLog, AllPlaced, AllocationScore, HostIdx, ResourceIdx, ScorePart, ScoreSource, WorkingSet, cib,
    optimal, place,
};
use htools::search::Deadline;

/// The sum of the parts of a score.
fn sum(log: &AdditionLog, resource: ResourceIdx, host: HostIdx) -> AllocationScore {
    let parts = log.parts(resource, host);
    parts.iter().fold(AllocationScore::ZERO, |sum, part| sum.plus(part.score))
}

/// Compares the sum of the parts with each score. Returns the number of parts that are not mere bans.
fn add_up(set: &WorkingSet, placed: &AllPlaced, name: &str) -> usize {
    let mut parts = 0;
    let explainer = PlacementExplainer::of(set, set.strategy(), placed).unwrap();
    let log = &explainer.log;
    for record in &placed.records {
        for (host, score) in record.scores.iter() {
            let id = &set.resource(record.resource).id;
            let host_name = &set.host(host).name;
            let found = log.parts(record.resource, host);
            assert_eq!(sum(log, record.resource, host), score, "{name}: {id} on {host_name}: {found:?}");
            parts += found.iter().filter(|part| part.score > AllocationScore::MINUS_INFINITY).count();
        }
        for finding in explainer.why(record.resource).unwrap().hosts {
            let Some(hindrance) = finding.hindrance else { continue };
            let found = log.parts(record.resource, finding.host);
            let mut forbidding =
                found.iter().filter(|part| part.score == AllocationScore::MINUS_INFINITY).peekable();
            let is_same = forbidding.peek().is_none() || forbidding.any(|part| names(set, &hindrance, part));
            assert!(is_same, "{name}: {record:?}: {hindrance:?}: {found:?}");
        }
    }
    parts
}

/// Tells if the reported first hindrance of a host can be this part of the score.
fn names(set: &WorkingSet, hindrance: &HostHindrance, part: &ScorePart) -> bool {
    let is_colocation = |id: &str, at: usize| set.colocations[at].id == id;
    match (hindrance, part.source) {
        (HostHindrance::Location(id), ScoreSource::Location(at)) => set.locations[at].id == *id,
        (HostHindrance::Location(_), source) => source == ScoreSource::Health,
        (HostHindrance::With(rule, _) | HostHindrance::Apart(rule), source) => match source {
            ScoreSource::With(at) | ScoreSource::Of(at) => is_colocation(&rule.id, at),
            _ => false,
        },
        (HostHindrance::Failures(_), source) => source == ScoreSource::Failures,
        (HostHindrance::Exclusive(_), source) => source == ScoreSource::Exclusive,
        (HostHindrance::Instance(_), source) => source == ScoreSource::Instance,
        (HostHindrance::CloneUnwanted(_), source) => source == ScoreSource::Clone,
        (HostHindrance::RunsTwice, source) => source == ScoreSource::RunsTwice,
        // The state of the host or the resource precedes scores.
        _ => true,
    }
}

#[test]
fn parts_of_recorded_clusters_add_up() {
    let mut parts = 0;
    let recorded = [
        pacemaker::with_clones(),
        pacemaker::with_failures(),
        pacemaker::on_several_nodes(),
        pacemaker::in_other_words(),
        pacemaker::with_tickets(),
        pacemaker::changed(),
        pacemaker::with_guests(),
        pacemaker::with_remote_nodes(),
        pacemaker::with_bundles(),
        pacemaker::with_bundles_beside_others(),
        pacemaker::with_bundles_in_order(),
        pacemaker::with_containers(),
        pacemaker::promoted(),
    ];
    for file in pacemaker::clusters().into_iter().chain(recorded.into_iter().flatten()) {
        let name = file.display().to_string();
        let text = fs::read_to_string(&file).unwrap();
        let set = cib::read_with(text.as_bytes(), &name, GuestReading::Followed).unwrap();
        let placed = place(&set, set.strategy()).unwrap();
        parts += add_up(&set, &placed, &name);
    }
    assert!(parts > 500, "{parts}");
}

#[test]
fn parts_of_random_clusters_add_up() {
    let mut parts = 0;
    for number in 0..400 {
        let mut random = Random::stream(47, number);
        let of = Dimensions {
            clones: number % 2 == 0,
            failures: number % 3 == 0,
            several: number % 5 == 0,
            changed: number % 7 == 0,
            ..Dimensions::small(&mut random)
        };
        let text = random_cib::document(of, &mut random);
        let Ok(set) = cib::parse(&text, "random") else { continue };
        let Ok(placed) = place(&set, set.strategy()) else { continue };
        parts += add_up(&set, &placed, &number.to_string());
    }
    assert!(parts > 3000, "{parts}");
}

#[test]
fn parts_in_the_best_placement_add_up() {
    let (mut parts, limits) = (0, PlacingLimits { steps: 20_000, moves: None, deadline: Deadline::never() });
    for number in 0..120 {
        let mut random = Random::stream(48, number);
        let of = Dimensions { clones: number % 2 == 0, ..Dimensions::small(&mut random) };
        let Ok(set) = cib::parse(&random_cib::document(of, &mut random), "random") else { continue };
        let Ok(placed) = optimal(&set, ThenGoal::Balanced, &limits) else { continue };
        parts += add_up(&set, &placed, &number.to_string());
    }
    assert!(parts > 500, "{parts}");
}

/// Twenty resources that attract each other, some of them without room. Their paths are too many to list.
#[test]
fn too_many_paths_are_one_part() {
    let one = |at: usize| format!(r#"<primitive id="p{at:02}" type="x"/>"#);
    let primitives: String = (0..20).map(one).collect();
    let pairs = (0..20).flat_map(|one| (0..one).map(move |other| (one, other)));
    let colocation = |(one, other): (usize, usize)| {
        format!(r#"<rsc_colocation id="c{one}-{other}" rsc="p{one:02}" with-rsc="p{other:02}" score="-10"/>"#)
    };
    let colocations: String = pairs.map(colocation).collect();
    let text = format!(
        r#"<cib have-quorum="1"><configuration>
        <crm_config><cluster_property_set id="o"><nvpair id="o1" name="stonith-enabled" value="false"/></cluster_property_set></crm_config>
        <nodes><node id="1" uname="x"/><node id="2" uname="y"/></nodes><resources>{primitives}</resources>
        <constraints>{colocations}<rsc_location id="l" rsc="p19" node="x" score="50"/></constraints></configuration>
        <status><node_state id="1" uname="x" in_ccm="true" crmd="online" join="member"/><node_state id="2" uname="y" in_ccm="true" crmd="online" join="member"/></status></cib>"#
    );
    let set = cib::parse(&text, "apart").unwrap();
    let placed = place(&set, set.strategy()).unwrap();
    add_up(&set, &placed, "apart");
}

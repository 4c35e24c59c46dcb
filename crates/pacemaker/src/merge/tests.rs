use std::fmt::Display;

use proptest::prelude::*;

use super::*;
use crate::{WorkingSet, cib};

const RESOURCES: usize = 7;
const HOSTS: usize = 3;
const SCORES: [&str; 8] = ["INFINITY", "-INFINITY", "100", "-100", "1", "-1", "600000", "-600000"];

/// Three primitives and two groups of two.
fn set(colocations: &[(usize, usize, usize)]) -> WorkingSet {
    let names = ["a", "b", "c", "g", "g1", "g2", "h"];
    let colocations = colocations.iter().filter(|(one, other, _)| one != other);
    let named = colocations.map(|(one, other, score)| (names[*one], names[*other], SCORES[*score]));
    let resources = r#"<primitive id="a" type="x"/><primitive id="b" type="x"/><primitive id="c" type="x"/>
        <group id="g"><primitive id="g1" type="x"/><primitive id="g2" type="x"/></group><group id="h"><primitive id="h1" type="x"/></group>"#;
    made_of(resources, named)
}

/// Primitives of which each has a colocation with each other one.
fn mutual(count: usize, scores: &[i64]) -> WorkingSet {
    let resources: String = (0..count).map(|at| format!(r#"<primitive id="r{at}" type="x"/>"#)).collect();
    let pairs = (0..count).flat_map(|one| (0..count).map(move |other| (one, other)));
    let pairs = pairs.filter(|(one, other)| one != other).zip(scores.iter().cycle());
    made_of(&resources, pairs.map(|((one, other), score)| (format!("r{one}"), format!("r{other}"), score)))
}

/// Resources on three nodes, of which the last one is in standby.
fn made_of<N: Display, S: Display>(
    resources: &str,
    colocations: impl Iterator<Item = (N, N, S)>,
) -> WorkingSet {
    let colocations: String = colocations
        .enumerate()
        .map(|(at, (one, other, score))| {
            format!(r#"<rsc_colocation id="c{at}" rsc="{one}" with-rsc="{other}" score="{score}"/>"#)
        })
        .collect();
    let standby =
        r#"<instance_attributes id="s"><nvpair id="s1" name="standby" value="on"/></instance_attributes>"#;
    let states: String = (1..=HOSTS)
        .zip(["x", "y", "z"])
        .map(|(at, name)| {
            format!(r#"<node_state id="{at}" uname="{name}" in_ccm="true" crmd="online" join="member"/>"#)
        })
        .collect();
    let text = format!(
        r#"<cib have-quorum="1"><configuration>
        <crm_config><cluster_property_set id="o"><nvpair id="o1" name="stonith-enabled" value="false"/></cluster_property_set></crm_config>
        <nodes><node id="1" uname="x"/><node id="2" uname="y"/><node id="3" uname="z">{standby}</node></nodes>
        <resources>{resources}</resources>
        <constraints>{colocations}</constraints></configuration><status>{states}</status></cib>"#
    );
    cib::parse(&text, "made up").unwrap()
}

fn tables() -> impl Strategy<Value = Vec<ScoreTable>> {
    let score = prop_oneof![
        3 => Just(0i64),
        2 => -120..=120i64,
        1 => Just(1_000_000i64),
        1 => Just(-1_000_000i64),
        1 => Just(999_950i64)
    ];
    let table = prop::collection::vec(score, HOSTS).prop_map(|scores| {
        let mut table = ScoreTable::empty(HOSTS);
        for (at, score) in scores.into_iter().enumerate() {
            table.set(HostIdx::new(at), AllocationScore::of(score));
        }
        table
    });
    prop::collection::vec(table, RESOURCES + 1)
}

/// Results of a walk over all resources, and the number of steps that it takes.
fn walked(set: &WorkingSet, tables: &[ScoreTable], factor: f32, by_paths: bool) -> (Vec<ScoreTable>, usize) {
    let mut wishes = Wishes::of(set);
    wishes.merging.by_paths = by_paths;
    let share = Share { factor, ..Share::default() };
    let (mut found, mut steps) = (Vec::new(), 0);
    for one in set.resource_indices() {
        found.push(wishes.with_primaries(tables, one));
        steps += wishes.merging.steps;
        found.push(wishes.added(tables, one, tables[0].clone(), share));
        steps += wishes.merging.steps;
        wishes.merging.forget();
    }
    (found, steps)
}

/// If all keep away from each other, paths are counted, not followed.
#[test]
fn paths_of_mutual_colocations_are_counted() {
    for scores in [&[-100][..], &[-100, -7, -3000], &[-100, 50], &[-100, 0, 3]] {
        let set = mutual(6, scores);
        let table = |first: i64, second: i64| {
            let mut table = ScoreTable::empty(HOSTS);
            let scores = [first, 0, second].into_iter().enumerate();
            scores.for_each(|(at, score)| table.set(HostIdx::new(at), AllocationScore::of(score)));
            table
        };
        let tables: Vec<ScoreTable> = (0..6).map(|at| table(3000 * (at % 2), -100 * (at % 3))).collect();
        let ((counted, few), (followed, many)) =
            (walked(&set, &tables, -0.5, false), walked(&set, &tables, -0.5, true));
        assert_eq!(counted, followed, "{scores:?}");
        assert!(few * 4 < many, "{scores:?}: {few} of {many}");
    }
}

/// If all keep away from each other, resources that add nothing are not followed, and the result is the same.
#[test]
fn paths_that_add_nothing_need_not_be_followed() {
    let mutual: Vec<(usize, usize, usize)> =
        (0..3).flat_map(|one| (0..3).map(move |other| (one, other, 3))).collect();
    let set = set(&mutual);
    let mut zero = ScoreTable::empty(HOSTS);
    set.host_indices().for_each(|host| zero.set(host, AllocationScore::ZERO));
    let mut other = zero.clone();
    other.set(HostIdx::new(0), AllocationScore::of(-72));
    for third in [&zero, &other] {
        let mut tables = vec![zero.clone(); RESOURCES + 1];
        tables[2] = third.clone();
        let share = Share { factor: -0.5, ..Share::default() };
        let added = |by_paths: bool| {
            let mut wishes = Wishes::of(&set);
            wishes.merging.by_paths = by_paths;
            (0..HOSTS).for_each(|host| wishes.settle_guest(HostIdx::new(host), true));
            let all = set.resource_indices().take(3);
            let all = all.map(|resource| wishes.added(&tables, resource, zero.clone(), share));
            (all.collect::<Vec<_>>(), wishes.merging.steps)
        };
        let ((quick, few), (slow, many)) = (added(false), added(true));
        assert_eq!(quick, slow);
        assert!(few < many);
    }
}

proptest! {
    #[test]
    fn sums_are_what_following_every_path_comes_to(
        count in 3..6usize,
        scores in prop::collection::vec(
            prop_oneof![4 => Just(-100i64), 2 => -3000..=3000i64, 1 => Just(0i64), 1 => Just(1_000_000i64), 1 => Just(-400_000i64)],
            1..20,
        ),
        factor in prop_oneof![Just(-0.5f32), Just(0.0001f32), Just(1.0f32)],
        tables in tables(),
    ) {
        let set = mutual(count, &scores);
        prop_assert_eq!(walked(&set, &tables, factor, false).0, walked(&set, &tables, factor, true).0);
    }

    #[test]
    fn shifts_are_what_following_every_path_comes_to(
        colocations in prop::collection::vec((0..RESOURCES, 0..RESOURCES, 0..SCORES.len()), 0..9),
        tables in tables(),
    ) {
        let set = set(&colocations);
        let merged = |by_paths: bool| {
            let mut wishes = Wishes::of(&set);
            wishes.merging.by_paths = by_paths;
            let share = Share { factor: -0.5, ..Share::default() };
            let resources: Vec<ResourceIdx> = set.resource_indices().collect();
            let first: Vec<ScoreTable> =
                resources.iter().map(|resource| wishes.with_primaries(&tables, *resource)).collect();
            wishes.merging.forget();
            let added = resources.iter().map(|resource| wishes.added(&tables, *resource, tables[0].clone(), share));
            (first, added.collect::<Vec<_>>())
        };
        prop_assert_eq!(merged(false), merged(true));
    }
}

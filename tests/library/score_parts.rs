//! Scores taken apart: the parts add up, by Pacemaker's arithmetic, to the scores by which resources are placed and that
//! `--crm-simulate-format` prints.

use std::fs;

use super::pacemaker;
use super::transition::random_cib::{self, Dimensions};
use htools::generate::random::Random;
use htools::placement::cib::GuestReading;
use htools::placement::{
    AdditionLog, AllPlaced, AllocationScore, HostIdx, ResourceIdx, WorkingSet, additions, cib, place,
};

/// The sum of the parts of a score.
fn sum(log: &AdditionLog, resource: ResourceIdx, host: HostIdx) -> AllocationScore {
    let parts = log.parts(resource, host);
    parts.iter().fold(AllocationScore::ZERO, |sum, part| sum.plus(part.score))
}

/// Holds the parts of all scores to the scores; tells how many parts there were that are no bare prohibitions.
fn add_up(set: &WorkingSet, placed: &AllPlaced, log: &AdditionLog, name: &str) -> usize {
    let mut parts = 0;
    for record in &placed.records {
        for (host, score) in record.scores.iter() {
            let id = &set.resource(record.resource).id;
            let host_name = &set.host(host).name;
            let found = log.parts(record.resource, host);
            assert_eq!(sum(log, record.resource, host), score, "{name}: {id} on {host_name}: {found:?}");
            parts += found.iter().filter(|part| part.score > AllocationScore::MINUS_INFINITY).count();
        }
    }
    parts
}

#[test]
fn parts_of_recorded_clusters_add_up() {
    let mut parts = 0;
    let recorded = [
        pacemaker::with_clones(),
        pacemaker::with_failures(),
        pacemaker::on_several_nodes(),
        pacemaker::in_other_words(),
        pacemaker::changed(),
        pacemaker::with_guests(),
    ];
    for file in pacemaker::clusters().into_iter().chain(recorded.into_iter().flatten()) {
        let name = file.display().to_string();
        let text = fs::read_to_string(&file).unwrap();
        let set = cib::read_with(text.as_bytes(), &name, GuestReading::Followed).unwrap();
        let placed = place(&set, set.strategy()).unwrap();
        parts += add_up(&set, &placed, &additions(&set, set.strategy(), &placed).unwrap(), &name);
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
        parts +=
            add_up(&set, &placed, &additions(&set, set.strategy(), &placed).unwrap(), &number.to_string());
    }
    assert!(parts > 3000, "{parts}");
}

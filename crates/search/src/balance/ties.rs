//! Finds the best of very many alike moves: first by their pattern, then by the zones of their nodes.

use foldhash::HashMap;

use htools_model::score::batch::{Pattern, Scorer, Spot};
use htools_model::score::zones::Zones;

/// A pattern and the zones of its nodes.
type ZoneKey = (u64, u64);

/// For each pattern and zones, the first of the spots in order.
struct FirstSpots(HashMap<ZoneKey, u32>);

impl FirstSpots {
    fn of<O: Ord>(spots: &[(Spot, O)], zones: &Zones) -> FirstSpots {
        let zone = |row: u32| if row == Spot::NO_ROW { 0 } else { u64::from(zones.of_row(row as usize)) + 1 };
        let mut firsts: HashMap<ZoneKey, u32> = HashMap::default();
        // Neighbours often have equal keys.
        let mut last: Option<(ZoneKey, usize)> = None;
        for (at, (spot, order)) in spots.iter().enumerate() {
            let rows = spot.rows;
            let key =
                ((u64::from(spot.pattern) << 32) | zone(rows[0]), (zone(rows[1]) << 32) | zone(rows[2]));
            if last.is_some_and(|(last, first)| last == key && spots[first].1 < *order) {
                continue;
            }
            let first = firsts.entry(key).or_insert(at as u32);
            if *order < spots[*first as usize].1 {
                *first = at as u32;
            }
            last = Some((key, *first as usize));
        }
        FirstSpots(firsts)
    }

    fn spots<O>(&self, spots: &[(Spot, O)]) -> Vec<Spot> {
        self.0.values().map(|at| spots[*at as usize].0).collect()
    }
}

/// Positions of the spots that may have the smallest score and be the first with it. Returns all positions if
/// none can be excluded.
pub(super) fn contenders<O: Ord>(
    scorer: &Scorer<'_>,
    patterns: &[Pattern],
    spots: &[(Spot, O)],
) -> Vec<usize> {
    let firsts = || {
        let mut examples: Vec<Option<Spot>> = vec![None; patterns.len()];
        spots.iter().for_each(|(spot, _)| examples[spot.pattern as usize] = Some(*spot));
        let examples: Vec<Spot> = examples.into_iter().flatten().collect();
        let examples = scorer.replaced_at(patterns, &examples);
        let mut cuts = scorer.cuts_by_sum(&examples)?;
        let firsts = FirstSpots::of(spots, &cuts.zones());
        scorer.cut_by_squares(&mut cuts, &examples, &scorer.replaced_at(patterns, &firsts.spots(spots)))?;
        Some(FirstSpots::of(spots, &cuts.zones()))
    };
    match firsts() {
        Some(FirstSpots(firsts)) => firsts.into_values().map(|at| at as usize).collect(),
        None => (0..spots.len()).collect(),
    }
}

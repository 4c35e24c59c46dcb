//! Systematic search for improvements that a random search may miss: the best single moves, and records from
//! which an instance can go home at no loss.

use super::archive::Archive;
use super::arrangement::{Arrangement, Shift};

/// Maximum number of single moves tried, and of moves back home.
const MOST_TRIALS: usize = 2_000_000;

/// Offers the best state after a single move to the archive, if there are not too many moves to try.
pub(super) fn single_moves(at: &mut Arrangement<'_>, archive: &mut Archive) {
    let terrain = at.terrain;
    let mirrored = terrain.mobiles.iter().filter(|m| m.mirrored).count();
    let nodes = terrain.online.len() + 2;
    if mirrored.saturating_mul(nodes * nodes) + terrain.mobiles.len() * nodes > MOST_TRIALS {
        return;
    }
    let mut gains: Vec<(f64, Shift)> = Vec::new();
    for mobile in 0..terrain.mobiles.len() as u32 {
        for to in terrain.seats_with_way(mobile, &terrain.online, true) {
            let shift = Shift { mobile, to };
            let score = at.appraise(&[shift]).score;
            if score < at.now().score {
                gains.push((score, shift));
            }
        }
    }
    gains.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.mobile.cmp(&b.1.mobile)));
    for (_, shift) in gains {
        at.appraise(&[shift]);
        if at.commit(&[shift]) {
            archive.offer(at);
            return;
        }
    }
}

/// For each record, sends one instance after the other home, cheapest first, and offers each state to the
/// archive.
pub(super) fn home_again(home: &Arrangement<'_>, archive: &mut Archive) {
    let records: Vec<_> = archive.front().cloned().collect();
    let mut trials = 0;
    for record in records.iter().rev() {
        trials += record.shifts.len() * record.shifts.len();
        if trials > MOST_TRIALS {
            return;
        }
        let Some(mut at) = home.clone().with(&record.shifts) else { continue };
        while !at.moved.is_empty() {
            let mut costs: Vec<(f64, u32)> = Vec::with_capacity(at.moved.len());
            for mobile in at.moved.clone() {
                let shift = Shift { mobile, to: home.seats[mobile as usize] };
                costs.push((at.appraise(&[shift]).score, mobile));
            }
            costs.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            let goes = costs.into_iter().any(|(_, mobile)| {
                let shift = Shift { mobile, to: home.seats[mobile as usize] };
                at.appraise(&[shift]);
                at.commit(&[shift])
            });
            if !goes {
                break;
            }
            archive.offer(&at);
        }
    }
}

//! A beam search for the rest of a plan, guided by the prices of the bound.
//!
//! Each migration lowers the most that a plan can come to, at its source and at its target; the search looks for
//! plans that lose least. Among plans that are nearly equal, it prefers those that concentrate free CPUs.

use std::collections::HashSet;

use crate::classes::{Change, Classes};
use crate::model::HostId;
use crate::partial::{Outlook, Partial, Plan, Problem, Side};
use crate::prices::count;

/// Best changes of hosts that are combined, by shape: so many departures with so many arrivals.
const CHANGES: usize = 6;
/// Hosts with the same content whose changes are looked at.
const TWINS: usize = 2;
/// Slack for the rounding of sums of doubles, in blocks.
const ROUNDING: f64 = 1e-9;

/// Settings of a beam search.
#[derive(Debug, Clone, Copy)]
pub struct Beam {
    /// Partial plans of the same length that are kept.
    pub width: usize,
    /// Value of concentration, in blocks.
    pub weight: f64,
}

/// A migration that a partial plan could go on with.
struct Next {
    parent: usize,
    source: Side,
    target: Side,
    outlook: Outlook,
    score: f64,
}

impl Beam {
    /// The plan with the most useful blocks that begins with `first`. Plans that cannot come to `wanted` blocks
    /// are not followed.
    pub fn search(
        self,
        problem: &Problem<'_>,
        classes: &mut Classes<'_>,
        first: Partial,
        wanted: usize,
    ) -> Plan {
        let mut best = first.plan.clone();
        let begun = u32::try_from(first.plan.migrations.len()).unwrap_or(u32::MAX);
        let mut beam = vec![first];
        for _ in begun..problem.migrations {
            if best.blocks >= problem.bound.blocks || beam.is_empty() {
                break;
            }
            let mut seen = HashSet::new();
            let mut nexts = Vec::new();
            let least = count(wanted.max(best.blocks + 1)) - ROUNDING;
            for (parent, partial) in beam.iter().enumerate() {
                partial.hosts.iter().for_each(|&class| classes.expand(class));
                extensions(problem, classes, partial, |source, target| {
                    let outlook = partial.outlook(classes, source, target);
                    if outlook.limit >= least && seen.insert(outlook.hash) {
                        let score = outlook.limit + self.weight * outlook.concentration;
                        nexts.push(Next { parent, source, target, outlook, score });
                    }
                });
            }
            // by score, then by hash: the same order on every run
            nexts.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.outlook.hash.cmp(&b.outlook.hash)));
            let longer = nexts
                .iter()
                .filter_map(|next| beam[next.parent].longer(problem, classes, next.source, next.target));
            beam = longer.take(self.width).collect();
            for partial in &beam {
                if partial.plan.blocks > best.blocks {
                    best = partial.plan.clone();
                }
            }
        }
        best
    }
}

/// Offers the migrations that lose least, of each shape.
fn extensions(
    problem: &Problem<'_>,
    classes: &Classes<'_>,
    partial: &Partial,
    mut offer: impl FnMut(Side, Side),
) {
    let shapes = problem.space.shapes.len();
    let mut sources = vec![Vec::new(); shapes];
    let mut targets = vec![Vec::new(); shapes];
    for (host, &from) in partial.hosts.iter().enumerate() {
        let class = classes.get(from);
        let sides = |changes: &[Change], by_shape: &mut [Vec<Side>]| {
            for &change in changes {
                let side = Side { host: HostId(host), from, change };
                keep_cheapest(&mut by_shape[problem.space.slots[change.slot].shape], side);
            }
        };
        sides(&class.departures, &mut sources);
        sides(&class.arrivals, &mut targets);
    }
    for (sources, targets) in sources.iter().zip(&targets) {
        for &source in sources {
            for &target in targets.iter().filter(|target| target.host != source.host) {
                offer(source, target);
            }
        }
    }
}

/// Adds a change to those that lose least, of which at most [`TWINS`] are alike.
fn keep_cheapest(cheapest: &mut Vec<Side>, side: Side) {
    let costs_more = |other: &Side| other.change.loss > side.change.loss;
    if cheapest.len() == CHANGES && !cheapest.last().is_some_and(costs_more) {
        return;
    }
    let alike = |other: &&Side| other.from == side.from && other.change.slot == side.change.slot;
    if cheapest.iter().filter(alike).count() < TWINS {
        cheapest.truncate(CHANGES - 1);
        cheapest.insert(cheapest.iter().position(costs_more).unwrap_or(cheapest.len()), side);
    }
}

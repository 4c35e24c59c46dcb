//! Several beam searches, then repeated rebuilding of a part of the best plan.

use rayon::prelude::*;

use crate::beam::Beam;
use crate::classes::Classes;
use crate::partial::{Partial, Plan, Problem, spread};
use crate::prices::Values;

/// Value of concentration in the searches of each worker, in blocks.
const WEIGHTS: [f64; 4] = [0.064, 0.64, 0.2, 6.4];
/// Partial plans that a search keeps.
const WIDTH: usize = 20;

struct Worker<'a> {
    classes: Classes<'a>,
    beam: Beam,
    random: Random,
}

/// The best plan found. Ends early if a plan reaches the bound, else after `rounds` rounds of rebuilding.
pub fn search(problem: &Problem<'_>, rounds: u32) -> Plan {
    // as many workers whatever the number of cores: the same plan
    let workers = WEIGHTS.iter().enumerate().map(|(seed, &weight)| Worker {
        classes: Classes::new(Values::new(problem.space, &problem.bound.prices)),
        beam: Beam { width: WIDTH, weight },
        random: Random(spread(seed)),
    });
    let mut workers = workers.collect::<Vec<_>>();
    let plans = workers.par_iter_mut().map(|worker| worker.build(problem)).collect::<Vec<_>>();
    let mut best = plans.into_iter().reduce(better).unwrap_or(Plan { blocks: 0, migrations: Vec::new() });
    for _ in 0..rounds {
        if best.blocks >= problem.bound.blocks {
            break;
        }
        let plans = workers.par_iter_mut().map(|worker| worker.rebuild(problem, &best)).collect::<Vec<_>>();
        let found = plans.into_iter().reduce(better).filter(|plan| rank(plan) >= rank(&best));
        best = found.unwrap_or(best);
    }
    best
}

/// More blocks, then fewer migrations, are better.
fn rank(plan: &Plan) -> (usize, usize) {
    (plan.blocks, usize::MAX - plan.migrations.len())
}

/// The better plan; the first of equal ones.
fn better(first: Plan, second: Plan) -> Plan {
    if rank(&second) > rank(&first) { second } else { first }
}

impl Worker<'_> {
    fn build(&mut self, problem: &Problem<'_>) -> Plan {
        let empty = Partial::empty(problem, &mut self.classes);
        self.beam.search(problem, &mut self.classes, empty, 0)
    }

    /// Gives up some migrations of a plan, and looks for better ones.
    fn rebuild(&mut self, problem: &Problem<'_>, plan: &Plan) -> Plan {
        let mut partial = Partial::empty(problem, &mut self.classes);
        // between a sixth and half of the migrations
        let share = 2 + self.random.below(5);
        for &migration in &plan.migrations {
            if self.random.below(share) != 0 {
                partial.repeat(problem, &mut self.classes, migration);
            }
        }
        self.beam.search(problem, &mut self.classes, partial, plan.blocks)
    }
}

/// A sequence of numbers that its seed determines.
struct Random(u64);

impl Random {
    /// A number below `end`.
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let bits = spread(usize::try_from(self.0 >> 33).unwrap_or_default());
        bits % end.max(1)
    }
}

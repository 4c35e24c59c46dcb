//! Generator of a week of load: instances with daily and weekly patterns, bursts, arrivals and departures. The same
//! seed always gives the same week.

use htools::generate::random::Random;
use htools::model::Mib;

use super::pattern::Pattern;
use super::slot::{HOUR, Slot, a_day};

/// Nodes of the cluster.
pub const NODES: usize = 40;
/// Instances at the beginning of the week.
pub const INSTANCES: usize = 400;
/// Cores of a node.
pub const CORES: f64 = 32.0;
/// Memory of a node that instances can use.
pub const MEMORY: Mib = Mib(208 * 1024);
/// Share of the processors or of the memory of a node above which it is too busy.
pub const TOO_BUSY: f64 = 0.85;
/// Mean number of instances that come on a day. As many leave.
const COMING: f64 = 16.0;
/// Slots of history before the week: four weeks.
const HISTORY: usize = 28 * a_day();
/// Slots of the week.
const WEEK: usize = 7 * a_day();
/// Range of the cluster's mean processor load, as a share of all cores.
const MEAN: [f64; 2] = [0.56, 0.63];

/// An instance and its processor load.
pub struct Demand {
    /// Full name.
    pub name: String,
    /// Virtual processors.
    pub vcpus: i64,
    /// Memory; it is always in use.
    pub mem: Mib,
    /// Slot in which it comes.
    pub born: Slot,
    /// First slot without it.
    pub gone: Slot,
    /// Load in cores of each slot from `born` until the end of the week.
    pub cores: Vec<f64>,
}

impl Demand {
    /// Load in cores. Before the instance comes there is none.
    pub fn at(&self, slot: Slot) -> f64 {
        slot.0.checked_sub(self.born.0).and_then(|at| self.cores.get(at)).copied().unwrap_or(0.0)
    }

    /// Returns true if the instance exists in the slot.
    pub fn exists(&self, slot: Slot) -> bool {
        (self.born..self.gone).contains(&slot)
    }
}

/// A week of load, with the weeks before it.
pub struct Week {
    /// The instances, in the order in which they come.
    pub demands: Vec<Demand>,
    /// First slot of the week. The slots before it are history.
    pub start: Slot,
    /// First slot after the week.
    pub end: Slot,
}

impl Week {
    /// Generates the week of a seed.
    pub fn generate(seed: u64) -> Week {
        let (start, end) = (Slot(HISTORY), Slot(HISTORY + WEEK));
        let mut random = Random::new(seed);
        let mut demands: Vec<Demand> =
            (0..INSTANCES).map(|number| demand(seed, number, Slot(0), end)).collect();
        let mut there: Vec<usize> = (0..INSTANCES).collect();
        for slot in (start.0 + 1..end.0).map(Slot) {
            // Most come and leave by day.
            let rate = COMING / a_day() as f64 * if (8.0..20.0).contains(&slot.hour()) { 1.7 } else { 0.3 };
            if random.chance(rate) {
                there.push(demands.len());
                demands.push(demand(seed, demands.len(), slot, end));
            }
            if random.chance(rate) {
                demands[there.swap_remove(random.below(there.len()))].gone = slot;
            }
        }
        let mut week = Week { demands, start, end };
        let wanted = MEAN[0] + (MEAN[1] - MEAN[0]) * random.unit();
        // The load of an instance is limited by its virtual processors, so scaling once is not enough.
        for _ in 0..4 {
            let factor = wanted / week.mean();
            for demand in &mut week.demands {
                let most = demand.vcpus as f64;
                demand.cores.iter_mut().for_each(|load| *load = (*load * factor).min(most));
            }
        }
        week
    }

    /// Slots of the week.
    pub fn slots(&self) -> impl Iterator<Item = Slot> + use<> {
        (self.start.0..self.end.0).map(Slot)
    }

    /// Load of the cluster in a slot, as a share of all cores.
    pub fn total(&self, slot: Slot) -> f64 {
        let there = self.demands.iter().filter(|demand| demand.exists(slot));
        there.map(|demand| demand.at(slot)).sum::<f64>() / (NODES as f64 * CORES)
    }

    /// Mean load of the cluster in the week, as a share of all cores.
    pub fn mean(&self) -> f64 {
        self.slots().map(|slot| self.total(slot)).sum::<f64>() / WEEK as f64
    }

    /// Largest load of the cluster in the week, as a share of all cores.
    pub fn peak(&self) -> f64 {
        self.slots().map(|slot| self.total(slot)).fold(0.0, f64::max)
    }

    /// Hours of nodes with too busy processors if all instances were placed anew in every slot, the largest load
    /// first, each on the node with the least load. Unavoidable hours are at most as many.
    pub fn repacked(&self) -> f64 {
        let busy = |slot: Slot| {
            let there = self.demands.iter().filter(|demand| demand.exists(slot));
            let mut loads: Vec<f64> = there.map(|demand| demand.at(slot)).collect();
            loads.sort_by(|a, b| b.total_cmp(a));
            let mut nodes = [0.0_f64; NODES];
            for load in loads {
                if let Some(least) = nodes.iter_mut().min_by(|a, b| a.total_cmp(b)) {
                    *least += load;
                }
            }
            nodes.iter().filter(|load| **load > TOO_BUSY * CORES).count()
        };
        self.slots().map(busy).sum::<usize>() as f64 / HOUR as f64
    }
}

fn demand(seed: u64, number: usize, born: Slot, end: Slot) -> Demand {
    let mut random = Random::stream(seed, number as u64);
    let vcpus = [2, 4, 8][random.weighted(&[0.2, 0.4, 0.4])];
    let gib = [4, 8, 16, 32][random.weighted(&[0.2, 0.3, 0.35, 0.15])];
    let pattern = Pattern::draw(&mut random);
    let cores = pattern.shares(born, end, &mut random).map(|share| share * vcpus as f64).collect();
    Demand {
        name: format!("inst-{number:04}.example.com"),
        vcpus,
        mem: Mib(gib * 1024),
        born,
        gone: end,
        cores,
    }
}

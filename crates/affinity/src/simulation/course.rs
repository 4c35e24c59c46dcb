//! Simulation of one strategy, day by day.

use super::choosers::{ByKeys, ByPreference, ByScore, Chooser, hosts};
use super::gauge::NodeReadings;
use super::nights::{self, NightMove};
use super::tenants::Tenants;
use super::timeline::{Timeline, TimelineEvent};
use super::{Contender, NightWork, SimulatedDay, SimulatedRun};
use crate::CompiledKey;
use htools_model::Mib;
use htools_pacemaker::working_set::WorkingSet;

/// Lets one strategy place all machines.
pub(super) fn run(
    timeline: &Timeline,
    wishes: &[Vec<CompiledKey>],
    contender: Contender,
    nights: NightWork,
) -> SimulatedRun {
    let set = hosts(timeline);
    let mut course = SimulatedDays::begin(timeline, wishes, &set, contender, nights);
    timeline.events().into_iter().for_each(|(time, event)| course.process(time, event));
    course.result(contender)
}

/// Machines that got no node.
#[derive(Default)]
struct RefusedRentals {
    count: usize,
    ram: Mib,
    with_room: usize,
}

/// Days simulated so far.
pub(super) struct SimulatedDays<'t> {
    pub(super) tenants: Tenants<'t>,
    chooser: Box<dyn Chooser + 't>,
    nights: NightWork,
    gauge: NodeReadings,
    refused: RefusedRentals,
    days: Vec<SimulatedDay>,
}

impl<'t> SimulatedDays<'t> {
    /// The state before the first event.
    pub(super) fn begin(
        timeline: &'t Timeline,
        wishes: &'t [Vec<CompiledKey>],
        set: &'t WorkingSet,
        contender: Contender,
        nights: NightWork,
    ) -> SimulatedDays<'t> {
        let chooser: Box<dyn Chooser + 't> = match contender.strategy() {
            Some(strategy) => Box::new(ByPreference::new(timeline, set, strategy)),
            None if contender == Contender::Affinity => Box::new(ByKeys::new(timeline)),
            None => Box::new(ByScore::new(timeline)),
        };
        let mut tenants = Tenants::none(timeline, wishes);
        timeline.residents().for_each(|(rental, node)| tenants.settle(rental, node, 0.0));
        let mut gauge = NodeReadings::default();
        gauge.read(&tenants);
        SimulatedDays {
            tenants,
            chooser,
            nights,
            gauge,
            refused: RefusedRentals::default(),
            days: Vec::new(),
        }
    }

    /// Advances to `time`, and processes an event.
    pub(super) fn process(&mut self, time: f64, event: TimelineEvent) {
        self.gauge.wait_until(time);
        match event {
            TimelineEvent::Leave(rental) => self.leave(rental, time),
            TimelineEvent::Night => self.night(time),
            TimelineEvent::Arrive(rental) => self.arrive(rental, time),
        }
        self.gauge.read(&self.tenants);
    }

    fn arrive(&mut self, rental: usize, now: f64) {
        match self.chooser.choose(rental, &self.tenants) {
            Some(node) => {
                self.tenants.start(rental, node, now);
                self.chooser.started(rental, node);
            }
            None => {
                let mut nodes = 0..self.tenants.counts.len();
                self.refused.count += 1;
                self.refused.ram += self.tenants.timeline.machine(rental).ram;
                self.refused.with_room += usize::from(nodes.any(|node| self.tenants.can_take(rental, node)));
            }
        }
    }

    fn leave(&mut self, rental: usize, now: f64) {
        if let Some(node) = self.tenants.stop(rental, now) {
            self.chooser.stopped(rental, node);
        }
    }

    fn night(&mut self, now: f64) {
        let moves = nights::moves(&self.tenants);
        if self.nights == NightWork::Made {
            for NightMove { rental, node } in &moves {
                self.leave(*rental, now);
                self.tenants.start(*rental, *node, now);
                self.chooser.started(*rental, *node);
            }
        }
        self.days.push(SimulatedDay {
            unevenness: self.gauge.end_day(),
            refused: self.refused.count,
            moves: moves.len(),
            empty_nodes: self.tenants.empty_nodes(),
            used: self.gauge.used,
        });
    }

    #[allow(clippy::cast_precision_loss)] // nodes times days are far fewer than 2^53
    fn result(mut self, contender: Contender) -> SimulatedRun {
        let days = self.tenants.timeline.days();
        let [together, apart] = self.tenants.kept.until(f64::from(days));
        let empty: usize = self.days.iter().map(|day| day.empty_nodes).sum();
        SimulatedRun {
            contender,
            refused: self.refused.count,
            refused_ram: self.refused.ram,
            refused_with_room: self.refused.with_room,
            unevenness: self.gauge.average(days),
            worst_unevenness: self.gauge.worst,
            together,
            apart,
            moves: self.days.iter().map(|day| day.moves).sum(),
            empty_nodes: empty as f64 / f64::from(days),
            peak: self.gauge.peak,
            days: self.days,
        }
    }
}

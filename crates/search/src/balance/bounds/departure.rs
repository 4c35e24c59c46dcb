//! Effect of a move on the present nodes of the instance: its primary (P) and its secondary (S).

use multiversion::multiversion;

use super::arrival_costs::ArrivalRole;
use super::lane_loops::smallest_growth;
use super::lanes::{LaneRange, MEMBER, NONE, PRIMARY, RESERVE, dot, lanewise, least, most};
use super::online_nodes::{COUNT_ERROR, OnlineNodes};
use super::place::{Outlay, PlaceCost};
use super::{FAILOVER, REPLACE_AND_FAILOVER, REPLACE_PRIMARY, REPLACE_SECONDARY, SLOTS, STAYS_SECONDARY};
use crate::moves::{Ends, Repertoire, Trial};
use htools_model::score::Board;
use htools_model::score::interval::CountedPart;
use htools_model::score::metrics::{Counted, Lanes, PADDED_LANES, lane, lanes};
use htools_model::{Cluster, Instance, Ledger, Move, NodeIdx};

const fn both(a: Lanes, b: Lanes) -> Lanes {
    let mut sum = NONE;
    let mut k = 0;
    while k < PADDED_LANES {
        sum[k] = a[k] + b[k];
        k += 1;
    }
    sum
}

/// The lanes of P that change, by slot. In the lane of the reserve, P can only gain: it may become the
/// secondary of the instance.
const FROM_P: [Lanes; SLOTS] =
    [both(PRIMARY, RESERVE), NONE, both(PRIMARY, RESERVE), both(PRIMARY, MEMBER), both(PRIMARY, MEMBER)];

/// The lanes of S that change, by slot: S becomes the primary, or stops being the secondary. If S stays the
/// secondary of another primary, the change of its reserve is in `reserve_as_secondary`.
const FROM_S: [Lanes; SLOTS] =
    [both(PRIMARY, RESERVE), both(MEMBER, RESERVE), both(MEMBER, RESERVE), NONE, both(PRIMARY, RESERVE)];

/// Effects of one instance's departure from its nodes.
#[derive(Debug, Clone)]
pub(super) struct Departure {
    /// Rows of P and S, if they are online.
    pub p: Option<u32>,
    pub s: Option<u32>,
    /// Changes of P's values without the instance; in the lane of the reserve, with P as its secondary.
    p_change: Lanes,
    /// Changes of S's values: with the instance as a primary in the primary lanes, without it in the others.
    s_change: Lanes,
    /// Change of S's reserve if S stays the secondary of another primary.
    reserve_as_secondary: f64,
    /// Further growth that is possible for the reserves of P and S, since they may already keep memory for the
    /// new node. It is 0 where it cannot lower the score.
    further: [f64; 2],
    /// `None` if the instance does not move.
    pub outlay: Option<Outlay>,
    /// For each slot, the change of the score apart from the deviations; infinite if no such move is possible.
    pub fixed: [f64; SLOTS],
    /// `fixed` plus the price of the changed deviations.
    pub cost: [f64; SLOTS],
}

/// Ranges of the changes of variances caused by departures.
#[derive(Debug, Clone, Copy)]
pub(super) struct VarianceReach {
    from_p: LaneRange,
    from_s: LaneRange,
    reserve_as_secondary: (f64, f64),
}

/// Changes of variances caused by the departure of one instance.
pub(super) struct VarianceChanges {
    from_p: Lanes,
    from_s: Lanes,
    reserve_as_secondary: f64,
}

impl VarianceReach {
    pub(super) fn empty() -> VarianceReach {
        VarianceReach {
            from_p: LaneRange::empty(),
            from_s: LaneRange::empty(),
            reserve_as_secondary: (f64::INFINITY, f64::NEG_INFINITY),
        }
    }

    pub(super) fn include(&mut self, changes: &VarianceChanges) {
        self.from_p.include(&changes.from_p);
        self.from_s.include(&changes.from_s);
        self.reserve_as_secondary = (
            least(changes.reserve_as_secondary, self.reserve_as_secondary.0),
            most(changes.reserve_as_secondary, self.reserve_as_secondary.1),
        );
    }

    pub(super) fn join(&mut self, other: &VarianceReach) {
        self.from_p.join(&other.from_p);
        self.from_s.join(&other.from_s);
        self.reserve_as_secondary = (
            least(other.reserve_as_secondary.0, self.reserve_as_secondary.0),
            most(other.reserve_as_secondary.1, self.reserve_as_secondary.1),
        );
    }

    /// The range of the changes that moves of a slot cause.
    #[inline(always)]
    pub(super) fn range(&self, slot: usize) -> LaneRange {
        let zero = LaneRange { lo: NONE, hi: NONE };
        let mut range =
            zero.plus(&self.from_p.or_zero(), &FROM_P[slot]).plus(&self.from_s.or_zero(), &FROM_S[slot]);
        if slot == STAYS_SECONDARY && self.reserve_as_secondary.0 <= self.reserve_as_secondary.1 {
            range.lo[lane::RESERVED_MEM] += self.reserve_as_secondary.0;
            range.hi[lane::RESERVED_MEM] += self.reserve_as_secondary.1;
        }
        range
    }
}

impl VarianceChanges {
    /// The changes that moves of a slot cause.
    pub(super) fn of_slot(&self, slot: usize) -> Lanes {
        let mut changes: Lanes =
            lanewise!(k => FROM_P[slot][k] * self.from_p[k] + FROM_S[slot][k] * self.from_s[k]);
        if slot == STAYS_SECONDARY {
            changes[lane::RESERVED_MEM] += self.reserve_as_secondary;
        }
        changes
    }

    /// The range that contains only these changes.
    pub(super) fn reach(&self) -> VarianceReach {
        let mut reach = VarianceReach::empty();
        reach.include(self);
        reach
    }
}

/// Inputs needed to examine departures.
pub(super) struct DepartureInputs<'a> {
    pub cluster: &'a Cluster,
    pub board: &'a Board,
    pub outlay: Outlay,
    /// The least that the instance's affinity keys cost on any node.
    pub least_key_cost: i64,
    /// See [`OnlineNodes`].
    pub reserve_may_help: bool,
}

impl DepartureInputs<'_> {
    /// Change of the counts when a node takes on another state; nothing changes outside the set.
    fn counted(&self, node: NodeIdx, state: &Ledger) -> Counted {
        let node = self.cluster.node(node);
        if self.board.contains(node.spec.idx) {
            Counted::of(&node.spec, state) - Counted::of_node(node)
        } else {
            Counted::default()
        }
    }

    /// Change of the score by counts, places and reserves, rounded down.
    fn fixed_score(&self, counts: Counted, places: PlaceCost, reserve: f64) -> f64 {
        let weights = self.board.weights();
        let counts = Counted { location_sum: counts.location_sum + places.locations, ..counts };
        let CountedPart { score, size } = CountedPart::of(weights, &counts, places.surplus);
        score - COUNT_ERROR * size + weights.reserved_sum() * reserve
    }
}

impl Departure {
    /// The departure of an instance that does not move.
    pub(super) fn none() -> Departure {
        Departure {
            p: None,
            s: None,
            p_change: NONE,
            s_change: NONE,
            reserve_as_secondary: 0.0,
            further: [0.0; 2],
            outlay: None,
            fixed: [f64::INFINITY; SLOTS],
            cost: [f64::INFINITY; SLOTS],
        }
    }

    /// Computes the effects of the instance's moves on its nodes. The cost is not set yet.
    pub(super) fn of(
        inputs: &DepartureInputs<'_>,
        trial: &Trial<'_>,
        instance: &Instance,
        repertoire: &Repertoire,
    ) -> Departure {
        let DepartureInputs { cluster, board, reserve_may_help, .. } = *inputs;
        let row = |n: NodeIdx| board.row(n);
        let (p, s) = (row(instance.primary), instance.mirror().and_then(row));
        let mut departure = Departure { p: p.map(|r| r as u32), s: s.map(|r| r as u32), ..Departure::none() };
        let ends = trial.ends();
        let reserve = lane::RESERVED_MEM;
        // Values of a node in another state minus the present values.
        let change = |row: Option<usize>, node: NodeIdx, state: &Ledger| match row {
            Some(row) => {
                let (old, new) = (&board.rows()[row], lanes(&cluster.node(node).spec, state));
                lanewise!(k => new[k] - old[k])
            }
            None => NONE,
        };
        departure.p_change = change(p, instance.primary, &ends.p_left);
        departure.p_change[reserve] =
            ends.p_as_secondary.as_ref().map_or(0.0, |l| change(p, instance.primary, l)[reserve]);
        if let (Some(mirror), Some(m)) = (instance.mirror(), &ends.mirror) {
            let left = change(s, mirror, &m.left);
            let primary = m.as_primary.as_ref().map_or(NONE, |l| change(s, mirror, l));
            departure.s_change = lanewise!(k => PRIMARY[k] * primary[k] + (1.0 - PRIMARY[k]) * left[k]);
            departure.reserve_as_secondary =
                m.still_secondary.as_ref().map_or(0.0, |l| change(s, mirror, l)[reserve]);
        }
        if reserve_may_help && !instance.forthcoming {
            let need = instance.mem_reserved().as_f64();
            let further = |node: NodeIdx| need / cluster.node(node).spec.mem_total;
            departure.further = [Some(instance.primary), instance.mirror()].map(|n| n.map_or(0.0, further));
        }
        departure.outlay = Some(inputs.outlay);
        departure.fixed = departure.fixed(inputs, trial, instance, repertoire, &ends);
        departure
    }

    /// For each slot, the change of the score apart from the deviations.
    fn fixed(
        &self,
        inputs: &DepartureInputs<'_>,
        trial: &Trial<'_>,
        instance: &Instance,
        repertoire: &Repertoire,
        ends: &Ends,
    ) -> [f64; SLOTS] {
        let mut fixed = [f64::INFINITY; SLOTS];
        let failover = repertoire.failover.then(|| trial.run(Move::Failover).ok()).flatten();
        if let Some(outcome) = failover {
            let changes = outcome.touched().iter().map(|t| inputs.counted(t.spec.idx, &t.after));
            fixed[FAILOVER] = inputs.fixed_score(
                changes.fold(Counted::default(), |a, b| a + b),
                inputs.outlay[FAILOVER],
                self.reserve_of_p() + self.reserve_of_s(),
            );
        }
        for mv in repertoire.to_target {
            let slot = super::slot(mv(instance.primary));
            if let Some((mut counts, reserve)) = self.states(inputs, instance, ends, slot) {
                if ArrivalRole::of_target(slot) == Some(ArrivalRole::Primary) {
                    counts.key_cost += inputs.least_key_cost;
                }
                fixed[slot] = inputs.fixed_score(counts, inputs.outlay[slot], reserve);
            }
        }
        fixed
    }

    /// Changes of the counts and of the reserves of P and S by moves of a slot to a new node; `None` if P or S
    /// does not allow the move.
    fn states(
        &self,
        inputs: &DepartureInputs<'_>,
        instance: &Instance,
        ends: &Ends,
        slot: usize,
    ) -> Option<(Counted, f64)> {
        let p = |state: &Ledger| inputs.counted(instance.primary, state);
        let (Some(mirror), Some(m)) = (instance.mirror(), &ends.mirror) else {
            return Some((p(&ends.p_left), 0.0));
        };
        let s = |state: &Ledger| inputs.counted(mirror, state);
        let [p_grows, s_falls] = [self.reserve_of_p(), self.reserve_of_s()];
        match slot {
            REPLACE_SECONDARY => ends.p_stays.then(|| (s(&m.left), s_falls)),
            REPLACE_AND_FAILOVER => {
                let p_after = ends.p_as_secondary.as_ref()?;
                Some((p(p_after) + s(&m.left), p_grows + s_falls))
            }
            REPLACE_PRIMARY => {
                let s_after = m.still_secondary.as_ref().filter(|_| m.reachable)?;
                Some((p(&ends.p_left) + s(s_after), self.reserve_as_secondary))
            }
            _ => {
                let s_after = m.as_primary.as_ref().filter(|_| m.reachable)?;
                Some((p(&ends.p_left) + s(s_after), s_falls))
            }
        }
    }

    fn reserve_of_p(&self) -> f64 {
        self.p_change[lane::RESERVED_MEM]
    }

    fn reserve_of_s(&self) -> f64 {
        self.s_change[lane::RESERVED_MEM]
    }

    /// Returns true if the instance has any possible move.
    pub(super) fn is_possible(&self) -> bool {
        self.fixed.iter().any(|fixed| *fixed < f64::INFINITY)
    }

    /// Changes of the variances in the present state of the nodes.
    pub(super) fn changes(&self, online: &OnlineNodes) -> VarianceChanges {
        changes(self, online)
    }

    /// Sets the cost of each slot to `fixed` plus the price of the changes.
    pub(super) fn set_cost(&mut self, changes: &VarianceChanges, slopes: &Lanes) {
        let prices = prices(changes, slopes);
        self.cost = std::array::from_fn(|slot| self.fixed[slot] + prices[slot]);
    }
}

/// Body of [`Departure::changes`]; a free function so that it can be compiled for wider registers.
#[multiversion(targets("x86_64+avx512f", "x86_64+avx2"))]
fn changes(departure: &Departure, online: &OnlineNodes) -> VarianceChanges {
    let mut changes = VarianceChanges { from_p: NONE, from_s: NONE, reserve_as_secondary: 0.0 };
    let k = lane::RESERVED_MEM;
    let [p_further, s_further] = departure.further;
    if let Some(p) = departure.p {
        changes.from_p = online.change(p as usize, &departure.p_change);
        if p_further > 0.0 {
            let least = departure.p_change[k];
            let y = online.y[p as usize][k];
            changes.from_p[k] = smallest_growth(least, least + p_further, 1.0, y) * online.inv_n;
        }
    }
    if let Some(s) = departure.s {
        changes.from_s = online.change(s as usize, &departure.s_change);
        let (least, y) = (departure.reserve_as_secondary, online.y[s as usize][k]);
        changes.reserve_as_secondary = smallest_growth(least, least + s_further, 1.0, y) * online.inv_n;
    }
    changes
}

/// The price of the departures of each slot; see [`FROM_P`] and [`FROM_S`].
#[multiversion(targets("x86_64+avx512f", "x86_64+avx2"))]
fn prices(changes: &VarianceChanges, slopes: &Lanes) -> [f64; SLOTS] {
    let (p, s) = (&changes.from_p, &changes.from_s);
    let primary = lanewise!(k => PRIMARY[k] * slopes[k]);
    let member = lanewise!(k => MEMBER[k] * slopes[k]);
    let ([pp, pm], [sp, sm]) = ([dot(&primary, p), dot(&member, p)], [dot(&primary, s), dot(&member, s)]);
    let reserve = slopes[lane::RESERVED_MEM];
    let (pr, sr) = (reserve * p[lane::RESERVED_MEM], reserve * s[lane::RESERVED_MEM]);
    let reserve_as_secondary = reserve * changes.reserve_as_secondary;
    [pp + pr + sp + sr, sm + sr, pp + pr + sm + sr, pp + pm + reserve_as_secondary, pp + pm + sp + sr]
}

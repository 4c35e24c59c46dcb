//! Bounds of what a move makes of the memory reserved for failovers: its deviation
//! and its sum.

use super::lanes::{Departed, VARIANCE_FACTOR, reset};
use super::{Scratch, Screen};
use crate::model::{Instance, Mib, NodeIdx};
use crate::score::running::{RESERVED_TOTAL_WEIGHT, clamp};
use crate::search::moves::Trial;

impl Screen<'_> {
    /// Fills in the bounds of the reserve (its deviation and its sum) for each
    /// kind of move to the first `rows` rows; returns those of the failover and of
    /// no change.
    pub(super) fn reserves(
        &self,
        trial: &Trial<'_>,
        instance: &Instance,
        scratch: &mut Scratch,
        rows: Option<usize>,
    ) -> (f64, f64) {
        let data = &self.reserved;
        let now = data.departed(None, 0.0);
        let value = |sums: Departed, change: f64| {
            data.bound(sums, self.inv_n) + RESERVED_TOTAL_WEIGHT * (self.reserved_total + change)
        };
        let reserve_now = value(now, 0.0);
        let (Some(mirror), Some(s_left)) = (instance.mirror(), trial.mirror_left()) else {
            return (reserve_now, reserve_now);
        };
        let need = instance.mem_reserved();
        let (p, s) = (self.row(instance.primary), self.row(mirror));
        let p_state = &self.cluster.node(instance.primary).state;
        let s_state = &self.cluster.node(mirror).state;
        // S reserves less; a row that comes to reserve `amount` for another node
        let mut s_gone = now;
        let mut s_change = 0.0;
        if let Some(row) = s {
            s_change = (s_left.mem_reserved.as_f64() - self.reserved_mem[row]) * data.scale[row];
            s_gone.replace(data.y[row], data.y[row] + s_change);
        }
        let with = |row: Option<usize>, base: f64, reserve: f64| {
            let mut sums = s_gone;
            let mut change = 0.0;
            if let Some(row) = row {
                change = (reserve - base).max(0.0) * data.scale[row];
                // S itself has already been changed
                let y = if Some(row) == s { data.y[row] + s_change } else { data.y[row] };
                sums.replace(y, y + change);
            }
            value(sums, s_change + change)
        };
        let p_base = p_state.ledger.mem_reserved.as_f64();
        let s_base = s_left.mem_reserved.as_f64();
        let p_keeps = |target: NodeIdx| with(p, p_base, (p_state.peers.get(target) + need).as_f64());
        let failover = p_keeps(mirror);
        let Some(rows) = rows else { return (failover, reserve_now) };
        let within = |target: NodeIdx| self.row(target).filter(|row| *row < rows);
        let on_target =
            |row: usize, held: Mib| with(Some(row), self.reserved_mem[row], (held + need).as_f64());

        let [replace_secondary, replace_and_failover, replace_primary, failover_and_replace] =
            &mut scratch.reserve;
        reset(replace_secondary, rows, 0.0);
        self.add_reserve_arrivals(replace_secondary, s_gone, s_change, need.as_f64());
        failover_and_replace.clone_from(replace_secondary);
        for &(row, held) in self.reserved_for[instance.primary.get()].iter().filter(|r| r.0 < rows) {
            replace_secondary[row] = on_target(row, held);
        }
        for &(row, held) in self.reserved_for[mirror.get()].iter().filter(|r| r.0 < rows) {
            failover_and_replace[row] = on_target(row, held);
        }
        reset(replace_and_failover, rows, with(p, p_base, need.as_f64()));
        for (target, held) in p_state.peers.iter() {
            if let Some(row) = within(target) {
                replace_and_failover[row] = with(p, p_base, (held + need).as_f64());
            }
        }
        reset(replace_primary, rows, with(s, s_base, need.as_f64()));
        for (target, held) in s_state.peers.iter() {
            if let Some(row) = within(target) {
                replace_primary[row] = with(s, s_base, (held + need).as_f64());
            }
        }
        (failover, reserve_now)
    }

    /// The reserve when each row comes to reserve `need` for a node for which it
    /// reserved nothing before.
    fn add_reserve_arrivals(&self, out: &mut [f64], sums: Departed, s_change: f64, need: f64) {
        let data = &self.reserved;
        let (weight, slack, inv_n) = (data.weight, data.variance_slack, self.inv_n);
        let total = self.reserved_total + s_change;
        for (((out, y), scale), reserved) in
            out.iter_mut().zip(&data.y).zip(&data.scale).zip(&self.reserved_mem)
        {
            let more = need - reserved;
            let change = clamp(more) * scale;
            let squares = sums.squares + change * (2.0 * y + change);
            let sum = sums.sum + change;
            let variance = (squares - sum * sum * inv_n) * inv_n;
            *out += weight * clamp(variance * VARIANCE_FACTOR - slack).sqrt()
                + RESERVED_TOTAL_WEIGHT * (total + change);
        }
    }
}

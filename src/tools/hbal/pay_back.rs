//! `hbal --pay-back`: leaves out the moves that gain too little for what they cost.

use std::borrow::Cow;

use super::HbalOptions;
use super::without::{FirstPlan, pin};
use crate::model::number::fixed;
use crate::model::shown::shown_name;
use crate::model::{Cluster, InstanceIdx, Mib};
use crate::plan::durations::data_of;
use crate::plan::work::WorkStep;
use crate::report::timetable::{duration, size};
use crate::search::steady::{MoveWorth, move_worths};
use crate::tools::cli::OptionDef;
use crate::tools::cli::heading::Heading;
use crate::tools::cli::option::ArgumentKind::Text;
use crate::tools::execution::rates;
use crate::tools::options::one_form;
use crate::tools::options::values::length_of_time;
use crate::tools::output::Output;

pub(super) const PAY_BACK: OptionDef<HbalOptions> =
    OptionDef::<HbalOptions>::addition("pay-back", "leave out moves that do not pay back within TIME")
        .more("A move costs its time, multiplied by how much worse the score is while the instance takes both places. It gains how much worse the score would be without it, in each hour. What leaves an offline node moves in any case.")
        .under(Heading::Limits)
        .takes("TIME", Text, |o, g| length_of_time(g).map(|time| o.pay_back = Some(time)));

/// Refuses the option where moves are needed, whatever they gain, or several groups have plans of their own.
///
/// # Errors
/// Names the other option.
pub(super) fn check(options: &HbalOptions) -> anyhow::Result<()> {
    let others = [
        ("until-below", options.steady.until_below),
        ("repair-only", options.repair_only),
        ("evacuate", !options.emptied.is_empty()),
        ("worst-group", options.worst_group),
        ("all-groups", options.all_groups),
        ("evac-mode", options.balance.evacuate),
    ];
    others.into_iter().try_for_each(|other| one_form(&[("pay-back", options.pay_back.is_some()), other]))
}

/// The options and the cluster with the instances pinned whose moves do not pay back. What each move costs and gains is
/// told on standard error.
///
/// # Errors
/// If no plan can be made, or standard error cannot be written.
pub(super) fn unpaid_left_out<'o>(
    options: Cow<'o, HbalOptions>,
    mut cluster: Cluster,
    output: &mut Output,
) -> anyhow::Result<(Cow<'o, HbalOptions>, Cluster)> {
    let Some(time) = options.pay_back else { return Ok((options, cluster)) };
    let rates = rates(&options.execution)?;
    let is_told = options.load.verbosity >= 1;
    let mut left = options.into_owned();
    // Without some moves others are planned, and the rest gains more or less. So each round only pins the worse half of
    // those that do not pay back, and the next plan is judged anew.
    while let Some(FirstPlan { steps, after }) = FirstPlan::of(&left, cluster.clone(), "pay-back", output)? {
        let (mut paid, mut unpaid) = (Vec::new(), Vec::new());
        for worth in move_worths(&after, &steps, &left.balance.rules) {
            let own = steps.iter().filter(|step| step.instance == worth.instance);
            let own: Vec<WorkStep> = own.map(|step| WorkStep::moving(&after, step)).collect();
            let cost = MoveCost {
                seconds: own.iter().map(|step| rates.seconds(step)).sum(),
                data: own.iter().map(data_of).map(|(memory, disks)| memory + disks).sum(),
            };
            let hours = worth.pays_back_after(cost.seconds / 3600.0);
            let name = shown_name(after.instance(worth.instance).alias());
            let line = format!("{name}: {}", cost.text(worth));
            if hours <= time.as_secs_f64() / 3600.0 {
                paid.push(line);
            } else {
                unpaid.push((hours, worth.instance, line));
            }
        }
        unpaid.sort_by(|one, other| other.0.total_cmp(&one.0));
        unpaid.truncate(unpaid.len().div_ceil(2));
        let told = unpaid.iter().map(|(_, _, line)| format!("{line}; it stays"));
        let told = if unpaid.is_empty() { paid } else { told.collect() };
        told.iter().filter(|_| is_told).try_for_each(|line| output.error_line(line))?;
        if unpaid.is_empty() {
            break;
        }
        let stays: Vec<InstanceIdx> = unpaid.iter().map(|(_, instance, _)| *instance).collect();
        pin(&mut left, &mut cluster, &stays);
    }
    left.pay_back = None;
    Ok((Cow::Owned(left), cluster))
}

/// Cost of the moves of an instance.
struct MoveCost {
    seconds: f64,
    /// Memory and disks that are copied.
    data: Mib,
}

impl MoveCost {
    fn text(&self, worth: MoveWorth) -> String {
        let hours = self.seconds / 3600.0;
        let after = worth.pays_back_after(hours);
        let pays = if after.is_finite() {
            format!("pays back after {}", duration(after * 3600.0))
        } else {
            "never pays back".to_owned()
        };
        format!(
            "gains {} an hour, costs {} ({} in {}, score {} worse meanwhile), {pays}",
            fixed(worth.gain, 4),
            fixed(worth.burden * hours, 4),
            size(self.data),
            duration(self.seconds),
            fixed(worth.burden, 4)
        )
    }
}

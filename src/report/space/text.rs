//! The result for people.

use std::fmt::Display;

use super::{AllocationKind, AllocationRun, CapacityProof, FillStart};
use crate::model::number::{counted, fixed};
use crate::report::balance::components::score;
use crate::report::form::table::Align;
use crate::search::fill::Size;

/// The resources of the cluster, and the number of instances that are already there.
pub(crate) fn cluster(start: &FillStart) -> Vec<String> {
    let totals = &start.totals;
    let whole = |x| fixed(x, 0);
    let spindles = spindles(start, totals.spindles.total);
    let instances = match totals.instances {
        0 => "no".to_owned(),
        count => count.to_string(),
    };
    vec![
        format!("The cluster has {} nodes and the following resources:", totals.nodes),
        format!(
            "  MEM {}, DSK {}, CPU {}, VCPU {}{spindles}.",
            whole(totals.memory.total),
            whole(totals.disk.total),
            whole(totals.cpus.physical),
            totals.cpus.allowed
        ),
        format!("There are {instances} initial instances on the cluster."),
    ]
}

/// The spindles, if they matter.
fn spindles(start: &FillStart, spindles: impl Display) -> String {
    if start.exclusive_storage { format!(", SPN {spindles}") } else { String::new() }
}

fn size(start: &FillStart, size: Size) -> String {
    let spindles = spindles(start, size.spindles);
    format!("MEM {}, DSK {}, CPU {}{spindles}", size.memory.0, size.disk.0, size.vcpus)
}

/// The first size of an allocation.
pub(crate) fn request(start: &FillStart, run: &AllocationRun) -> Vec<String> {
    let title = match run.kind {
        AllocationKind::Tiered => "Tiered (initial size)",
        AllocationKind::Standard => "Standard (fixed-size)",
    };
    let first = run.sizes.first().map(|first| size(start, *first)).unwrap_or_default();
    vec![
        format!("{title} instance spec is:"),
        format!("  {first}, using disk template '{}'.", start.template()),
    ]
}

/// The number of instances that were placed, the main reason that no more fit, and the resulting state.
pub(crate) fn result(start: &FillStart, run: &AllocationRun) -> Vec<String> {
    let mut lines = match run.kind {
        AllocationKind::Tiered => tiers(start, run),
        AllocationKind::Standard => vec![
            "Normal (fixed-size) allocation results:".to_owned(),
            format!("  - {:3} instances allocated", run.allocated()),
        ],
    };
    lines.extend(run.proof.map(|proof| format!("  - {}", bound(&proof))));
    lines.push(format!("  - most likely failure reason: {}", run.main_reason().as_str()));
    lines.push(format!("  - initial cluster score: {}", score(start.totals.score)));
    lines.push(format!("  -   final cluster score: {}", score(run.totals.score)));
    lines.extend(efficiencies(start, run));
    lines
}

/// The upper bound of the number of instances, and the gap.
pub(crate) fn bound(proof: &CapacityProof) -> String {
    match (proof.most, proof.gap()) {
        (Some(most), Some(gap)) => {
            let instances = counted(most, "more instance");
            format!("no placement holds more than {instances} (gap {}%)", fixed(gap * 100.0, 1))
        }
        _ => "no bound is known, because the size takes nothing that is limited".to_owned(),
    }
}

fn tiers(start: &FillStart, run: &AllocationRun) -> Vec<String> {
    let mut lines = vec!["Tiered allocation results:".to_owned()];
    let tiers = run.tiers();
    if tiers.is_empty() {
        lines.push("  - no instances allocated".to_owned());
    }
    lines.extend(
        tiers.iter().map(|tier| format!("  - {:3} instances of spec {}", tier.count, size(start, tier.size))),
    );
    lines
}

fn efficiencies(start: &FillStart, run: &AllocationRun) -> Vec<String> {
    let totals = &run.totals;
    let mut rows = vec![
        ("memory", totals.memory.efficiency()),
        ("disk", totals.disk.efficiency()),
        ("vcpu", totals.cpus.efficiency()),
    ];
    if start.exclusive_storage {
        rows.push(("spindles", totals.spindles.efficiency()));
    }
    let width = rows.iter().map(|row| row.0.len()).max().unwrap_or(0);
    let line = |(name, share): &(&str, f64)| {
        let (name, percent) = (Align::Right.pad(name, width), fixed(share * 100.0, 2));
        format!("  - {name} usage efficiency: {}%", Align::Right.pad(&percent, 5))
    };
    rows.iter().map(line).collect()
}

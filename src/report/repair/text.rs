//! Results of harep for each instance, in lines that scripts know, and counts.

use std::iter;

use jiff::tz::TimeZone;
use jiff::{Timestamp, ZonedDateTime};

use crate::model::autorepair::{
    DiskFault, DiskSide, RepairKind, RepairPermission, RepairResult, RepairStep, RepairTag, Visit,
    VisitOutcome,
};
use crate::model::number::counted;
use crate::model::shown::{printable, shown_name};
use crate::model::{Cluster, DiskTemplate, Instance, Leg, Move, NodeIdx, Outage};
use crate::plan::opcode::Opcode;
use crate::report::why::words::node_text;
use crate::search::repair::{Damage, LimitReached, NodeChoice, RepairCase, RepairDecision, RepairWay};
use htools_model::words;

/// Maximum length of a tag in characters: Ganeti allows 128, but files may have any length.
const LONGEST: usize = 1000;

words!(
    /// State of an instance after the visit of harep.
    pub RepairStatus, "state of an instance" {
        /// A repair has failed; an administrator must look at it.
        Failure = "Failure",
        /// Nothing is wrong, or it need not be repaired.
        Healthy = "Healthy",
        /// Something is wrong, and no repair is under way.
        NeedsRepair = "Needs repair",
        /// A repair is under way.
        PendingRepair = "Pending repair",
    }
);

/// An instance, with the decision and the actions.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RepairEntry {
    /// The decision.
    pub case: RepairCase,
    /// The actions, or those that would be taken.
    pub visit: Option<Visit>,
    /// The opcodes of the repair, if there is one.
    pub opcodes: Vec<Opcode>,
    /// The reason that not everything could be done.
    pub problem: Option<String>,
}

impl RepairEntry {
    /// The state of the instance afterwards.
    pub(crate) fn status(&self) -> RepairStatus {
        use RepairDecision as D;
        match self.visit.as_ref().map(|visit| &visit.attended) {
            Some(VisitOutcome::Begun(_) | VisitOutcome::UnderWay(_)) => RepairStatus::PendingRepair,
            Some(VisitOutcome::Ended(tag)) if tag.result == Some(RepairResult::Success) => {
                RepairStatus::Healthy
            }
            Some(
                VisitOutcome::Ended(_)
                | VisitOutcome::InVain(_)
                | VisitOutcome::Suspended(_)
                | VisitOutcome::Failed(_),
            ) => RepairStatus::Failure,
            Some(VisitOutcome::NotPermitted(_)) => RepairStatus::NeedsRepair,
            Some(VisitOutcome::NeverBegun(_)) if self.case.damage.is_some() => RepairStatus::NeedsRepair,
            Some(VisitOutcome::NeverBegun(_)) => RepairStatus::Healthy,
            Some(VisitOutcome::Nothing) | None => match &self.case.decision {
                D::Well | D::NotPermitted { .. } => RepairStatus::Healthy,
                D::UnderWay(_) => RepairStatus::PendingRepair,
                D::Repair(..)
                | D::Later(..)
                | D::Changed(_)
                | D::NoRoom(..)
                | D::BeyondPermission { .. }
                | D::ForPeople => RepairStatus::NeedsRepair,
                D::InVain(_) | D::BackOff(..) | D::GiveUp(_) | D::Failed(_) | D::Unclear(_) => {
                    RepairStatus::Failure
                }
            },
        }
    }
}

/// Level of detail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RepairStyle {
    /// 0: changes only; 1: the lines that scripts know; 2: also the reasons.
    pub level: i32,
    /// True in a dry run, which shows the jobs.
    pub dry: bool,
}

/// The word of a kind of repair in these lines.
fn word(kind: RepairKind) -> &'static str {
    match kind {
        RepairKind::FixStorage => "ArFixStorage",
        RepairKind::Migrate => "ArMigrate",
        RepairKind::Failover => "ArFailover",
        RepairKind::Reinstall => "ArReinstall",
    }
}

/// A moment in seconds since 1970, in the local time zone.
pub(crate) fn date(seconds: i64) -> String {
    date_in(TimeZone::system(), seconds)
}

fn date_in(zone: TimeZone, seconds: i64) -> String {
    match Timestamp::from_second(seconds) {
        Ok(time) => ZonedDateTime::new(time, zone).strftime("%a %b %e %H:%M:%S %Z %Y").to_string(),
        // The time is beyond the calendar.
        Err(_) => format!("{seconds} s"),
    }
}

/// The lines about an instance.
pub(crate) fn lines(cluster: &Cluster, entry: &RepairEntry, style: RepairStyle) -> Vec<String> {
    let instance = cluster.instance(entry.case.instance);
    let mut lines = match entry.visit.as_ref().map(|visit| &visit.attended) {
        Some(VisitOutcome::Ended(tag)) => {
            let result = if tag.result == Some(RepairResult::Success) { "Healthy" } else { "Failure" };
            let said = visit_message(entry).filter(|_| style.level >= 2).map(|said| format!("  {said}"));
            let way_out = cleanup_message(entry).map(|way_out| format!("  {way_out}"));
            iter::once(moving(instance, "Pending repair", result)).chain(said).chain(way_out).collect()
        }
        Some(VisitOutcome::NeverBegun(_)) => {
            vec![moving(instance, "Pending repair", "Healthy") + ": it was announced, and never begun"]
        }
        Some(VisitOutcome::InVain(_)) => {
            vec![
                moving(instance, "Healthy", "Failure")
                    + ": its last repair ended well, and has mended nothing",
            ]
        }
        Some(VisitOutcome::UnderWay(_)) => Vec::new(),
        _ => decision_lines(cluster, entry, style),
    };
    if let Some(visit) = &entry.visit {
        lines.extend(tag_lines(instance, visit));
    }
    lines
}

/// The message of the job that failed.
pub(crate) fn visit_message(entry: &RepairEntry) -> Option<String> {
    let said = entry.visit.as_ref()?.message.as_ref()?;
    Some(format!("the job that failed: {said}"))
}

/// The cleanup command, if a live migration may have stopped half-way.
pub(crate) fn cleanup_message(entry: &RepairEntry) -> Option<String> {
    let command = entry.visit.as_ref()?.cleanup.as_ref()?;
    Some(format!("it may be half migrated; on the master node, run: {command}"))
}

fn moving(instance: &Instance, from: &str, to: &str) -> String {
    format!("Moving {} from \"{from}\" to \"{to}\"", shown_name(&instance.name))
}

/// The lines about added and removed tags.
fn tag_lines(instance: &Instance, visit: &Visit) -> Vec<String> {
    let name = shown_name(&instance.name);
    let mut lines = Vec::new();
    if let Some(tag) = visit.attended.added() {
        lines.extend([format!(">>> Adding the following tag to {name}:"), quoted(&tag)]);
    }
    if !visit.removed.is_empty() {
        lines.push(format!(">>> Removing the following tags from {name}:"));
        lines.extend(visit.removed.iter().map(|tag| quoted(&tag.to_string())));
    }
    lines
}

fn quoted(tag: &str) -> String {
    format!("\"{}\"", printable(tag, LONGEST))
}

fn decision_lines(cluster: &Cluster, entry: &RepairEntry, style: RepairStyle) -> Vec<String> {
    let RepairCase { instance, damage, decision } = &entry.case;
    let instance = cluster.instance(*instance);
    let name = shown_name(&instance.name);
    let damage_text = || damage.as_ref().map_or_else(String::new, |damage| damage_words(cluster, damage));
    // The reference knows this damage as well.
    let is_known = damage.as_ref().is_some_and(|damage| is_classic(cluster, instance, damage));
    let not = |why: String| vec![format!("Not repairing {name} because {why}")];
    let only = |level: i32, lines: Vec<String>| if style.level >= level { lines } else { Vec::new() };
    match decision {
        RepairDecision::Repair(kind, way, before) => {
            let mut first = format!("Executing {} repair on {name}", word(*kind));
            if !is_known {
                first += &format!(": {}", damage_text());
            }
            if let Some(tag) = before {
                first += &format!(", attempt {}", tag.attempt() + 1);
            }
            let mut lines = vec![first];
            if style.level >= 2 {
                lines.extend(way_lines(cluster, way));
            }
            if style.dry {
                let jobs = serde_json::to_string(&[&entry.opcodes]).unwrap_or_default();
                lines.push(format!("jobs: {jobs}"));
            }
            lines
        }
        RepairDecision::BeyondPermission { needed, permitted, noted } => {
            let line = format!(
                "Not performing a repair of type {} on {name} because only repairs up to {} are allowed",
                word(*needed),
                word(*permitted)
            );
            only(i32::from(*noted), vec![line])
        }
        RepairDecision::NotPermitted { refused, .. } => {
            only(if is_known { 1 } else { 2 }, not(format!("it's in state {}", permission_word(*refused))))
        }
        RepairDecision::Later(_, limit) => only(1, not(limit_words(cluster, *limit))),
        RepairDecision::Changed(_) => {
            only(1, not("it has changed since the cluster was read; the next run looks at it".to_owned()))
        }
        RepairDecision::NoRoom(_, no_way) => {
            let nearest = no_way.refused.kept.first();
            let nearest =
                nearest.map(|refused_place| format!("; nearest is {}", node_text(refused_place, cluster)));
            only(1, not(format!("no node has room for it{}", nearest.unwrap_or_default())))
        }
        RepairDecision::ForPeople => only(1, not(damage_text())),
        RepairDecision::BackOff(tag, until) => only(
            2,
            vec![format!(
                "Not repairing {name} until {}: {} failed",
                date(*until),
                counted(tag.attempt() as usize, "attempt")
            )],
        ),
        RepairDecision::GiveUp(tag) => vec![format!(
            "Suspending repairs of {name}: {} failed, the last one as {}; when it is mended, remove the tags suspend and result",
            counted(tag.attempt() as usize, "attempt"),
            jobs_text(tag)
        )],
        RepairDecision::Failed(tag) => only(
            2,
            not(format!("a repair has failed ({}); remove its tag when it is mended", jobs_text(tag))),
        ),
        RepairDecision::Well | RepairDecision::UnderWay(_) | RepairDecision::InVain(_) => Vec::new(),
        // It is reported as an error.
        RepairDecision::Unclear(_) => Vec::new(),
    }
}

fn jobs_text(tag: &RepairTag) -> String {
    let jobs: Vec<String> = tag.jobs.iter().map(ToString::to_string).collect();
    if jobs.is_empty() { "no job".to_owned() } else { format!("job {}", jobs.join(", ")) }
}

/// Tells if Ganeti's harep handles this kind of damage.
fn is_classic(cluster: &Cluster, instance: &Instance, damage: &Damage) -> bool {
    let known = matches!(instance.template, DiskTemplate::Drbd | DiskTemplate::Plain);
    let drained = cluster.node(instance.primary).spec.outage == Outage::Drained;
    known && !drained && matches!(damage, Damage::SecondaryOut | Damage::PrimaryOut | Damage::AllOut)
}

fn permission_word(permission: RepairPermission) -> String {
    match permission {
        RepairPermission::NotEnabled => "ArNotEnabled".to_owned(),
        RepairPermission::Suspended(None) => "ArSuspended Forever".to_owned(),
        RepairPermission::Suspended(Some(until)) => format!("ArSuspended (Until {})", date(until)),
        RepairPermission::UpTo(kind) => word(kind).to_owned(),
    }
}

fn limit_words(cluster: &Cluster, limit: LimitReached) -> String {
    match limit {
        LimitReached::All(most) => {
            format!("{} may be under way at the same time (--limit)", counted(most, "repair"))
        }
        LimitReached::Node(node, most) => format!(
            "{} may be under way on {} at the same time (--max-per-node)",
            counted(most, "repair"),
            name(cluster, node)
        ),
    }
}

fn name(cluster: &Cluster, node: NodeIdx) -> String {
    shown_name(&cluster.node(node).spec.name).to_string()
}

/// The damage, in words.
pub(crate) fn damage_words(cluster: &Cluster, damage: &Damage) -> String {
    let disks = |disks: &[i64]| {
        let numbers: Vec<String> = disks.iter().map(i64::to_string).collect();
        format!("{} {}", if disks.len() == 1 { "disk" } else { "disks" }, numbers.join(", "))
    };
    match damage {
        Damage::Down => "it should run, and is down".to_owned(),
        Damage::Disks(DiskFault::Apart) => "the copies of its disks are not connected".to_owned(),
        Damage::Disks(DiskFault::SecondaryLost(lost)) => {
            format!("its secondary node has lost {}", disks(lost))
        }
        Damage::Disks(DiskFault::PrimaryLost(lost)) => format!("its primary node has lost {}", disks(lost)),
        Damage::Disks(DiskFault::BothLost) => "both its nodes have lost disks".to_owned(),
        Damage::SecondaryOut => "its secondary node is out of use".to_owned(),
        Damage::PrimaryDrained => "its primary node is drained".to_owned(),
        Damage::PrimaryOut => "its primary node is offline".to_owned(),
        Damage::AllOut => "all nodes that have its disks are offline".to_owned(),
        Damage::Silent(node) => {
            format!("node {} does not answer, and is not marked offline", name(cluster, *node))
        }
        Damage::Blocked(node) => {
            format!(
                "its primary node is offline, and {}, which has its disks, is drained",
                name(cluster, *node)
            )
        }
        Damage::Elsewhere => "it runs on another node than Ganeti's records say".to_owned(),
    }
}

/// The repair of an instance, and the choice of nodes.
fn way_lines(cluster: &Cluster, way: &RepairWay) -> Vec<String> {
    let steps: Vec<String> = way.steps.iter().map(|step| step_words(cluster, step)).collect();
    let mut lines = vec![format!("  {}", steps.join(", then "))];
    lines.extend(way.choice.iter().map(|choice| format!("  {}", choice_words(cluster, choice))));
    lines
}

fn step_words(cluster: &Cluster, step: &RepairStep) -> String {
    match step {
        RepairStep::Activate => "connect the copies of the disks".to_owned(),
        RepairStep::Renew(DiskSide::Primary, _) => "renew the disks on the primary node".to_owned(),
        RepairStep::Renew(DiskSide::Secondary, _) => "renew the disks on the secondary node".to_owned(),
        RepairStep::Migrate(mv) => legs_words(cluster, *mv, "move"),
        RepairStep::Move(mv) => legs_words(cluster, *mv, "start"),
        RepairStep::Stop => "stop".to_owned(),
        RepairStep::Recreate(to) => {
            let nodes: Vec<String> = to.nodes().map(|node| name(cluster, node)).collect();
            format!("make empty disks on {}", nodes.join(" and "))
        }
        RepairStep::Reinstall => "install the system".to_owned(),
        RepairStep::Start => "start".to_owned(),
    }
}

fn legs_words(cluster: &Cluster, mv: Move, go: &str) -> String {
    let words = mv.legs().map(|leg| match leg {
        Leg::Failover => format!("{go} on the secondary node"),
        Leg::FailoverTo(node) => format!("{go} on {}", name(cluster, node)),
        Leg::ReplaceSecondary(node) => format!("copy the disks to {}", name(cluster, node)),
    });
    words.collect::<Vec<String>>().join(", then ")
}

/// The reason for the choice of nodes.
pub(crate) fn choice_words(cluster: &Cluster, choice: &NodeChoice) -> String {
    let nodes: Vec<String> = choice.nodes.iter().map(|node| name(cluster, *node)).collect();
    let best = match choice.possible {
        0 | 1 => "the only place".to_owned(),
        possible => format!("the best of {possible} places"),
    };
    let refused = choice.refused.kept.first().map(|refused_place| {
        let places = counted(choice.refused.refused, "place");
        format!("; {places} refused, nearest is {}", node_text(refused_place, cluster))
    });
    format!("on {}: {best}{}", nodes.join(" and "), refused.unwrap_or_default())
}

/// Number of instances in each state that occurs.
pub(crate) fn counts(entries: &[RepairEntry]) -> impl Iterator<Item = (RepairStatus, usize)> {
    let count = |status: &RepairStatus| entries.iter().filter(|entry| entry.status() == *status).count();
    RepairStatus::ALL.iter().map(move |status| (*status, count(status))).filter(|(_, count)| *count > 0)
}

/// The same in lines.
pub(crate) fn statistics(entries: &[RepairEntry]) -> Vec<String> {
    let rule = "---------------------".to_owned();
    let counts = counts(entries).map(|(status, count)| format!("{status}: {count}"));
    [rule.clone(), "Instance status count".to_owned(), rule].into_iter().chain(counts).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_as_they_are_known() {
        let utc = |seconds| date_in(TimeZone::UTC, seconds);
        assert_eq!(utc(9_999_999_999), "Sat Nov 20 17:46:39 UTC 2286");
        assert_eq!(utc(0), "Thu Jan  1 00:00:00 UTC 1970");
        assert_eq!(date(i64::MAX), format!("{} s", i64::MAX));
    }
}

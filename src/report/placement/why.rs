//! Why a resource is where it is, in words.

use crate::model::shown::shown_name;
use crate::placement::why::{Advantage, HostFinding, HostHindrance, PlaceReasons, RoomTaken};
use crate::placement::{AttributeIdx, HostIdx, ResourceIdx, WorkingSet, by_shown_name};

/// The lines about a resource.
pub fn lines(set: &WorkingSet, reasons: &PlaceReasons) -> Vec<String> {
    let words = PlaceWords { set };
    let id = words.resource(reasons.resource);
    let was = set.resource(reasons.resource).active;
    let mut lines = vec![match (was, reasons.host) {
        (None, None) => format!("{id} stays stopped."),
        (None, Some(now)) => format!("{id} is started on {}{}.", words.host(now), words.advantage(reasons)),
        (Some(was), None) => format!("{id} runs on {} and is stopped.", words.host(was)),
        (Some(was), Some(now)) if was == now => {
            format!("{id} stays on {}{}.", words.host(now), words.advantage(reasons))
        }
        (Some(was), Some(now)) => {
            format!("{id} goes from {} to {}{}.", words.host(was), words.host(now), words.advantage(reasons))
        }
    }];
    if reasons.chain.len() > 1 {
        let others = words.resources(&reasons.chain[1..]);
        lines.push(format!("  With it must be, and had no place yet: {others}."));
    }
    for host in by_shown_name(set) {
        let finding = &reasons.hosts[host.get()];
        if reasons.host != Some(host) {
            lines.push(format!("  {}: {}", words.host(host), words.finding(finding)));
        }
    }
    lines.extend(reasons.taken.iter().map(|taken| format!("  {}", words.taken(taken))));
    lines
}

/// Why a resource is nowhere, in half a line: what most hosts lack.
pub(super) fn short(set: &WorkingSet, reasons: &PlaceReasons) -> String {
    let words = PlaceWords { set };
    let texts = by_shown_name(set).into_iter().map(|host| {
        let finding = &reasons.hosts[host.get()];
        format!("{}: {}", words.host(host), words.finding(finding))
    });
    texts.collect::<Vec<_>>().join("; ")
}

struct PlaceWords<'a> {
    set: &'a WorkingSet,
}

impl PlaceWords<'_> {
    fn host(&self, host: HostIdx) -> String {
        shown_name(&self.set.host(host).name)
    }

    fn resource(&self, resource: ResourceIdx) -> String {
        shown_name(&self.set.resource(resource).id)
    }

    fn resources(&self, resources: &[ResourceIdx]) -> String {
        let names: Vec<String> = resources.iter().map(|resource| self.resource(*resource)).collect();
        names.join(", ")
    }

    fn kind(&self, kind: AttributeIdx) -> String {
        shown_name(&self.set.attributes[kind.get()])
    }

    fn advantage(&self, reasons: &PlaceReasons) -> String {
        let Some((advantage, next)) = &reasons.advantage else { return String::new() };
        let before = next.map(|host| format!(", before {}", self.host(host))).unwrap_or_default();
        match advantage {
            Advantage::Only => ", the only node left".to_owned(),
            Advantage::Score(score, other) => format!("{before}: score {score} against {other}"),
            Advantage::Room => format!("{before}: it has the most free capacity"),
            Advantage::Fewer(here, there) => format!("{before}: {here} placed there, and not {there}"),
            Advantage::Runs => format!("{before}: it runs there, and the score is the same"),
            Advantage::Name => format!("{before}: all else is equal, and its name comes first"),
            Advantage::Unmanaged => ": it is not managed".to_owned(),
            Advantage::Optimum => ", as the best placement of all has it".to_owned(),
        }
    }

    fn finding(&self, finding: &HostFinding) -> String {
        match &finding.hindrance {
            Some(hindrance) => self.hindrance(hindrance),
            None => format!("possible, score {}", finding.score.unwrap_or_default()),
        }
    }

    fn hindrance(&self, hindrance: &HostHindrance) -> String {
        match hindrance {
            HostHindrance::Offline => "offline".to_owned(),
            HostHindrance::Unclean => "lost, to be fenced".to_owned(),
            HostHindrance::ShuttingDown => "shutting down".to_owned(),
            HostHindrance::Standby => "standby".to_owned(),
            HostHindrance::Maintenance => "in maintenance".to_owned(),
            HostHindrance::Stopped => "the resource is meant to be stopped (target-role)".to_owned(),
            HostHindrance::Surplus => "its clone has enough instances without it (clone-max)".to_owned(),
            HostHindrance::Orphaned => "the resource is no longer configured".to_owned(),
            HostHindrance::StopAll => "nothing is to run (stop-all-resources)".to_owned(),
            HostHindrance::RunsTwice => "it runs on several nodes, and is only to be stopped then".to_owned(),
            HostHindrance::Failures(count) => format!("failed there too often ({count})"),
            HostHindrance::Location(id) => format!("forbidden by {}", shown_name(id)),
            HostHindrance::Exclusive(id) => {
                format!("resource-discovery=exclusive names other nodes only ({})", shown_name(id))
            }
            HostHindrance::NotOptedIn => "no constraint allows it (symmetric-cluster=false)".to_owned(),
            HostHindrance::With(rule, Some(_)) if self.set.resource(rule.other).is_clone() => {
                let (other, id) = (self.resource(rule.other), shown_name(&rule.id));
                format!("no instance of {other} is there ({id})")
            }
            HostHindrance::With(rule, Some(place)) => {
                let (other, id) = (self.resource(rule.other), shown_name(&rule.id));
                match &rule.attribute {
                    None => format!("must be with {other} on {} ({id})", self.host(*place)),
                    Some(name) => {
                        let (name, place) = (shown_name(name), self.host(*place));
                        format!("must be where {name} is the same as for {other} on {place} ({id})")
                    }
                }
            }
            HostHindrance::With(rule, None) => {
                let (other, id) = (self.resource(rule.other), shown_name(&rule.id));
                format!("must be with {other}, which has no place ({id})")
            }
            HostHindrance::Apart(rule) => {
                let (other, id) = (self.resource(rule.other), shown_name(&rule.id));
                match &rule.attribute {
                    None => format!("must not be with {other} ({id})"),
                    Some(name) => {
                        format!("must not be where {} is the same as for {other} ({id})", shown_name(name))
                    }
                }
            }
            HostHindrance::Instance(other) => format!("{} is there", self.resource(*other)),
            HostHindrance::CloneUnwanted(score) => format!("its clone is unwanted there, score {score}"),
            HostHindrance::Wishes(others) => {
                format!("those that go with it cannot be there: {}", self.resources(others))
            }
            HostHindrance::Needs(first) => format!("it needs {}, which does not run", self.resource(*first)),
            HostHindrance::Room(missing) => format!("no room: {}", self.missing(missing)),
            HostHindrance::Unwanted(score) => format!("unwanted, score {score}"),
        }
    }

    fn missing(&self, missing: &[(AttributeIdx, i64)]) -> String {
        let texts: Vec<String> =
            missing.iter().map(|(kind, amount)| format!("{} lacks {amount}", self.kind(*kind))).collect();
        texts.join(", ")
    }

    fn taken(&self, taken: &RoomTaken) -> String {
        let host = self.host(taken.host);
        match (&taken.by[..], &taken.give_way[..]) {
            ([], _) => format!("{host} is too small even when it is empty"),
            (by, []) => {
                format!("{host} is taken by {}; it would be too small without them, too", self.resources(by))
            }
            (by, gone) => {
                format!(
                    "{host} is taken by {}; there is room without {}",
                    self.resources(by),
                    self.resources(gone)
                )
            }
        }
    }
}

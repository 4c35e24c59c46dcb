//! Explanation of the place of a resource.

use super::changes::{remarks, ticket};
use super::parts::{broken, forbidding, plain, sum, unbroken};
use super::promotion;
use crate::model::shown::shown_name;
use crate::pacemaker::transition::WaitReason;
use crate::pacemaker::why::{
    Advantage, HostFinding, HostHindrance, PlaceReasons, PlacementExplainer, RoomTaken,
};
use crate::pacemaker::working_set::RunCondition;
use crate::pacemaker::{
    AllocationScore, AttributeIdx, HostIdx, ResourceChange, ResourceChanges, ResourceIdx, ScorePart,
    ScoreSource, WorkingSet, by_shown_name,
};

/// The lines about a resource, wrapped for a terminal: its change, and the reasons for and against each node. For a
/// group or a clone, the lines about all its primitives.
pub(crate) fn lines(
    explainer: &PlacementExplainer<'_>,
    changes: &ResourceChanges,
    resource: ResourceIdx,
) -> Vec<String> {
    let statements = statements(explainer, changes, resource);
    statements
        .iter()
        .flat_map(|statement| match statement.strip_prefix("  ") {
            Some(inner) if inner.contains(' ') => broken(inner),
            _ => vec![plain(statement)],
        })
        .collect()
}

/// The same with one line for each statement, however long. It can be wrapped at blanks that are not [unbroken].
pub(super) fn statements(
    explainer: &PlacementExplainer<'_>,
    changes: &ResourceChanges,
    resource: ResourceIdx,
) -> Vec<String> {
    let set = explainer.set;
    let parts = set.primitives(&resource);
    if parts.is_empty() {
        return vec![format!("{} has no instances.", shown_name(&set.resource(resource).id))];
    }
    let reasons = parts.iter().filter_map(|part| explainer.why(*part));
    reasons.flat_map(|reasons| primitive(explainer, changes, &reasons)).collect()
}

fn primitive(
    explainer: &PlacementExplainer<'_>,
    changes: &ResourceChanges,
    reasons: &PlaceReasons,
) -> Vec<String> {
    let set = explainer.set;
    let words = PlaceWords { set };
    let mut lines = vec![words.outcome(changes, reasons)];
    lines.extend(words.cause(changes, reasons.resource).map(|cause| format!("  {}", unbroken(&cause))));
    if reasons.chain.len() > 1 {
        let others = words.resources(&reasons.chain[1..]);
        let others = unbroken(&format!("With it must be, and had no place yet: {others}."));
        lines.push(format!("  {others}"));
    }
    for host in possible_hosts(set, reasons) {
        let parts = explainer.log.parts(reasons.resource, host);
        lines.push(format!("  {}", words.on_host(reasons, host, &parts)));
    }
    lines.extend(
        promotion::line(explainer, changes, reasons.resource).map(|line| format!("  {}", unbroken(&line))),
    );
    lines.extend(reasons.taken.iter().map(|taken| format!("  {}", unbroken(&words.taken(taken)))));
    lines
}

/// The hosts that can matter to a resource, in the order in which they are shown. Nodes in the containers of a bundle matter
/// only to its own instances, to which no other host does.
fn possible_hosts(set: &WorkingSet, reasons: &PlaceReasons) -> Vec<HostIdx> {
    let is_inside = set.own_node(reasons.resource).is_some();
    let is_possible =
        |host: &HostIdx| reasons.hosts[host.get()].score.is_some() || !is_inside && !set.host(*host).replica;
    by_shown_name(set).into_iter().filter(is_possible).collect()
}

/// The reasons that a resource has no place, in short: the obstacle on each host.
pub(super) fn short(set: &WorkingSet, reasons: &PlaceReasons) -> String {
    let words = PlaceWords { set };
    let texts = possible_hosts(set, reasons).into_iter().map(|host| {
        let finding = &reasons.hosts[host.get()];
        format!("{}: {}", words.host(host), words.finding(finding))
    });
    texts.collect::<Vec<_>>().join("; ")
}

/// The reason for the place of a primitive in one line, or the obstacle on each host if it has none.
pub(super) fn in_short(
    explainer: &PlacementExplainer<'_>,
    changes: &ResourceChanges,
    resource: ResourceIdx,
) -> String {
    let words = PlaceWords { set: explainer.set };
    let place = explainer.why(resource).map(|reasons| match reasons.host {
        Some(_) => match words.advantage(&reasons) {
            Some((Some(next), advantage)) => format!("preferred to {next}: {advantage}"),
            Some((None, advantage)) => advantage,
            None => String::new(),
        },
        None => short(explainer.set, &reasons),
    });
    let texts = [place, words.cause(changes, resource)].into_iter().flatten();
    texts.filter(|text| !text.is_empty()).collect::<Vec<_>>().join("; ")
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

    /// The change of a resource, and the reasons for its place.
    fn outcome(&self, changes: &ResourceChanges, reasons: &PlaceReasons) -> String {
        let (set, resource) = (self.set, reasons.resource);
        let of = set.resource(resource);
        let id = self.resource(resource);
        let why = match of.condition {
            RunCondition::Failed if set.is_managed(resource) => " (it failed)",
            _ => "",
        };
        let why = remarks(set, changes, resource) + why;
        let advantage = self.advantage_clause(reasons);
        // It may have a place but not be started there.
        let place = reasons.host.map(|host| format!("; its place is {}{advantage}", self.host(host)));
        let place = place.unwrap_or_default();
        let on = self.several(of.active_hosts());
        let change = changes.get(resource);
        if !set.is_managed(resource) {
            return match of.active {
                Some(_) => format!("{id} stays on {on}{why}{advantage}."),
                None => format!("{id} stays stopped: it is not managed."),
            };
        }
        match change {
            ResourceChange::Idle => format!("{id} stays stopped{why}{place}."),
            ResourceChange::Blocked(_) => format!("{id} is not started{why}{place}."),
            ResourceChange::Start(host) => format!("{id} is started on {}{why}{advantage}.", self.host(host)),
            ResourceChange::Stay(host) => format!("{id} stays on {}{why}{advantage}.", self.host(host)),
            ResourceChange::Reload(host) => {
                format!("{id} stays on {} and is reloaded{why}{advantage}.", self.host(host))
            }
            ResourceChange::Restart(host) if of.runs_twice() => {
                format!("{id} runs on {on}, and is restarted on {}{why}{advantage}.", self.host(host))
            }
            ResourceChange::Restart(host) => {
                format!("{id} is restarted on {}{why}{advantage}.", self.host(host))
            }
            ResourceChange::Stop(_) => format!("{id} runs on {on} and is stopped{why}{place}."),
            ResourceChange::Held(_) => format!("{id} runs on {on} and cannot be stopped{why}{place}."),
            ResourceChange::Move { to, .. } | ResourceChange::Migrate { to, .. } => {
                format!("{id} goes from {on} to {}{why}{advantage}.", self.host(to))
            }
        }
    }

    /// The names of hosts.
    fn several(&self, hosts: impl Iterator<Item = HostIdx>) -> String {
        hosts.map(|host| self.host(host)).collect::<Vec<_>>().join(", ")
    }

    /// The constraint that causes the change of a resource.
    fn cause(&self, changes: &ResourceChanges, resource: ResourceIdx) -> Option<String> {
        let set = self.set;
        let cause = changes.causes[resource.get()].filter(|_| set.is_managed(resource))?;
        let (head, first) = match cause {
            WaitReason::Order(at) => {
                let order = &set.orders[at];
                (format!("order {}: it is started after", shown_name(&order.id)), order.first)
            }
            WaitReason::Colocation(at) => {
                let colocation = &set.colocations[at];
                (format!("colocation {}: it must be with", shown_name(&colocation.id)), colocation.primary)
            }
            _ => return None,
        };
        let name = self.resource(first);
        let parts = set.primitives(&first);
        let changed = parts.iter().filter_map(|part| {
            let word = match changes.get(*part) {
                ResourceChange::Move { .. } | ResourceChange::Migrate { .. } => "moves",
                change => match (change.stops_on(), change.starts_on()) {
                    (Some(_), Some(_)) => "restarts",
                    (None, Some(_)) => "starts",
                    (Some(_), None) => "stops",
                    (None, None) => return None,
                },
            };
            Some(format!("{} {word}", self.resource(*part)))
        });
        let changed: Vec<String> = changed.collect();
        let runs = |part: &ResourceIdx| changes.get(*part).runs_on().is_some();
        Some(match changed.is_empty() {
            false => format!("{head} {name}: {}", changed.join(", ")),
            true if !parts.iter().any(runs) => format!("{head} {name}, which does not run"),
            true => format!("{head} {name}"),
        })
    }

    /// The role of a host for a resource, and the parts of its score there.
    fn on_host(&self, reasons: &PlaceReasons, host: HostIdx, parts: &[ScorePart]) -> String {
        let (set, resource) = (self.set, reasons.resource);
        let finding = &reasons.hosts[host.get()];
        let name = self.host(host);
        let score = finding.score.unwrap_or_default();
        let words = match &finding.hindrance {
            None if reasons.host == Some(host) => format!("its place, score {score}"),
            _ => self.finding(finding),
        };
        let is_forbidden = score == AllocationScore::MINUS_INFINITY;
        if finding.score.is_none() || (parts.is_empty() && !is_forbidden) {
            return unbroken(&format!("{name}: {words}"));
        }
        if is_forbidden {
            // If a host runs nothing, parts that come from dependent resources add no information.
            let is_echo =
                |part: &ScorePart| matches!(part.source, ScoreSource::Of(_)) && !set.host(host).can_run();
            let is_said = |part: &ScorePart| {
                is_echo(part)
                    || finding.hindrance.as_ref().is_some_and(|hindrance| self.says(hindrance, part))
            };
            let more = forbidding(set, resource, parts, is_said);
            let also = if more.is_empty() { String::new() } else { format!("; -INFINITY: {more}") };
            return unbroken(&format!("{name}: {words}{also}"));
        }
        // A host excluded for another reason has a score nevertheless.
        let is_named = matches!(finding.hindrance, None | Some(HostHindrance::Unwanted(_)));
        let named = if is_named { String::new() } else { format!("; score {score}") };
        format!("{} {}", unbroken(&format!("{name}: {words}{named}")), sum(set, resource, parts))
    }

    /// Tells if the text about a host names the source of a part of its score.
    fn says(&self, hindrance: &HostHindrance, part: &ScorePart) -> bool {
        let id = |at: usize| &self.set.colocations[at].id;
        match (hindrance, part.source) {
            (HostHindrance::Location(named), ScoreSource::Location(at)) => {
                *named == self.set.locations[at].id
            }
            (
                HostHindrance::With(rule, _) | HostHindrance::Apart(rule),
                ScoreSource::With(at) | ScoreSource::Of(at),
            ) => rule.id == *id(at),
            (HostHindrance::Failures(_), ScoreSource::Failures)
            | (HostHindrance::RunsTwice, ScoreSource::RunsTwice)
            | (HostHindrance::Exclusive(_), ScoreSource::Exclusive)
            | (HostHindrance::Stopped, ScoreSource::Stopped)
            | (HostHindrance::Guest, ScoreSource::Guest)
            | (HostHindrance::Ticket(_), ScoreSource::Ticket(_))
            | (HostHindrance::Orphaned, ScoreSource::Orphaned)
            | (HostHindrance::Instance(_) | HostHindrance::Instances(_), ScoreSource::Instance)
            | (HostHindrance::CloneUnwanted(_), ScoreSource::Clone) => true,
            (HostHindrance::Location(named), ScoreSource::Health) => {
                named == crate::pacemaker::working_set::NODE_HEALTH
            }
            _ => false,
        }
    }

    /// Advantage of the place of a resource, after the next best host if it is compared with that.
    fn advantage(&self, reasons: &PlaceReasons) -> Option<(Option<String>, String)> {
        let (advantage, next) = reasons.advantage.as_ref()?;
        let text = match advantage {
            Advantage::Only => "the only node left".to_owned(),
            Advantage::Score(score, other) => format!("score {score} against {other}"),
            Advantage::Room => "it has the most free capacity".to_owned(),
            Advantage::Fewer(here, there) => format!("{here} placed there, and not {there}"),
            Advantage::Runs => "it runs there, and the score is the same".to_owned(),
            Advantage::Name => "all else is equal, and its name comes first".to_owned(),
            Advantage::Unmanaged => match self.set.kept_by(reasons.resource) {
                Some(rule) => ticket(self.set, rule),
                None => "it is not managed".to_owned(),
            },
            Advantage::Optimum => "as the best placement of all has it".to_owned(),
        };
        let is_alone = matches!(advantage, Advantage::Only | Advantage::Unmanaged | Advantage::Optimum);
        Some((next.filter(|_| !is_alone).map(|host| self.host(host)), text))
    }

    /// The advantage as the end of a sentence; empty if there is none.
    fn advantage_clause(&self, reasons: &PlaceReasons) -> String {
        let joint = match &reasons.advantage {
            Some((Advantage::Only | Advantage::Optimum, _)) => ",",
            _ => ":",
        };
        match self.advantage(reasons) {
            Some((Some(next), text)) => format!(", before {next}{joint} {text}"),
            Some((None, text)) => format!("{joint} {text}"),
            None => String::new(),
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
            HostHindrance::Ticket(rule) => ticket(self.set, rule),
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
            HostHindrance::Guest => "it never runs on a guest or remote node".to_owned(),
            HostHindrance::Instance(other) => format!("{} is there", self.resource(*other)),
            HostHindrance::Instances(most) => {
                format!("no more instances may be there (clone-node-max {most})")
            }
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

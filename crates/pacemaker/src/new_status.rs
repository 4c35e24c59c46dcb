//! The status section of a document, written anew: once the cluster has carried out a placement, or after it has lost
//! nodes. Guest nodes, remote nodes and containers get their states from there when the document is read again.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use roxmltree::Node;

use super::cib::document::{self, child, children, id};
use super::index::{HostIdx, ResourceIdx};
use super::placing::AllPlaced;
use super::status_splice::{StatusSplice, at_end, attribute, spliced};
use super::transition::{ResourceChange, ResourceChanges};
use super::working_set::{GuestParts, Strategy, WorkingSet};
use htools_ganeti::input::error::Result;

/// The state of a node that has left the cluster.
const LEFT: [(&str, &str); 4] =
    [("in_ccm", "false"), ("crmd", "offline"), ("join", "down"), ("expected", "down")];
/// The state of a node that the cluster has lost.
const LOST: [(&str, &str); 4] =
    [("in_ccm", "false"), ("crmd", "offline"), ("join", "down"), ("expected", "member")];

/// New history of a resource on a host. Of several, the last variant counts.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum NewHistory {
    /// It was looked for there, and not found. This counts only if nothing else is known.
    Absent(LastOperation),
    /// Nothing is known of it there any more.
    Forgotten,
    /// It has stopped there.
    Stopped(LastOperation),
    /// It was started or promoted there.
    Running(LastOperation),
    /// It goes on as before.
    Kept,
}

/// The last operation of a resource on a host, which succeeded.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct LastOperation {
    /// The start tag of the history.
    head: String,
    /// The attributes of the operation, without the number of its call.
    attributes: String,
}

impl LastOperation {
    /// The history with recorded failures before the operation.
    fn after(self, failures: &[Node<'_, '_>], text: &str) -> String {
        let call =
            |failure: &Node<'_, '_>| failure.attribute("call-id").and_then(|call| call.parse::<u32>().ok());
        let call = failures.iter().filter_map(call).max().unwrap_or(0).saturating_add(1);
        let failures: String = failures.iter().map(|failure| &text[failure.range()]).collect();
        let LastOperation { head, attributes } = self;
        format!(r#"{head}{failures}<lrm_rsc_op {attributes} call-id="{call}"/></lrm_resource>"#)
    }
}

/// The new histories of the resources on a host, by the names of the resources in the status.
type HostHistories = BTreeMap<String, NewHistory>;

/// The document of a cluster once it has carried out a placement, as far as nothing hinders it.
///
/// # Errors
/// Fails if it is no document of a cluster.
pub(super) fn carried_out(
    text: &str,
    source: &str,
    set: &WorkingSet,
    strategy: Strategy,
    placed: &AllPlaced,
) -> Result<String> {
    if set.frozen {
        return Ok(text.to_owned());
    }
    let changes = ResourceChanges::of(set, strategy, placed);
    let after = set.with_connections_placed(placed);
    let mut histories = new_histories(set, &changes);
    // A node that is connected has a state.
    let connected = |(_, parts): &(HostIdx, GuestParts)| changes.get(parts.connection).runs_on().is_some();
    for (host, _) in set.guests().filter(connected) {
        histories.entry(host).or_default();
    }
    let document = document::parse(text, source)?;
    let Some(status) = child(document.root_element(), "status") else { return Ok(text.to_owned()) };
    let mut splices = Vec::new();
    let mut seen = BTreeSet::new();
    for state in children(status, "node_state") {
        let Some(host) = host_of(set, state).filter(|host| seen.insert(*host)) else { continue };
        let node = set.host(host);
        if node.guest.is_none() && !node.replica && (node.state.unclean || node.state.shutting_down) {
            splices.push(StatusSplice { range: state.range(), text: empty_state(set, host, &LEFT) });
        } else if after.is_fenced_remote_node(host) {
            let new = histories.remove(&host).unwrap_or_default();
            splices.push(StatusSplice { range: state.range(), text: connected_state(set, host, new) });
        } else {
            rewrite(state, histories.remove(&host).unwrap_or_default(), text, &mut splices);
        }
    }
    let mut new = String::new();
    for (host, histories) in histories.into_iter().filter(|(host, _)| !seen.contains(host)) {
        new.push_str(&connected_state(set, host, histories));
    }
    splices.push(at_end(status, text, &new));
    Ok(spliced(text, splices))
}

/// The document of a cluster that has just lost some hosts. Members are still to be fenced. Remote nodes have been fenced,
/// and the cluster cannot connect to them any more.
///
/// # Errors
/// Fails if it is no document of a cluster.
pub(super) fn without(text: &str, source: &str, set: &WorkingSet, lost: &[HostIdx]) -> Result<String> {
    let document = document::parse(text, source)?;
    let root = document.root_element();
    let Some(status) = child(root, "status") else { return Ok(text.to_owned()) };
    let connections: Vec<&str> = lost
        .iter()
        .filter_map(|host| set.host(*host).guest)
        .map(|parts| set.resource(parts.connection).id.as_str())
        .collect();
    let mut splices = Vec::new();
    for state in children(status, "node_state") {
        match host_of(set, state).filter(|host| lost.contains(host)) {
            Some(host) if set.host(host).guest.is_some() => {
                splices.push(StatusSplice { range: state.range(), text: empty_state(set, host, &[]) });
            }
            host => {
                let histories = recorded(state).filter(|history| connections.contains(&id(*history)));
                splices.extend(
                    histories.map(|history| StatusSplice { range: history.range(), text: String::new() }),
                );
                splices.extend(host.into_iter().flat_map(|_| lost_state(state)));
            }
        }
    }
    if let Some(configuration) = child(root, "configuration").filter(|_| !connections.is_empty()) {
        let bans = bans(set, &connections);
        splices.push(match child(configuration, "constraints") {
            Some(section) => at_end(section, text, &bans),
            None => at_end(configuration, text, &format!("<constraints>{bans}</constraints>")),
        });
    }
    Ok(spliced(text, splices))
}

/// Location constraints that keep connections from all members.
fn bans(set: &WorkingSet, connections: &[&str]) -> String {
    let mut bans = String::new();
    for (number, name) in connections.iter().enumerate() {
        let members = set.host_indices().map(|host| set.host(host)).filter(|host| host.guest.is_none());
        for (at, member) in members.enumerate() {
            let (name, node) = (attribute(name), attribute(&member.name));
            let _ = write!(
                bans,
                r#"<rsc_location id="hplace-lost-{number}-{at}" rsc="{name}" node="{node}" score="-INFINITY"/>"#
            );
        }
    }
    bans
}

/// The document with the status section of another one.
///
/// # Errors
/// Fails if one of them is no document of a cluster.
pub(super) fn with_status_of(text: &str, other: &str, source: &str) -> Result<String> {
    let (document, there) = (document::parse(text, source)?, document::parse(other, source)?);
    let status = |document: &roxmltree::Document<'_>| {
        child(document.root_element(), "status").map(|status| status.range())
    };
    let new = status(&there).map_or("<status/>", |range| &other[range]).to_owned();
    let splices = status(&document).map(|range| StatusSplice { range, text: new });
    Ok(spliced(text, splices.into_iter().collect()))
}

/// By host, the histories that change with a transition.
fn new_histories(set: &WorkingSet, changes: &ResourceChanges) -> BTreeMap<HostIdx, HostHistories> {
    let mut all: BTreeMap<HostIdx, HostHistories> = BTreeMap::new();
    let mut note = |host: HostIdx, name: &str, history: NewHistory| {
        let histories = all.entry(host).or_default();
        match histories.get_mut(name) {
            Some(old) if history > *old => *old = history,
            Some(_) => {}
            None => {
                histories.insert(name.to_owned(), history);
            }
        }
    };
    for resource in set.resource_indices().filter(|one| set.promotion(*one).is_some()) {
        let is_sought = |host: &HostIdx| set.host(*host).state.online && set.may_hide_on(resource, *host);
        let details = set.resource(resource);
        for host in set.host_indices().filter(|host| details.is_primitive() && is_sought(host)) {
            let absent = history(set, resource, host, Operation::Probe);
            note(host, name_in_status(set, resource), NewHistory::Absent(absent));
        }
    }
    for resource in set.resource_indices().filter(|one| set.resource(*one).is_primitive()) {
        let details = set.resource(resource);
        let name = name_in_status(set, resource);
        let change = changes.get(resource);
        let (now, promoted) = (change.runs_on(), changes.roles[resource.get()].ends_promoted);
        for host in details.active_hosts().chain(details.left_on.iter().copied()) {
            let is_kept = now == Some(host) && goes_on(change) && details.promoted == promoted;
            let history = match details.orphaned {
                _ if is_kept => NewHistory::Kept,
                true => NewHistory::Forgotten,
                false => NewHistory::Stopped(history(set, resource, host, Operation::Stop)),
            };
            note(host, name, history);
        }
        if let Some(host) = now
            .filter(|host| details.active != Some(*host) || !goes_on(change) || details.promoted != promoted)
        {
            let operation = if promoted { Operation::Promote } else { Operation::Monitor };
            note(host, name, NewHistory::Running(history(set, resource, host, operation)));
        }
    }
    all
}

/// Returns true if a resource runs on without an interruption, with the parameters that it has.
fn goes_on(change: ResourceChange) -> bool {
    matches!(change, ResourceChange::Stay(_) | ResourceChange::Held(_))
}

/// The name of a primitive in the status. Instances that are alike share it.
fn name_in_status(set: &WorkingSet, resource: ResourceIdx) -> &str {
    let is_unique = set.clone_of(resource).is_some_and(|clone| set.resource(clone).is_unique());
    if is_unique { &set.resource(resource).id } else { set.common_name(resource) }
}

/// A successful operation. Starts are not among them: they would have to note the check sums of all parameters.
#[derive(Debug, Clone, Copy)]
enum Operation {
    /// It found nothing, as it should.
    Probe,
    Monitor,
    Promote,
    Stop,
}

impl Operation {
    /// Its name, and the interval at which it is repeated, in milliseconds.
    fn key(self) -> (&'static str, u32) {
        match self {
            Operation::Probe => ("monitor", 0),
            Operation::Monitor => ("monitor", 10_000),
            Operation::Promote => ("promote", 0),
            Operation::Stop => ("stop", 0),
        }
    }
}

/// A history of one operation.
fn history(set: &WorkingSet, resource: ResourceIdx, host: HostIdx, operation: Operation) -> LastOperation {
    let name = attribute(name_in_status(set, resource));
    let node = attribute(&set.host(host).name);
    let parts: Vec<String> = set.resource(resource).agent.split(':').map(attribute).collect();
    let agent = match parts.as_slice() {
        [class, provider, kind] => format!(r#"class="{class}" provider="{provider}" type="{kind}""#),
        [class, kind] => format!(r#"class="{class}" type="{kind}""#),
        _ => String::new(),
    };
    let result = if matches!(operation, Operation::Probe) { 7 } else { 0 };
    let (operation, interval) = operation.key();
    let key = format!("{name}_{operation}_{interval}");
    LastOperation {
        head: format!(r#"<lrm_resource id="{name}" {agent}>"#),
        attributes: format!(
            r#"id="{key}" operation_key="{key}" operation="{operation}" crm_feature_set="3.16.1" transition-key="1:1:{result}:00000000-0000-0000-0000-000000000000" transition-magic="0:{result};1:1:{result}:00000000-0000-0000-0000-000000000000" on_node="{node}" rc-code="{result}" op-status="0" interval="{interval}""#
        ),
    }
}

impl NewHistory {
    /// The operation to be written.
    fn operation(self) -> Option<LastOperation> {
        match self {
            NewHistory::Absent(operation)
            | NewHistory::Stopped(operation)
            | NewHistory::Running(operation) => Some(operation),
            NewHistory::Forgotten | NewHistory::Kept => None,
        }
    }
}

/// The host of an element of the status.
fn host_of(set: &WorkingSet, state: Node<'_, '_>) -> Option<HostIdx> {
    let named = |host: &HostIdx| state.attribute("uname") == Some(&set.host(*host).name);
    let known = |host: &HostIdx| id(state) == set.host(*host).id;
    set.host_indices().find(named).or_else(|| set.host_indices().find(known))
}

/// The histories of resources in an element of the status.
fn recorded<'a, 'i>(state: Node<'a, 'i>) -> impl Iterator<Item = Node<'a, 'i>> {
    let lists = children(state, "lrm").flat_map(|lrm| children(lrm, "lrm_resources"));
    lists.flat_map(|list| children(list, "lrm_resource"))
}

/// The failures that a history keeps until somebody cleans them up.
fn failures<'a, 'i>(history: Node<'a, 'i>) -> Vec<Node<'a, 'i>> {
    children(history, "lrm_rsc_op").filter(|operation| id(*operation).ends_with("_last_failure_0")).collect()
}

/// Histories of resources that had none.
fn written_out(histories: HostHistories) -> String {
    let operations = histories.into_values().filter_map(NewHistory::operation);
    operations.map(|operation| operation.after(&[], "")).collect()
}

/// Replaces the changed histories of a host, and adds those that it does not have yet.
fn rewrite(state: Node<'_, '_>, mut histories: HostHistories, text: &str, splices: &mut Vec<StatusSplice>) {
    let mut written = BTreeSet::new();
    for element in recorded(state) {
        let own = id(element);
        let common = own.split_once(':').map_or(own, |(name, _)| name);
        let Some(name) =
            [own, common].into_iter().find(|name| histories.contains_key(*name) || written.contains(*name))
        else {
            continue;
        };
        let new = match histories.remove(name) {
            Some(NewHistory::Kept | NewHistory::Absent(_)) => continue,
            Some(other) => {
                other.operation().map(|new| new.after(&failures(element), text)).unwrap_or_default()
            }
            None => String::new(),
        };
        written.insert(name);
        splices.push(StatusSplice { range: element.range(), text: new });
    }
    let new = written_out(histories);
    let lrm = child(state, "lrm");
    let list = lrm.and_then(|lrm| child(lrm, "lrm_resources"));
    splices.push(match (list, lrm) {
        (Some(list), _) => at_end(list, text, &new),
        (None, Some(lrm)) => at_end(lrm, text, &format!("<lrm_resources>{new}</lrm_resources>")),
        (None, None) => {
            let id = attribute(id(state));
            at_end(state, text, &format!(r#"<lrm id="{id}"><lrm_resources>{new}</lrm_resources></lrm>"#))
        }
    });
}

/// An element of the status for a guest node, remote node or container, with nothing but new histories.
fn connected_state(set: &WorkingSet, host: HostIdx, histories: HostHistories) -> String {
    let resources = written_out(histories);
    let name = attribute(&set.host(host).name);
    format!(
        r#"<node_state id="{name}" uname="{name}" remote_node="true"><lrm id="{name}"><lrm_resources>{resources}</lrm_resources></lrm></node_state>"#
    )
}

/// An element of the status without any history.
fn empty_state(set: &WorkingSet, host: HostIdx, pairs: &[(&str, &str)]) -> String {
    let node = set.host(host);
    let kind = if node.guest.is_some() { r#" remote_node="true""# } else { "" };
    let pairs: String = pairs.iter().map(|(name, value)| format!(r#" {name}="{value}""#)).collect();
    format!(r#"<node_state id="{}" uname="{}"{kind}{pairs}/>"#, attribute(&node.id), attribute(&node.name))
}

/// Changes the state of a member to that of a lost one.
fn lost_state(state: Node<'_, '_>) -> Vec<StatusSplice> {
    let end = state.attributes().map(|attribute| attribute.range().end).max();
    let splice = |(name, value): (&str, &str)| match state.attribute_node(name) {
        Some(old) => Some(StatusSplice { range: old.range_value(), text: value.to_owned() }),
        None => end.map(|end| StatusSplice { range: end..end, text: format!(r#" {name}="{value}""#) }),
    };
    LOST.into_iter().filter_map(splice).collect()
}

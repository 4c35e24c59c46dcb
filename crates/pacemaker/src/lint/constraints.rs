//! Constraints that cannot have the effect that they describe.

use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::ops::Range;

use roxmltree::{Document, Node};

use super::super::components::strong_components;
use super::super::index::{HostIdx, ResourceIdx};
use super::super::place::PlacingError;
use super::super::score::AllocationScore;
use super::super::transition::circles::latent;
use super::super::transition::{WaitCircle, WaitReason};
use super::super::working_set::{Colocation, WorkingSet};
use super::complaint::{Complaint, LintedCib, elements};
use crate::cib::document::id;
use htools_model::shown::shown_name;

/// Kinds of elements that define resources.
const RESOURCES: [&str; 5] = ["primitive", "group", "clone", "master", "bundle"];
/// Kinds of elements that stand for several resources.
const SHARED: [&str; 2] = ["tag", "template"];

/// Ids of all resources, tags and templates.
fn resources<'d>(document: &'d Document<'d>) -> Vec<&'d str> {
    RESOURCES.iter().chain(&SHARED).flat_map(|kind| elements(document, kind)).map(id).collect()
}

/// The attributes of constraints that name resources.
const PLACES: [&str; 4] = ["rsc", "with-rsc", "first", "then"];

fn constraints<'d>(document: &'d Document<'d>) -> impl Iterator<Item = Node<'d, 'd>> {
    elements(document, "constraints").flat_map(|all| all.children()).filter(Node::is_element)
}

/// The resources that a constraint names.
fn named<'d>(constraint: Node<'d, 'd>) -> impl Iterator<Item = &'d str> {
    let words = PLACES.into_iter().filter_map(move |name| constraint.attribute(name));
    words.chain(constraint.descendants().filter(|node| node.has_tag_name("resource_ref")).map(id))
}

/// Positions of the constraints that name a missing resource.
pub(super) fn about_nothing(document: &Document<'_>) -> Vec<Range<usize>> {
    let known: HashSet<&str> = resources(document).into_iter().collect();
    let is_lost = |constraint: &Node<'_, '_>| named(*constraint).any(|name| !known.contains(name));
    constraints(document).filter(is_lost).map(|constraint| constraint.range()).collect()
}

/// A constraint names a missing resource, so that Pacemaker refuses the whole document; or a missing node, so that the
/// constraint is ignored.
pub(super) fn absent(cib: &LintedCib<'_, '_>) -> Result<Vec<Complaint>, PlacingError> {
    let resources = resources(cib.document);
    let known: HashSet<&str> = resources.iter().copied().collect();
    let nodes: Vec<&str> = cib.set.hosts.iter().map(|host| host.name.as_str()).collect();
    let known_nodes: HashSet<&str> = nodes.iter().copied().collect();
    let mut complaints = Vec::new();
    for constraint in constraints(cib.document) {
        let mut missing = |what: &str, name: &str, known: &[&str]| {
            let follows = match what {
                "node" => "the constraint is ignored",
                _ => "Pacemaker refuses the whole document",
            };
            let problem = format!("there is no {what} '{}': {follows}", shown_name(name));
            let advice = format!("name one that is there, or take it away{}", (cib.suggest)(name, known));
            complaints.push(Complaint::about(constraint, problem, advice));
        };
        for name in named(constraint).filter(|name| !known.contains(name)) {
            missing("resource", name, &resources);
        }
        if let Some(node) = constraint.attribute("node").filter(|node| !known_nodes.contains(node)) {
            missing("node", node, &nodes);
        }
    }
    Ok(complaints)
}

/// Constraints that `crm_resource --ban` and `--move`, `pcs` or `crm` left behind. Those that end by themselves are
/// meant to stay.
pub(super) fn leftovers(cib: &LintedCib<'_, '_>) -> Result<Vec<Complaint>, PlacingError> {
    let ends = |node: &Node<'_, '_>| node.descendants().any(|inner| inner.has_tag_name("date_expression"));
    let complaint = |location: Node<'_, '_>| {
        let does = match id(location) {
            name if name.starts_with("cli-ban-") => "keeps it from a node",
            name if name.starts_with("cli-prefer-") => "holds it on a node",
            _ => return None,
        };
        let resource = shown_name(location.attribute("rsc")?);
        let problem = format!(
            "a command has left this constraint on {resource}: it {does} until somebody takes it away"
        );
        let advice = format!("if that is no longer meant: crm_resource --clear --resource {resource}");
        Some(Complaint::about(location, problem, advice))
    };
    Ok(cib.elements("rsc_location").filter(|node| !ends(node)).filter_map(complaint).collect())
}

/// Orders in a circle: resources that start or stop together wait for themselves, and Pacemaker never gets to them.
pub(super) fn order_circles(cib: &LintedCib<'_, '_>) -> Result<Vec<Complaint>, PlacingError> {
    let set = cib.set;
    let complaint = |circle: &WaitCircle| {
        let order = circle.reasons.iter().find_map(|why| match why {
            WaitReason::Order(at) => Some(set.orders[*at].id.as_str()),
            WaitReason::Choice(at) => Some(set.choices[*at].id.as_str()),
            _ => None,
        })?;
        let names: Vec<String> =
            circle.resources.iter().map(|one| shown_name(&set.resource(*one).id)).collect();
        let problem = format!(
            "orders run in a circle through {}: what is started or stopped together waits for itself, and Pacemaker never gets to it",
            names.join(", ")
        );
        let advice = "take one of the orders away, be they Optional".to_owned();
        Some(Complaint::of("rsc_order", order, problem, advice))
    };
    Ok(latent(set).iter().filter_map(complaint).collect())
}

/// A constraint that is ignored because of a tag or template. Outside of sets, this happens if a member is not a
/// resource but, for example, another tag. In a colocation, it also happens if both sides are tags or templates.
pub(super) fn tags(cib: &LintedCib<'_, '_>) -> Result<Vec<Complaint>, PlacingError> {
    let ids = |kinds: &'static [&'static str]| kinds.iter().flat_map(|kind| cib.elements(kind)).map(id);
    let (known, shared) = (ids(&RESOURCES).collect::<HashSet<_>>(), ids(&SHARED).collect::<HashSet<_>>());
    // By tag id, the tags with a member that is no resource: position, id, and that member.
    let mut strangers: HashMap<&str, Vec<(usize, &str, &str)>> = HashMap::new();
    for (at, tag) in cib.elements("tag").enumerate() {
        let mut members = tag.children().filter(|inner| inner.has_tag_name("obj_ref")).map(id);
        let stranger = members.find(|name| !known.contains(name));
        strangers.entry(id(tag)).or_default().extend(stranger.map(|stranger| (at, id(tag), stranger)));
    }
    let mut complaints = Vec::new();
    for constraint in constraints(cib.document) {
        let mut complain = |problem: String, advice: &str| {
            complaints.push(Complaint::about(constraint, problem, advice.to_owned()));
        };
        let names: Vec<&str> = PLACES.iter().filter_map(|place| constraint.attribute(*place)).collect();
        // in the order of the document, each tag once
        let found: BTreeSet<&(usize, &str, &str)> =
            names.iter().filter_map(|name| strangers.get(name)).flatten().collect();
        for (_, tag, stranger) in found {
            let (tag, stranger) = (shown_name(tag), shown_name(stranger));
            let problem =
                format!("tag '{tag}' has '{stranger}', which is no resource: the constraint is ignored");
            complain(problem, "name the tag in a resource_set, or have only resources in it");
        }
        let is_colocation = constraint.has_tag_name("rsc_colocation") && names.len() == 2;
        if is_colocation && names.iter().all(|name| shared.contains(name)) {
            let problem = "a tag or template with another one: the constraint is ignored".to_owned();
            complain(
                problem,
                "name one of the two by its resources, in constraints of their own, or both in resource_sets",
            );
        }
    }
    Ok(complaints)
}

/// The exclusive locations of a resource leave it no node.
pub(super) fn exclusive_nowhere(cib: &LintedCib<'_, '_>) -> Result<Vec<Complaint>, PlacingError> {
    let set = cib.set;
    let has_none = |one: &ResourceIdx| {
        set.resource(*one).scores.iter().all(|(_, score)| score == AllocationScore::MINUS_INFINITY)
    };
    let lost = set.top_level().filter(|one| set.primitives(one).iter().any(has_none));
    let complaint = |one: ResourceIdx| {
        let details = set.resource(one);
        let problem = format!(
            "{} may only be where locations with resource-discovery=exclusive say, and these leave no node: it runs nowhere",
            shown_name(&details.id)
        );
        let advice = "name a node that nothing forbids, or take resource-discovery away".to_owned();
        Some(Complaint::of("rsc_location", details.exclusive.as_deref()?, problem, advice))
    };
    Ok(lost.filter_map(complaint).collect())
}

/// An exclusive location of a group member bans no node; only those of the group do.
pub(super) fn exclusive_ignored(cib: &LintedCib<'_, '_>) -> Result<Vec<Complaint>, PlacingError> {
    let set = cib.set;
    let complaint = |one: ResourceIdx| {
        let details = set.resource(one);
        // If the group has exclusive locations, too, this one adds to them.
        let group = Some(set.resource(details.group?)).filter(|group| group.exclusive.is_none())?;
        let (member, group) = (shown_name(&details.id), shown_name(&group.id));
        let problem = format!(
            "{member} is in the group {group}, and may be elsewhere all the same: only its score counts"
        );
        let advice = format!("make it about {group}, or forbid the other nodes by -INFINITY");
        Some(Complaint::of("rsc_location", details.exclusive.as_deref()?, problem, advice))
    };
    Ok(set.resource_indices().filter_map(complaint).collect())
}

/// The mandatory colocations.
fn mandatory_colocations(set: &WorkingSet) -> impl Iterator<Item = &Colocation> {
    set.colocations.iter().filter(|one| one.score == AllocationScore::INFINITY)
}

/// Mandatory colocations as a graph.
struct MandatoryColocations {
    /// Each resource's primaries, in order.
    primaries: Vec<Vec<usize>>,
    /// Each resource's component; resources in a common circle share it.
    component: Vec<usize>,
}

impl MandatoryColocations {
    fn of(set: &WorkingSet) -> MandatoryColocations {
        let mut primaries = vec![Vec::new(); set.resources.len()];
        mandatory_colocations(set).for_each(|one| primaries[one.dependent.get()].push(one.primary.get()));
        let component = strong_components(&primaries);
        MandatoryColocations { primaries, component }
    }

    /// The shortest circle through a colocation, from the dependent backwards, if there is one.
    fn circle(&self, dependent: ResourceIdx, primary: ResourceIdx) -> Option<Vec<ResourceIdx>> {
        let (end, first) = (dependent.get(), primary.get());
        if self.component[end] != self.component[first] {
            return None;
        }
        // The search goes breadth first from the primary to the dependent, and notes from which resource each one is
        // reached.
        let mut before: HashMap<usize, usize> = HashMap::from([(first, first)]);
        let mut left = VecDeque::from([first]);
        while let Some(here) = left.pop_front().filter(|_| !before.contains_key(&end)) {
            let of_component =
                self.primaries[here].iter().filter(|next| self.component[**next] == self.component[end]);
            for next in of_component {
                if let Entry::Vacant(new) = before.entry(*next) {
                    new.insert(here);
                    left.push_back(*next);
                }
            }
        }
        let way =
            std::iter::successors(Some(end), |here| before.get(here).copied().filter(|next| next != here));
        before.contains_key(&end).then(|| way.map(ResourceIdx::new).collect())
    }
}

/// Mandatory colocations in a circle: the resource placed first decides, and Pacemaker follows none of them back.
pub(super) fn circles(cib: &LintedCib<'_, '_>) -> Result<Vec<Complaint>, PlacingError> {
    let set = cib.set;
    let must = MandatoryColocations::of(set);
    let mut complaints = Vec::new();
    let mut told: BTreeSet<ResourceIdx> = BTreeSet::new();
    for start in mandatory_colocations(set) {
        if told.contains(&start.dependent) {
            continue;
        }
        let Some(circle) = must.circle(start.dependent, start.primary) else { continue };
        told.extend(&circle);
        let names: Vec<String> = circle.iter().rev().map(|one| shown_name(&set.resource(*one).id)).collect();
        let problem = format!(
            "each of these must be with the next one, in a circle: {}; which of them is placed first decides where all go",
            names.join(", ")
        );
        let advice = "take one of the constraints away: one direction is enough".to_owned();
        complaints.push(Complaint::of("rsc_colocation", &start.id, problem, advice));
    }
    Ok(complaints)
}

/// Two resources that must be together have no node in common, or must also be apart.
pub(super) fn contradictions(cib: &LintedCib<'_, '_>) -> Result<Vec<Complaint>, PlacingError> {
    let set = cib.set;
    let allowed = |one: ResourceIdx, host: HostIdx| {
        set.resource(one).scores.or_never(host) > AllocationScore::MINUS_INFINITY
    };
    let pair = |one: &'_ Colocation| {
        let (dependent, primary) = (one.dependent.min(one.primary), one.dependent.max(one.primary));
        (dependent, primary, one.attribute.clone())
    };
    // Of several constraints that keep a pair apart, the first counts.
    let mut apart = HashMap::new();
    for one in set.colocations.iter().filter(|one| one.score == AllocationScore::MINUS_INFINITY) {
        apart.entry(pair(one)).or_insert(one);
    }
    let mut complaints = Vec::new();
    for must in mandatory_colocations(set) {
        let (one, other) =
            (shown_name(&set.resource(must.dependent).id), shown_name(&set.resource(must.primary).id));
        if let Some(apart) = apart.get(&pair(must)) {
            let problem = format!(
                "{one} must be with {other}, and by {} must not: {one} runs nowhere",
                shown_name(&apart.id)
            );
            let advice = "take one of the two constraints away".to_owned();
            complaints.push(Complaint::of("rsc_colocation", &must.id, problem, advice));
            continue;
        }
        let mut hosts = set.host_indices();
        let is_possible = must.attribute.is_some()
            || hosts.any(|host| allowed(must.dependent, host) && allowed(must.primary, host));
        if !is_possible {
            let problem =
                format!("{one} must be with {other}, and no node is allowed to both: {one} runs nowhere");
            let advice = "look at the locations of both, and at nodes on which they failed".to_owned();
            complaints.push(Complaint::of("rsc_colocation", &must.id, problem, advice));
        }
    }
    Ok(complaints)
}

//! Changes to the document of a cluster: location constraints that pin resources, nodes in standby, and tickets. A
//! document is changed as the cluster would change its own, so that the consequences can be examined first.

mod tickets;
mod utilization;

use std::collections::HashSet;
use std::fmt;
use std::ops::Range;

use jiff::Timestamp;
use roxmltree::{Document, Node};
use serde::{Deserialize, Serialize};

use super::super::release::Release;
use super::document::{self, child, children, id};
use super::feature_set::FeatureSet;
use super::roles::is_promoted;
use htools_ganeti::input::error::{LoadError, Result};
use htools_ganeti::load::lookup::hint;
use htools_model::shown::{escaped, shown_name, shown_source};
pub use tickets::{ChangedTicket, TicketChange, with_tickets};
pub use utilization::{CountedUtilization, with_utilization};

/// Prefix of the ids of constraints made by this tool.
const PREFIX: &str = "hplace-";

/// A location constraint made by this tool, with the score INFINITY.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LocationPin {
    /// The constraint's id, an XML name.
    pub id: String,
    /// The primitive or group; for a role, the clone.
    pub resource: String,
    /// The node's name.
    pub node: String,
    /// True if the constraint is only about the promoted role of the clone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub promoted: bool,
}

impl LocationPin {
    /// The constraint as an XML element.
    pub fn xml(&self) -> String {
        let (id, resource, node) = (attribute(&self.id), attribute(&self.resource), attribute(&self.node));
        let role = if self.promoted { r#" role="Promoted""# } else { "" };
        format!(r#"<rsc_location id="{id}" rsc="{resource}"{role} node="{node}" score="INFINITY"/>"#)
    }

    /// Reads a constraint from an element, if this tool or its commands can have made it.
    fn of(element: Node<'_, '_>) -> Option<LocationPin> {
        let is_ours = id(element).starts_with(PREFIX) && id(element).chars().all(is_plain);
        let role = element.attribute("role");
        let node = if is_ours && says_only(element, &["id", "rsc", "role", "node", "score"], 0) {
            let counts = element.attribute("score") == Some("INFINITY") && role.is_none_or(is_promoted);
            element.attribute("node").filter(|_| counts)
        } else if is_ours && says_only(element, &["id", "rsc"], 1) {
            promoted_by_rule(element)
        } else {
            None
        };
        Some(LocationPin {
            id: id(element).to_owned(),
            resource: element.attribute("rsc")?.to_owned(),
            node: node?.to_owned(),
            promoted: role.is_some() || child(element, "rule").is_some(),
        })
    }
}

/// Returns true if an element has no attributes but these, and this number of elements in it.
fn says_only(element: Node<'_, '_>, known: &[&str], inner: usize) -> bool {
    element.attributes().all(|attribute| known.contains(&attribute.name()))
        && element.children().filter(Node::is_element).count() == inner
}

/// The node where the rule of a constraint wants the promoted role, as the shells pcs and crmsh write it.
fn promoted_by_rule<'a>(constraint: Node<'a, '_>) -> Option<&'a str> {
    let rule = child(constraint, "rule")?;
    let expression = child(rule, "expression")?;
    let is_rule = says_only(rule, &["id", "role", "score", "boolean-op"], 1)
        && rule.attribute("score") == Some("INFINITY")
        && rule.attribute("role").is_some_and(is_promoted);
    let is_name = says_only(expression, &["id", "attribute", "operation", "value", "type"], 0)
        && expression.attribute("attribute") == Some("#uname")
        && expression.attribute("operation") == Some("eq");
    expression.attribute("value").filter(|_| is_rule && is_name)
}

/// A change of a cluster's configuration, made in one step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum CibChange {
    /// Adds these constraints, or replaces those of the same ids.
    Pin(Vec<LocationPin>),
    /// Removes these constraints.
    Unpin(Vec<LocationPin>),
    /// Puts the node of this name in standby.
    Standby(String),
    /// Takes the node of this name out of standby.
    Online(String),
    /// Makes all of these changes, none of which undoes an earlier one.
    Together(Vec<CibChange>),
}

/// Short text for people.
impl fmt::Display for CibChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let constraints = |pins: &[LocationPin]| match pins.len() {
            1 => "1 constraint".to_owned(),
            count => format!("{count} constraints"),
        };
        match self {
            CibChange::Pin(pins) => write!(f, "set {}", constraints(pins)),
            CibChange::Unpin(pins) => write!(f, "take {} away", constraints(pins)),
            CibChange::Standby(node) => write!(f, "put {} in standby", shown_name(node)),
            CibChange::Online(node) => write!(f, "take {} out of standby", shown_name(node)),
            CibChange::Together(parts) => {
                let parts: Vec<String> = parts.iter().map(CibChange::to_string).collect();
                f.write_str(&parts.join(", "))
            }
        }
    }
}

impl CibChange {
    /// The document with the change made; `source` names the document in errors.
    ///
    /// # Errors
    /// Fails if it is no document of a cluster, or has no such node.
    pub fn made_in(&self, text: &str, source: &str) -> Result<String> {
        let document = document::parse(text, source)?;
        let mut splices = match self {
            CibChange::Pin(pins) => pinned(&document, text, pins),
            CibChange::Unpin(pins) => {
                let is_one = |node: &Node<'_, '_>| pins.iter().any(|pin| pin.id == id(*node));
                locations(&document).filter(is_one).map(|node| (node.range(), String::new())).collect()
            }
            CibChange::Standby(name) => vec![standby(node(&document, name, source)?, text)],
            CibChange::Online(name) => {
                let node = node(&document, name, source)?;
                standby_pairs(node).map(|pair| (pair.range(), String::new())).collect()
            }
            CibChange::Together(parts) => {
                return parts.iter().try_fold(text.to_owned(), |text, part| part.made_in(&text, source));
            }
        };
        splices.sort_by_key(|(range, _)| range.start);
        let mut changed = text.to_owned();
        for (range, new) in splices.into_iter().rev() {
            changed.replace_range(range, &new);
        }
        Ok(changed)
    }

    /// Returns true if a document already is as the change makes it.
    ///
    /// # Errors
    /// Fails if it is no document of a cluster, or has no such node.
    pub fn is_made_in(&self, text: &str, source: &str) -> Result<bool> {
        let document = document::parse(text, source)?;
        let found = |pin: &LocationPin| locations(&document).find(|element| id(*element) == pin.id);
        let is_on = |name: &String| {
            let node = node(&document, name, source)?;
            let mut pairs = standby_pairs(node);
            Ok(pairs.any(|pair| pair.attribute("value").is_some_and(super::is_true)))
        };
        match self {
            CibChange::Pin(pins) => {
                Ok(pins.iter().all(|pin| found(pin).and_then(LocationPin::of).as_ref() == Some(pin)))
            }
            CibChange::Unpin(pins) => Ok(pins.iter().all(|pin| found(pin).is_none())),
            CibChange::Standby(name) => is_on(name),
            CibChange::Online(name) => is_on(name).map(|on| !on),
            CibChange::Together(parts) => {
                for part in parts {
                    if !part.is_made_in(text, source)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
        }
    }

    /// Returns true if there is nothing to change.
    pub fn is_empty(&self) -> bool {
        match self {
            CibChange::Pin(pins) | CibChange::Unpin(pins) => pins.is_empty(),
            CibChange::Standby(_) | CibChange::Online(_) => false,
            CibChange::Together(parts) => parts.iter().all(CibChange::is_empty),
        }
    }
}

/// This tool's constraints in a document, and the ids in use.
#[derive(Debug, Clone, Default)]
pub struct PinSurvey {
    /// This tool's constraints.
    pub pins: Vec<LocationPin>,
    /// All ids of the configuration, and those given out.
    ids: HashSet<String>,
    /// Ids of constraints that are not given out again.
    taken: HashSet<String>,
}

impl PinSurvey {
    /// Looks through a document.
    ///
    /// # Errors
    /// Fails if it is no document of a cluster.
    pub fn of(text: &str, source: &str) -> Result<PinSurvey> {
        let document = document::parse(text, source)?;
        let configuration = child(document.root_element(), "configuration");
        let elements = configuration.into_iter().flat_map(|node| node.descendants());
        // Constraints with rules are not changed to ones without.
        let with_rules = locations(&document).filter(|location| child(*location, "rule").is_some());
        Ok(PinSurvey {
            pins: locations(&document).filter_map(LocationPin::of).collect(),
            ids: elements.map(|element| id(element).to_owned()).collect(),
            taken: with_rules.map(|location| id(location).to_owned()).collect(),
        })
    }

    /// Id for a constraint about a resource, or about its promoted role: that of a present constraint, or a new one. No
    /// id is given out twice.
    pub(crate) fn id_for(&mut self, resource: &str, promoted: bool) -> String {
        let id = self.free_id(resource, promoted);
        self.ids.insert(id.clone());
        self.taken.insert(id.clone());
        id
    }

    /// Id for a constraint about a resource that is the only one made.
    pub fn id_alone(&self, resource: &str) -> String {
        self.free_id(resource, false)
    }

    fn free_id(&self, resource: &str, promoted: bool) -> String {
        let is_free = |pin: &&LocationPin| !self.taken.contains(&pin.id);
        let mut present = self.pins.iter().filter(|pin| pin.resource == resource && pin.promoted == promoted);
        if let Some(pin) = present.find(is_free) {
            return pin.id.clone();
        }
        let mut name: String = resource.chars().map(|c| if is_plain(c) { c } else { '_' }).collect();
        name.push_str(if promoted { "-promoted" } else { "" });
        let names = (1..).map(|number| match number {
            1 => format!("{PREFIX}{name}"),
            more => format!("{PREFIX}{name}-{more}"),
        });
        let mut free = names.skip_while(|name| self.ids.contains(name));
        free.next().unwrap_or_default()
    }
}

/// The document as examined at another time, which decides about dates in rules and time-outs of failures, here and in
/// `crm_simulate`.
///
/// # Errors
/// Fails if it is no document of a cluster.
pub fn dated(text: &str, source: &str, now: Timestamp) -> Result<String> {
    let seconds = now.as_second().to_string();
    with_root_attribute(text, source, "execution-date", |_| Some(seconds))
}

/// The document as if every node of its cluster ran a release of Pacemaker. The feature set stays if it is one of that
/// release, or of an older one that is played so.
///
/// # Errors
/// Fails if it is no document of a cluster.
pub fn with_release(text: &str, source: &str, release: Release) -> Result<String> {
    with_root_attribute(text, source, "crm_feature_set", |features| {
        let features = FeatureSet::of(features.unwrap_or_default());
        let differs = features.release() != release || features.is_unknown();
        differs.then(|| release.feature_set().to_owned())
    })
}

/// The document with another value of an attribute of its root. The present value is passed to `new`; without a result,
/// the document stays as it is.
fn with_root_attribute(
    text: &str,
    source: &str,
    name: &str,
    new: impl FnOnce(Option<&str>) -> Option<String>,
) -> Result<String> {
    let document = document::parse(text, source)?;
    let root = document.root_element();
    let Some(new) = new(root.attribute(name)) else { return Ok(text.to_owned()) };
    let (range, new) = match root.attribute_node(name) {
        Some(said) => (said.range_value(), new),
        None => {
            let name_ends = |letter: char| letter.is_whitespace() || matches!(letter, '>' | '/');
            let tag = &text[root.range().start..];
            let end = root.range().start + tag.find(name_ends).unwrap_or(tag.len());
            (end..end, format!(r#" {name}="{new}""#))
        }
    };
    Ok([&text[..range.start], &new, &text[range.end..]].concat())
}

/// Returns true if a character is allowed in XML names and has no special meaning anywhere.
fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || "._-".contains(c)
}

/// A range of the document, and its new text.
type Splice = (Range<usize>, String);

/// The location constraints of a document.
fn locations<'a, 'i>(document: &'a Document<'i>) -> impl Iterator<Item = Node<'a, 'i>> {
    let section = child(document.root_element(), "configuration")
        .and_then(|configuration| child(configuration, "constraints"));
    section.into_iter().flat_map(|section| children(section, "rsc_location"))
}

fn pinned(document: &Document<'_>, text: &str, pins: &[LocationPin]) -> Vec<Splice> {
    let mut splices = Vec::new();
    let mut new = String::new();
    for pin in pins {
        match locations(document).find(|element| id(*element) == pin.id) {
            Some(element) => splices.push((element.range(), pin.xml())),
            None => new.push_str(&pin.xml()),
        }
    }
    let configuration = child(document.root_element(), "configuration");
    let section = configuration.and_then(|configuration| child(configuration, "constraints"));
    match (section, configuration) {
        _ if new.is_empty() => {}
        (Some(section), _) => splices.push(at_end(section, text, &new)),
        (None, Some(configuration)) => {
            splices.push(at_end(configuration, text, &format!("<constraints>{new}</constraints>")));
        }
        (None, None) => {}
    }
    splices
}

/// The element of a node, by the node's name.
fn node<'a, 'i>(document: &'a Document<'i>, name: &str, source: &str) -> Result<Node<'a, 'i>> {
    let nodes = child(document.root_element(), "configuration")
        .and_then(|configuration| child(configuration, "nodes"));
    let mut all: Vec<(&str, Node<'_, '_>)> = nodes
        .into_iter()
        .flat_map(|nodes| children(nodes, "node"))
        .map(|node| (node.attribute("uname").unwrap_or(id(node)), node))
        .collect();
    match all.iter().position(|(own, _)| *own == name) {
        Some(at) => Ok(all.swap_remove(at).1),
        None => {
            let hint = hint(name, all.iter().map(|(own, _)| *own));
            let problem = format!("there is no node '{}'{hint}", shown_name(name));
            Err(LoadError::one_line(&shown_source(source), &problem))
        }
    }
}

/// The `standby` attributes of a node.
fn standby_pairs<'a, 'i>(node: Node<'a, 'i>) -> impl Iterator<Item = Node<'a, 'i>> {
    let pairs = children(node, "instance_attributes").flat_map(|set| children(set, "nvpair"));
    pairs.filter(|pair| pair.attribute("name") == Some("standby"))
}

fn standby(node: Node<'_, '_>, text: &str) -> Splice {
    let name = attribute(id(node));
    let pair = format!(r#"<nvpair id="nodes-{name}-standby" name="standby" value="on"/>"#);
    if let Some(old) = standby_pairs(node).next() {
        return (old.range(), pair);
    }
    match child(node, "instance_attributes") {
        Some(set) => at_end(set, text, &pair),
        None => {
            let set = format!(r#"<instance_attributes id="nodes-{name}">{pair}</instance_attributes>"#);
            at_end(node, text, &set)
        }
    }
}

/// Inserts text at the end of an element.
fn at_end(element: Node<'_, '_>, text: &str, new: &str) -> Splice {
    let range = element.range();
    let inside = &text[range.clone()];
    match (inside.ends_with("/>") && !element.has_children(), inside.rfind("</")) {
        (false, Some(end)) => (range.start + end..range.start + end, new.to_owned()),
        _ => {
            let name = element.tag_name().name();
            (range.end - 2..range.end, format!(">{new}</{name}>"))
        }
    }
}

/// An escaped attribute value; unescaped line breaks and tabs would become spaces.
fn attribute(value: &str) -> String {
    escaped(value).replace('\n', "&#10;").replace('\r', "&#13;").replace('\t', "&#9;")
}

#[cfg(test)]
mod tests;

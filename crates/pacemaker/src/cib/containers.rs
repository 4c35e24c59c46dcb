//! The meta attribute `container`: resources that run inside another one. If that is the VM of a guest node, they run on
//! this node.

use std::collections::{BTreeMap, HashMap, HashSet};

use roxmltree::Node;

use super::super::components::strong_components;
use super::super::index::{HostIdx, ResourceIdx};
use super::super::score::{AllocationScore, HostScore};
use super::super::working_set::{Colocation, LocationScore, ResourceForm, StartOrder, Unsupported};
use super::Reader;
use super::document::id;
use super::fail_counts::failed_on;
use super::properties::Properties;
use super::resources::{CONNECTION, GUEST};
use super::run_places::RunPlaces;

/// The meta attribute by which a resource names its container.
const CONTAINER: &str = "container";

/// Reason why a resource is not supported in a container that Pacemaker ties to it in another way.
const OTHER_CONTAINER: &str = "it runs in another resource that is no plain primitive";

/// Reason why a resource is not supported in a container.
const OTHER_INSIDE: &str = "it runs in another resource, and is no plain primitive";

/// Reason why a resource is not supported that failed on another host than that of its container.
const FAILED_APART: &str = "it failed where the resource in which it runs does not run";

/// Reason why a resource is not supported that failed in the VM of a guest node: Pacemaker stops the VM twice.
const FAILED_IN_GUEST: &str = "it failed in the machine of a guest node that is its container";

/// Reason why a resource is not supported whose live migration did not come to its end.
const MIGRATES: &str = "it runs in another resource, and was to migrate";

/// Reason why a resource is not supported that runs in itself by way of others.
const CIRCLE: &str = "it runs in another resource that runs in it";

/// Reason why a resource is not supported that starts before its container by other orders.
const ORDERED: &str = "it runs in another resource that starts after it";

/// Container that a primitive names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NamedContainer<'a> {
    /// None, or one that Pacemaker ignores.
    None,
    /// This primitive.
    Primitive(&'a str),
    /// One that is not supported.
    Unsupported(&'static str),
}

/// A resource with a container.
#[derive(Debug, Clone)]
pub(super) struct Contained<'a> {
    /// Its id.
    inside: String,
    /// The id of its container.
    container: &'a str,
    /// Hosts on which it failed so that its container must restart.
    failed_on: Vec<HostIdx>,
    /// Its fail counts, which count for its container, too.
    counts: Vec<HostScore>,
}

/// A primitive that starts after its container.
#[derive(Debug, Clone, Copy)]
pub(super) struct ContainerTie {
    inside: ResourceIdx,
    container: ResourceIdx,
}

/// Failures of a resource that may be a container.
#[derive(Debug, Clone)]
pub(super) struct ContainerFailures {
    /// Its own fail counts.
    pub(super) counts: Vec<HostScore>,
    /// Number of failures on a host that bans it from there.
    pub(super) threshold: AllocationScore,
    /// True if a failure of it is ignored, and so all fail counts are.
    pub(super) is_forgiven: bool,
    /// Hosts from which it is banned whatever its fail counts.
    pub(super) bans: Vec<HostScore>,
}

impl ContainerFailures {
    /// Hosts from which it is banned, with the failures inside of it.
    pub(super) fn banned_from(&self) -> Vec<HostScore> {
        let mut sums: BTreeMap<HostIdx, AllocationScore> = BTreeMap::new();
        for failed in &self.counts {
            let sum = sums.entry(failed.host).or_default();
            *sum = sum.plus(failed.score);
        }
        let sums = sums.into_iter().map(|(host, score)| HostScore { host, score });
        let mut banned = if self.is_forgiven { Vec::new() } else { failed_on(sums, self.threshold) };
        banned.extend(&self.bans);
        banned
    }
}

/// Number of the step that begins a resource's start.
fn start_of(resource: ResourceIdx) -> usize {
    2 * resource.get()
}

/// Number of the step that ends a resource's start.
fn end_of(resource: ResourceIdx) -> usize {
    start_of(resource) + 1
}

/// Returns true for a primitive that is in nothing but perhaps a group.
fn is_plain(node: Node<'_, '_>) -> bool {
    let parent = node.parent().filter(|parent| parent.has_tag_name("group")).unwrap_or(node);
    node.has_tag_name("primitive") && parent.parent().is_some_and(|parent| parent.has_tag_name("resources"))
}

impl<'a, 'i> Reader<'a, 'i> {
    /// The container that a primitive names with these meta attributes.
    pub(super) fn container_of(&self, node: Node<'a, 'i>, metas: &Properties<'a>) -> NamedContainer<'a> {
        let Some(name) = metas.get(CONTAINER).filter(|name| *name != id(node)) else {
            return NamedContainer::None;
        };
        let is_node = |one: Node<'a, 'i>| self.guests.iter().any(|guest| guest.machine == one);
        let brings_node = |one: Node<'a, 'i>| {
            let names_guest = |pair: Node<'a, 'i>| pair.attribute("name") == Some(GUEST);
            is_node(one) || one.descendants().any(names_guest)
        };
        let is_resource = |one: &Node<'a, 'i>| {
            ["primitive", "group", "clone", "master", "bundle", "template"].contains(&one.tag_name().name())
        };
        if !is_plain(node) || brings_node(node) {
            return NamedContainer::Unsupported(OTHER_INSIDE);
        }
        let is_guest = |one| self.guests.iter().any(|guest| guest.machine == one && !guest.is_remote);
        match self.element(name).filter(is_resource) {
            Some(one) if is_plain(one) && is_guest(one) => NamedContainer::Primitive(name),
            Some(one) if is_plain(one) && !brings_node(one) && !self.is_connection(one) => {
                NamedContainer::Primitive(name)
            }
            Some(_) => NamedContainer::Unsupported(OTHER_CONTAINER),
            // Pacemaker also knows resources that only the status has, or that others bring with them.
            None if self.is_recorded(name) || self.may_be_implied(name) => {
                NamedContainer::Unsupported(OTHER_CONTAINER)
            }
            None => NamedContainer::None,
        }
    }

    fn is_connection(&self, node: Node<'a, 'i>) -> bool {
        let agent = ["class", "provider", "type"].map(|name| node.attribute(name).unwrap_or_default());
        agent.join(":").eq_ignore_ascii_case(CONNECTION)
    }

    /// Returns true for the name of a guest node, and if there are bundles or clones, whose parts can have it.
    fn may_be_implied(&self, name: &str) -> bool {
        let section = self.section("resources");
        let mut elements = section.into_iter().flat_map(|section| section.descendants());
        elements.any(|one| match one.tag_name().name() {
            "bundle" => name.starts_with(id(one)),
            "primitive" => name.split_once(':').is_some_and(|(inner, _)| inner == id(one)),
            "nvpair" => one.attribute("name") == Some(GUEST) && one.attribute("value") == Some(name),
            _ => false,
        })
    }

    /// Notes that a resource has a container. Returns the reason why it is not supported there, if any.
    pub(super) fn note_contained(
        &mut self,
        inside: &str,
        container: &'a str,
        places: &RunPlaces,
        counts: &[HostScore],
    ) -> Option<&'static str> {
        let failed_on = places.failed_inside.clone();
        self.contained.push(Contained {
            inside: inside.to_owned(),
            container,
            failed_on,
            counts: counts.to_vec(),
        });
        places.are_guessed().then_some(MIGRATES)
    }

    /// Notes the failures of a resource that others may name as their container.
    pub(super) fn note_container(&mut self, name: &str, failures: ContainerFailures) {
        let names = self.container_names.get_or_init(|| {
            let pairs = self.configuration.descendants().filter(|one| one.has_tag_name("nvpair"));
            let pairs = pairs.filter(|pair| pair.attribute("name") == Some(CONTAINER));
            pairs.filter_map(|pair| pair.attribute("value")).collect()
        });
        if names.contains(name) {
            self.container_failures.insert(name.to_owned(), failures);
        }
    }

    /// Ties resources to their containers: they run where these run, and start after them. A failure inside restarts the
    /// container.
    pub(super) fn tie_contained(&mut self) {
        let circles: HashSet<String> = self.contained_in_circles();
        for contained in std::mem::take(&mut self.contained) {
            let index = |name: &str| self.resources.get(name).copied();
            let (Some(inside), Some(container)) = (index(&contained.inside), index(contained.container))
            else {
                continue;
            };
            if circles.contains(&contained.inside) {
                self.report_contained(&contained, CIRCLE);
            }
            self.set.resources[inside.get()].contained = true;
            let machine = &mut self.set.resources[container.get()];
            machine.failed_inside |= !contained.failed_on.is_empty();
            let active: Vec<HostIdx> = machine.active_hosts().collect();
            let guest = self.set.machines().find(|(_, parts)| parts.machine == container);
            let guest = guest.map(|(host, _)| host);
            if guest.is_some() && !contained.failed_on.is_empty() {
                self.report_contained(&contained, FAILED_IN_GUEST);
            } else if contained.failed_on.iter().any(|host| active != [*host]) {
                self.report_contained(&contained, FAILED_APART);
            }
            match self.container_failures.get_mut(contained.container) {
                Some(failures) => {
                    failures.counts.extend(&contained.counts);
                    self.set.resources[container.get()].failed_on = failures.banned_from();
                }
                None => self.report_contained(&contained, OTHER_CONTAINER),
            }
            if self.set.may_manage(inside) {
                if let Some(host) = guest {
                    self.keep_on_guest(inside, container, host);
                    continue;
                }
                self.tie_to_container(inside, container);
                self.container_ties.push(ContainerTie { inside, container });
            }
        }
    }

    /// Keeps a resource on the guest node whose VM is its container.
    fn keep_on_guest(&mut self, inside: ResourceIdx, machine: ResourceIdx, guest: HostIdx) {
        let id = &self.set.resource(machine).id;
        let others = self.set.host_indices().filter(|host| *host != guest);
        let never = others.map(|host| LocationScore {
            id: id.clone(),
            resource: inside,
            host,
            score: AllocationScore::MINUS_INFINITY,
            exclusive: false,
        });
        let never: Vec<LocationScore> = never.collect();
        self.set.locations.extend(never);
    }

    fn report_contained(&mut self, contained: &Contained<'_>, reason: &str) {
        self.set.unsupported.push(Unsupported::new("primitive", &contained.inside, reason));
    }

    /// The resources that run in themselves by way of others, and those inside of them.
    fn contained_in_circles(&self) -> HashSet<String> {
        let outer: HashMap<&str, &str> =
            self.contained.iter().map(|one| (one.inside.as_str(), one.container)).collect();
        let mut sound: HashSet<&str> = HashSet::new();
        let mut circles: HashSet<&str> = HashSet::new();
        for contained in &self.contained {
            let mut path: HashSet<&str> = HashSet::new();
            let mut at = contained.inside.as_str();
            let is_circle = loop {
                if sound.contains(at) || circles.contains(at) || !path.insert(at) {
                    break !sound.contains(at);
                }
                match outer.get(at) {
                    Some(next) => at = next,
                    None => break false,
                }
            };
            if is_circle { &mut circles } else { &mut sound }.extend(path);
        }
        circles.into_iter().map(str::to_owned).collect()
    }

    /// Reports resources in containers that start before these by other orders or by their group.
    pub(super) fn name_circles_of_containers(&mut self) {
        let ties = std::mem::take(&mut self.container_ties);
        if ties.is_empty() {
            return;
        }
        let component = strong_components(&self.order_steps());
        for tie in ties {
            if component[start_of(tie.inside)] == component[end_of(tie.container)] {
                let name = self.set.resource(tie.inside).id.clone();
                self.set.unsupported.push(Unsupported::new("primitive", &name, ORDERED));
            }
        }
    }

    /// The steps before the beginning and before the end of each resource's start, by [`start_of`] and [`end_of`].
    fn order_steps(&self) -> Vec<Vec<usize>> {
        let mut before = vec![Vec::new(); 2 * self.set.resources.len()];
        for resource in self.set.resource_indices() {
            let details = self.set.resource(resource);
            before[end_of(resource)].push(start_of(resource));
            for member in &details.members {
                before[start_of(*member)].push(start_of(resource));
                before[end_of(resource)].push(end_of(*member));
            }
            if matches!(details.form, ResourceForm::Group { ordered: true, .. }) {
                for pair in details.members.windows(2) {
                    before[start_of(pair[1])].push(end_of(pair[0]));
                }
            }
        }
        for order in &self.set.orders {
            before[start_of(order.then)].push(end_of(order.first));
        }
        for choice in &self.set.choices {
            for then in &choice.dependents {
                before[start_of(*then)].extend(choice.firsts.iter().map(|first| end_of(*first)));
            }
        }
        before
    }

    /// Ties a resource to the one that it runs in: it runs where that runs, and starts after it.
    pub(super) fn tie_to_container(&mut self, inside: ResourceIdx, container: ResourceIdx) {
        let id = &self.set.resource(container).id;
        self.together.push(Colocation::implied(id, inside, container));
        let order = StartOrder::implied(id, container, inside);
        self.set.orders.push(order);
    }
}

//! Reads location constraints.

use roxmltree::Node;

use super::super::index::{HostIdx, ResourceIdx};
use super::super::number::leading;
use super::super::score::AllocationScore;
use super::super::working_set::LocationScore;
use super::Reader;
use super::document::{children, id, wrong};
use super::health::score_of;
use super::roles::is_promoted;
use super::rules;
use htools_ganeti::input::error::Result;

/// Value of `resource-discovery` that limits resources to the hosts named.
const EXCLUSIVE: &str = "exclusive";

impl<'a, 'i> Reader<'a, 'i> {
    /// Reads the locations; the last ones of the document are added first.
    pub(super) fn read_locations(&mut self) -> Result<()> {
        let Some(section) = self.section("constraints") else { return Ok(()) };
        let constraints: Vec<Node<'a, 'i>> = children(section, "rsc_location").collect();
        for constraint in constraints.into_iter().rev() {
            let reason = self.location_beyond(constraint);
            if let Some(reason) = reason {
                self.report_unsupported(constraint, reason);
                continue;
            }
            for resource in self.located(constraint)? {
                self.confine(constraint, resource);
                self.locate(constraint, resource)?;
            }
        }
        Ok(())
    }

    fn location_beyond(&self, constraint: Node<'_, '_>) -> Option<&'static str> {
        let word = |name| constraint.attribute(name).unwrap_or_default();
        if !matches!(word("resource-discovery"), "" | "always" | "never" | EXCLUSIVE) {
            return Some("an unknown way to look for resources (resource-discovery)");
        }
        if !rules::is_role(word("role")) {
            return Some("a location for a role");
        }
        if word("rsc-pattern").strip_prefix('!').unwrap_or(word("rsc-pattern")).len() > 1000 {
            return Some("a pattern that is too long");
        }
        if children(constraint, "lifetime").next().is_some() {
            return Some("a lifetime");
        }
        children(constraint, "rule").find_map(rules::unsupported_reason)
    }

    /// The resources that a constraint is about.
    fn located(&mut self, constraint: Node<'a, 'i>) -> Result<Vec<ResourceIdx>> {
        let mut located = Vec::new();
        if let Some(name) = constraint.attribute("rsc") {
            located.extend(self.named(constraint, name)?.all);
        } else if let Some(pattern) = constraint.attribute("rsc-pattern") {
            let (pattern, inverted) = match pattern.strip_prefix('!') {
                Some(rest) => (rest, true),
                None => (pattern, false),
            };
            let Ok(expression) = regex_lite::Regex::new(pattern) else {
                self.report_unsupported(constraint, "a pattern that is no regular expression here");
                return Ok(located);
            };
            let matches =
                |resource: &ResourceIdx| expression.is_match(&self.set.resource(*resource).id) != inverted;
            located.extend(self.set.top_level().filter(matches));
        }
        for set in children(constraint, "resource_set") {
            located.extend(self.members_of_set(constraint, set)?);
        }
        Ok(located)
    }

    /// Limits a resource to the hosts that exclusive constraints name. This holds even if they name none in the end, as
    /// their rules hold nowhere or their role is another one. A constraint for an unknown node does not count.
    fn confine(&mut self, constraint: Node<'a, 'i>, resource: ResourceIdx) {
        let is_for_a_host = constraint.attribute("node").is_none_or(|name| self.hosts.contains_key(name));
        if is_exclusive(constraint) && is_for_a_host {
            self.set.resources[resource.get()].exclusive.get_or_insert_with(|| id(constraint).to_owned());
        }
    }

    fn locate(&mut self, constraint: Node<'a, 'i>, resource: ResourceIdx) -> Result<()> {
        let exclusive = is_exclusive(constraint);
        let is_unsought = constraint.attribute("resource-discovery") == Some("never");
        let unsought = &mut self.unsought;
        let set = &mut self.set;
        let (locations, promoted) = (&mut set.locations, &mut set.promotion_locations);
        let mut push = |is_promoted: bool, host, score| {
            let id = id(constraint).to_owned();
            unsought.extend((is_unsought && !is_promoted).then_some((resource, host)));
            let scores = if is_promoted { &mut *promoted } else { &mut *locations };
            scores.push(LocationScore { id, resource, host, score, exclusive });
        };
        if let Some(name) = constraint.attribute("node") {
            let score = score(self.source, constraint)?;
            let role = constraint.attribute("role").unwrap_or_default();
            let counts = role == "Started" || rules::is_role_of_all(role);
            // A node that does not exist needs no score.
            if counts || is_promoted(role) {
                self.hosts.get(name).into_iter().for_each(|host| push(!counts, *host, score));
            }
            return Ok(());
        }
        // The role of the constraint does not count for its rules.
        for rule in children(constraint, "rule") {
            let role = rule.attribute("role").unwrap_or_default();
            if !rules::is_role_of_all(role) && !is_promoted(role) {
                continue;
            }
            let hosts = set.hosts.iter().enumerate().map(|(at, host)| (HostIdx::new(at), host));
            let mut scored = Vec::new();
            for (host, node) in
                hosts.filter(|(at, host)| rules::holds(rule, host, set.coordinator == Some(*at), &self.clock))
            {
                let score = match rule.attribute("score-attribute") {
                    Some(name) => match node.attribute(name) {
                        Some(text) => score_of(text, self.health),
                        None if set.release.forbids_without_score_attribute() => {
                            AllocationScore::MINUS_INFINITY
                        }
                        None => continue,
                    },
                    None => score(self.source, rule)?,
                };
                // Pacemaker quirk: up to 2.1.5, rules of this kind start from the host's own score. A node in a container
                // has none yet.
                let starts_from_host = rules::is_any(rule) && set.release.adds_hosts_to_alternatives();
                let worth = if node.replica { AllocationScore::MINUS_INFINITY } else { node.worth() };
                scored.push((host, if starts_from_host { worth.plus(score) } else { score }));
            }
            scored.into_iter().for_each(|(host, score)| push(is_promoted(role), host, score));
        }
        Ok(())
    }

    /// The resource of a name in a constraint; `None` if it is not supported, which is reported. An unknown name is an
    /// error.
    pub(super) fn resource_of(
        &mut self,
        constraint: Node<'_, '_>,
        name: &str,
    ) -> Result<Option<ResourceIdx>> {
        match self.resources.get(name).copied() {
            Some(resource) if self.is_fixed(resource) => Ok(Some(resource)),
            Some(_) => {
                self.report_unsupported(constraint, "it is about a resource that is outside");
                Ok(None)
            }
            None if self.inner.contains(name) => self.clone_of_part(constraint, name),
            None if self.is_in_resources_section(name) => {
                self.report_unsupported(constraint, "it is about a resource that is outside");
                Ok(None)
            }
            None => Err(wrong(self.source, constraint, &format!("there is no resource '{name}'"))),
        }
    }

    /// Returns true if constraints can count for a resource: it is placed, or its host is fixed.
    fn is_fixed(&self, resource: ResourceIdx) -> bool {
        let details = self.set.resource(resource);
        let fixed = |resource: &ResourceIdx| self.set.resource(*resource).active.is_some();
        !details.unsupported
            || if details.is_primitive() { fixed(&resource) } else { details.members.iter().all(fixed) }
    }

    /// Returns true for the id of anything in the resources section. If it is no known resource, it belongs to an
    /// unsupported one.
    pub(super) fn is_in_resources_section(&self, name: &str) -> bool {
        let all = || {
            let inside = self.section("resources").into_iter().flat_map(|section| section.descendants());
            inside.filter(|node| node.is_element()).map(id).collect()
        };
        self.inside.get_or_init(all).contains(name)
    }
}

/// Returns true if a constraint limits resources to the hosts that it and its like name.
fn is_exclusive(constraint: Node<'_, '_>) -> bool {
    constraint.attribute("resource-discovery") == Some(EXCLUSIVE)
}

/// The score of a constraint or rule. Infinity with spaces around it, and numbers that are too large, count 0.
pub(super) fn score(source: &str, node: Node<'_, '_>) -> Result<AllocationScore> {
    let Some(text) = node.attribute("score") else { return Ok(AllocationScore::ZERO) };
    let is_valid = AllocationScore::parse(text.trim()).is_some() || leading(text).is_some();
    if !is_valid {
        return Err(wrong(source, node, &format!("'{text}' is not a score")));
    }
    Ok(AllocationScore::parse(text).unwrap_or_default())
}

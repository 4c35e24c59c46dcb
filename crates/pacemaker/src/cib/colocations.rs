//! Reads colocation constraints.

use std::collections::HashMap;

use roxmltree::Node;

use super::super::components::strong_components;
use super::super::index::ResourceIdx;
use super::super::number::{leading, truth};
use super::super::promotion::Role;
use super::super::score::AllocationScore;
use super::super::working_set::{Colocation, Unsupported};
use super::Reader;
use super::bundle_roles::WITHOUT_ROLES;
use super::document::{child, children, id, required, wrong};
use super::locations::score;
use super::roles::{is_promoted, is_unpromoted};
use super::sets::{NamedResources, is_sequential};
use htools_ganeti::input::error::Result;

impl<'a, 'i> Reader<'a, 'i> {
    pub(super) fn read_colocations(&mut self) -> Result<()> {
        let Some(section) = self.section("constraints") else { return Ok(()) };
        for constraint in children(section, "rsc_colocation") {
            if let Some(reason) = unsupported_reason(constraint) {
                self.report_unsupported(constraint, reason);
                continue;
            }
            let sets: Vec<Node<'a, 'i>> = children(constraint, "resource_set").collect();
            if sets.is_empty() {
                let name = |attribute| required(self.source, constraint, attribute);
                let (dependent, primary) = (name("rsc")?, name("with-rsc")?);
                let (dependents, primaries) =
                    (self.named(constraint, dependent)?, self.named(constraint, primary)?);
                self.colocate_named(constraint, &dependents, &primaries)?;
            } else {
                self.colocate_sets(constraint, &sets)?
            }
        }
        self.leave_out_circles();
        Ok(())
    }

    /// Colocates each dependent with each primary. Pacemaker quirk: a constraint between two tags or templates is
    /// ignored.
    fn colocate_named(
        &mut self,
        constraint: Node<'a, 'i>,
        dependents: &NamedResources,
        primaries: &NamedResources,
    ) -> Result<()> {
        if dependents.shared && primaries.shared {
            return Ok(());
        }
        let is_shared = dependents.shared || primaries.shared;
        if is_shared && dependents.all.iter().any(|dependent| primaries.all.contains(dependent)) {
            self.report_unsupported(constraint, "a resource with a tag that it has itself");
            return Ok(());
        }
        let score = score(self.source, constraint)?;
        let role = |attribute| colocated_role(constraint.attribute(attribute));
        let roles = ColocatedRoles { dependent: role("rsc-role"), primary: role("with-rsc-role") };
        for dependent in &dependents.all {
            for primary in &primaries.all {
                self.colocate(constraint, *dependent, *primary, score, roles)?;
            }
        }
        Ok(())
    }

    /// Reason why a colocation of resources in these roles is not supported, if any.
    fn unknown_roles(
        &self,
        dependent: ResourceIdx,
        primary: ResourceIdx,
        score: AllocationScore,
        roles: ColocatedRoles,
    ) -> Option<&'static str> {
        let has_roles = |resource: ResourceIdx| self.set.resource(resource).promotion.is_some();
        let is_bundle = |resource: ResourceIdx| self.set.bundle(resource).is_some();
        if is_bundle(dependent) || is_bundle(primary) {
            return self.unknown_roles_of_bundle(dependent, primary, score, roles);
        }
        if roles.dependent.is_some() && !has_roles(dependent) {
            return Some(WITHOUT_ROLES);
        }
        if roles.primary.is_some() && !has_roles(primary) {
            let is_unknown = roles.dependent.is_some() || score == AllocationScore::MINUS_INFINITY;
            return is_unknown.then_some("a colocation for a role that the other resource does not have");
        }
        roles.dependent?;
        if has_roles(primary) && roles.dependent != roles.primary {
            Some("a colocation of two different roles")
        } else if roles.dependent == Some(Role::Unpromoted) && has_roles(primary) && score.is_infinite() {
            Some("a mandatory colocation of unpromoted instances with unpromoted ones")
        } else if roles.dependent == Some(Role::Unpromoted)
            && self.set.resource(primary).is_clone()
            && !has_roles(primary)
        {
            Some("a colocation of unpromoted instances with a clone")
        } else if self.is_partial(primary, score) {
            Some("a colocation of a role with a clone that does not run everywhere, or apart from one")
        } else if roles.dependent == Some(Role::Promoted)
            && !self.set.release.promotes_by_colocations_once()
            && self.has_times_of_membership()
        {
            Some(
                "a colocation of promoted instances in a cluster of a release that follows it in another way",
            )
        } else {
            None
        }
    }

    /// The roles that count in a colocation. For a primary without roles, that of the primary does not, where
    /// resources are kept apart, or where the dependent goes by all instances of a clone.
    fn counting_roles(
        &self,
        dependent: ResourceIdx,
        primary: ResourceIdx,
        score: AllocationScore,
        roles: ColocatedRoles,
    ) -> ColocatedRoles {
        if self.set.bundle(dependent).is_some() || self.set.bundle(primary).is_some() {
            return self.counting_roles_of_bundle(dependent, primary, score, roles);
        }
        let (dependent, primary) = (self.set.resource(dependent), self.set.resource(primary));
        let interleaves = dependent.interleaves_with(primary);
        let goes_by_all = primary.is_clone() && score == AllocationScore::INFINITY && !interleaves;
        let is_without = primary.promotion.is_none() && (score < AllocationScore::ZERO || goes_by_all);
        ColocatedRoles { primary: roles.primary.filter(|_| !is_without), ..roles }
    }

    /// Returns true for a clone without roles, unless it has an instance for every host and must be with others. What
    /// keeps an instance from a host counts as far as it is configured.
    fn is_partial(&self, primary: ResourceIdx, score: AllocationScore) -> bool {
        let details = self.set.resource(primary);
        let mut locations = self.set.locations.iter().filter(|one| one.resource == primary);
        let is_everywhere = self.set.wanted_instances(primary).count() >= self.set.hosts.len()
            && !details.stopped
            && !locations.any(|one| one.score < AllocationScore::ZERO);
        let is_plain = details.is_clone() && details.promotion.is_none();
        is_plain && (score != AllocationScore::INFINITY || !is_everywhere)
    }

    /// Returns true if the status gives times of membership, as releases after 2.1.5 do.
    fn has_times_of_membership(&self) -> bool {
        let status = child(self.root, "status").filter(|_| self.feature_set().reads_times_of_membership());
        let is_time = |state: Node<'_, '_>| {
            let since = state.attribute("in_ccm").and_then(leading);
            since.is_some_and(|since| since > 1)
        };
        status.into_iter().flat_map(|status| children(status, "node_state")).any(is_time)
    }

    /// Leaves out colocations of clones with resources that, directly or through others, want to be with them, if a
    /// clone of groups or a bundle is among them.
    fn leave_out_circles(&mut self) {
        let set = &mut self.set;
        let whole = |resource: ResourceIdx| set.resource(resource).group.unwrap_or(resource);
        let ends: Vec<(ResourceIdx, ResourceIdx)> =
            set.colocations.iter().map(|one| (whole(one.dependent), whole(one.primary))).collect();
        let mut primaries = vec![Vec::new(); set.resources.len()];
        ends.iter().for_each(|(dependent, primary)| primaries[dependent.get()].push(primary.get()));
        let component = strong_components(&primaries);
        let has_groups = |clone: &ResourceIdx| {
            let details = set.resource(*clone);
            details.is_clone() && details.members.iter().any(|one| set.resource(*one).is_group())
        };
        let mut reasons: HashMap<usize, &str> = HashMap::new();
        for clone in set.resource_indices().filter(has_groups) {
            reasons.insert(component[clone.get()], "a clone of groups in a circle of colocations");
        }
        for bundle in &set.bundles {
            reasons.insert(component[bundle.whole.get()], "a bundle in a circle of colocations");
        }
        let circle = |(dependent, primary): &(ResourceIdx, ResourceIdx)| {
            let own = component[dependent.get()];
            let is_closed = own == component[primary.get()];
            reasons.get(&own).copied().filter(|_| set.resource(*dependent).is_clone() && is_closed)
        };
        let circles: Vec<Option<&str>> = ends.iter().map(circle).collect();
        let (mut at, mut left_out) = (0, Vec::new());
        set.colocations.retain(|colocation| {
            let reason = circles[at];
            left_out.extend(reason.map(|reason| Unsupported::new("rsc_colocation", &colocation.id, reason)));
            at += 1;
            reason.is_none()
        });
        set.unsupported.append(&mut left_out);
    }

    /// Colocates the members of each set, and each set with the next one. A sequential set is represented by its first
    /// member as dependent, and by its last member as primary.
    fn colocate_sets(&mut self, constraint: Node<'a, 'i>, sets: &[Node<'a, 'i>]) -> Result<()> {
        // By set: the dependents for the next set, and the primaries for the set before.
        let mut all = Vec::new();
        let role = |set: &Node<'a, 'i>| colocated_role(set.attribute("role"));
        for set in sets {
            let members = self.members_of_set(constraint, *set)?;
            all.push(match (is_sequential(*set), &members[..]) {
                (true, [first, .., last]) => (vec![*first], vec![*last]),
                (_, all) => (all.to_vec(), all.to_vec()),
            });
            if is_sequential(*set) {
                self.colocate_set(constraint, *set, &members)?;
            }
        }
        let strength = score(self.source, constraint)?;
        let pairs = all.iter().zip(all.iter().skip(1)).zip(sets.iter().zip(&sets[1..]));
        for (((dependents, _), (_, primaries)), (set, next)) in pairs {
            let roles = ColocatedRoles { dependent: role(set), primary: role(next) };
            for dependent in dependents {
                for primary in primaries {
                    self.colocate(constraint, *dependent, *primary, strength, roles)?;
                }
            }
        }
        Ok(())
    }

    fn colocate_set(
        &mut self,
        constraint: Node<'a, 'i>,
        set: Node<'a, 'i>,
        members: &[ResourceIdx],
    ) -> Result<()> {
        let strength = score(self.source, if set.has_attribute("score") { set } else { constraint })?;
        let role = colocated_role(set.attribute("role"));
        let roles = ColocatedRoles { dependent: role, primary: role };
        if strength < AllocationScore::ZERO {
            for (at, dependent) in members.iter().enumerate() {
                for primary in &members[..at] {
                    self.colocate(constraint, *dependent, *primary, strength, roles)?;
                }
            }
            return Ok(());
        }
        let forward = set.attribute("ordering").is_none_or(|ordering| ordering == "group");
        for pair in members.windows(2) {
            let (dependent, primary) = if forward { (pair[1], pair[0]) } else { (pair[0], pair[1]) };
            let before = self.set.colocations.len();
            self.colocate(constraint, dependent, primary, strength, roles)?;
            // Pacemaker 3.0 takes the importance of the later resource for that of the dependent.
            if self.set.release.asks_later_of_set() && said_influence(constraint).is_none() {
                let influence = self.set.resource(pair[1]).critical;
                self.set.colocations.iter_mut().skip(before).for_each(|one| one.influence = influence);
            }
        }
        Ok(())
    }

    fn colocate(
        &mut self,
        constraint: Node<'a, 'i>,
        dependent: ResourceIdx,
        primary: ResourceIdx,
        score: AllocationScore,
        roles: ColocatedRoles,
    ) -> Result<()> {
        if dependent == primary {
            return Err(wrong(self.source, constraint, "the resource is colocated with itself"));
        }
        if score == AllocationScore::ZERO {
            return Ok(());
        }
        if let Some(reason) = self.unknown_roles(dependent, primary, score, roles) {
            self.report_unsupported(constraint, reason);
            return Ok(());
        }
        let roles = self.counting_roles(dependent, primary, score, roles);
        let influence = said_influence(constraint).unwrap_or(self.set.resource(dependent).critical);
        self.set.colocations.push(Colocation {
            id: id(constraint).to_owned(),
            dependent,
            primary,
            score,
            attribute: constraint
                .attribute("node-attribute")
                .filter(|name| *name != "#uname")
                .map(str::to_owned),
            dependent_role: roles.dependent,
            primary_role: roles.primary,
            influence,
        });
        Ok(())
    }
}

/// The influence of a colocation, if it is given.
fn said_influence(constraint: Node<'_, '_>) -> Option<bool> {
    constraint.attribute("influence").and_then(truth)
}

/// Roles of the two sides of a colocation; `None` for any.
#[derive(Debug, Clone, Copy)]
pub(super) struct ColocatedRoles {
    pub(super) dependent: Option<Role>,
    pub(super) primary: Option<Role>,
}

/// The role of a name in a colocation; `None` for any.
fn colocated_role(name: Option<&str>) -> Option<Role> {
    match name {
        Some(name) if is_promoted(name) => Some(Role::Promoted),
        Some(name) if is_unpromoted(name) => Some(Role::Unpromoted),
        _ => None,
    }
}

/// Reason why a colocation is not supported, if any.
fn unsupported_reason(constraint: Node<'_, '_>) -> Option<&'static str> {
    let is_known = |role: &str| role == "Started" || colocated_role(Some(role)).is_some();
    let role = |name| constraint.attribute(name).is_some_and(|role| !is_known(role));
    if role("rsc-role") || role("with-rsc-role") {
        return Some("a colocation for a role");
    }
    for set in children(constraint, "resource_set") {
        if set.attribute("role").is_some_and(|role| !is_known(role)) {
            return Some("a colocation for a role");
        }
        if set.has_attribute("id-ref") {
            return Some("a set by reference (id-ref)");
        }
    }
    let timed = constraint.children().any(|part| part.has_tag_name("rule") || part.has_tag_name("lifetime"));
    timed.then_some("a colocation by a rule")
}

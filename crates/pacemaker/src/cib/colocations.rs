//! Reads colocation constraints.

use std::collections::HashSet;

use roxmltree::Node;

use super::super::components::strong_components;
use super::super::index::ResourceIdx;
use super::super::number::is_true;
use super::super::score::AllocationScore;
use super::super::working_set::{Colocation, Unsupported};
use super::Reader;
use super::document::{children, id, required, wrong};
use super::locations::score;
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
        for dependent in &dependents.all {
            for primary in &primaries.all {
                self.colocate(constraint, *dependent, *primary, score)?;
            }
        }
        Ok(())
    }

    /// Leaves out colocations of clones with resources that, directly or through others, want to be with them, if a
    /// clone of groups is among them.
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
        let of_groups: HashSet<usize> =
            set.resource_indices().filter(has_groups).map(|clone| component[clone.get()]).collect();
        let is_circle = |(dependent, primary): &(ResourceIdx, ResourceIdx)| {
            let own = component[dependent.get()];
            let is_closed = own == component[primary.get()];
            set.resource(*dependent).is_clone() && is_closed && of_groups.contains(&own)
        };
        let circles: Vec<bool> = ends.iter().map(is_circle).collect();
        let (mut at, mut left_out) = (0, Vec::new());
        set.colocations.retain(|colocation| {
            let is_kept = !circles[at];
            if !is_kept {
                left_out.push(colocation.id.clone());
            }
            at += 1;
            is_kept
        });
        set.unsupported.extend(left_out.into_iter().map(|id| Unsupported {
            element: "rsc_colocation".to_owned(),
            id,
            reason: "a clone of groups in a circle of colocations".to_owned(),
        }));
    }

    /// Colocates the members of each set, and each set with the next one. A sequential set is represented by its first
    /// member as dependent, and by its last member as primary.
    fn colocate_sets(&mut self, constraint: Node<'a, 'i>, sets: &[Node<'a, 'i>]) -> Result<()> {
        // By set: the dependents for the next set, and the primaries for the set before.
        let mut all = Vec::new();
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
        for ((dependents, _), (_, primaries)) in all.iter().zip(all.iter().skip(1)) {
            for dependent in dependents {
                for primary in primaries {
                    self.colocate(constraint, *dependent, *primary, strength)?;
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
        if strength < AllocationScore::ZERO {
            for (at, dependent) in members.iter().enumerate() {
                for primary in &members[..at] {
                    self.colocate(constraint, *dependent, *primary, strength)?;
                }
            }
            return Ok(());
        }
        let forward = set.attribute("ordering").is_none_or(|ordering| ordering == "group");
        for pair in members.windows(2) {
            let (dependent, primary) = if forward { (pair[1], pair[0]) } else { (pair[0], pair[1]) };
            self.colocate(constraint, dependent, primary, strength)?;
        }
        Ok(())
    }

    fn colocate(
        &mut self,
        constraint: Node<'a, 'i>,
        dependent: ResourceIdx,
        primary: ResourceIdx,
        score: AllocationScore,
    ) -> Result<()> {
        if dependent == primary {
            return Err(wrong(self.source, constraint, "a resource with itself"));
        }
        if score == AllocationScore::ZERO {
            return Ok(());
        }
        let influence =
            constraint.attribute("influence").map_or(self.set.resource(dependent).critical, is_true);
        self.set.colocations.push(Colocation {
            id: id(constraint).to_owned(),
            dependent,
            primary,
            score,
            attribute: constraint
                .attribute("node-attribute")
                .filter(|name| *name != "#uname")
                .map(str::to_owned),
            influence,
        });
        Ok(())
    }
}

/// Reason why a colocation is not supported, if any.
fn unsupported_reason(constraint: Node<'_, '_>) -> Option<&'static str> {
    let role = |name| constraint.attribute(name).is_some_and(|role| role != "Started");
    if role("rsc-role") || role("with-rsc-role") {
        return Some("a colocation for a role");
    }
    for set in children(constraint, "resource_set") {
        if set.attribute("role").is_some_and(|role| role != "Started") {
            return Some("a colocation for a role");
        }
        if set.has_attribute("id-ref") {
            return Some("a set by reference (id-ref)");
        }
    }
    let timed = constraint.children().any(|part| part.has_tag_name("rule") || part.has_tag_name("lifetime"));
    timed.then_some("a colocation by a rule")
}

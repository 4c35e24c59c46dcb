//! Constraints that name a primitive or group in a clone.

use roxmltree::Node;

use super::super::index::{HostIdx, ResourceIdx};
use super::Reader;
use super::document::{children, id};
use super::history::NameMark;
use htools_ganeti::input::error::Result;

/// Reason why a constraint is not supported.
const MADE_OF: &str = "it is about what a clone is made of";

impl<'a, 'i> Reader<'a, 'i> {
    /// The clone that a constraint is about if it names a primitive in it. Pacemaker knows that primitive by its histories
    /// only, and ignores the constraint if there are none, or if it names a group. Other clones than those of equal
    /// instances, and unclear sets, are reported.
    pub(super) fn clone_of_part(
        &mut self,
        constraint: Node<'_, '_>,
        name: &str,
    ) -> Result<Option<ResourceIdx>> {
        let part = self.element(name);
        let clone = part.and_then(|part| part.ancestors().find(is_clone));
        let is_told_apart = |clone: Node<'a, 'i>| {
            clone.descendants().any(|inner| inner.is_element() && self.unique.contains_key(id(inner)))
        };
        let in_sets = children(constraint, "resource_set").next().is_some();
        let is_known = part.is_some_and(|part| part.has_tag_name("primitive")) && self.has_history(name);
        let is_unclear = in_sets && (!is_known || constraint.has_tag_name("rsc_colocation"));
        match clone.filter(|clone| !is_unclear && !is_told_apart(*clone)) {
            Some(clone) if is_known => self.resource_of(constraint, id(clone)),
            Some(_) => Ok(None),
            None => {
                self.report_unsupported(constraint, MADE_OF);
                Ok(None)
            }
        }
    }

    /// Returns true if a node whose status counts has a history of a resource.
    fn has_history(&self, name: &str) -> bool {
        let mark = NameMark::of(name.as_bytes());
        let is_idle = |host: &HostIdx| self.idle[host.get()].names().contains(&mark);
        let mut recorded = self.records_of(name).iter().map(|record| record.host);
        recorded.any(|host| self.is_heard(host))
            || self.set.host_indices().filter(is_idle).any(|host| self.is_heard(host))
    }
}

fn is_clone(node: &Node<'_, '_>) -> bool {
    node.has_tag_name("clone") || node.has_tag_name("master")
}

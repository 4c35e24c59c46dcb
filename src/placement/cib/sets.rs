//! Sets of resources in constraints.

use roxmltree::Node;

use super::super::index::ResourceIdx;
use super::super::number::is_true;
use super::Reader;
use super::document::{children, id};
use crate::input::error::Result;

impl<'a, 'i> Reader<'a, 'i> {
    /// The members of a set, without those that are outside.
    pub(super) fn members_of_set(
        &mut self,
        constraint: Node<'a, 'i>,
        set: Node<'a, 'i>,
    ) -> Result<Vec<ResourceIdx>> {
        let mut members = Vec::new();
        for reference in children(set, "resource_ref") {
            members.extend(self.resource_of(constraint, id(reference))?);
        }
        Ok(members)
    }
}

/// Whether the members of a set go by each other.
pub(super) fn is_sequential(set: Node<'_, '_>) -> bool {
    set.attribute("sequential").is_none_or(is_true)
}

//! Names in constraints: resources, tags and templates that stand for several, and sets of all these.

use roxmltree::Node;

use super::super::index::ResourceIdx;
use super::super::number::is_true;
use super::Reader;
use super::document::{children, id};
use htools_ganeti::input::error::Result;

/// Greatest nesting depth of tags.
const DEEPEST: usize = 50;
/// Greatest number of names that a tag expands to.
const MOST: usize = 100_000;

/// The resources that a name in a constraint stands for.
#[derive(Debug)]
pub(super) struct NamedResources {
    pub(super) all: Vec<ResourceIdx>,
    /// True if the name is that of a tag or template.
    pub(super) shared: bool,
}

impl<'a, 'i> Reader<'a, 'i> {
    /// Reads the tags, and the primitives of each template.
    pub(super) fn read_tags(&mut self) {
        let section = self.section("tags");
        for tag in section.into_iter().flat_map(|section| children(section, "tag")) {
            self.tags.insert(id(tag), children(tag, "obj_ref").map(id).collect());
        }
        let Some(section) = self.section("resources") else { return };
        for primitive in section.descendants().filter(|node| node.has_tag_name("primitive")) {
            let template = primitive.attribute("template").filter(|name| self.templates.contains_key(name));
            if let Some(template) = template {
                self.tags.entry(template).or_default().push(id(primitive));
            }
        }
    }

    /// Resolves a name outside of sets: a resource, or the members of a tag or template. If a member is not a resource
    /// but, for example, another tag, the constraint is ignored, so the result is empty.
    pub(super) fn named(&mut self, constraint: Node<'a, 'i>, name: &'a str) -> Result<NamedResources> {
        let shared = !self.is_resource(name) && self.tags.contains_key(name);
        let names = if shared { self.tags[name].clone() } else { vec![name] };
        let mut all = Vec::new();
        if !shared || names.iter().all(|name| self.is_resource(name)) {
            for name in names {
                all.extend(self.resource_of(constraint, name)?);
            }
        }
        Ok(NamedResources { all, shared })
    }

    fn is_resource(&self, name: &str) -> bool {
        self.resources.contains_key(name)
            || self.inner.contains(name)
            || (!self.tags.contains_key(name) && self.is_in_resources_section(name))
    }

    /// The members of a set, without unsupported ones. In sets, tags may contain tags.
    pub(super) fn members_of_set(
        &mut self,
        constraint: Node<'a, 'i>,
        set: Node<'a, 'i>,
    ) -> Result<Vec<ResourceIdx>> {
        let mut names = Vec::new();
        for reference in children(set, "resource_ref") {
            if !self.expand(id(reference), 0, &mut names) {
                self.report_unsupported(constraint, "a tag that has itself, or too many others");
                return Ok(Vec::new());
            }
        }
        let mut members = Vec::new();
        for name in names.into_iter().flatten() {
            members.extend(self.resource_of(constraint, name)?);
        }
        Ok(members)
    }

    /// Adds everything that a name stands for, and `None` for each tag on the way. Returns false if that has no end.
    fn expand(&self, name: &'a str, depth: usize, names: &mut Vec<Option<&'a str>>) -> bool {
        let tag = self.tags.get(name).filter(|_| !self.is_resource(name));
        names.push(Some(name).filter(|_| tag.is_none()));
        let mut members = tag.into_iter().flatten();
        depth < DEEPEST && names.len() < MOST && members.all(|member| self.expand(member, depth + 1, names))
    }
}

/// Returns true if a set is sequential, as it is by default.
pub(super) fn is_sequential(set: Node<'_, '_>) -> bool {
    set.attribute("sequential").is_none_or(is_true)
}

#[cfg(test)]
mod tests {
    use crate::cib;

    /// Reasons for unsupported elements in a cluster with these tags and this constraint.
    fn unsupported(tags: &str, constraint: &str) -> Vec<String> {
        let primitive =
            |id| format!(r#"<primitive id="{id}" class="ocf" provider="pacemaker" type="Dummy"/>"#);
        let document = format!(
            r#"<cib have-quorum="1"><configuration><nodes><node id="1" uname="n"/></nodes><resources>{}{}</resources><constraints>{constraint}</constraints><tags>{tags}</tags></configuration><status/></cib>"#,
            primitive("a"),
            primitive("b"),
        );
        let set = cib::parse(&document, "x").unwrap();
        set.unsupported.into_iter().map(|element| element.reason).collect()
    }

    fn order(name: &str) -> String {
        format!(
            r#"<rsc_order id="o"><resource_set id="s"><resource_ref id="a"/><resource_ref id="{name}"/></resource_set></rsc_order>"#
        )
    }

    #[test]
    fn tags_without_an_end_are_outside() {
        let tag = |id: &str, resource: &str| {
            format!(r#"<tag id="{id}"><obj_ref id="{resource}"/><obj_ref id="{resource}"/></tag>"#)
        };
        let why = ["a tag that has itself, or too many others"];
        assert_eq!(unsupported(&tag("t", "t"), &order("t")), why);
        assert_eq!(unsupported(&(tag("t", "u") + &tag("u", "t")), &order("t")), why);
        assert_eq!(unsupported(&(tag("t", "u") + &tag("u", "b")), &order("t")), <[&str; 0]>::default());
        // Each tag has the next one twice, so that the expansion ends, but far too late.
        let chain: String = (0..40).map(|at| tag(&format!("t{at}"), &format!("t{}", at + 1))).collect();
        assert_eq!(unsupported(&(chain.clone() + r#"<tag id="t40"/>"#), &order("t0")), why);
        assert_eq!(unsupported(&(chain + &tag("t40", "b")), &order("t0")), why);
    }

    #[test]
    fn a_resource_with_its_own_tag_is_outside() {
        let tag = r#"<tag id="t"><obj_ref id="a"/><obj_ref id="b"/></tag>"#;
        let with =
            |one, other| format!(r#"<rsc_colocation id="c" rsc="{one}" with-rsc="{other}" score="1"/>"#);
        for (one, other) in [("a", "t"), ("t", "a")] {
            assert_eq!(unsupported(tag, &with(one, other)), ["a resource with a tag that it has itself"]);
        }
        assert_eq!(unsupported(tag, &with("t", "t")), <[&str; 0]>::default());
    }
}

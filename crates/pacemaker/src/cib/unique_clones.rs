//! Reads clones whose instances are told apart (`globally-unique`): each instance has a history of its own.

use roxmltree::Node;

use super::super::index::ResourceIdx;
use super::super::promotion::Promotion;
use super::super::working_set::{Resource, ResourceForm};
use super::Reader;
use super::clones::{MOST, TOO_MANY};
use super::document::{children, id, wrong};
use super::groups::GroupDraft;
use super::properties::Properties;
use super::resources::Inherited;
use htools_ganeti::input::error::Result;

/// A clone before its instances are read.
pub(super) struct UniqueClone<'p, 'a> {
    pub(super) metas: &'p Properties<'a>,
    /// Number of its instances.
    pub(super) count: usize,
    pub(super) is_promotable: bool,
    /// Reasons why it is not supported.
    pub(super) reasons: Vec<&'static str>,
}

/// An instance: its parts, and reasons why they are not supported.
struct UniqueInstance<'a> {
    parts: Vec<Resource>,
    /// Meta attributes of its first part.
    metas: Option<Properties<'a>>,
    reasons: Vec<&'static str>,
}

impl<'a, 'i> Reader<'a, 'i> {
    /// Returns true if all agents of a clone are of the classes whose instances can have numbers and roles.
    pub(super) fn has_ocf_agents(&self, node: Node<'a, 'i>) -> Result<bool> {
        for primitive in node.descendants().filter(|inner| inner.has_tag_name("primitive")) {
            let template = self.template(primitive)?;
            let class = primitive.attribute("class").or_else(|| template?.attribute("class"));
            if !matches!(class, Some("ocf" | "stonith")) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Reads a clone with its instances.
    pub(super) fn read_unique_clone(&mut self, node: Node<'a, 'i>, clone: UniqueClone<'_, 'a>) -> Result<()> {
        let UniqueClone { metas, count, is_promotable, mut reasons } = clone;
        let whole = children(node, "group").next();
        let group = whole.map(|whole| self.draft_group(whole, metas));
        let of_parts = group.as_ref().map_or(metas, |group| &group.metas).clone();
        let inherited =
            Inherited { metas: of_parts, group: None, wholes: whole.into_iter().chain([node]).collect() };
        let inner: Vec<Node<'a, 'i>> = children(whole.unwrap_or(node), "primitive").collect();
        if inner.is_empty() {
            return Err(wrong(self.source, node, "the clone contains no resource"));
        }
        let resources = count.saturating_mul(inner.len() + 1);
        if resources > MOST.saturating_sub(self.set.resources.len()) {
            reasons.push(TOO_MANY);
        }
        let charges = self.set.charges.len();
        let mut instances = Vec::new();
        for number in 0..if reasons.is_empty() { count } else { 0 } {
            let mut instance = self.unique_instance(&inner, &inherited, number, is_promotable)?;
            reasons.append(&mut instance.reasons);
            instances.push(instance);
        }
        self.unique.extend(inner.iter().map(|part| (id(*part), count)));
        if !reasons.is_empty() {
            reasons.sort_unstable();
            reasons.dedup();
            reasons.iter().for_each(|reason| self.report_unsupported(node, reason));
            self.set.charges.truncate(charges);
            return self.leave(node);
        }
        self.take_inner_ids(node)?;
        let mut resource = self.bare_clone(node, metas);
        if let ResourceForm::Clone { unique, .. } = &mut resource.form {
            *unique = true;
        }
        if is_promotable {
            resource.promotion = Some(self.unique_promotion(metas, group.as_ref(), &instances));
        }
        let clone = self.add(node, resource)?;
        self.note_enough(clone, metas);
        for (number, instance) in instances.into_iter().enumerate() {
            self.add_unique_instance(clone, group.as_ref(), number, instance);
        }
        self.set.find_whole(clone);
        Ok(())
    }

    /// Reads the instance with a number.
    fn unique_instance(
        &mut self,
        inner: &[Node<'a, 'i>],
        inherited: &Inherited<'a, 'i>,
        number: usize,
        is_promotable: bool,
    ) -> Result<UniqueInstance<'a>> {
        let mut instance = UniqueInstance { parts: Vec::new(), metas: None, reasons: Vec::new() };
        for part in inner {
            let mut draft = self.draft_primitive(*part, inherited)?;
            draft.resource.id = format!("{}:{number}", id(*part));
            draft.settle_stickiness();
            draft.has_roles = is_promotable;
            instance.metas.get_or_insert_with(|| draft.metas.clone());
            let (resource, mut reasons) = self.settle(draft);
            instance.parts.push(resource);
            instance.reasons.append(&mut reasons);
        }
        Ok(instance)
    }

    /// The promotion of a clone with these instances.
    fn unique_promotion(
        &self,
        metas: &Properties<'a>,
        group: Option<&GroupDraft<'a>>,
        instances: &[UniqueInstance<'a>],
    ) -> Promotion {
        let of_primitive = instances.first().and_then(|instance| instance.metas.as_ref());
        let own = group.map(|group| &group.metas).or(of_primitive).unwrap_or(metas);
        let parts = instances.first().map_or(0, |instance| instance.parts.len());
        let of_part = |at: usize| {
            let names = instances.iter().filter_map(|instance| instance.parts.get(at));
            names.map(|part| self.own_promotion_wishes(&part.id)).collect()
        };
        Promotion { wishes: (0..parts).map(of_part).collect(), ..self.promotion(metas, own) }
    }

    /// Adds an instance with its parts.
    fn add_unique_instance(
        &mut self,
        clone: ResourceIdx,
        group: Option<&GroupDraft<'a>>,
        number: usize,
        instance: UniqueInstance<'a>,
    ) {
        let whole = group.map(|group| {
            let id = format!("{}:{number}", group.resource.id);
            self.push(Resource { id, instance_of: Some(clone), ..group.resource.clone() })
        });
        let own = if whole.is_some() { None } else { Some(clone) };
        let mut members = Vec::new();
        for part in instance.parts {
            members.push(self.push(Resource { group: whole, instance_of: own, ..part }));
        }
        self.finish_instance(clone, whole, &members, group.is_some_and(|group| group.together));
    }
}

//! Storage pools as a placement rule.

use crate::common::clusters::{Style, cases, recipes};
use htools::model::StorageMap;
use proptest::prelude::*;

const STYLES: &[Style] = &[Style::Mixed, Style::Tight, Style::Symmetric];

proptest! {
    #![proptest_config(cases(400))]

    /// The tag sets that refuse placements agree with the storage map.
    #[test]
    fn nodes_offer_what_the_map_says(recipe in recipes(STYLES, 1..=8, 1..=20)) {
        let cluster = recipe.cluster();
        let map = StorageMap::of(&cluster);
        for instance in cluster.instances.iter().filter(|i| i.template.uses_external_storage()) {
            for node in &cluster.nodes {
                let is_open = instance.open.is_none_or(|open| node.spec.offers.contains(open));
                let known = is_open && (!cluster.has_pools() || map.reaches(node.spec.idx, instance.idx));
                prop_assert_eq!(node.spec.reaches(instance), known, "{} on {}", instance.name, node.spec.name);
            }
        }
    }

    /// A new instance without a named pool needs the pools of the instances with its template on the node.
    #[test]
    fn newcomers_need_what_follows_from_their_node(recipe in recipes(STYLES, 1..=6, 1..=12)) {
        let cluster = recipe.cluster();
        for instance in cluster.instances.iter().filter(|i| i.template.uses_external_storage()) {
            let spec = &cluster.node(instance.primary).spec;
            let named = instance.tags.iter().any(|tag| tag.starts_with(htools::model::known_tags::POOL));
            let mut newcomer = instance.clone();
            newcomer.details_mut().needs = Default::default();
            let kept_out = instance.open.is_some();
            prop_assert!(named || kept_out || spec.needs_of(&newcomer) == instance.needs);
        }
    }
}

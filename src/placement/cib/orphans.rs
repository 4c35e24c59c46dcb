//! What runs, by its operations, and is no longer configured.

use std::collections::HashSet;

use super::super::working_set::Outside;
use super::Reader;
use super::document::id;

impl Reader<'_, '_> {
    /// Notes the resources that run, are no longer configured, and stay: they count on their hosts like others.
    pub(super) fn name_orphans(&mut self) {
        if !self.keeps_orphans {
            return;
        }
        let section = self.section("resources");
        let primitives = section.into_iter().flat_map(|section| section.descendants());
        let primitives: HashSet<&str> =
            primitives.filter(|node| node.has_tag_name("primitive")).map(|node| id(node)).collect();
        let is_configured = |name: &str| {
            let inner = name.rsplit_once(':').map_or(name, |(inner, _)| inner);
            let has_instances = !self.resources.contains_key(inner);
            primitives.contains(name) || has_instances && primitives.contains(inner)
        };
        let orphans = self.traces.keys().filter(|name| !is_configured(name));
        let orphan = |name: &&str| Outside {
            element: "lrm_resource".to_owned(),
            id: (*name).to_owned(),
            reason: "it is no longer configured, and stays where it runs (stop-orphan-resources)".to_owned(),
        };
        let mut orphans: Vec<Outside> = orphans.map(orphan).collect();
        orphans.sort_unstable_by(|one, other| one.id.cmp(&other.id));
        self.set.outside.append(&mut orphans);
    }
}

#[cfg(test)]
mod tests {
    use crate::placement::cib::parse;

    /// A cluster whose resources are `configured`, and in which these names run.
    fn running(configured: &str, options: &str, names: &[&str]) -> Vec<String> {
        let trace = |name: &&str| {
            format!(
                r#"<lrm_resource id="{name}"><lrm_rsc_op id="o-{name}" operation="start" call-id="1" op-status="0" rc-code="0" interval="0"/></lrm_resource>"#
            )
        };
        let history: String = names.iter().map(trace).collect();
        let document = format!(
            r#"<cib have-quorum="1"><configuration><crm_config><cluster_property_set id="c">{options}</cluster_property_set></crm_config><nodes><node id="1" uname="n"/></nodes><resources>{configured}</resources></configuration><status><node_state id="1" uname="n" in_ccm="true" crmd="online" join="member" expected="member"><lrm id="1"><lrm_resources>{history}</lrm_resources></lrm></node_state></status></cib>"#
        );
        let outside = parse(&document, "x").unwrap().outside;
        outside.into_iter().map(|of| format!("{} {}", of.element, of.id)).collect()
    }

    #[test]
    fn what_is_no_longer_configured_and_stays_is_named() {
        let primitive = |name: &str| format!(r#"<primitive id="{name}" class="ocf" type="Dummy"/>"#);
        let configured = format!(r#"{}<clone id="c">{}</clone>"#, primitive("a"), primitive("b"));
        let keeps = r#"<nvpair id="s" name="stop-orphan-resources" value="false"/>"#;
        assert_eq!(running(&configured, keeps, &["a", "b"]), Vec::<String>::new());
        assert_eq!(
            running(&configured, keeps, &["z", "a", "b:0", "a:0"]),
            ["lrm_resource a:0", "lrm_resource z"]
        );
        assert_eq!(running(&configured, "", &["z", "a", "b:0", "a:0"]), Vec::<String>::new());
    }
}

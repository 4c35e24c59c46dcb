//! Orphans: resources that run, by their operations, but are no longer configured.

use std::collections::HashSet;

use super::super::index::ResourceIdx;
use super::super::resource::Resource;
use super::super::working_set::Unsupported;
use super::Reader;
use super::document::id;
use super::failures::PROMOTED;
use super::history::NameMark;
use super::resources::{CONNECTION, PrimitiveDraft};
use super::value_rules::AgentKind;

/// Reason why an orphan is not supported.
const ON_REMOVED: &str = "it runs on a node that is no longer configured, and others know it";

/// Resources that bundles and guest nodes bring with them, and that no configuration has.
struct ImpliedResources<'a> {
    /// Prefixes of their ids.
    beginnings: Vec<String>,
    /// Their ids.
    ids: HashSet<&'a str>,
}

impl ImpliedResources<'_> {
    fn has(&self, name: &str) -> bool {
        self.ids.contains(name) || self.beginnings.iter().any(|beginning| name.starts_with(beginning))
    }
}

impl<'a, 'i> Reader<'a, 'i> {
    /// Adds the resources that run but are no longer configured. Only the defaults of all resources apply to them. They
    /// are stopped, unless they may stay (`stop-orphan-resources`).
    pub(super) fn read_orphans(&mut self) {
        for name in self.orphans() {
            if self.connects(name) && !self.is_removed(name) {
                self.set
                    .unsupported
                    .push(unsupported(name, "the connection to a node that is no longer configured"));
            }
            let draft = self.draft_orphan(name);
            let (mut resource, mut reasons) = self.settle(draft);
            if resource.promoted && !self.is_demoted_orphan(&resource) {
                reasons.push(PROMOTED);
            }
            if self.may_stay_on_removed(name, &resource) {
                reasons.push(ON_REMOVED);
            }
            if !reasons.is_empty() {
                (resource.managed, resource.unsupported) = (false, true);
            }
            if resource.active.is_none() && resource.left_on.is_empty() {
                continue;
            }
            self.set.unsupported.extend(reasons.iter().map(|reason| unsupported(name, reason)));
            self.set.resources.push(resource);
        }
    }

    /// Returns true if a promoted orphan is demoted and stopped on nodes that are up.
    fn is_demoted_orphan(&self, orphan: &Resource) -> bool {
        let is_up = |host| {
            let state = self.set.host(host).state;
            state.online && !state.unclean && !state.maintenance
        };
        orphan.managed && orphan.left_on.is_empty() && orphan.active_hosts().all(is_up)
    }

    /// Returns true if an orphan runs on a removed node alone, and other nodes have a history of it. Pacemaker leaves it
    /// there if it read such a history before it knew the node.
    fn may_stay_on_removed(&self, name: &str, orphan: &Resource) -> bool {
        let mut hosts = orphan.active_hosts();
        let is_on_removed = hosts.next().is_some_and(|host| self.set.host(host).removed);
        let mark = NameMark::of(name.as_bytes());
        is_on_removed && hosts.next().is_none() && self.idle.iter().any(|idle| idle.names().contains(&mark))
    }

    /// Returns true if a running resource is the connection to a remote or guest node. Pacemaker goes on counting that
    /// node, and the resources there.
    fn connects(&self, name: &str) -> bool {
        self.records_of(name).iter().any(|record| record.history.agent.eq_ignore_ascii_case(CONNECTION))
    }

    /// The names of orphans, in the order in which the status names them.
    fn orphans(&self) -> Vec<&'a str> {
        let section = self.section("resources");
        let elements = || section.into_iter().flat_map(|section| section.descendants());
        let primitives: HashSet<&str> =
            elements().filter(|node| node.has_tag_name("primitive")).map(|node| id(node)).collect();
        // All names that a bundle brings with it are known if it is supported.
        let bundles = elements().filter(|node| node.has_tag_name("bundle") && !self.reads_bundle(*node));
        let guests = elements()
            .filter(|node| node.has_tag_name("nvpair") && node.attribute("name") == Some("remote-node"));
        let implied = ImpliedResources {
            beginnings: bundles.map(|bundle| format!("{}-", id(bundle))).collect(),
            ids: guests.filter_map(|guest| guest.attribute("value")).chain(self.names_in_bundles()).collect(),
        };
        let is_configured = |name: &str| {
            let inner = name.rsplit_once(':').map_or(name, |(inner, _)| inner);
            if let Some(count) = self.unique.get(inner) {
                let number = name.rsplit_once(':').and_then(|(_, number)| number.parse::<usize>().ok());
                return number.is_some_and(|number| number < *count);
            }
            let is_alone = |resource: &ResourceIdx| self.set.resource(*resource).is_primitive();
            let has_instances = !self.resources.get(inner).is_some_and(is_alone);
            primitives.contains(name) || has_instances && primitives.contains(inner) || implied.has(name)
        };
        let turn = |name: &&str| {
            let mark = NameMark::of(name.as_bytes());
            let first = self.first_known.iter().position(|known| *known == mark);
            let turn = self.records_of(name).iter().map(|record| {
                let host = self.set.status_order.iter().position(|host| *host == record.host);
                (host, record.position)
            });
            (first.is_none(), first, turn.min())
        };
        let mut orphans: Vec<&'a str> =
            self.records.keys().copied().filter(|name| !is_configured(name)).collect();
        orphans.sort_by_cached_key(turn);
        orphans
    }

    /// An orphan without its hosts.
    fn draft_orphan(&mut self, name: &'a str) -> PrimitiveDraft<'a, 'i> {
        let agent =
            self.records_of(name).first().map(|record| record.history.agent.clone()).unwrap_or_default();
        let kind = AgentKind::parse(&agent);
        let metas = self.defaults_of(kind);
        let rules = self.failure_defaults(kind);
        let resource = Resource {
            agent,
            managed: self.is_managed(&metas) && !self.keeps_orphans,
            surplus: !self.keeps_orphans,
            orphaned: true,
            ..self.bare(name, &metas)
        };
        let has_roles = resource.managed;
        PrimitiveDraft { has_roles, ..PrimitiveDraft::new(resource, Vec::new(), metas, rules) }
    }
}

/// Report of an unsupported resource that only the status has.
pub(super) fn unsupported(name: &str, reason: &str) -> Unsupported {
    Unsupported::new("lrm_resource", name, reason)
}

#[cfg(test)]
mod tests {
    use crate::cib::parse;

    /// Orphans among the running resources `names` in a cluster with the resources `configured`, and whether they are
    /// to be stopped.
    fn running(configured: &str, options: &str, names: &[&str]) -> Vec<(String, bool)> {
        let recorded_state = |name: &&str| {
            format!(
                r#"<lrm_resource id="{name}" class="ocf" provider="p" type="Dummy"><lrm_rsc_op id="o-{name}" operation="start" call-id="1" op-status="0" rc-code="0" transition-key="1:1:0:x" interval="0"/></lrm_resource>"#
            )
        };
        let history: String = names.iter().map(recorded_state).collect();
        let document = format!(
            r#"<cib have-quorum="1"><configuration><crm_config><cluster_property_set id="c"><nvpair id="f" name="stonith-enabled" value="false"/>{options}</cluster_property_set></crm_config><nodes><node id="1" uname="n"/></nodes><resources>{configured}</resources></configuration><status><node_state id="1" uname="n" in_ccm="true" crmd="online" join="member" expected="member"><lrm id="1"><lrm_resources>{history}</lrm_resources></lrm></node_state></status></cib>"#
        );
        let set = parse(&document, "x").unwrap();
        let orphans = set.resource_indices().filter(|one| set.resource(*one).orphaned);
        let told = orphans.map(|one| {
            let details = set.resource(one);
            assert_eq!(details.agent, "ocf:p:Dummy");
            assert!(!set.should_run(one) && details.active.is_some());
            (details.id.clone(), set.is_managed(one))
        });
        told.collect()
    }

    #[test]
    fn what_is_no_longer_configured_is_stopped_or_stays() {
        let primitive = |name: &str| format!(r#"<primitive id="{name}" class="ocf" type="Dummy"/>"#);
        let configured = format!(r#"{}<clone id="c">{}</clone>"#, primitive("a"), primitive("b"));
        let keeps = r#"<nvpair id="s" name="stop-orphan-resources" value="false"/>"#;
        let names = ["z", "a", "b:0", "a:0"];
        let told = |is: bool| ["z", "a:0"].map(|name| (name.to_owned(), is));
        assert_eq!(running(&configured, keeps, &["a", "b"]), []);
        assert_eq!(running(&configured, "", &names), told(true));
        assert_eq!(running(&configured, keeps, &names), told(false));
    }

    /// Resources may run there that must not be started twice.
    #[test]
    fn failed_connections_that_are_no_longer_configured_are_outside() {
        for (kind, code, is_unsupported) in [
            ("remote", 0, false),
            ("remote", 1, true),
            ("Remote", 1, true),
            ("remote", 7, false),
            ("Dummy", 0, false),
        ] {
            let document = format!(
                r#"<cib have-quorum="1"><configuration><crm_config/><nodes><node id="1" uname="n"/></nodes><resources/></configuration><status><node_state id="1" uname="n" in_ccm="true" crmd="online" join="member" expected="member"><lrm id="1"><lrm_resources><lrm_resource id="g" class="ocf" provider="pacemaker" type="{kind}"><lrm_rsc_op id="o" operation="monitor" call-id="1" op-status="0" rc-code="{code}" transition-key="1:1:{code}:x" interval="0"/></lrm_resource></lrm_resources></lrm></node_state></status></cib>"#
            );
            let set = parse(&document, "x").unwrap();
            assert_eq!(
                set.unsupported.iter().any(|element| element.id == "g"),
                is_unsupported,
                "{kind} {code}"
            );
        }
    }

    #[test]
    fn what_bundles_and_guests_bring_with_them_is_configured() {
        let configured = r#"<bundle id="web"/><primitive id="vm" class="ocf" type="Dummy"><meta_attributes id="m"><nvpair id="r" name="remote-node" value="guest"/></meta_attributes></primitive>"#;
        let names = ["web-docker-0", "guest", "website"];
        assert_eq!(running(configured, "", &names), [("website".to_owned(), true)]);
    }
}

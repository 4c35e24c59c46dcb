//! The clusters: regular ones whose resources all run, sets of resources that avoid each other, and pairs that mirror
//! each other.

use std::fmt::Write;

use htools::generate::random::Random;

use crate::cib_text::{DUMMY, attributes, begin, history};

/// The agent of instances that mirror each other.
const STATEFUL: &str = r#"class="ocf" provider="pacemaker" type="Stateful""#;

/// Clones of two instances in a cluster. Each has a resource that is together with one instance, and starts after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pairs {
    /// No clones.
    None,
    /// Clones without roles.
    Plain,
    /// Promotable clones; one instance of each is promoted.
    Promotable,
}

/// A cluster.
#[derive(Debug, Clone, Copy)]
pub struct PacemakerCluster {
    pub nodes: usize,
    /// Number of primitives and instances.
    pub resources: usize,
    pub strategy: &'static str,
    /// True if each node's history contains every resource, as after probing everywhere. Otherwise it contains only
    /// the resources running there, and nothing needs a probe.
    pub probed: bool,
    /// True if all resources avoid each other (score -100).
    pub apart: bool,
    /// Kind of the clones, one for ten resources.
    pub pairs: Pairs,
}

impl PacemakerCluster {
    /// The CIB: equal nodes with room for 1.5 times the running resources, two kinds of capacity, stickiness 100.
    pub fn document(&self) -> String {
        let mut xml = String::new();
        begin(&mut xml, 0);
        xml.push_str("<crm_config><cluster_property_set id=\"o\">");
        let probes = if self.probed { "true" } else { "false" };
        for (name, value) in [
            ("placement-strategy", self.strategy),
            ("stonith-enabled", "false"),
            ("enable-startup-probes", probes),
        ] {
            let _ = write!(xml, r#"<nvpair id="o-{name}" name="{name}" value="{value}"/>"#);
        }
        xml.push_str("</cluster_property_set></crm_config>\n<nodes>\n");
        let room = self.resources.div_ceil(self.nodes).max(2) * 6;
        for at in 0..self.nodes {
            let _ = write!(xml, r#"<node id="{at}" uname="node{at}">"#);
            let amounts = [("cpu", room.to_string()), ("memory", (room * 1024).to_string())];
            attributes(&mut xml, "utilization", &format!("n{at}"), &amounts);
            xml.push_str("</node>\n");
        }
        xml.push_str("</nodes>\n<resources>\n");
        let mut random = Random::new(1);
        for at in 0..self.primitives() {
            let _ = write!(xml, r#"<primitive id="vm{at}" {DUMMY}>"#);
            let mut size = |unit: usize| (unit << random.below(4)).to_string();
            attributes(
                &mut xml,
                "utilization",
                &format!("vm{at}"),
                &[("cpu", size(1)), ("memory", size(1024))],
            );
            xml.push_str("</primitive>\n");
        }
        self.clones(&mut xml);
        xml.push_str("</resources>\n<constraints>\n");
        if self.apart {
            let all: String =
                (0..self.resources).map(|at| format!(r#"<resource_ref id="vm{at}"/>"#)).collect();
            let _ = writeln!(
                xml,
                r#"<rsc_colocation id="apart" score="-100"><resource_set id="all">{all}</resource_set></rsc_colocation>"#
            );
        }
        self.constraints_of_pairs(&mut xml);
        xml.push_str("</constraints>\n<rsc_defaults>");
        attributes(&mut xml, "meta_attributes", "rd", &[("resource-stickiness", "100".to_owned())]);
        xml.push_str("</rsc_defaults>\n</configuration>\n<status>\n");
        (0..self.nodes).for_each(|at| self.state(&mut xml, at));
        xml.push_str("</status>\n</cib>\n");
        xml
    }

    /// Number of clones.
    fn count_of_pairs(&self) -> usize {
        if self.pairs == Pairs::None { 0 } else { self.resources / 10 }
    }

    /// Number of resources outside of clones. The first ones are together with clones.
    fn primitives(&self) -> usize {
        self.resources - 2 * self.count_of_pairs()
    }

    fn clones(&self, xml: &mut String) {
        for at in 0..self.count_of_pairs() {
            let _ = write!(xml, r#"<clone id="pair{at}">"#);
            let mut metas = vec![("clone-max", "2".to_owned())];
            if self.pairs == Pairs::Promotable {
                metas.push(("promotable", "true".to_owned()));
            }
            attributes(xml, "meta_attributes", &format!("pair{at}"), &metas);
            let _ = writeln!(xml, r#"<primitive id="disk{at}" {STATEFUL}/></clone>"#);
        }
    }

    fn constraints_of_pairs(&self, xml: &mut String) {
        let (role, action) = match self.pairs {
            Pairs::Promotable => (r#" with-rsc-role="Promoted""#, "promote"),
            _ => ("", "start"),
        };
        for at in 0..self.count_of_pairs() {
            let _ = writeln!(
                xml,
                r#"<rsc_colocation id="with{at}" rsc="vm{at}" with-rsc="pair{at}"{role} score="INFINITY"/><rsc_order id="after{at}" first="pair{at}" first-action="{action}" then="vm{at}" then-action="start"/>"#
            );
        }
    }

    /// The clones with an instance on a node; the first instance is promoted, and is where its primitive runs.
    fn pairs_on(&self, node: usize) -> impl Iterator<Item = (usize, bool)> + '_ {
        let first = move |at: &usize| at % self.nodes == node;
        let on = move |at: usize| match first(&at) {
            true => Some((at, true)),
            false => first(&(at + 1)).then_some((at, false)),
        };
        (0..self.count_of_pairs()).filter_map(on)
    }

    /// A node's status, and the history of its resources.
    fn state(&self, xml: &mut String, node: usize) {
        let _ = write!(
            xml,
            r#"<node_state id="{node}" uname="node{node}" in_ccm="true" crmd="online" join="member" expected="member">"#
        );
        let wishes: Vec<(String, String)> =
            self.pairs_on(node).map(|(at, _)| (format!("master-disk{at}"), "10000".to_owned())).collect();
        let wishes: Vec<(&str, String)> =
            wishes.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
        let _ = write!(xml, r#"<transient_attributes id="{node}">"#);
        attributes(xml, "instance_attributes", &format!("t{node}"), &wishes);
        let _ = write!(xml, r#"</transient_attributes><lrm id="{node}"><lrm_resources>"#);
        for (at, first) in self.pairs_on(node) {
            let mut record = String::new();
            history(&mut record, 5000 + at, (&format!("disk{at}"), STATEFUL), &format!("node{node}"), true);
            if first && self.pairs == Pairs::Promotable {
                record =
                    record.replace("_start_0\" operation=\"start\"", "_promote_0\" operation=\"promote\"");
            }
            xml.push_str(&record);
            xml.push('\n');
        }
        for resource in 0..self.primitives() {
            let runs = resource % self.nodes == node;
            if runs || self.probed {
                let id = format!("vm{resource}");
                history(xml, resource + 1, (&id, DUMMY), &format!("node{node}"), runs);
                xml.push('\n');
            }
        }
        xml.push_str("</lrm_resources></lrm></node_state>\n");
    }
}

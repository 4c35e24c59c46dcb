//! The clusters: regular ones whose resources all run, and sets of resources that avoid each other.

use std::fmt::Write;

use htools::generate::random::Random;

use crate::cib_text::{DUMMY, attributes, begin, history};

/// A cluster.
#[derive(Debug, Clone, Copy)]
pub struct PacemakerCluster {
    pub nodes: usize,
    pub resources: usize,
    pub strategy: &'static str,
    /// True if each node's history contains every resource, as after probing everywhere. Otherwise it contains only
    /// the resources running there, and nothing needs a probe.
    pub probed: bool,
    /// True if all resources avoid each other (score -100).
    pub apart: bool,
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
        for at in 0..self.resources {
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
        xml.push_str("</resources>\n<constraints>\n");
        if self.apart {
            let all: String =
                (0..self.resources).map(|at| format!(r#"<resource_ref id="vm{at}"/>"#)).collect();
            let _ = writeln!(
                xml,
                r#"<rsc_colocation id="apart" score="-100"><resource_set id="all">{all}</resource_set></rsc_colocation>"#
            );
        }
        xml.push_str("</constraints>\n<rsc_defaults>");
        attributes(&mut xml, "meta_attributes", "rd", &[("resource-stickiness", "100".to_owned())]);
        xml.push_str("</rsc_defaults>\n</configuration>\n<status>\n");
        (0..self.nodes).for_each(|at| self.state(&mut xml, at));
        xml.push_str("</status>\n</cib>\n");
        xml
    }

    /// A node's status, and the history of its resources.
    fn state(&self, xml: &mut String, node: usize) {
        let _ = write!(
            xml,
            r#"<node_state id="{node}" uname="node{node}" in_ccm="true" crmd="online" join="member" expected="member"><lrm id="{node}"><lrm_resources>"#
        );
        for resource in 0..self.resources {
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

//! Configured utilization of primitives, and the names under which a monitoring system may know them.

use std::collections::{BTreeMap, HashMap, HashSet};

use roxmltree::Node;

use super::document::{self, child, children, id};
use super::value_rules::AgentKind;
use super::{Reader, amount, parse};
use htools_ganeti::input::error::Result;

/// Class and type of the agent for libvirt's domains.
const DOMAIN_AGENT: (&str, &str) = ("ocf", "VirtualDomain");
/// Parameter of that agent: the file with the domain's configuration.
const DOMAIN_FILE: &str = "config";
/// Elements whose primitives have several instances.
const REPLICATED: [&str; 3] = ["clone", "master", "bundle"];

/// A primitive with its configured utilization.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SizedPrimitive {
    /// Its id.
    pub id: String,
    /// For a `VirtualDomain`: the name of its configuration file without the directory and `.xml`. libvirt names these
    /// files after the domains.
    pub domain: Option<String>,
    /// The amounts in effect by attribute, its own or its template's.
    pub utilization: BTreeMap<String, i64>,
    /// True if it is in a clone or bundle, so that it can have several instances.
    pub is_replicated: bool,
    /// True if it runs somewhere.
    pub runs: bool,
}

/// Lists the primitives of a document in its order; `source` names the document in errors.
///
/// # Errors
/// Fails if it is no CIB, or contradicts itself.
pub fn sized_primitives(text: &str, source: &str) -> Result<Vec<SizedPrimitive>> {
    let set = parse(text, source)?;
    let active = set.resources.iter().filter(|resource| resource.active.is_some());
    let charged = set.charges.iter().map(|charge| charge.resource.as_str());
    let running: HashSet<&str> = active.map(|resource| resource.id.as_str()).chain(charged).collect();
    let document = document::parse(text, source)?;
    let root = document.root_element();
    let Some(configuration) = child(root, "configuration") else { return Ok(Vec::new()) };
    let none_taken = HashMap::new();
    let mut reader = Reader::new(source, root, configuration, &none_taken, true);
    let Some(section) = reader.section("resources") else { return Ok(Vec::new()) };
    reader.templates = children(section, "template").map(|template| (id(template), template)).collect();
    let primitives = section.descendants().filter(|node| node.has_tag_name("primitive"));
    let sized = primitives.map(|node| reader.sized(node, running.contains(id(node))));
    sized.collect()
}

impl<'a, 'i> Reader<'a, 'i> {
    fn sized(&mut self, node: Node<'a, 'i>, runs: bool) -> Result<SizedPrimitive> {
        let template = self.template(node)?;
        let elements: Vec<Node<'a, 'i>> = std::iter::once(node).chain(template).collect();
        let kind = AgentKind::of(node, template);
        let is_domain = (kind.class, kind.name) == (Some(DOMAIN_AGENT.0), Some(DOMAIN_AGENT.1));
        let parameters = is_domain.then(|| self.properties_of(&elements, "instance_attributes"));
        let file = parameters.and_then(|parameters| parameters.get(DOMAIN_FILE));
        let utilization = self.properties_of(&elements, "utilization");
        Ok(SizedPrimitive {
            id: id(node).to_owned(),
            domain: file.and_then(domain).map(str::to_owned),
            utilization: utilization.iter().map(|(name, value)| (name.to_owned(), amount(value))).collect(),
            is_replicated: node.ancestors().any(|whole| REPLICATED.contains(&whole.tag_name().name())),
            runs,
        })
    }
}

/// The name of a domain by the path of its configuration file.
fn domain(path: &str) -> Option<&str> {
    let name = path.rsplit('/').next()?;
    Some(name.strip_suffix(".xml").unwrap_or(name)).filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    const VMS: &str = include_str!("../../../../data/pacemaker-vms.xml");

    #[test]
    fn the_sample_has_eleven_machines() {
        let all = sized_primitives(VMS, "t").unwrap();
        let web = &all[1];
        assert_eq!(
            (web.id.as_str(), web.domain.as_deref(), web.is_replicated, web.runs),
            ("web1", None, false, true)
        );
        assert_eq!(web.utilization, [("cpu".to_owned(), 4), ("hv_memory".to_owned(), 8192)].into());
        assert_eq!(all.iter().filter(|one| one.utilization.contains_key("cpu")).count(), 11);
    }

    #[test]
    fn templates_domains_and_clones_are_read() {
        let text = r#"<cib have-quorum="1"><configuration><nodes><node id="1" uname="a"/></nodes><resources>
            <template id="vm" class="ocf" provider="heartbeat" type="VirtualDomain"><utilization id="u">
            <nvpair id="u1" name="cpu" value="2"/><nvpair id="u2" name="ram" value="5"/></utilization></template>
            <group id="g"><primitive id="x" template="vm"><instance_attributes id="i">
            <nvpair id="i1" name="config" value="/etc/libvirt/qemu/web.example.xml"/></instance_attributes>
            <utilization id="o"><nvpair id="o1" name="cpu" value="3"/></utilization></primitive></group>
            <clone id="c"><primitive id="y" class="ocf" provider="pacemaker" type="Dummy"><instance_attributes id="j">
            <nvpair id="j1" name="config" value="z"/></instance_attributes></primitive></clone>
            </resources><constraints/></configuration></cib>"#;
        let all = sized_primitives(text, "t").unwrap();
        let [x, y] = &all[..] else { panic!("{all:?}") };
        assert_eq!((x.domain.as_deref(), x.is_replicated, x.runs), (Some("web.example"), false, false));
        assert_eq!(x.utilization, [("cpu".to_owned(), 3), ("ram".to_owned(), 5)].into());
        assert_eq!((y.domain.as_deref(), y.is_replicated), (None, true));
        assert!(sized_primitives("<nodes/>", "t").is_err());
    }

    #[test]
    fn domains_are_named_by_their_files() {
        for (path, name) in
            [("/a/b.xml", Some("b")), ("b", Some("b")), ("/a/", None), (".xml", None), ("", None)]
        {
            assert_eq!(domain(path), name, "{path}");
        }
    }
}

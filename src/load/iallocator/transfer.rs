//! The same question about another cluster.

use super::Request;
use crate::input::error::{LoadError, Result};
use crate::load::names::{LookupError, Names};
use crate::model::shown::shown_name;
use crate::model::{Cluster, GroupIdx, InstanceIdx, NodeIdx};

impl Request {
    /// The question about `from`, asked about `to`: instances and nodes are those of the
    /// same full name there, groups those of the same UUID or, failing that, of the
    /// same name.
    ///
    /// # Errors
    /// If an object that the question names is not there, or not the only one of its
    /// name.
    pub fn transferred(self, from: &Cluster, to: &Cluster) -> Result<Request> {
        let other = Other::new(from, to);
        Ok(match self {
            new @ (Request::Allocate { .. } | Request::MultiAllocate { .. }) => new,
            Request::Relocate { instance, required_nodes, from } => Request::Relocate {
                instance: other.instance(instance)?,
                required_nodes,
                from: from.into_iter().map(|n| other.node(n)).collect::<Result<_>>()?,
            },
            Request::NodeEvacuate { instances, mode } => {
                Request::NodeEvacuate { instances: other.instances(&instances)?, mode }
            }
            Request::ChangeGroup { instances, targets } => Request::ChangeGroup {
                instances: other.instances(&instances)?,
                targets: targets.into_iter().map(|g| other.group(g)).collect::<Result<_>>()?,
            },
            Request::AllocateSecondary { instance } => {
                Request::AllocateSecondary { instance: other.instance(instance)? }
            }
        })
    }
}

/// The names of another cluster.
struct Other<'a> {
    from: &'a Cluster,
    instances: Names<'a>,
    nodes: Names<'a>,
    groups: Names<'a>,
    uuids: Names<'a>,
}

impl<'a> Other<'a> {
    fn new(from: &'a Cluster, to: &'a Cluster) -> Other<'a> {
        Other {
            from,
            instances: Names::new(to.instances.iter().map(|i| i.name.as_str())),
            nodes: Names::new(to.nodes.iter().map(|n| n.spec.name.as_str())),
            groups: Names::new(to.groups.iter().map(|g| g.name.as_str())),
            uuids: Names::new(to.groups.iter().map(|g| g.uuid.as_str())),
        }
    }

    fn instance(&self, idx: InstanceIdx) -> Result<InstanceIdx> {
        let name = &self.from.instance(idx).name;
        found("instance", name, self.instances.find(name, "")).map(InstanceIdx::new)
    }

    fn instances(&self, list: &[InstanceIdx]) -> Result<Vec<InstanceIdx>> {
        list.iter().map(|i| self.instance(*i)).collect()
    }

    fn node(&self, idx: NodeIdx) -> Result<NodeIdx> {
        let name = &self.from.node(idx).spec.name;
        found("node", name, self.nodes.find(name, "")).map(NodeIdx::new)
    }

    fn group(&self, idx: GroupIdx) -> Result<GroupIdx> {
        let group = self.from.group(idx);
        let found_at = self.uuids.find(&group.uuid, "").or_else(|_| self.groups.find(&group.name, ""));
        found("group", &group.name, found_at).map(GroupIdx::new)
    }
}

fn found(kind: &str, name: &str, at: std::result::Result<usize, LookupError>) -> Result<usize> {
    at.map_err(|error| {
        let place = format!("request, {kind} '{}'", shown_name(name));
        LoadError::one_line(&place, &format!("{error} in the cluster given with -t or --simulate"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::EvacMode;
    use crate::testing;

    fn row(name: &str) -> String {
        format!("{name}|4096|0|4096|10240|9216|4|N|u|1")
    }

    #[test]
    fn objects_are_found_by_name() {
        let nodes = [row("n1"), row("n2")];
        let [n1, n2] = [&*nodes[0], &*nodes[1]];
        let one = testing::cluster(
            &[n1, n2],
            &["a|1|1|1|running|Y|n1||ext||1", "b|1|1|1|running|Y|n1||ext||1"],
            &[],
        );
        let two = testing::cluster(&[n2, n1], &["b|1|1|1|running|Y|n1||ext||1"], &[]);
        let ask = |instance: usize| {
            let instance = InstanceIdx::new(instance);
            Request::Relocate { instance, required_nodes: 1, from: vec![NodeIdx::new(0)] }
                .transferred(&one, &two)
        };
        let (instance, from) = (InstanceIdx::new(0), vec![NodeIdx::new(1)]);
        assert_eq!(ask(1), Ok(Request::Relocate { instance, required_nodes: 1, from }));
        let error = ask(0).unwrap_err().to_string();
        assert!(
            error.starts_with("request, instance 'a': no object has this name in the cluster"),
            "{error}"
        );
        let many = Request::NodeEvacuate { instances: vec![InstanceIdx::new(1); 2], mode: EvacMode::All };
        let there = Request::NodeEvacuate { instances: vec![instance; 2], mode: EvacMode::All };
        assert_eq!(many.transferred(&one, &two), Ok(there));
    }

    #[test]
    fn groups_are_found_by_uuid_before_name() {
        let mut one = testing::cluster(&[], &[], &[]);
        let ask = |one: &Cluster, two: &Cluster| {
            Request::ChangeGroup { instances: Vec::new(), targets: vec![GroupIdx::new(0)] }
                .transferred(one, two)
        };
        let mut two = testing::cluster(&[], &[], &[]);
        two.groups[0].name = "other".into();
        assert!(ask(&one, &two).is_ok());
        one.groups[0].uuid = "x".into();
        assert!(ask(&one, &two).is_err());
        two.groups[0].name = "g".into();
        assert!(ask(&one, &two).is_ok());
    }
}

//! Simulated clusters from a description (`--simulate`): groups of equal, empty nodes.

use std::iter;

use super::number::{NumberError, parse_int, shown};
use super::raw::{RawCluster, RawGroup, RawNode};
use super::units::{SizeError, parse_size};
use crate::input::error::{LoadError, Result};
use htools_model::{AllocPolicy, DiskParameters, GroupIdx, InstancePolicy, Mib, Outage, UnknownName};

/// Maximum number of nodes in all groups together. A typing error must not use up the memory of the machine.
pub(crate) const MOST_NODES: i64 = 1_000_000;

/// A parsed description.
struct SimulatedGroup {
    alloc_policy: AllocPolicy,
    nodes: i64,
    disk: Mib,
    memory: Mib,
    cpus: i64,
    spindles: i64,
    exclusive_storage: bool,
}

/// Fault of a description.
#[derive(Debug, thiserror::Error)]
enum SimulateError {
    #[error(
        "expected 5 to 7 comma-separated items (allocation policy, node count, disk size, memory size, \
         number of CPUs, spindles, exclusive storage) but got {0}"
    )]
    Items(usize),
    #[error("allocation policy: '{}' is not one of {} (or p, a, u)", shown(&.0.value), .0.allowed.join(", "))]
    Policy(UnknownName),
    #[error("{item}: {problem}")]
    Number { item: &'static str, problem: NumberError },
    #[error("{item}: {problem}")]
    Size { item: &'static str, problem: SizeError },
    #[error("node count: more than {MOST_NODES} nodes in all")]
    TooManyNodes,
}

/// Makes a cluster with one node group for each description:
/// `ALLOC_POLICY,NODES,DISK,MEMORY,CPUS[,SPINDLES[,EXCLUSIVE_STORAGE]]`.
///
/// The last description is the first group, as in the reference. Groups and nodes count from 1, and the first node of
/// the first group is the master.
///
/// # Errors
/// If a description is malformed, or there are more than a million nodes.
pub fn parse_specs(specs: &[String]) -> Result<RawCluster> {
    let mut cluster = RawCluster { first_node_number: 1, ..RawCluster::default() };
    let mut total: i64 = 0;
    for (position, text) in specs.iter().rev().enumerate() {
        let fail = |problem: SimulateError| {
            LoadError::one_line(&format!("--simulate '{}'", shown(text)), &problem.to_string())
        };
        let spec = parse_spec(text).map_err(fail)?;
        total = total.saturating_add(spec.nodes.max(0));
        if total > MOST_NODES {
            return Err(fail(SimulateError::TooManyNodes));
        }
        add_group(&mut cluster, position, &spec);
    }
    Ok(cluster)
}

fn add_group(cluster: &mut RawCluster, position: usize, spec: &SimulatedGroup) {
    let number = position + 1;
    cluster.groups.push(RawGroup {
        name: format!("group-{number:02}"),
        uuid: format!("fake-uuid-{number:02}"),
        alloc_policy: spec.alloc_policy,
        networks: Vec::new(),
        policy: InstancePolicy::default(),
        disk_parameters: DiskParameters::default(),
        tags: Vec::new(),
    });
    cluster.nodes.extend((1..=spec.nodes).map(|i| RawNode {
        name: format!("node-{number:02}-{i:03}"),
        mem_total: spec.memory.as_f64(),
        mem_node: Mib::ZERO,
        mem_free: spec.memory,
        disk_total: spec.disk.as_f64(),
        disk_free: spec.disk,
        cpu_total: spec.cpus as f64,
        cpu_node: 1,
        cpu_speed: 1.0,
        spindle_total: spec.spindles,
        spindle_free: 0,
        exclusive_storage: spec.exclusive_storage,
        offline: false,
        outage: Outage::default(),
        master: (number, i) == (1, 1),
        group: GroupIdx::new(position),
        tags: Vec::new(),
        hypervisor: None,
    }));
}

/// Reads one description.
fn parse_spec(text: &str) -> std::result::Result<SimulatedGroup, SimulateError> {
    let items: Vec<&str> = if text.is_empty() { Vec::new() } else { text.split(',').collect() };
    let [alloc_policy, nodes, disk, memory, cpus, optional @ ..] = items.as_slice() else {
        return Err(SimulateError::Items(items.len()));
    };
    if optional.len() > 2 {
        return Err(SimulateError::Items(items.len()));
    }
    let wrong = |item| move |problem| SimulateError::Number { item, problem };
    let int = |item, text: &str| parse_int(text).map_err(wrong(item));
    let size = |item, text: &str| parse_size(text).map_err(|problem| SimulateError::Size { item, problem });
    let truth = |text: &&str| parse_truth(text).map_err(wrong("exclusive storage"));
    Ok(SimulatedGroup {
        alloc_policy: parse_policy(alloc_policy).map_err(SimulateError::Policy)?,
        nodes: int("node count", nodes)?,
        disk: size("disk size", disk)?,
        memory: size("memory size", memory)?,
        cpus: int("cpu count", cpus)?,
        spindles: optional.first().map_or(Ok(1), |t| int("spindles", t))?,
        exclusive_storage: optional.get(1).map_or(Ok(false), truth)?,
    })
}

fn parse_policy(text: &str) -> std::result::Result<AllocPolicy, UnknownName> {
    match text {
        "p" => Ok(AllocPolicy::Preferred),
        "a" => Ok(AllocPolicy::LastResort),
        "u" => Ok(AllocPolicy::Unallocable),
        name => name.parse(),
    }
}

/// Reads `True` or `False`, in optional parentheses, as for numbers.
fn parse_truth(text: &str) -> std::result::Result<bool, NumberError> {
    let unreadable = || NumberError::Unreadable(shown(text));
    let mut inner = text.trim_start();
    let mut depth = 0;
    while let Some(rest) = inner.strip_prefix('(') {
        inner = rest.trim_start();
        depth += 1;
    }
    let end = inner.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '\'')).unwrap_or(inner.len());
    let (word, mut rest) = inner.split_at(end);
    for () in iter::repeat_n((), depth) {
        rest = rest.trim_start().strip_prefix(')').ok_or_else(unreadable)?;
    }
    let value = match word {
        "True" => true,
        "False" => false,
        _ => return Err(unreadable()),
    };
    if rest.is_empty() {
        Ok(value)
    } else {
        Err(NumberError::Leftover { text: shown(text), rest: shown(rest) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn specs(texts: &[&str]) -> Result<RawCluster> {
        parse_specs(&texts.iter().map(|t| (*t).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn the_last_description_is_the_first_group() {
        let cluster = specs(&["p,2,100g,16g,8", "last_resort,1,50000,2000M,4,3,True"]).unwrap();
        assert_eq!(cluster.first_node_number, 1);
        let groups: Vec<_> =
            cluster.groups.iter().map(|g| (&*g.name, &*g.uuid, g.alloc_policy.as_str())).collect();
        assert_eq!(
            groups,
            [("group-01", "fake-uuid-01", "last_resort"), ("group-02", "fake-uuid-02", "preferred")]
        );
        let nodes: Vec<_> = cluster
            .nodes
            .iter()
            .map(|n| {
                (
                    &*n.name,
                    n.mem_total,
                    n.disk_free.0,
                    n.cpu_total,
                    n.master,
                    n.spindle_total,
                    n.exclusive_storage,
                )
            })
            .collect();
        assert_eq!(
            nodes,
            [
                ("node-01-001", 1907.0, 50000, 4.0, true, 3, true),
                ("node-02-001", 16384.0, 102_400, 8.0, false, 1, false),
                ("node-02-002", 16384.0, 102_400, 8.0, false, 1, false),
            ]
        );
        assert_eq!((cluster.nodes[0].cpu_node, cluster.nodes[0].spindle_free), (1, 0));
    }

    #[test]
    fn numbers_grow_beyond_their_usual_width() {
        let cluster = specs(&["u,120,1,1,1"]).unwrap();
        assert_eq!(cluster.nodes[119].name, "node-01-120");
        let cluster = specs(&["a,1,1,1,1"; 101]).unwrap();
        assert_eq!((&*cluster.groups[99].name, &*cluster.nodes[99].name), ("group-100", "node-100-001"));
    }

    #[test]
    fn groups_may_be_empty() {
        assert!(specs(&["p,-3,1,1,1", "p,0,1,1,1"]).is_ok_and(|c| c.groups.len() == 2 && c.nodes.is_empty()));
    }

    #[test]
    fn problems_name_the_item() {
        for (text, problem) in [
            ("p,x,1,1,1", "node count: cannot parse string 'x'"),
            ("p,1,1q,1,1", "disk size: Unknown unit 'q'"),
            ("p,1,1.5t,1,1", "disk size: Can't parse string '1.5t'"),
            ("p,1,1,1 P,1", "memory size: Unknown unit 'P'"),
            ("p,1,1,1,4.5", "cpu count: cannot parse string '4.5'"),
            ("p,1,1,1,1,", "spindles: cannot parse string ''"),
            ("p,1,1,1,1,1,true", "exclusive storage: cannot parse string 'true'"),
            ("p,1,1,1,1,1,True ", "exclusive storage: leftover characters when parsing 'True ': ' '"),
            ("p,999999999999,1,1,1", "node count: more than 1000000 nodes in all"),
            (
                "P,1,1,1,1",
                "allocation policy: 'P' is not one of preferred, last_resort, unallocable (or p, a, u)",
            ),
        ] {
            let error = specs(&["p,1,1,1,1", text, "p,1,1,1,1"]).unwrap_err();
            assert_eq!(error.to_string(), format!("--simulate '{text}': {problem}"));
        }
        for text in ["", "p,1,1,1", "p,1,1,1,1,1,True,x"] {
            assert!(specs(&[text]).unwrap_err().problem.starts_with("expected 5 to 7"));
        }
        assert!(specs(&["p,600000,1,1,1", "p,600000,1,1,1"]).is_err());
    }

    #[test]
    fn truth_may_stand_in_parentheses() {
        assert_eq!(parse_truth(" (( True ) )"), Ok(true));
        assert_eq!(parse_truth("(False)"), Ok(false));
        for text in ["(True", "Trueish", "", "()", "True)"] {
            assert!(parse_truth(text).is_err(), "{text:?}");
        }
        assert!(parse_truth(&"(".repeat(1_000_000)).is_err());
    }
}

//! Reader of the public instances' JSON.

use std::collections::HashMap;

use serde::Deserialize;

use crate::model::{
    Amount, Cluster, Demand, DeploymentSet, Granularity, Host, HostId, Machine, MachineId, Nodes, Seat,
};

/// Most CPUs of a NUMA node, and most MiB.
const LARGEST: f64 = 1e9;

#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error("the document does not have the form of an instance")]
    Form(#[from] serde_json::Error),
    #[error("cluster '{cluster}', {object}: {fault}")]
    Content { cluster: String, object: String, fault: Fault },
}

/// Fault of one host, machine or deployment set.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Fault {
    #[error("{field} is {value}, which is not a whole number from 0 to 1,000,000,000")]
    NotWhole { field: &'static str, value: f64 },
    #[error("must list NUMA nodes 0 and 1, each once (a machine may use only one)")]
    NumaNodes,
    #[error("uses no CPU")]
    NoCpu,
    #[error("the name is used before")]
    Twice,
    #[error("host '{0}' is unknown")]
    UnknownHost(String),
    #[error("machine '{0}' is unknown")]
    UnknownMachine(String),
    #[error("machines and free CPUs of NUMA node {node} are more than the {total} CPUs that it has")]
    TooMuch { node: usize, total: u32 },
    #[error("granularity '{0}' is neither 'host' nor 'rack'")]
    Granularity(String),
}

#[derive(Deserialize)]
struct Document {
    cluster_list: Vec<RawCluster>,
}

#[derive(Deserialize)]
struct RawCluster {
    cluster_name: String,
    host_info: Vec<RawHost>,
    vm_instance: Vec<RawMachine>,
    #[serde(default)]
    other_requirement: RawRequirement,
}

#[derive(Deserialize)]
struct RawHost {
    node_id: String,
    status: String,
    rack_id: i64,
    numa: Vec<RawNode>,
}

#[derive(Deserialize)]
struct RawNode {
    node: u8,
    total_cpu: f64,
    free_cpu: f64,
    memory_huge_total_mb: f64,
    memory_huge_free_mb: f64,
}

#[derive(Deserialize)]
struct RawMachine {
    instance_id: String,
    host_id: String,
    allow_migration: bool,
    numa: Vec<RawShare>,
}

#[derive(Deserialize)]
struct RawShare {
    node: u8,
    cpu: f64,
    mem_mb: f64,
}

#[derive(Deserialize, Default)]
struct RawRequirement {
    #[serde(default)]
    deployment_set: Vec<RawSet>,
}

#[derive(Deserialize)]
struct RawSet {
    granularity: String,
    data: Vec<String>,
}

/// Reads the clusters of a document.
///
/// # Errors
/// If the text is not such a document, or if a host, a machine or a set in it is inconsistent.
pub fn read(text: &str) -> Result<Vec<Cluster>, ReadError> {
    let document: Document = serde_json::from_str(text)?;
    document.cluster_list.into_iter().map(cluster).collect()
}

fn cluster(raw: RawCluster) -> Result<Cluster, ReadError> {
    let blame = |kind: &str, name: &str, fault: Fault| ReadError::Content {
        cluster: raw.cluster_name.clone(),
        object: format!("{kind} '{name}'"),
        fault,
    };
    let mut host_ids = HashMap::new();
    let mut totals = Vec::new();
    let mut hosts = Vec::new();
    for raw_host in &raw.host_info {
        let blame = |fault| blame("host", &raw_host.node_id, fault);
        if host_ids.insert(raw_host.node_id.as_str(), HostId(hosts.len())).is_some() {
            return Err(blame(Fault::Twice));
        }
        let (host, total) = host(raw_host).map_err(blame)?;
        hosts.push(host);
        totals.push(total);
    }
    let mut machine_ids = HashMap::new();
    let mut machines: Vec<Machine> = Vec::new();
    for raw_machine in &raw.vm_instance {
        let blame = |fault| blame("machine", &raw_machine.instance_id, fault);
        if machine_ids.insert(raw_machine.instance_id.as_str(), MachineId(machines.len())).is_some() {
            return Err(blame(Fault::Twice));
        }
        machines.push(machine(raw_machine, &host_ids).map_err(blame)?);
    }
    let mut sets = Vec::new();
    for (index, raw_set) in raw.other_requirement.deployment_set.iter().enumerate() {
        let blame = |fault| blame("deployment set", &index.to_string(), fault);
        let set = deployment_set(raw_set, &machine_ids).map_err(blame)?;
        for member in &set.members {
            machines[member.0].sets.push(index);
        }
        sets.push(set);
    }
    settle(&mut hosts, &totals, &machines).map_err(|(host, fault)| blame("host", &host, fault))?;
    Ok(Cluster { name: raw.cluster_name.clone(), hosts, machines, sets })
}

fn host(raw: &RawHost) -> Result<(Host, [Amount; 2]), Fault> {
    let mut nodes = raw.numa.iter().collect::<Vec<_>>();
    nodes.sort_by_key(|node| node.node);
    let [first, second] = nodes[..] else { return Err(Fault::NumaNodes) };
    if (first.node, second.node) != (0, 1) {
        return Err(Fault::NumaNodes);
    }
    let total = |node: &RawNode| {
        amount(("total_cpu", node.total_cpu), ("memory_huge_total_mb", node.memory_huge_total_mb))
    };
    let free = |node: &RawNode| {
        amount(("free_cpu", node.free_cpu), ("memory_huge_free_mb", node.memory_huge_free_mb))
    };
    let host = Host {
        name: raw.node_id.clone(),
        active: raw.status == "ACTIVE",
        rack: raw.rack_id,
        free: [free(first)?, free(second)?],
    };
    Ok((host, [total(first)?, total(second)?]))
}

fn machine(raw: &RawMachine, hosts: &HashMap<&str, HostId>) -> Result<Machine, Fault> {
    let share = |share: &RawShare| amount(("cpu", share.cpu), ("mem_mb", share.mem_mb));
    let mut shares = raw.numa.iter().collect::<Vec<_>>();
    shares.sort_by_key(|share| share.node);
    let (demand, nodes) = match shares[..] {
        [one] if one.node == 0 => (Demand::One(share(one)?), Nodes::First),
        [one] if one.node == 1 => (Demand::One(share(one)?), Nodes::Second),
        [first, second] if (first.node, second.node) == (0, 1) => {
            (Demand::Both([share(first)?, share(second)?]), Nodes::Both)
        }
        _ => return Err(Fault::NumaNodes),
    };
    if demand.on(nodes).is_some_and(|amounts| amounts.iter().all(|amount| amount.cpus == 0)) {
        return Err(Fault::NoCpu);
    }
    let host = *hosts.get(raw.host_id.as_str()).ok_or_else(|| Fault::UnknownHost(raw.host_id.clone()))?;
    let seat = Seat { host, nodes };
    Ok(Machine {
        name: raw.instance_id.clone(),
        demand,
        seat,
        movable: raw.allow_migration,
        sets: Vec::new(),
    })
}

fn deployment_set(raw: &RawSet, machines: &HashMap<&str, MachineId>) -> Result<DeploymentSet, Fault> {
    let apart = match raw.granularity.as_str() {
        "host" => Granularity::Host,
        "rack" => Granularity::Rack,
        other => return Err(Fault::Granularity(other.to_owned())),
    };
    let member =
        |name: &String| machines.get(name.as_str()).copied().ok_or(Fault::UnknownMachine(name.clone()));
    let mut members = raw.data.iter().map(member).collect::<Result<Vec<_>, _>>()?;
    members.sort();
    members.dedup();
    Ok(DeploymentSet { apart, members })
}

/// Compares what hosts report as free with what their machines leave. CPUs must not be promised twice; of memory,
/// the smaller figure counts, as the public instances report both more and less than machines leave.
fn settle(hosts: &mut [Host], totals: &[[Amount; 2]], machines: &[Machine]) -> Result<(), (String, Fault)> {
    let mut used = vec![[(0_u64, 0_u64); 2]; hosts.len()];
    for machine in machines {
        let amounts = machine.demand.on(machine.seat.nodes).unwrap_or_default();
        for (used, amount) in used[machine.seat.host.0].iter_mut().zip(amounts) {
            used.0 += u64::from(amount.cpus);
            used.1 += u64::from(amount.memory);
        }
    }
    for ((host, totals), used) in hosts.iter_mut().zip(totals).zip(used) {
        for (node, ((free, total), (cpus, memory))) in host.free.iter_mut().zip(totals).zip(used).enumerate()
        {
            if cpus + u64::from(free.cpus) > u64::from(total.cpus) {
                return Err((host.name.clone(), Fault::TooMuch { node, total: total.cpus }));
            }
            let left = u64::from(total.memory).saturating_sub(memory);
            free.memory = u32::try_from(left).map_or(free.memory, |left| free.memory.min(left));
        }
    }
    Ok(())
}

fn amount(cpus: (&'static str, f64), memory: (&'static str, f64)) -> Result<Amount, Fault> {
    let whole = |(field, value): (&'static str, f64)| match value.fract() == 0.0
        && (0.0..=LARGEST).contains(&value)
    {
        // exact: a whole number below 2^32
        true => Ok(value as u32),
        false => Err(Fault::NotWhole { field, value }),
    };
    Ok(Amount { cpus: whole(cpus)?, memory: whole(memory)? })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn document() -> Value {
        let node = |node: u8, free: f64| {
            json!({"node": node, "total_cpu": 44, "free_cpu": free,
                   "memory_huge_total_mb": 9000.0, "memory_huge_free_mb": 8000})
        };
        json!({"cluster_list": [{
            "cluster_name": "c",
            "host_info": [
                {"node_id": "h0", "status": "ACTIVE", "rack_id": 1, "numa": [node(1, 20.0), node(0, 40.0)]},
                {"node_id": "h1", "status": "DISABLED", "rack_id": 2, "numa": [node(0, 44.0), node(1, 44.0)]}],
            "vm_instance": [
                {"instance_id": "m0", "host_id": "h0", "allow_migration": true,
                 "numa": [{"node": 0, "cpu": 4, "mem_mb": 2000}, {"node": 1, "cpu": 4, "mem_mb": 2000}]},
                {"instance_id": "m1", "host_id": "h0", "allow_migration": false,
                 "numa": [{"node": 1, "cpu": 16, "mem_mb": 500}]}],
            "other_requirement": {"deployment_set": [{"granularity": "host", "data": ["m1", "m0", "m1"]}]}}]})
    }

    #[test]
    fn hosts_machines_and_sets() {
        let clusters = read(&document().to_string()).unwrap();
        let [cluster] = &clusters[..] else { panic!("one cluster") };
        let free = [Amount { cpus: 40, memory: 7000 }, Amount { cpus: 20, memory: 6500 }];
        assert_eq!(cluster.hosts[0].free, free);
        assert!(cluster.hosts[0].active && !cluster.hosts[1].active);
        assert_eq!(cluster.machines[0].seat, Seat { host: HostId(0), nodes: Nodes::Both });
        assert_eq!(cluster.machines[1].demand, Demand::One(Amount { cpus: 16, memory: 500 }));
        assert!(!cluster.machines[1].movable);
        assert_eq!(cluster.sets[0].members, [MachineId(0), MachineId(1)]);
        assert_eq!(cluster.free_cpus(), 148);
    }

    #[test]
    fn faults_are_named() {
        let spoilt = |path: &str, value: Value| {
            let mut document = document();
            *document.pointer_mut(&format!("/cluster_list/0{path}")).unwrap() = value;
            match read(&document.to_string()) {
                Err(ReadError::Content { fault, .. }) => fault,
                other => panic!("{other:?}"),
            }
        };
        let whole = |value| Fault::NotWhole { field: "cpu", value };
        assert_eq!(spoilt("/vm_instance/1/numa/0/cpu", json!(1.5)), whole(1.5));
        assert_eq!(spoilt("/vm_instance/1/numa/0/cpu", json!(-4)), whole(-4.0));
        assert_eq!(spoilt("/vm_instance/1/numa/0/cpu", json!(1e300)), whole(1e300));
        assert_eq!(spoilt("/vm_instance/1/numa/0/cpu", json!(0)), Fault::NoCpu);
        assert_eq!(spoilt("/vm_instance/1/numa/0/cpu", json!(21)), Fault::TooMuch { node: 1, total: 44 });
        assert_eq!(spoilt("/vm_instance/1/numa/0/node", json!(2)), Fault::NumaNodes);
        assert_eq!(spoilt("/host_info/0/numa/0/node", json!(0)), Fault::NumaNodes);
        assert_eq!(spoilt("/vm_instance/1/instance_id", json!("m0")), Fault::Twice);
        assert_eq!(spoilt("/vm_instance/1/host_id", json!("x")), Fault::UnknownHost("x".to_owned()));
        let set = "/other_requirement/deployment_set/0";
        assert_eq!(spoilt(&format!("{set}/data/0"), json!("x")), Fault::UnknownMachine("x".to_owned()));
        assert_eq!(spoilt(&format!("{set}/granularity"), json!("x")), Fault::Granularity("x".to_owned()));
        assert!(matches!(read("{\"cluster_list\": 3}"), Err(ReadError::Form(_))));
        assert!(matches!(read(""), Err(ReadError::Form(_))));
    }
}

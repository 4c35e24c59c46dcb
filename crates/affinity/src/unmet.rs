//! Customers' keys that are not met on the node of their machine.

use super::fleet::Fleet;
use super::ganeti::{FleetFigures, fleet_of, has_keys};
use super::keys::CompiledKey;
use super::occupancy::{DetachedMachine, Occupancy, started_with};
use htools_model::Cluster;

/// A customer's key that is not met on the node where its machine runs.
#[derive(Debug, Clone, PartialEq)]
pub struct UnmetKey {
    /// The machine, by name.
    pub machine: String,
    /// Name of the node where it runs.
    pub node: String,
    /// The key.
    pub key: CompiledKey,
}

impl UnmetKey {
    /// True if something is missing on the machine's node; otherwise something there should be absent.
    pub fn is_missing(&self) -> bool {
        self.key.weight > 0.0
    }
}

/// The keys that are not met in a Ganeti cluster.
pub fn unmet_in(cluster: &Cluster) -> Vec<UnmetKey> {
    if has_keys(cluster) { unmet(&fleet_of(cluster, FleetFigures::default())) } else { Vec::new() }
}

/// The keys that are not met, by machine. A positive key is not met if nothing on the node has a value less than 1
/// away, and a negative one if something has. The machine's own keys are ignored.
pub fn unmet(fleet: &Fleet) -> Vec<UnmetKey> {
    let occupancy = Occupancy::of(fleet);
    let mut all = Vec::new();
    for machine in &fleet.machines {
        let Some(node) = machine.node else { continue };
        let (keys, own) = (fleet.compiled(machine), started_with(fleet, machine));
        let [_, found] = occupancy.terms(fleet, &keys, node, DetachedMachine::of(machine, &own));
        let is_met = |key: &CompiledKey| {
            let is_there = found.iter().any(|term| term.name == key.name && term.worth != 0.0);
            is_there == (key.weight > 0.0)
        };
        all.extend(keys.customer.into_iter().filter(|key| !is_met(key)).map(|key| UnmetKey {
            machine: machine.name.clone(),
            node: fleet.nodes[node].name.clone(),
            key,
        }));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FleetFigures, fleet_of};
    use htools_testkit::cluster;

    #[test]
    fn wishes_that_the_node_does_not_meet_are_found() {
        let cluster = cluster(
            &["a|9000|0|9000|9000|9000|9|N|u|1|htools:key:_ssd:1", "b|9000|0|9000|9000|9000|9|N|u|1|"],
            &[
                "web1|10|0|1|running|Y|a||ext|htools:key:customer:web:1:-40,htools:key:customer:_ssd:1:5",
                "web2|10|0|1|running|Y|a||ext|htools:key:customer:web:1.5:-40",
                "web3|10|0|1|running|Y|b||ext|htools:key:customer:web:1:-40,htools:key:customer:_ssd:1:5",
                "web4|10|0|1|ADMIN_down|Y|a||ext|htools:key:customer:web:1:-40",
                "app|10|0|1|running|Y|b||ext|htools:key:customer:own:1:5",
            ],
            &[],
        );
        let found = unmet(&fleet_of(&cluster, FleetFigures::default()));
        let shown: Vec<_> = found
            .iter()
            .map(|one| (one.machine.as_str(), one.node.as_str(), one.key.name.as_str()))
            .collect();
        assert_eq!(
            shown,
            [("web1", "a", "web"), ("web2", "a", "web"), ("web3", "b", "_ssd"), ("app", "b", "own")]
        );
    }
}

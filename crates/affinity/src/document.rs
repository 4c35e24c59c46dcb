//! Fleets as JSON documents (docs/schema/htools.fleet-1.json).

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Formatter;

use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::fleet::{AffinityOptions, Fleet, FleetNode, Machine};
use super::keys::{AffinityKey, KeyLevel, KeyOwner, LARGEST, LevelKeys, NodeKey, check_number};
use htools_ganeti::input::error::{LoadError, Result};
use htools_ganeti::input::kind::FileKind;
use htools_model::Mib;
use htools_model::shown::{shown_name, shown_source};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FleetDocument {
    #[serde(default)]
    pub(crate) cluster: ClusterPart,
    pub(crate) nodes: Vec<NodePart>,
    #[serde(default)]
    pub(crate) vms: Vec<MachinePart>,
    #[serde(default)]
    pub(crate) options: OptionsPart,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
pub(crate) struct ClusterPart {
    #[serde(default)]
    keys: Vec<KeyPart>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NodePart {
    name: String,
    #[serde(default)]
    state: Option<String>,
    ram_total: u32,
    #[serde(default)]
    ram_free: Option<u32>,
    #[serde(default)]
    ram_ratio: Option<f64>,
    cpus: u32,
    #[serde(default)]
    cpu_ratio: Option<f64>,
    #[serde(default)]
    load: Option<f64>,
    #[serde(default)]
    keys: Vec<NodeKeyPart>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NodeKeyPart {
    name: String,
    value: Value,
    #[serde(default)]
    sticky: bool,
    #[serde(default)]
    weight: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct KeyPart {
    name: String,
    value: Value,
    weight: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct MachinePart {
    pub(crate) name: String,
    pub(crate) ram: u32,
    pub(crate) vcpus: u32,
    #[serde(default)]
    pub(crate) node: Option<String>,
    #[serde(default)]
    pub(crate) last_node: Option<String>,
    #[serde(default)]
    pub(crate) disk_node: Option<String>,
    #[serde(default)]
    pub(crate) keys: LevelsPart,
    #[serde(default)]
    pub(crate) started_with: Option<Vec<StartedPart>>,
}

/// Keys by level. A repeated level is an error; a map would keep only the last one and lose the keys of the others.
#[derive(Default)]
pub(crate) struct LevelsPart(BTreeMap<String, OwnersPart>);

impl<'de> Deserialize<'de> for LevelsPart {
    fn deserialize<D: Deserializer<'de>>(from: D) -> std::result::Result<LevelsPart, D::Error> {
        from.deserialize_map(LevelsPart::default())
    }
}

impl<'de> Visitor<'de> for LevelsPart {
    type Value = LevelsPart;

    fn expecting(&self, to: &mut Formatter<'_>) -> std::fmt::Result {
        to.write_str("keys by level")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> std::result::Result<LevelsPart, A::Error> {
        while let Some((level, owners)) = map.next_entry::<String, OwnersPart>()? {
            let shown = shown_name(&level);
            if self.0.insert(level, owners).is_some() {
                return Err(A::Error::custom(format!("level '{shown}' is given twice")));
            }
        }
        Ok(self)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OwnersPart {
    #[serde(default)]
    system: Vec<KeyPart>,
    #[serde(default)]
    customer: Vec<KeyPart>,
    #[serde(default)]
    billing: Vec<KeyPart>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StartedPart {
    name: String,
    value: f64,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
pub(crate) struct OptionsPart {
    initial_msav: Option<f64>,
    final_msav: Option<f64>,
    msav_steps: Option<u32>,
    overhead: Option<u32>,
}

/// Reads a fleet. Errors name `source`. Returns the fleet and its oddities, one line each.
///
/// # Errors
/// If it is not such a document, or contradicts itself.
pub fn parse(text: &str, source: &str) -> Result<(Fleet, Vec<String>)> {
    let shown = &shown_source(source);
    let document: FleetDocument = serde_json::from_str(text).map_err(|problem| {
        FileKind::Keys.unless_other(LoadError::one_line(shown, &problem.to_string()), text, source)
    })?;
    fleet(document, shown)
}

/// The fleet of a document from `source`, with its oddities.
pub(crate) fn fleet(document: FleetDocument, source: &str) -> Result<(Fleet, Vec<String>)> {
    let mut reader = FleetReader { source, warnings: Vec::new() };
    let fleet = reader.fleet(document)?;
    reader.warnings.extend(fleet.missing_key_lines());
    Ok((fleet, reader.warnings))
}

struct FleetReader<'a> {
    source: &'a str,
    warnings: Vec<String>,
}

impl FleetReader<'_> {
    fn wrong(&self, what: &str, name: &str, problem: &str) -> LoadError {
        LoadError::one_line(&format!("{}, {what} '{}'", self.source, shown_name(name)), problem)
    }

    fn fleet(&mut self, document: FleetDocument) -> Result<Fleet> {
        let options =
            options(&document.options).map_err(|problem| LoadError::one_line(self.source, &problem))?;
        let keys = LevelKeys {
            level: KeyLevel::Cluster,
            owner: KeyOwner::System,
            keys: self.keys("cluster", "", document.cluster.keys)?,
        };
        keys.check().map_err(|problem| LoadError::one_line(self.source, &problem.to_string()))?;
        let mut by_name = HashMap::new();
        for (at, node) in document.nodes.iter().enumerate() {
            if node.name.is_empty() || by_name.insert(node.name.clone(), at).is_some() {
                return Err(self.wrong("node", &node.name, "the name is empty or not unique"));
            }
        }
        let mut names = HashSet::new();
        let mut machines = Vec::new();
        for part in document.vms {
            if part.name.is_empty() || !names.insert(part.name.clone()) {
                return Err(self.wrong("vm", &part.name, "the name is empty or not unique"));
            }
            machines.push(self.machine(part, &by_name)?);
        }
        let mut used = vec![Mib(0); document.nodes.len()];
        for machine in &machines {
            machine.node.into_iter().for_each(|node| used[node] += machine.ram);
        }
        let mut nodes = Vec::new();
        for (part, used) in document.nodes.into_iter().zip(used) {
            nodes.push(self.node(part, used)?);
        }
        Ok(Fleet { nodes, machines, keys: keys.keys, options, ..Fleet::default() })
    }

    fn node(&mut self, part: NodePart, used: Mib) -> Result<FleetNode> {
        let wrong = |reader: &Self, problem: &str| reader.wrong("node", &part.name, problem);
        let ratio = |ratio: Option<f64>| {
            Some(ratio.unwrap_or(1.0)).filter(|ratio| ratio.is_finite() && *ratio >= 0.0)
        };
        let ram_ratio = ratio(part.ram_ratio).ok_or_else(|| wrong(self, "ram_ratio: at least 0"))?;
        let cpu_ratio = ratio(part.cpu_ratio).ok_or_else(|| wrong(self, "cpu_ratio: at least 0"))?;
        let running = match part.state.as_deref() {
            None | Some("running") => true,
            Some("down" | "maintenance") => false,
            Some(_) => return Err(wrong(self, "state: expected running, down or maintenance")),
        };
        if part.load.is_some_and(|load| load < 0.0) {
            return Err(wrong(self, "load: at least 0"));
        }
        if part.load.is_none() {
            self.warnings.push(format!(
                "Warning: node {}: the load is unknown and counts as 0",
                shown_name(&part.name)
            ));
        }
        let (mut keys, mut names) = (Vec::new(), HashSet::new());
        for key in part.keys {
            let complaint = |problem: &str| format!("key '{}': {problem}", shown_name(&key.name));
            if key.name.starts_with('#') {
                return Err(self.wrong("node", &part.name, &complaint("special keys are computed")));
            }
            if !names.insert(key.name.clone()) {
                return Err(self.wrong("node", &part.name, &complaint("it is given twice")));
            }
            if key.sticky && key.name.starts_with('_') {
                return Err(self.wrong("node", &part.name, &complaint("reserved keys cannot be sticky")));
            }
            let Some(value) = self.value("node", &part.name, &key.name, &key.value)? else { continue };
            check_number(&key.name, "weight", key.weight)
                .map_err(|problem| self.wrong("node", &part.name, &problem.to_string()))?;
            let sticky = key.sticky.then_some(key.weight);
            keys.push(NodeKey { name: key.name, value, sticky });
        }
        let ram_total = Mib(i64::from(part.ram_total));
        let free = || Mib((ram_total.0 - used.0).max(0));
        Ok(FleetNode {
            name: part.name,
            running,
            ram_total,
            ram_free: part.ram_free.map_or_else(free, |free| Mib(i64::from(free))),
            ram_ratio,
            cpus: u64::from(part.cpus),
            cpu_ratio,
            load: part.load.unwrap_or(0.0),
            keys,
        })
    }

    fn machine(&mut self, part: MachinePart, by_name: &HashMap<String, usize>) -> Result<Machine> {
        let name = part.name;
        let node = |wanted: Option<String>, what: &str| match wanted {
            None => Ok(None),
            Some(wanted) => by_name.get(&wanted).map(|at| Some(*at)).ok_or_else(|| {
                self.wrong("vm", &name, &format!("{what}: there is no node '{}'", shown_name(&wanted)))
            }),
        };
        let (runs_on, disk_node) = (node(part.node, "node")?, node(part.disk_node, "disk_node")?);
        let last_node = node(part.last_node, "last_node")?;
        if last_node.is_some() && runs_on.is_some() {
            return Err(self.wrong("vm", &name, "last_node: allowed only if the vm runs on no node"));
        }
        let mut keys = Vec::new();
        for (level, owners) in part.keys.0 {
            let unknown = |_| self.wrong("vm", &name, &format!("there is no level '{}'", shown_name(&level)));
            let level: KeyLevel = level.parse().map_err(unknown)?;
            if matches!(level, KeyLevel::Default | KeyLevel::Cluster) {
                return Err(self.wrong("vm", &name, "a vm cannot have keys of the cluster"));
            }
            let sides = [
                (KeyOwner::System, owners.system),
                (KeyOwner::Customer, owners.customer),
                (KeyOwner::Billing, owners.billing),
            ];
            for (owner, parts) in sides {
                let own = LevelKeys { level, owner, keys: self.keys("vm", &name, parts)? };
                own.check().map_err(|problem| self.wrong("vm", &name, &format!("{level}: {problem}")))?;
                keys.extend(Some(own).filter(|own| !own.keys.is_empty()));
            }
        }
        let started_with: Option<Vec<(String, f64)>> =
            part.started_with.map(|keys| keys.into_iter().map(|key| (key.name, key.value)).collect());
        let mut seen = HashSet::new();
        if started_with.iter().flatten().any(|(name, _)| !seen.insert(name.clone())) {
            return Err(self.wrong("vm", &name, "started_with: a key is given twice"));
        }
        for (key, value) in started_with.iter().flatten() {
            check_number(key, "value", *value)
                .map_err(|problem| self.wrong("vm", &name, &format!("started_with: {problem}")))?;
        }
        let (ram, vcpus) = (Mib(i64::from(part.ram)), u64::from(part.vcpus));
        Ok(Machine {
            name,
            ram,
            vcpus,
            node: runs_on,
            last_node,
            disk_node,
            keys,
            started_with,
            ..Machine::default()
        })
    }

    fn keys(&mut self, what: &str, name: &str, parts: Vec<KeyPart>) -> Result<Vec<AffinityKey>> {
        let mut keys = Vec::new();
        for part in parts {
            if let Some(value) = self.value(what, name, &part.name, &part.value)? {
                keys.push(AffinityKey { name: part.name, value, weight: part.weight });
            }
        }
        Ok(keys)
    }

    /// The number in a key's value. A value that is not a number cannot be used for placement, which is reported; one
    /// that is not finite is an error.
    fn value(&mut self, what: &str, name: &str, key: &str, value: &Value) -> Result<Option<f64>> {
        let number = match value {
            Value::Number(number) => number.as_f64(),
            Value::String(text) => text.trim().parse::<f64>().ok(),
            _ => None,
        };
        match number {
            Some(number) => match check_number(key, "value", number) {
                Ok(()) => Ok(Some(number)),
                Err(problem) => Err(self.wrong(what, name, &problem.to_string())),
            },
            None => {
                let bearer =
                    if name.is_empty() { what.to_owned() } else { format!("{what} {}", shown_name(name)) };
                self.warnings.push(format!(
                    "Warning: {bearer}: key '{}' has no number and is ignored",
                    shown_name(key)
                ));
                Ok(None)
            }
        }
    }
}

fn options(part: &OptionsPart) -> std::result::Result<AffinityOptions, String> {
    let usual = AffinityOptions::default();
    let options = AffinityOptions {
        initial_msav: part.initial_msav.unwrap_or(usual.initial_msav),
        final_msav: part.final_msav.unwrap_or(usual.final_msav),
        msav_steps: part.msav_steps.unwrap_or(usual.msav_steps),
        overhead: part.overhead.map_or(usual.overhead, |overhead| Mib(i64::from(overhead))),
        ..usual
    };
    options.check()?;
    Ok(options)
}

impl AffinityOptions {
    /// Checks that there are rounds and the thresholds fall.
    ///
    /// # Errors
    /// The fault, in words.
    pub fn check(&self) -> std::result::Result<(), String> {
        if self.msav_steps < 1 {
            return Err("msav_steps must be at least 1".to_owned());
        }
        if ![self.initial_msav, self.final_msav].iter().all(|msav| msav.abs() <= LARGEST) {
            return Err("initial_msav and final_msav must be between -1e12 and 1e12".to_owned());
        }
        if self.initial_msav < self.final_msav {
            return Err("initial_msav must be at least final_msav".to_owned());
        }
        Ok(())
    }
}

//! A random fleet, as a CIB and as a document.

use std::fmt::Write;

use htools::generate::random::Random;
use serde_json::{Value, json};

use crate::transition::random_cib::cib_text::{DUMMY, FENCING, attributes, begin, history};

/// Names that need escaping, and a special key.
const NAMES: [&str; 4] = ["ds", "R&D", "a<\"b\">", "#RAM"];
const WISHES: [&str; 4] = ["grp", "_ssd", "é'", "x y"];

/// Name, value and weight.
pub type Key = (&'static str, f64, f64);

pub struct Host {
    pub name: String,
    pub ram: u32,
    pub cpus: u32,
    pub standby: bool,
    pub keys: Vec<Key>,
}

pub struct Vm {
    pub name: String,
    pub ram: [u32; 2],
    pub cpus: u32,
    pub host: Option<usize>,
    /// Its last host, if it does not run.
    pub ran: Option<usize>,
    pub managed: bool,
    /// True for a group of two.
    pub is_group: bool,
    /// By level (virtual data center, server): the operator's keys and the customer's.
    pub keys: [[Vec<Key>; 2]; 2],
}

pub struct Sample {
    pub hosts: Vec<Host>,
    pub vms: Vec<Vm>,
    pub cluster: Vec<Key>,
}

fn quarter(random: &mut Random) -> f64 {
    random.below(12) as f64 / 4.0
}

fn some_keys(random: &mut Random, names: &[&'static str], chance: f64) -> Vec<Key> {
    let mut keys = Vec::new();
    for name in names {
        if random.chance(chance) {
            let value = if name.starts_with('#') { 0.0 } else { quarter(random) };
            keys.push((*name, value, random.between(-4, 8) as f64 * 8.0));
        }
    }
    keys
}

pub fn sample(random: &mut Random) -> Sample {
    let count = 1 + random.below(5);
    let host = |at: usize, random: &mut Random| Host {
        name: format!("n{at}&"),
        ram: 1024 * (4 + 4 * random.below(8) as u32),
        cpus: 1 << random.below(5),
        standby: random.chance(0.2),
        keys: some_keys(random, &["ds", "R&D", "a<\"b\">", "_ssd"], 0.7),
    };
    let hosts = (0..count).map(|at| host(at, random)).collect();
    let vm = |at: usize, random: &mut Random| {
        let is_group = random.chance(0.3);
        let second = if is_group { 512 * random.below(4) as u32 } else { 0 };
        let levels = |random: &mut Random| [some_keys(random, &NAMES, 0.3), some_keys(random, &WISHES, 0.3)];
        let host = random.chance(0.5).then(|| random.below(count));
        Vm {
            name: format!("m{at}"),
            ram: [1024 * random.below(5) as u32, second],
            cpus: random.below(5) as u32,
            host,
            ran: (host.is_none() && random.chance(0.5)).then(|| random.below(count)),
            managed: random.chance(0.8),
            is_group,
            keys: [if is_group { levels(random) } else { Default::default() }, levels(random)],
        }
    };
    let vms = (0..1 + random.below(8)).map(|at| vm(at, random)).collect();
    Sample { hosts, vms, cluster: some_keys(random, &NAMES, 0.3) }
}

/// Tells if a host's key is sticky.
fn is_sticky((name, _, weight): &Key) -> bool {
    !name.starts_with('_') && weight.rem_euclid(24.0) == 0.0
}

pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;")
}

/// Instance attributes for the keys of one side.
fn told(side: &str, keys: &[Key]) -> Vec<(String, String)> {
    let of = |(name, value, weight): &Key| {
        let tag = format!("htools:key:{side}:{}", name.replace('#', "@"));
        // Either the form of tags, or the one that crm_resource can write.
        let dotted = format!("htools.key.{side}.{}", name.replace('#', "."));
        (escaped(if weight.rem_euclid(16.0) == 0.0 { &tag } else { &dotted }), format!("{value}:{weight}"))
    };
    keys.iter().map(of).collect()
}

fn pairs(xml: &mut String, element: &str, id: &str, of: &[(String, String)]) {
    let of: Vec<(&str, String)> = of.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
    attributes(xml, element, id, &of);
}

fn primitive(xml: &mut String, id: &str, size: (u32, u32), keys: &[(String, String)]) {
    let _ = write!(xml, r#"<primitive id="{id}" {DUMMY}>"#);
    pairs(xml, "instance_attributes", id, keys);
    let size = [("memory".to_owned(), size.0.to_string()), ("cpu".to_owned(), size.1.to_string())];
    pairs(xml, "utilization", id, &size);
    let _ = write!(xml, "</primitive>");
}

impl Sample {
    pub fn cib(&self, constraints: &str) -> String {
        let mut xml = String::new();
        begin(&mut xml, 0);
        xml += r#"<crm_config><cluster_property_set id="o">"#;
        for (at, (name, value)) in told("system", &self.cluster).iter().enumerate() {
            let _ = write!(xml, r#"<nvpair id="o{at}" name="{name}" value="{value}"/>"#);
        }
        xml += "</cluster_property_set></crm_config><nodes>";
        // The order of the document differs from that of the names.
        for (at, host) in self.hosts.iter().enumerate().rev() {
            let name = escaped(&host.name);
            let _ = write!(xml, r#"<node id="{at}" uname="{name}">"#);
            let key = |key: &Key| match is_sticky(key) {
                true => told("sticky", &[*key]).remove(0),
                false => (escaped(key.0), key.1.to_string()),
            };
            let mut own: Vec<(String, String)> = host.keys.iter().map(key).collect();
            own.push(("standby".to_owned(), host.standby.to_string()));
            own.push(("site".to_owned(), "2b".to_owned()));
            pairs(&mut xml, "instance_attributes", &name, &own);
            let size =
                [("memory".to_owned(), host.ram.to_string()), ("cpu".to_owned(), host.cpus.to_string())];
            pairs(&mut xml, "utilization", &name, &size);
            xml += "</node>";
        }
        let _ = write!(xml, r#"</nodes><resources><primitive id="fence" {FENCING}/>"#);
        for vm in &self.vms {
            let [of_group, own] = &vm.keys;
            let [system, customer] = [told("system", &own[0]), told("customer", &own[1])];
            if vm.is_group {
                let _ = write!(xml, r#"<group id="{}">"#, vm.name);
                let shared = [told("system", &of_group[0]), told("customer", &of_group[1])].concat();
                pairs(&mut xml, "instance_attributes", &vm.name, &shared);
            }
            if !vm.managed {
                let meta = [("is-managed", "false".to_owned())];
                if vm.is_group {
                    attributes(&mut xml, "meta_attributes", &vm.name, &meta);
                }
            }
            if vm.is_group {
                primitive(&mut xml, &format!("{}-a", vm.name), (vm.ram[0], vm.cpus), &system);
                primitive(&mut xml, &format!("{}-b", vm.name), (vm.ram[1], 0), &customer);
                xml += "</group>";
            } else {
                let before = xml.len();
                primitive(&mut xml, &vm.name, (vm.ram[0], vm.cpus), &[system, customer].concat());
                if !vm.managed {
                    let meta = r#"<meta_attributes id="x"><nvpair id="x-x" name="is-managed" value="false"/></meta_attributes></primitive>"#;
                    let changed = xml[before..].replace("</primitive>", meta);
                    xml.replace_range(before.., &changed);
                }
            }
        }
        let _ = write!(xml, "</resources><constraints>{constraints}</constraints></configuration><status>");
        for (at, host) in self.hosts.iter().enumerate() {
            let name = escaped(&host.name);
            let _ = write!(
                xml,
                r#"<node_state id="{at}" uname="{name}" in_ccm="true" crmd="online" join="member" expected="member"><lrm id="{at}"><lrm_resources>"#
            );
            for vm in self.vms.iter().filter(|vm| vm.host == Some(at)) {
                let ends: &[&str] = if vm.is_group { &["-a", "-b"] } else { &[""] };
                ends.iter().for_each(|end| {
                    history(&mut xml, 1, (&format!("{}{end}", vm.name), DUMMY), &name, true);
                });
            }
            // The history of a group is that of its first member.
            for vm in self.vms.iter().filter(|vm| vm.ran == Some(at)) {
                let end = if vm.is_group { "-a" } else { "" };
                let mut past = String::new();
                history(&mut past, 1, (&format!("{}{end}", vm.name), DUMMY), &name, false);
                xml += &past
                    .replace("monitor", "stop")
                    .replace("rc-code=\"7\"", "rc-code=\"0\"")
                    .replace(":7:", ":0:");
            }
            xml += "</lrm_resources></lrm></node_state>";
        }
        xml + "</status></cib>"
    }

    pub fn document(&self) -> Value {
        let of_keys = |keys: &[Key]| -> Value {
            let of = |(name, value, weight): &Key| json!({"name": name, "value": value, "weight": weight});
            keys.iter().map(of).collect()
        };
        let node = |host: &Host| {
            let key =
                |key: &Key| json!({"name": key.0, "value": key.1, "sticky": is_sticky(key), "weight": key.2});
            let keys: Vec<Value> = host.keys.iter().map(key).collect();
            let state = if host.standby { "maintenance" } else { "running" };
            json!({"name": host.name, "state": state, "ram_total": host.ram, "cpus": host.cpus, "load": 0, "keys": keys})
        };
        // The customer's side of a data center is called `billing`.
        let level = |users: &str, sides: &[Vec<Key>; 2]| json!({"system": of_keys(&sides[0]), users: of_keys(&sides[1])});
        // An unmanaged machine that does not run is left out. A machine that must leave its node has none.
        let vms = self.vms.iter().filter(|vm| vm.managed || vm.host.is_some()).map(|vm| {
            let host = vm.host.filter(|at| !vm.managed || !self.hosts[*at].standby);
            let node = host.map(|at| self.hosts[at].name.clone());
            let last = vm.host.or(vm.ran).filter(|_| host.is_none()).map(|at| self.hosts[at].name.clone());
            let [vdc, server] = &vm.keys;
            json!({
                "name": vm.name, "ram": vm.ram[0] + vm.ram[1], "vcpus": vm.cpus, "node": node, "last_node": last,
                "keys": {"vdc": level("billing", vdc), "server": level("customer", server)},
            })
        });
        json!({
            "cluster": {"keys": of_keys(&self.cluster)},
            "nodes": self.hosts.iter().map(node).collect::<Vec<_>>(),
            "vms": vms.collect::<Vec<_>>(),
        })
    }
}

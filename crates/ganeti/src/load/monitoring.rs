//! Reports of the nodes' monitoring daemons on processor load (`--mond-data`, and answers from the daemons).

use std::collections::HashMap;

use crate::input::error::Result;
use crate::input::json::{
    self, At, Budget, Container, ItemStream, Json, JsonPath, MadeItems, Object, WantedParts, Weight,
};
use htools_model::words;

/// Maximum memory for a daemon's answer while it is parsed, in bytes, since many are parsed at once.
const ANSWER: usize = 8 << 20;

words!(
    /// A collector of the monitoring daemon that reports load.
    pub Collector, "collector" {
        /// The load of a node.
        CpuAvgLoad = "cpu-avg-load",
        /// The load of each instance on a node, reported on Xen.
        XenCpuAvgLoad = "xen-cpu-avg-load",
    }
);

/// Report of one collector about one node.
#[derive(Debug, Clone, PartialEq)]
pub enum CollectorReport {
    /// Load of the whole node, as the number of busy processors.
    Node(f64),
    /// Load of each instance, by full name.
    Instances(HashMap<String, f64>),
}

/// Reports of all nodes.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MonitoringData {
    nodes: HashMap<String, Reports>,
}

#[derive(Debug, Clone, PartialEq, Default)]
struct Reports {
    cpu: Option<CollectorReport>,
    xen: Option<CollectorReport>,
}

impl MonitoringData {
    /// Report of `collector` about a node. `None` if there is none, or its data have another form.
    pub fn report(&self, node: &str, collector: Collector) -> Option<&CollectorReport> {
        let reports = self.nodes.get(node)?;
        match collector {
            Collector::CpuAvgLoad => reports.cpu.as_ref(),
            Collector::XenCpuAvgLoad => reports.xen.as_ref(),
        }
    }

    /// Adds the report of a collector on a node.
    pub(crate) fn add(&mut self, node: &str, collector: Collector, found: CollectorReport) {
        let reports = self.nodes.entry(node.to_owned()).or_default();
        match collector {
            Collector::CpuAvgLoad => reports.cpu = Some(found),
            Collector::XenCpuAvgLoad => reports.xen = Some(found),
        }
    }
}

impl CollectorReport {
    /// Approximate memory in bytes.
    pub(super) fn size(&self) -> usize {
        match self {
            CollectorReport::Node(_) => size_of::<CollectorReport>(),
            CollectorReport::Instances(loads) => {
                let names: usize = loads.keys().map(|name| name.capacity() + 16).sum();
                size_of::<CollectorReport>() + names + loads.capacity() * (size_of::<(String, f64)>() + 8)
            }
        }
    }
}

/// Parses a daemon's answer to the query for a collector's report; `None` if it is not valid. As in the reference, the
/// name in the report does not matter.
pub(super) fn read_answer(collector: Collector, answer: &[u8]) -> Option<CollectorReport> {
    let text = std::str::from_utf8(answer).ok()?;
    let document = json::parse_in(text, "", WantedParts::Whole, &Budget::new(ANSWER)).ok()?;
    let (_, data) = read_report(&Object::new(&document, JsonPath::source("")).ok()?).ok()?;
    match collector {
        Collector::CpuAvgLoad => read_cpu(data),
        Collector::XenCpuAvgLoad => read_xen(data),
    }
}

/// Reads a file of reports: a list of objects, each with a `node` and its `reports`. `source` names it in messages.
///
/// Of several reports of a collector the first counts; of several entries for a node the last.
///
/// # Errors
/// If a report is not well-formed, whether it is used or not. Only its `data` may be anything.
pub fn parse(text: &str, source: &str) -> Result<MonitoringData> {
    let place = JsonPath::source(source);
    let budget = Budget::new(Budget::FILE);
    let mut made = MadeItems::new();
    let each = |at: At<'_>, entry: &Json| match at {
        At::Item(at) => made.add(|| {
            let node = Object::new(entry, place.item(at))?.string("node")?;
            // From here on, errors name the node instead of the position.
            let entry = Object::new(entry, place.named("node", node))?;
            Ok(NodeReports { node: node.to_owned(), reports: read_reports(&entry)? })
        }),
        At::Name(_) => 0,
    };
    let entries = ItemStream { container: Container::List, shape: ENTRY, budget: &budget, each };
    if let Some(other) = json::seeded(text, source, &budget, entries)? {
        return Err(json::no_list(&other, &place));
    }
    let nodes = made.done()?.into_iter().map(|entry| (entry.node, entry.reports)).collect();
    Ok(MonitoringData { nodes })
}

/// Parts of an entry that are read.
const ENTRY: WantedParts =
    WantedParts::Checked(&[("node", WantedParts::Whole), ("reports", WantedParts::Whole)]);

struct NodeReports {
    node: String,
    reports: Reports,
}

impl Weight for NodeReports {
    fn weight(&self) -> usize {
        // This includes its place in a table.
        let reports = self.reports.cpu.iter().chain(&self.reports.xen).map(CollectorReport::size);
        size_of::<NodeReports>() * 2 + self.node.len() + 16 + reports.sum::<usize>()
    }
}

fn read_reports(entry: &Object<'_, '_>) -> Result<Reports> {
    let mut first: HashMap<&str, &Json> = HashMap::new();
    for (name, data) in entry.each_object("reports", |report| read_report(&report))? {
        first.entry(name).or_insert(data);
    }
    let find = |collector: Collector, read: fn(&Json) -> Option<CollectorReport>| {
        first.get(collector.as_str()).and_then(|data| read(data))
    };
    Ok(Reports { cpu: find(Collector::CpuAvgLoad, read_cpu), xen: find(Collector::XenCpuAvgLoad, read_xen) })
}

/// Checks a report and returns the collector's name and the data.
fn read_report<'j>(report: &Object<'j, '_>) -> Result<(&'j str, &'j Json)> {
    report.only(&["category", "data", "format_version", "kind", "name", "timestamp", "version"])?;
    let name = report.string("name")?;
    report.string("version")?;
    report.int("format_version")?;
    report.int("timestamp")?;
    if let Some(category) = report.optional_string("category")?
        && !["instance", "storage", "daemon", "hypervisor"].contains(&category)
    {
        let found = Json::String(category.to_owned()).found();
        return Err(report
            .key_error("category", format!("{found} is not one of instance, storage, daemon, hypervisor")));
    }
    let kind = report.float("kind")?;
    if kind != 0.0 && kind != 1.0 {
        return Err(report.key_error("kind", format!("expected 0 or 1, found {kind:?}")));
    }
    Ok((name, report.required("data")?))
}

fn read_cpu(data: &Json) -> Option<CollectorReport> {
    let data = Object::new(data, JsonPath::source("")).ok()?;
    data.only(&["cpu_number", "cpus", "cpu_total"]).ok()?;
    data.int("cpu_number").ok()?;
    data.floats("cpus").ok()?;
    data.float("cpu_total").ok().map(CollectorReport::Node)
}

fn read_xen(data: &Json) -> Option<CollectorReport> {
    let data = Object::new(data, JsonPath::source("")).ok()?;
    let mut loads = HashMap::new();
    for (instance, load) in data.members() {
        let load = match load {
            Json::Int(_) | Json::Huge(_) | Json::Float(_) => load.float().ok()?,
            _ => return None,
        };
        loads.entry(instance.clone().into_owned()).or_insert(load);
    }
    Some(CollectorReport::Instances(loads))
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXAMPLE: &str = r#"[{"node":"node1.example.com","reports":[{"name":"cpu-avg-load","version":"B",
        "format_version":1,"timestamp":1379507272000000000,"category":null,"kind":0,
        "data":{"cpu_number":4,"cpus":[0.04,0.05,0.06,0.05],"cpu_total":0.2}}]}]"#;

    fn report(name: &str, data: &str) -> String {
        format!(
            r#"{{"name":"{name}","version":"B","format_version":1,"timestamp":1,"kind":0,"data":{data}}}"#
        )
    }

    fn node(name: &str, reports: &[String]) -> String {
        format!(r#"{{"node":"{name}","reports":[{}],"more":1}}"#, reports.join(","))
    }

    fn load_of(data: &MonitoringData, node: &str) -> Option<f64> {
        match data.report(node, Collector::CpuAvgLoad)? {
            CollectorReport::Node(load) => Some(*load),
            CollectorReport::Instances(_) => None,
        }
    }

    fn cpu(total: f64) -> String {
        report("cpu-avg-load", &format!(r#"{{"cpu_number":1,"cpus":[],"cpu_total":{total}}}"#))
    }

    #[test]
    fn the_load_of_a_node() {
        let data = parse(EXAMPLE, "m").unwrap();
        assert_eq!(load_of(&data, "node1.example.com"), Some(0.2));
        assert_eq!(data.report("node1.example.com", Collector::XenCpuAvgLoad), None);
        assert_eq!(load_of(&data, "node2"), None);
    }

    #[test]
    fn the_load_of_instances() {
        let xen = report("xen-cpu-avg-load", r#"{"i1":0.5,"i2":2}"#);
        let data = parse(&format!("[{}]", node("n", &[cpu(1.0), xen])), "m").unwrap();
        let expected = HashMap::from([("i1".to_owned(), 0.5), ("i2".to_owned(), 2.0)]);
        assert_eq!(data.report("n", Collector::XenCpuAvgLoad), Some(&CollectorReport::Instances(expected)));
        assert_eq!(load_of(&data, "n"), Some(1.0));
    }

    #[test]
    fn the_first_report_and_the_last_entry_count() {
        let entries = [node("n", &[cpu(9.0)]), node("n", &[report("lv", "null"), cpu(1.0), cpu(2.0)])];
        let data = parse(&format!("[{}]", entries.join(",")), "m").unwrap();
        assert_eq!(load_of(&data, "n"), Some(1.0));
    }

    #[test]
    fn malformed_data_are_a_missing_report() {
        for data in [
            "null",
            "[]",
            r#"{"cpu_number":1,"cpus":[]}"#,
            r#"{"cpu_number":1,"cpus":[],"cpu_total":"1"}"#,
            r#"{"cpu_number":1,"cpus":[null],"cpu_total":1}"#,
            r#"{"cpu_number":1,"cpus":[],"cpu_total":1,"x":1}"#,
        ] {
            let text = format!("[{}]", node("n", &[report("cpu-avg-load", data), cpu(1.0)]));
            assert_eq!(load_of(&parse(&text, "m").unwrap(), "n"), None, "{data}");
        }
        let text = format!("[{}]", node("n", &[report("xen-cpu-avg-load", r#"{"i":null}"#)]));
        assert_eq!(parse(&text, "m").unwrap().report("n", Collector::XenCpuAvgLoad), None);
    }

    #[test]
    fn answers_of_daemons() {
        let read = |answer: &[u8]| read_answer(Collector::CpuAvgLoad, answer);
        let good = cpu(1.5);
        let broken = [good.replace(":0,", ":7,"), format!("[{good}]"), good[1..].into(), String::new()];
        for answer in broken.iter().map(|text| text.as_bytes()).chain([&b"\xff"[..], b"{}"]) {
            assert_eq!(read(answer), None);
        }
        let many = good.replace("\"cpus\":[]", &format!("\"cpus\":[0{}]", ",0".repeat(1 << 20)));
        assert_eq!(read(many.as_bytes()), None);
        assert_eq!(read(good.replace("cpu-avg-load", "x").as_bytes()), Some(CollectorReport::Node(1.5)));
    }

    #[test]
    fn refused_files() {
        for (from, to, message) in [
            ("\"node\"", "\"x\"", "m, item 1: key 'node' not found"),
            ("\"reports\"", "\"x\"", "m, node 'node1.example.com': key 'reports' not found"),
            ("\"version\"", "\"foo\"", "m, node 'node1.example.com', reports, item 1: unknown key 'foo'"),
            (
                "\"version\":\"B\",",
                "",
                "m, node 'node1.example.com', reports, item 1: key 'version' not found",
            ),
            (
                "\"kind\":0",
                "\"kind\":2",
                "m, node 'node1.example.com', reports, item 1: key 'kind': expected 0 or 1",
            ),
            (
                ":null",
                ":\"foo\"",
                "m, node 'node1.example.com', reports, item 1: key 'category': \"foo\" is not",
            ),
        ] {
            let error = parse(&EXAMPLE.replacen(from, to, 1), "m").unwrap_err().to_string();
            assert!(error.starts_with(message), "{error}");
        }
        assert_eq!(parse("{}", "m").unwrap_err().to_string(), "m: expected a list, found an object");
        assert_eq!(
            parse("[1]", "m").unwrap_err().to_string(),
            "m, item 1: Unable to read JSObject: expected an object, found 1"
        );
        assert!(parse("", "m").is_err());
    }
}

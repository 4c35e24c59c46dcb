//! htools-format(5): its examples load, and its words are those that the readers accept.

use htools::load::merge::{MergeOptions, finish, merge};
use htools::load::monitoring::{self, Collector, CollectorReport};
use htools::load::text::writer::whole_cluster_text;
use htools::load::{RawCluster, simulate, text, utilisation};
use htools::model::{AllocPolicy, DiskTemplate, InstancePolicy, Mib, RunStatus};

use super::{block, read};

const PAGE: &str = "htools-format.5";

fn example() -> (String, RawCluster) {
    let text = block(&read(PAGE), "example: cluster");
    let raw = text::parse(&text, "the example").unwrap();
    (text, raw)
}

/// The sections of a written file.
fn written(raw: RawCluster) -> Vec<Vec<String>> {
    let mut cluster = merge(raw, &MergeOptions::default()).unwrap();
    finish(&mut cluster, Mib(0));
    let text = whole_cluster_text(&cluster);
    text.split("\n\n").map(|section| section.lines().map(str::to_owned).collect()).collect()
}

#[test]
fn the_example_is_a_cluster_of_all_that_the_format_has() {
    let (_, raw) = example();
    assert_eq!((raw.groups.len(), raw.nodes.len(), raw.instances.len(), raw.tags.len()), (2, 3, 2, 2));
    assert!(raw.nodes[0].master && raw.nodes[2].offline && !raw.instances[1].auto_balance);
    assert_eq!(raw.groups[1].policy, InstancePolicy::default());
    // According to the page, this holds for node2 and db1.
    assert_eq!((raw.nodes[1].spindle_total, raw.nodes[1].cpu_node), (1, 1));
    assert_eq!(raw.instances[1].disks[0].spindles, None);
    // No resources are unaccounted for.
    let cluster = merge(raw, &MergeOptions::default()).unwrap();
    let mut finished = cluster;
    assert!(finish(&mut finished, Mib(0)).is_empty());
}

#[test]
fn columns_are_those_that_are_written_and_each_is_described() {
    let page = read(PAGE);
    let sections = written(example().1);
    for (row, heading, of) in [
        (&sections[0][0], "Groups", "group"),
        (&sections[1][0], "Nodes", "node"),
        (&sections[2][0], "Instances", "instance"),
        (&sections[4][0], "Policies", "policy"),
    ] {
        let article = if of == "instance" { "an" } else { "a" };
        let columns = block(&page, &format!("columns of {article} {of}"));
        let columns: Vec<&str> = columns.trim_end().split('|').collect();
        assert_eq!(columns.len(), row.split('|').count(), "{heading}");
        let part = page.split_once(&format!(".SS {heading}\n")).unwrap().1.split_once("\n.SS ").unwrap().0;
        for column in columns {
            assert!(part.contains(&format!(".TP\n.B {column}\n")), "{heading}: {column}");
        }
    }
}

/// Default of a column in the page's section with this heading.
fn default(page: &str, heading: &str, column: &str) -> Option<String> {
    let part = page.split_once(&format!(".SS {heading}\n")).unwrap().1.split_once("\n.SS ").unwrap().0;
    let column = part.split_once(&format!(".TP\n.B {column}\n")).unwrap().1;
    let column = column.split("\n.TP").next().unwrap().split("\n.PP").next().unwrap();
    let default = column.split_once("Default: ")?.1.trim_end_matches('.');
    Some(if default == "none" { String::new() } else { default.replace("\\-", "-") })
}

#[test]
fn what_is_missing_has_the_default_that_the_page_gives() {
    let page = read(PAGE);
    let (text, _) = example();
    for (heading, of, at, first) in
        [("Groups", "a group", 0, 0), ("Nodes", "a node", 1, 0), ("Instances", "an instance", 2, 1)]
    {
        let columns = block(&page, &format!("columns of {of}"));
        let columns: Vec<&str> = columns.trim_end().split('|').collect();
        let defaults: Vec<Option<String>> = columns.iter().map(|c| default(&page, heading, c)).collect();
        let needed = defaults.iter().take_while(|default| default.is_none()).count();
        assert!(needed < columns.len() && defaults[needed..].iter().all(Option::is_some), "{heading}");
        let row = text.split("\n\n").nth(at).unwrap().lines().nth(first).unwrap();
        let kept: Vec<&str> = row.split('|').take(needed).collect();
        let with = |columns: &[&str]| text::parse(&text.replacen(row, &columns.join("|"), 1), "changed");
        assert!(with(&kept[..needed - 1]).is_err(), "{heading}: column {needed} is needed");
        for count in needed..columns.len() {
            let given = defaults[needed..count].iter().flatten().map(String::as_str);
            let all = defaults[needed..].iter().flatten().map(String::as_str);
            let short: Vec<&str> = kept.iter().copied().chain(given).collect();
            let full: Vec<&str> = kept.iter().copied().chain(all).collect();
            assert_eq!(with(&short).unwrap(), with(&full).unwrap(), "{heading}: {count} columns");
        }
    }
}

#[test]
fn all_values_are_named() {
    let page = read(PAGE).replace("\\-", "-");
    let words: Vec<&str> = page.split(|c: char| c.is_whitespace() || c == ',').collect();
    let templates = DiskTemplate::ALL.iter().map(|value| value.as_str());
    let states = RunStatus::ALL.iter().map(|value| value.as_str());
    let policies = AllocPolicy::ALL.iter().map(|value| value.as_str());
    let collectors = [Collector::CpuAvgLoad, Collector::XenCpuAvgLoad].map(Collector::as_str);
    for value in templates.chain(states).chain(policies).chain(collectors) {
        assert!(words.contains(&value), "{value}");
    }
}

#[test]
fn the_default_policy_is_the_one_that_is_given() {
    let row = block(&read(PAGE), "default policy");
    let sections = written(RawCluster::default());
    let written = sections.iter().flatten().find(|line| line.contains("128,1"));
    assert_eq!(written.map(String::as_str), Some(row.trim_end()));
}

#[test]
fn the_other_examples_are_read() {
    let page = read(PAGE);
    let (_, raw) = example();
    let names: Vec<&str> = raw.instances.iter().map(|i| i.name.as_str()).collect();

    let made = simulate::parse_specs(&[block(&page, "example: simulation").trim_end().to_owned()]).unwrap();
    assert_eq!((made.nodes.len(), made.nodes[0].spindle_total), (20, 4));

    let loads = utilisation::parse(block(&page, "example: load").as_bytes(), "load").unwrap();
    assert_eq!(loads.iter().map(|load| load.0.as_str()).collect::<Vec<_>>(), names);

    let data = monitoring::parse(&block(&page, "example: monitoring"), "monitoring").unwrap();
    assert_eq!(data.report("node1", Collector::CpuAvgLoad), Some(&CollectorReport::Node(1.2)));
    let Some(CollectorReport::Instances(loads)) = data.report("node1", Collector::XenCpuAvgLoad) else {
        panic!("the report of Xen")
    };
    assert!(names.iter().all(|name| loads.contains_key(*name)));
}

use std::fmt::Write as _;

use super::*;
use htools_model::{AllocPolicy, Disk, DiskTemplate, InstancePolicy, Mib, RunStatus};

const GROUP: &str = "g1|u1|preferred|";
const NODES: &str = "n1|1000|100|900|10000|9000|4|N|u1\nn2|1000|100|900|10000|9000|4|M|u1";
const INSTANCE: &str = "i1|100|1024|1|running|Y|n1|n2|drbd|";
const POLICY: &str = "g1|128,1,1024,1,1,1|128,1,512,1,1,1;1024,8,1048576,16,8,12|drbd,plain|4|0.01";

fn with(group: &str, nodes: &str, instances: &str, policies: &str) -> Result<RawCluster> {
    let mut text = String::new();
    for section in [group, nodes, instances, "", policies] {
        text.push_str(section);
        text.push_str(if section.is_empty() { "\n" } else { "\n\n" });
    }
    parse(&text, "c.data")
}

fn node(row: &str) -> Result<crate::load::raw::RawNode> {
    with(GROUP, row, "", "").map(|mut c| c.nodes.remove(0))
}

fn instance(row: &str) -> Result<crate::load::raw::RawInstance> {
    with(GROUP, NODES, row, "").map(|mut c| c.instances.remove(0))
}

#[test]
fn sections_are_counted_by_empty_lines() {
    let groups = "g|u|preferred|";
    let nodes = "n|1|1|1|1|1|1|N|u";
    let found = |text: String| parse(&text, "c.data").map_err(|e| e.to_string());
    for (text, sections) in [
        (String::new(), 0),
        ("\n".into(), 2),
        (format!("{groups}\n\n{nodes}\n"), 2),
        (format!("{groups}\n\n{nodes}\n\n"), 3),
        ("g\r\n\r\nn\r\n\r\n\r\n\r\n".into(), 1),
        (" \n \n \n \n".into(), 1),
    ] {
        let error = found(text).unwrap_err();
        assert!(error.starts_with(&format!("c.data: {sections} sections instead of 4 or more")), "{error}");
    }
    let cluster = found(format!("{groups}\n\n{nodes}\n\n\n")).unwrap();
    assert_eq!((cluster.groups.len(), cluster.nodes.len(), cluster.instances.len()), (1, 1, 0));
    assert_eq!(found("\n\n\n\n\n".into()), Ok(RawCluster::default()));
    let cluster = found(format!("{groups}\n\n{nodes}\n\n\ntag1")).unwrap();
    assert_eq!(cluster.tags, ["tag1"]);
    assert!(found("g\r\n\r\nn\r\n".into()).unwrap_err().contains("CR LF"));
}

#[test]
fn later_sections_are_ignored() {
    let text = format!("{GROUP}\n\n{NODES}\n\n\n\n{POLICY}\n\nsix|\n\nseven\n");
    assert!(parse(&text, "c").is_ok());
}

#[test]
fn a_policy_one_section_early_is_a_tag() {
    let cluster = parse(&format!("{GROUP}\n\n{NODES}\n\n{INSTANCE}\n\n{POLICY}\n"), "c").unwrap();
    assert_eq!(cluster.tags, [POLICY]);
    assert_eq!(cluster.groups[0].policy, InstancePolicy::default());
}

#[test]
fn the_minimal_example() {
    let nodes = "n1|1000|100|900|10000|9000|4|N|u1\n\
                 n2|1000|100|900|10000|9000|4|M|u1|2|a,b|Y|1|3|0.8|ignored";
    let cluster = parse(&format!("{GROUP}\n\n{nodes}\n\n{INSTANCE}\n\ntag1\n\n{POLICY}"), "c").unwrap();
    let [group] = &*cluster.groups else { panic!("one group") };
    assert_eq!((&*group.name, &*group.uuid, group.alloc_policy), ("g1", "u1", AllocPolicy::Preferred));
    assert!(group.tags.is_empty() && group.networks.is_empty());
    let [n1, n2] = &*cluster.nodes else { panic!("two nodes") };
    assert_eq!((n1.spindle_total, n1.spindle_free, n1.cpu_node, n1.cpu_speed), (1, 0, 1, 1.0));
    assert!(!n1.exclusive_storage && !n1.master && !n1.offline && n1.tags.is_empty());
    assert_eq!((n2.mem_total, n2.mem_node, n2.mem_free), (1000.0, Mib(100), Mib(900)));
    assert_eq!((n2.disk_total, n2.disk_free, n2.cpu_total), (10000.0, Mib(9000), 4.0));
    assert_eq!((n2.spindle_total, n2.spindle_free, n2.cpu_node, n2.cpu_speed), (2, 1, 3, 0.8));
    assert!(n2.exclusive_storage && n2.master && n2.tags == ["a", "b"]);
    let [i1] = &*cluster.instances else { panic!("one instance") };
    assert_eq!((i1.mem, i1.disk, i1.vcpus, i1.spindle_use), (Mib(100), Mib(1024), 1, 1));
    assert_eq!(i1.disks, [Disk { size: Mib(1024), spindles: None }]);
    assert_eq!((i1.primary.get(), i1.secondary.map(NodeIdx::get)), (0, Some(1)));
    assert_eq!((i1.status, i1.template), (RunStatus::Running, DiskTemplate::Drbd));
    assert!(i1.auto_balance && !i1.forthcoming);
    assert_eq!(cluster.tags, ["tag1"]);
    assert_eq!(cluster.policy, InstancePolicy::default());
    let policy = &group.policy;
    assert_eq!(policy.disk_templates, [DiskTemplate::Drbd, DiskTemplate::Plain]);
    assert_eq!((policy.vcpu_ratio, policy.spindle_ratio), (4.0, 0.01));
    assert_eq!(policy.ranges.len(), 1);
    assert_eq!((policy.ranges[0].min.disk_size, policy.ranges[0].max.cpus), (Mib(512), 8));
}

#[test]
fn lists_keep_empty_items() {
    for (text, items) in [("", vec![]), ("a,", vec!["a", ""]), (",", vec!["", ""]), (",,", vec!["", "", ""])]
    {
        let cluster = with(&format!("g1|u1|preferred|{text}|{text}|more|and more"), NODES, "", "").unwrap();
        assert_eq!(cluster.groups[0].tags, items);
        assert_eq!(cluster.groups[0].networks, items);
    }
}

#[test]
fn numbers_of_nodes() {
    let row = |total: &str, free: &str| node(&format!("n1|{total}|0|{free}|0|0|0|N|u1"));
    assert!(row("NaN", "-5").is_ok_and(|n| n.mem_total.is_nan() && n.mem_free == Mib(-5)));
    assert!(row("-Infinity", "((0x10))").is_ok_and(|n| n.mem_total == f64::NEG_INFINITY));
    assert!(row("1e400", "- 5").is_ok_and(|n| n.mem_total == f64::INFINITY));
    assert!(row("1.5e-2", "0o17").is_ok_and(|n| n.mem_total == 0.015 && n.mem_free == Mib(15)));
    for (total, free, problem) in [
        ("5 ", "1", "total memory: leftover characters when parsing '5 ': ' '"),
        ("1.", "1", "total memory: leftover characters when parsing '1.': '.'"),
        (".5", "1", "total memory: cannot parse string '.5'"),
        ("+5", "1", "total memory: cannot parse string '+5'"),
        ("", "1", "total memory: cannot parse string ''"),
        ("1_000", "1", "total memory: leftover characters when parsing '1_000': '_000'"),
        ("1", "1e3", "free memory: cannot parse string '1e3'"),
        ("1", "NaN", "free memory: cannot parse string 'NaN'"),
        ("1", "99999999999999999999", "free memory: '99999999999999999999' does not fit into 64 bits"),
    ] {
        let error = row(total, free).unwrap_err().to_string();
        assert_eq!(error, format!("c.data, line 3, node 'n1': {problem}"));
    }
}

#[test]
fn an_unknown_node_is_offline_and_empty() {
    let read = node("n1|1000|?|?|10000|9000|4|M|u1|2|a,b|bad|x|y|z").unwrap();
    assert!(read.offline && !read.master && !read.exclusive_storage && read.tags.is_empty());
    assert_eq!((read.mem_total, read.disk_total, read.cpu_total), (0.0, 0.0, 0.0));
    assert_eq!((read.cpu_node, read.spindle_total, read.cpu_speed), (0, 0, 1.0));
    assert!(node("n1|1|1|1|1|1|1|?|u1|?").is_err(), "only in the resources");
}

#[test]
fn roles_of_nodes() {
    for (role, offline, master) in
        [("Y", true, false), ("M", false, true), ("N", false, false), ("", false, false), ("y", false, false)]
    {
        let read = node(&format!("n1|1|1|1|1|1|1|{role}|u1")).unwrap();
        assert_eq!((read.offline, read.master), (offline, master), "{role:?}");
    }
}

#[test]
fn instance_variants() {
    let full = instance("i1|100|1024|1|running|Y|n1|n2|drbd||1|3|Y").unwrap();
    assert!(full.forthcoming && full.disks[0].spindles == Some(3));
    let plain = instance("i1|100|1024|1|USER_down|N|n1||plain|,|-3").unwrap();
    assert_eq!((plain.secondary, plain.spindle_use, plain.tags.len()), (None, -3, 2));
    let twice = instance("i1|100|1024|1|running|Y|n1|n1|plain||1").unwrap();
    assert_eq!(twice.secondary, Some(twice.primary));
    assert!(instance("i1|100|1024|1|running|Y|n1||drbd|").is_ok_and(|i| i.secondary.is_none()));
}

#[test]
fn refused_instances() {
    for (row, problem) in [
        ("i1|1|1|1|running|Y|nx|n2|drbd|", "primary node: Unknown node 'nx' for instance i1"),
        ("i1|1|1|1|running|Y||n2|drbd|", "primary node: Unknown node '' for instance i1"),
        ("i1|1|1|1|running|Y|n1|nx|drbd|", "secondary node: Unknown node 'nx' for instance i1"),
        ("i1|x|1|1|running|Y|n1|n2|drbd|", "memory: cannot parse string 'x'"),
        ("i1|1|1|1|running|y|n1|n2|drbd|", "auto_balance: 'y' is neither 'Y' nor 'N'"),
        ("i1|1|1|1|running|Y|n1|n1|drbd|", "secondary node: 'n1' is the primary node, too"),
        ("i1|1|1|1|running|Y|n1|n2|drbd||1||", "disk spindles: cannot parse string ''"),
        ("i1|1|1|1|running|Y|n1|n2|drbd||", "spindle use: cannot parse string ''"),
        ("i1|1|1|1|running|Y|n1|n2|drbd||1|-|", "forthcoming: '' is neither 'Y' nor 'N'"),
        ("i1|1|1", "3 columns instead of 10 or more: 'i1|1|1'"),
    ] {
        let error = instance(row).unwrap_err().to_string();
        assert_eq!(error, format!("c.data, line 6, instance 'i1': {problem}"));
    }
    let error = instance("i1|1|1|1|up|Y|n1|n2|drbd|").unwrap_err();
    assert!(error.problem.starts_with("status: 'up' is not one of running, ADMIN_down"));
    let error = instance("i1|1|1|1|running|Y|n1|n2|drbd8|").unwrap_err();
    assert!(error.problem.starts_with("disk template: 'drbd8' is not one of diskless, file"));
}

#[test]
fn equal_names_mean_the_last() {
    let nodes = "n1|1|1|1|1|1|1|N|u1\nn1|2|1|1|1|1|1|N|u1";
    let cluster =
        with("g1|u1|preferred|\ng2|u1|unallocable|", nodes, "i|1|1|1|running|Y|n1||plain|", "").unwrap();
    assert_eq!(cluster.instances[0].primary.get(), 1);
    assert_eq!(cluster.nodes[0].group.get(), 1);
}

#[test]
fn groups_may_have_no_nodes_and_clusters_neither() {
    let cluster = with("g1|u1|preferred|\n||last_resort|", "", "", "").unwrap();
    assert_eq!((cluster.groups.len(), cluster.nodes.len()), (2, 0));
    let error = node("n1|1|1|1|1|1|1|N|u2").unwrap_err();
    assert_eq!(error.to_string(), "c.data, line 3, node 'n1': group: no group has the UUID 'u2'");
}

#[test]
fn policies_find_their_owners() {
    let groups = "g1|u1|preferred|\nsame|same|preferred|\nu1|u3|preferred|";
    let row = |owner: &str| with(groups, "", "", &POLICY.replacen("g1", owner, 1));
    assert!(row("").is_ok_and(|c| c.policy.vcpu_ratio == 4.0 && c.policy.disk_templates.len() == 2));
    assert!(row("same").is_ok_and(|c| c.groups[1].policy.disk_templates.len() == 2));
    assert!(row("u3").is_ok_and(|c| c.groups[2].policy.disk_templates.len() == 2));
    // Saved states have names.
    assert!(row("u1").is_ok_and(|c| c.groups[2].policy.disk_templates.len() == 2));
    for groups in ["g|u1|preferred|\ng|u2|preferred|", "a|g|preferred|\nb|g|preferred|"] {
        let error = with(groups, "", "", &POLICY.replacen("g1", "g", 1)).unwrap_err().to_string();
        assert_eq!(error, "c.data, line 7, policy 'g': owner: several groups have the name or UUID 'g'");
    }
    assert!(row("gx").unwrap_err().problem.starts_with("owner: no group has"));
    let both = format!("{POLICY}\n{}", POLICY.replace("|4|", "|5|"));
    assert!(with(groups, "", "", &both).is_ok_and(|c| c.groups[0].policy.vcpu_ratio == 5.0));
}

#[test]
fn refused_policies() {
    let spec = "1,1,1,1,1,1";
    for (row, problem) in [
        (format!("g1|128,1|{spec};{spec}||1|1"), "standard spec: disk size: missing in '128,1'"),
        (format!("g1|{spec}|{spec};1,x,1,1,1,1||1|1"), "maximum spec: cpu count: cannot parse string 'x'"),
        (format!("g1|{spec}|{spec}||1|1"), "min/max specs: an odd number of specs (1)"),
        (format!("g1|{spec}|||x|1"), "vcpu ratio: cannot parse string 'x'"),
        (format!("g1|{spec}||drbd|1"), "5 columns instead of 6 or more: 'g1|1,1,1,1,1,1||drbd|1'"),
    ] {
        assert_eq!(with(GROUP, NODES, "", &row).unwrap_err().problem, problem);
    }
    let row = format!("|{spec}||drbd,|1|1");
    let error = with(GROUP, "", "", &row).unwrap_err();
    assert!(error.to_string().contains("cluster policy: disk templates: '' is not one of"), "{error}");
    let empty = format!("|{spec},9,9|||1|NaN");
    assert!(with(GROUP, "", "", &empty).is_ok_and(|c| c.policy.ranges.is_empty()));
}

#[test]
fn a_byte_order_mark_is_part_of_the_first_name() {
    let cluster = parse(&format!("\u{feff}{GROUP}\n\n\n\n"), "c").unwrap();
    assert_eq!(cluster.groups[0].name, "\u{feff}g1");
}

#[test]
fn binary_files_are_refused() {
    let error = parse_bytes(b"\x7fELF\n\n\xff\xfe\n\n", "c").unwrap_err();
    assert_eq!(error.to_string(), "c, line 3: not UTF-8 text (byte 0xff)");
    assert!(parse_bytes(b"\0\0\0\n\n\n\n", "c").is_err());
}

#[test]
fn messages_are_one_short_line() {
    let evil = "\u{1b}]0;title\u{7}\r\u{202e}".repeat(100_000);
    for text in [
        format!("{evil}\n\n\n\n"),
        format!("{evil}|{evil}|{evil}|\n\n\n\n"),
        format!("{GROUP}\n\n{evil}|5{evil}|1|1|1|1|1|N|u1\n\n\n"),
        format!("{GROUP}\n\n{evil}|5|1|1|1|1|1|N|{evil}\n\n\n"),
        format!("{GROUP}\n\n{NODES}\n\n{evil}|1|1|1|{evil}|Y|n1|n2|drbd|\n\n"),
        format!("{GROUP}\n\n{NODES}\n\n\n\n{evil}|{evil}||||\n"),
    ] {
        let error = parse(&text, &evil).unwrap_err().to_string();
        assert!(error.chars().count() < 500 && !error.chars().any(char::is_control), "{error}");
    }
}

#[test]
fn long_lines_are_read_once() {
    const LONG: usize = 10_000_000;
    for line in ["|".repeat(LONG), "x".repeat(LONG), format!("g|{}|x|", "9".repeat(LONG))] {
        assert!(parse(&format!("{line}\n\n\n\n"), "c").is_err());
    }
    let tags = parse(&format!("{GROUP}\n\n\n\n{}\n", "t".repeat(LONG)), "c").unwrap().tags;
    assert_eq!(tags[0].len(), LONG);
    let digits = format!("n1|1|{}|1|1|1|1|N|u1", "9".repeat(LONG));
    assert!(node(&digits).unwrap_err().problem.contains("does not fit"));
}

#[test]
fn a_large_cluster_is_read_in_linear_time() {
    let mut text = format!("{GROUP}\n\n");
    for i in 0..1000 {
        let _ = writeln!(text, "node{i}|1000|100|900|10000|9000|4|N|u1");
    }
    text.push('\n');
    for i in 0..10_000 {
        let _ = writeln!(text, "inst{i}|1|1|1|running|Y|node{}|node{}|drbd|a,b", i % 1000, (i + 1) % 1000);
    }
    text.push_str("\n\n");
    let start = std::time::Instant::now();
    assert_eq!(parse(&text, "c").unwrap().instances.len(), 10_000);
    // A generous limit, for an unoptimised build on a busy machine.
    assert!(start.elapsed().as_secs() < 5);
}

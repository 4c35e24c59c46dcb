//! Allocator requests applied to another cluster.

use htools::load::iallocator::Request;
use htools::model::{Cluster, EvacMode, GroupIdx, InstanceIdx, NodeIdx};
use htools_testkit::cluster;

fn row(name: &str) -> String {
    format!("{name}|4096|0|4096|10240|9216|4|N|u|1")
}

#[test]
fn objects_are_found_by_name() {
    let nodes = [row("n1"), row("n2")];
    let [n1, n2] = [&*nodes[0], &*nodes[1]];
    let one = cluster(&[n1, n2], &["a|1|1|1|running|Y|n1||ext||1", "b|1|1|1|running|Y|n1||ext||1"], &[]);
    let two = cluster(&[n2, n1], &["b|1|1|1|running|Y|n1||ext||1"], &[]);
    let ask = |instance: usize| {
        let instance = InstanceIdx::new(instance);
        Request::Relocate { instance, required_nodes: 1, from: vec![NodeIdx::new(0)] }.transferred(&one, &two)
    };
    let (instance, from) = (InstanceIdx::new(0), vec![NodeIdx::new(1)]);
    assert_eq!(ask(1), Ok(Request::Relocate { instance, required_nodes: 1, from }));
    let error = ask(0).unwrap_err().to_string();
    assert!(error.starts_with("request, instance 'a': no object has this name in the cluster"), "{error}");
    let many = Request::NodeEvacuate { instances: vec![InstanceIdx::new(1); 2], mode: EvacMode::All };
    let there = Request::NodeEvacuate { instances: vec![instance; 2], mode: EvacMode::All };
    assert_eq!(many.transferred(&one, &two), Ok(there));
}

#[test]
fn groups_are_found_by_uuid_before_name() {
    let mut one = cluster(&[], &[], &[]);
    let ask = |one: &Cluster, two: &Cluster| {
        Request::ChangeGroup { instances: Vec::new(), targets: vec![GroupIdx::new(0)] }.transferred(one, two)
    };
    let mut two = cluster(&[], &[], &[]);
    two.groups[0].name = "other".into();
    assert!(ask(&one, &two).is_ok());
    one.groups[0].uuid = "x".into();
    assert!(ask(&one, &two).is_err());
    two.groups[0].name = "g".into();
    assert!(ask(&one, &two).is_ok());
}

use super::*;
use htools_model::{AllocPolicy, DiskTemplate, EvacMode, Hypervisor, Mib, RunStatus};

/// One group, nodes n1 to n3, and the DRBD instance i1 on n1 and n2.
const EXAMPLE: &str = include_str!("example.json");

fn read(text: &str) -> Result<Message> {
    parse(text, "request.json")
}

/// The example with the first occurrence of a text replaced.
fn with(from: &str, to: &str) -> Result<Message> {
    assert!(EXAMPLE.contains(from), "{from}");
    read(&EXAMPLE.replacen(from, to, 1))
}

fn problem(from: &str, to: &str) -> String {
    with(from, to).unwrap_err().to_string()
}

/// The example with another request.
fn asking(request: &str) -> Result<Request> {
    let end = EXAMPLE.find("\n").unwrap_or_default();
    read(&format!("{{\"request\":{request},{}", &EXAMPLE[end..])).map(|m| m.request)
}

/// The members of an object that describes a new instance.
const NEW: &str = r#""name":"new","required_nodes":2,"disk_space_total":1152,"disks":[{"size":1024,"spindles":3}],
    "memory":1024,"vcpus":2,"tags":["a"],"disk_template":"drbd","spindle_use":1,
    "nics":[{"network":"net1","mode":"routed"},{}]"#;

#[test]
fn without_a_template_the_disks_are_in_the_volume_groups() {
    let without = |text: &str| text.replace("\"disk_template\":\"drbd\",", "");
    let message = read(&without(EXAMPLE)).unwrap();
    let mirrored = message.cluster.instances.iter().filter(|i| i.template == DiskTemplate::Drbd);
    assert!(mirrored.clone().count() > 0 && mirrored.clone().all(|i| i.secondary.is_some()));
    for (nodes, template) in [(1, DiskTemplate::Plain), (2, DiskTemplate::Drbd)] {
        let new = without(NEW).replace("\"required_nodes\":2", &format!("\"required_nodes\":{nodes}"));
        let request = asking(&format!("{{\"type\":\"allocate\",{new}}}")).unwrap();
        let Request::Allocate { instance, .. } = request else { panic!("a new instance") };
        assert_eq!(instance.description.template, template);
    }
}

#[test]
fn the_cluster_is_read() {
    let cluster = read(EXAMPLE).unwrap().cluster;
    let [group] = &*cluster.groups else { panic!("one group") };
    assert_eq!((&*group.name, &*group.uuid, group.alloc_policy), ("g1", "u1", AllocPolicy::Preferred));
    assert_eq!((&*group.networks, group.policy.disk_templates.len()), (&["net1".to_owned()][..], 3));
    let names: Vec<_> = cluster.nodes.iter().map(|n| &*n.name).collect();
    assert_eq!(names, ["n1", "n2", "n3"], "document order");
    let n1 = &cluster.nodes[0];
    assert_eq!((n1.mem_total, n1.mem_node, n1.mem_free), (16384.0, Mib(0), Mib(15360)));
    assert_eq!((n1.disk_total, n1.disk_free), (409_600.0, Mib(408_448)));
    assert_eq!((n1.cpu_total, n1.cpu_node, n1.cpu_speed), (16.0, 1, 1.0));
    assert_eq!((n1.spindle_total, n1.spindle_free, n1.exclusive_storage), (7, 0, false));
    assert_eq!((n1.offline, n1.master, n1.hypervisor), (false, false, Some(Hypervisor::Kvm)));
    let i1 = &cluster.instances[0];
    assert_eq!((i1.mem, i1.disk, i1.vcpus, i1.spindle_use), (Mib(1024), Mib(1152), 1, 1));
    assert_eq!((i1.primary.get(), i1.secondary.map(|n| n.get())), (0, Some(1)));
    assert_eq!((i1.status, i1.template), (RunStatus::Running, DiskTemplate::Drbd));
    assert_eq!((i1.disks.len(), &*i1.networks), (1, &[None][..]));
    assert!(i1.auto_balance && !i1.forthcoming);
}

#[test]
fn nodes_that_are_not_live_need_no_numbers() {
    let numbers = "\"total_memory\":16384,";
    assert!(problem(numbers, "").starts_with("request.json, node 'n1': key 'total_memory' not found"));
    for (from, to) in
        [("\"offline\":false", "\"offline\":true"), ("\"vm_capable\":true", "\"vm_capable\":false")]
    {
        let text = EXAMPLE.replacen(from, to, 1).replacen(numbers, "", 1);
        let node = read(&text).unwrap().cluster.nodes.remove(0);
        assert!(node.offline && node.mem_total == 0.0 && node.mem_free == Mib(0));
        assert_eq!(node.spindle_total, 7, "a parameter, known all the same");
    }
    let drained = EXAMPLE.replacen("\"drained\":false", "\"drained\":true", 1);
    assert!(read(&drained).is_ok_and(|m| m.cluster.nodes[0].offline));
    assert!(read(&drained.replacen(numbers, "", 1)).is_err());
    // The key is checked even if its value does not matter.
    let text = EXAMPLE.replacen("\"offline\":false", "\"offline\":true", 1);
    assert!(read(&text.replacen("\"vm_capable\":true", "\"vm_capable\":\"x\"", 1)).is_err());
}

#[test]
fn spindles_depend_on_exclusive_storage() {
    let text = EXAMPLE.replacen("\"exclusive_storage\":false", "\"exclusive_storage\":true", 1);
    assert_eq!(read(&text).unwrap().cluster.nodes[0].spindle_total, 5);
    assert!(read(&text.replacen("\"spindle_count\":7", "\"x\":7", 1)).is_ok());
    assert!(with("\"total_spindles\":5", "\"total_spindles\":\"x\"").is_ok());
}

#[test]
fn states_of_instances() {
    for (state, status) in [
        ("\"down\"", RunStatus::AdminDown),
        ("\"offline\"", RunStatus::AdminOffline),
        ("\"x\"", RunStatus::Running),
        ("null", RunStatus::Running),
        ("5", RunStatus::Running),
    ] {
        let message = with("\"admin_state\":\"up\"", &format!("\"admin_state\":{state}")).unwrap();
        assert_eq!(message.cluster.instances[0].status, status, "{state}");
    }
    assert!(with("\"forthcoming\":false", "\"forthcoming\":true").unwrap().cluster.instances[0].forthcoming);
    assert!(!with("\"forthcoming\":false", "\"forthcoming\":1").unwrap().cluster.instances[0].forthcoming);
}

#[test]
fn problems_name_object_and_key() {
    for (from, to, message) in [
        (
            "\"nodegroups\"",
            "\"x\"",
            "request.json: key 'nodegroups' not found, object contains only [\"request\",",
        ),
        (
            "\"cluster_tags\":[]",
            "\"cluster_tags\":[1]",
            "request.json: key 'cluster_tags': item 1: Unable to read String",
        ),
        (
            "\"kvm\"",
            "\"qemu\"",
            "request.json: key 'enabled_hypervisors': item 1: \"qemu\" is not one of kvm",
        ),
        (
            "\"group\":\"u1\"",
            "\"group\":\"u2\"",
            "request.json, node 'n1': key 'group': no group has the UUID 'u2'",
        ),
        (
            "\"ndparams\":{",
            "\"ndparams\":null,\"x\":{",
            "request.json, node 'n1': key 'ndparams': Unable to read JSObject",
        ),
        ("\"alloc_policy\"", "\"x\"", "request.json, group 'u1': key 'alloc_policy' not found"),
        (
            "\"nodes\":[\"n1\",\"n2\"]",
            "\"nodes\":[]",
            "request.json, instance 'i1': key 'nodes': the list is empty",
        ),
        (
            "[\"n1\",\"n2\"]",
            "[\"n9\"]",
            "request.json, instance 'i1': key 'nodes': Unknown node 'n9' for instance i1",
        ),
        (
            "[\"n1\",\"n2\"]",
            "[5]",
            "request.json, instance 'i1': key 'nodes': Unable to read String: expected a string, found 5",
        ),
        ("\"bridged\"", "7", "request.json, instance 'i1', nics, item 1: key 'mode': Unable to read String"),
        ("\"size\"", "\"x\"", "request.json, instance 'i1', disks, item 1: key 'size' not found"),
        (
            "\"vcpus\":1",
            "\"vcpus\":null",
            "request.json, instance 'i1': key 'vcpus': expected a number, found null",
        ),
    ] {
        let error = problem(from, to);
        assert!(error.starts_with(message), "{error}");
    }
    assert!(with("[\"n1\",\"n2\"]", "[\"n1\",\"n2\",5]").is_ok(), "a third node is not looked at");
    assert_eq!(
        read("[]").unwrap_err().to_string(),
        "request.json: Unable to read JSObject: expected an object, found a list"
    );
    assert!(parse_bytes(b"{\"\xff\"}", "r").unwrap_err().problem.contains("UTF-8"));
}

#[test]
fn clusters_may_be_empty() {
    let text = r#"{"request":{"type":"node-evacuate","instances":[],"evac_mode":"all"},"nodegroups":{},
        "nodes":{},"instances":{},"cluster_tags":["t"],"enabled_hypervisors":[]}"#;
    let message = read(text).unwrap();
    assert!(message.cluster.nodes.is_empty() && message.cluster.tags == ["t"]);
}

#[test]
fn allocate() {
    let request = asking(&format!("{{\"type\":\"allocate\",{NEW}}}")).unwrap();
    let Request::Allocate { instance, group: None, restrict_to: None } = request else {
        panic!("{request:?}")
    };
    assert_eq!(instance.required_nodes, 2);
    let new = instance.description;
    assert_eq!((&*new.name, new.mem, new.disk, new.vcpus), ("new", Mib(1024), Mib(1152), 2));
    assert_eq!((new.disks[0].size, new.disks[0].spindles), (Mib(1024), Some(3)));
    assert_eq!(new.networks, [Some("net1".to_owned()), None]);
    let more = format!(r#"{{"type":"allocate",{NEW},"group_name":"zz","restrict-to-nodes":["n1"]}}"#);
    assert!(matches!(asking(&more), Ok(Request::Allocate { group: Some(g), restrict_to: Some(r), .. })
        if g == "zz" && r == ["n1"]));
    for key in ["group_name", "restrict-to-nodes"] {
        assert!(asking(&format!(r#"{{"type":"allocate",{NEW},"{key}":5}}"#)).is_err());
        assert!(asking(&format!(r#"{{"type":"allocate",{NEW},"{key}":null}}"#)).is_ok());
    }
    let error = asking(r#"{"type":"allocate"}"#).unwrap_err().to_string();
    assert_eq!(error, r#"request.json, request: key 'name' not found, object contains only ["type"]"#);
}

#[test]
fn relocate() {
    let from = |name: &str, node: &str| {
        asking(&format!(
            r#"{{"type":"relocate","name":"{name}","required_nodes":1,"relocate_from":["{node}"]}}"#
        ))
    };
    assert_eq!(
        from("i1", "n2"),
        Ok(Request::Relocate {
            instance: htools_model::InstanceIdx::new(0),
            required_nodes: 1,
            from: vec![htools_model::NodeIdx::new(1)]
        })
    );
    assert_eq!(
        from("i2", "n2").unwrap_err().to_string(),
        "request.json, request: key 'name': no instance has the name 'i2'"
    );
    assert_eq!(
        from("i1", "n9").unwrap_err().to_string(),
        "request.json, request: key 'relocate_from': node 'n9': no object has this name"
    );
}

#[test]
fn evacuate_change_group_and_secondary() {
    let first = htools_model::InstanceIdx::new(0);
    assert_eq!(
        asking(r#"{"type":"node-evacuate","instances":["i1","i1"],"evac_mode":"primary-only"}"#),
        Ok(Request::NodeEvacuate { instances: vec![first, first], mode: EvacMode::PrimaryOnly })
    );
    for target in ["g1", "u1"] {
        let request = format!(r#"{{"type":"change-group","instances":["i1"],"target_groups":["{target}"]}}"#);
        assert_eq!(
            asking(&request),
            Ok(Request::ChangeGroup {
                instances: vec![first],
                targets: vec![htools_model::GroupIdx::new(0)]
            })
        );
    }
    assert!(asking(r#"{"type":"change-group","instances":[],"target_groups":["g"]}"#).is_err());
    assert!(asking(r#"{"type":"change-group","instances":[]}"#).is_err());
    assert!(asking(r#"{"type":"node-evacuate","instances":["i"],"evac_mode":"all"}"#).is_err());
    assert!(asking(r#"{"type":"node-evacuate","instances":[],"evac_mode":"x"}"#).is_err());
    assert_eq!(
        asking(r#"{"type":"allocate-secondary","name":"i1"}"#),
        Ok(Request::AllocateSecondary { instance: first })
    );
}

#[test]
fn names_in_lists_may_lack_the_common_domain() {
    let text = EXAMPLE
        .replace("\"n1\"", "\"n1.ex.com\"")
        .replace("\"n2\"", "\"n2.ex.com\"")
        .replace("\"n3\"", "\"n3.ex.com\"")
        .replace("\"i1\"", "\"i1.ex.com\"");
    for name in ["i1", "i1.ex.com"] {
        let asked = text.replacen("\"instances\":[]", &format!("\"instances\":[\"{name}\"]"), 1);
        assert!(read(&asked).is_ok(), "{name}");
    }
    assert!(read(&text.replacen("\"instances\":[]", "\"instances\":[\"i1.ex\"]", 1)).is_err());
}

#[test]
fn multi_allocate() {
    let request =
        format!(r#"{{"type":"multi-allocate","instances":[{{{NEW}}},{{{NEW}}}],"group_name":"g1"}}"#);
    assert!(matches!(asking(&request), Ok(Request::MultiAllocate { instances, group: Some(_) })
        if instances.len() == 2 && instances[1].required_nodes == 2));
    let error = asking(r#"{"type":"multi-allocate","instances":[{"name":"a"}]}"#).unwrap_err().to_string();
    assert!(error.starts_with("request.json, request, instances, item 1: key 'required_nodes'"), "{error}");
}

#[test]
fn unknown_requests() {
    let error = asking(r#"{"type":"foo"}"#).unwrap_err().to_string();
    assert_eq!(error, "request.json, request: key 'type': \"foo\" is not a known type of request");
    assert!(asking("{}").is_err());
    assert!(asking("null").is_err());
}

#[test]
fn faults_inside_nodes_have_their_place_in_the_whole_message() {
    let at = EXAMPLE.lines().position(|line| line.contains("\"n2\"")).unwrap() + 1;
    let broken = problem("\"n2\"", "\"n2\\x\"");
    assert!(broken.starts_with(&format!("request.json, line {at}, column ")), "{broken}");
    assert!(broken.contains("Invalid JSON: invalid escape"), "{broken}");
}

#[test]
fn the_order_of_parts_does_not_matter_and_the_first_of_two_counts() {
    let document: serde_json::Value = serde_json::from_str(EXAMPLE).unwrap();
    let parts = document.as_object().unwrap();
    let part = |(key, value): (&String, &serde_json::Value)| format!("{key:?}:{value}");
    let backwards: Vec<_> = parts.iter().rev().map(part).collect();
    let twice = format!("{{{},\"nodes\":{{}}}}", backwards.join(","));
    assert_eq!(read(&twice).unwrap(), read(EXAMPLE).unwrap());
}

use super::*;
use crate::input::error::LoadError;
use crate::load::raw::{RawInstance, RawNode};
use htools_model::{Disk, DiskParameters, DiskTemplate, Hypervisor, Mib, RunStatus};

const POLICY: &str = r#"{"minmax":[{"min":{"memory-size":128,"cpu-count":1,"disk-size":512,"disk-count":1,"nic-count":1,"spindle-use":1},
    "max":{"memory-size":32768,"cpu-count":8,"disk-size":1048576,"disk-count":16,"nic-count":8,"spindle-use":12}}],
    "std":{"memory-size":128,"cpu-count":1,"disk-size":1024,"disk-count":1,"nic-count":1,"spindle-use":1},
    "disk-templates":["drbd","plain","ext"],"vcpu-ratio":4.0,"spindle-ratio":32.0}"#;

const NODES: &str = r#"[{"name":"n1","mtotal":16384,"mnode":0,"mfree":15360,"dtotal":409600,"dfree":408448,"ctotal":16,"cnos":1,
    "offline":false,"drained":false,"group.uuid":"u1","tags":["a"],"ndparams":{"spindle_count":1,"exclusive_storage":false}},
    {"name":"n2","mtotal":16384,"mnode":0,"mfree":15360,"ctotal":16,"cnos":1,"role":"C","vm_capable":null,
    "offline":false,"drained":true,"group.uuid":"u1","tags":[],"ndparams":{"spindle_count":1,"exclusive_storage":false}}]"#;

const INSTANCES: &str = r#"[{"name":"i1","disk_usage":1152,"disk.sizes":[1024],"disk.spindles":[null],"oper_ram":1024,
    "beparams":{"vcpus":1,"auto_balance":true,"spindle_use":1},
    "pnode":"n1","snodes":["n2"],"status":"running","tags":[],"disk_template":"drbd"}]"#;

/// The four texts, with one text in them replaced.
fn texts(from: &str, to: &str) -> [String; 4] {
    let groups = format!(
        r#"[{{"name":"g1","uuid":"u1","alloc_policy":"preferred","tags":["t"],"networks":["x"],"ipolicy":{POLICY}}}]"#
    );
    let info = format!(r#"{{"master":"n1","tags":["c"],"default_hypervisor":"kvm","ipolicy":{POLICY}}}"#);
    let all = [groups, NODES.to_owned(), INSTANCES.to_owned(), info];
    assert!(all.iter().any(|text| text.contains(from)), "{from}");
    let mut done = false;
    all.map(|text| {
        if done || !text.contains(from) {
            return text;
        }
        done = true;
        text.replacen(from, to, 1)
    })
}

fn answers(texts: [String; 4]) -> RapiAnswers {
    let [groups, nodes, instances, info] = texts;
    let answer = |name: &str, text: String| ResourceAnswer {
        source: format!("d/{name}.json"),
        body: Ok(text.into_bytes()),
    };
    RapiAnswers {
        groups: answer("groups", groups),
        nodes: answer("nodes", nodes),
        instances: answer("instances", instances),
        info: answer("info", info),
    }
}

fn with(from: &str, to: &str) -> Result<RawCluster> {
    parse(&answers(texts(from, to)))
}

fn node(from: &str, to: &str) -> RawNode {
    with(from, to).unwrap().nodes.swap_remove(0)
}

fn instance(from: &str, to: &str) -> RawInstance {
    with(from, to).unwrap().instances.swap_remove(0)
}

fn problem(from: &str, to: &str) -> String {
    with(from, to).unwrap_err().to_string()
}

#[test]
fn everything_is_read() {
    let raw = with("n1", "n1").unwrap();
    let group = &raw.groups[0];
    assert_eq!(
        (group.name.as_str(), group.uuid.as_str(), group.tags.as_slice()),
        ("g1", "u1", &["t".to_owned()][..])
    );
    assert!(group.networks.is_empty());
    assert_eq!((raw.tags.as_slice(), raw.policy.vcpu_ratio), (&["c".to_owned()][..], 4.0));
    let [n1, n2] = &raw.nodes[..] else { panic!() };
    assert_eq!((n1.mem_total, n1.mem_free, n1.disk_free), (16384.0, Mib(15360), Mib(408_448)));
    assert!(n1.master && !n1.offline && n1.hypervisor == Some(Hypervisor::Kvm));
    // It is drained, and has all of its numbers.
    assert!(n2.offline && !n2.master && n2.mem_total == 16384.0 && n2.disk_total == 0.0);
    let i1 = &raw.instances[0];
    assert_eq!((i1.mem, i1.disk, i1.vcpus, i1.status), (Mib(1024), Mib(1152), 1, RunStatus::Running));
    assert_eq!(
        (i1.primary.get(), i1.secondary.map(|s| s.get()), i1.template),
        (0, Some(1), DiskTemplate::Drbd)
    );
    assert_eq!(i1.disks, [Disk { size: Mib(1024), spindles: None }]);
}

#[test]
fn numbers_of_nodes_out_of_use_are_not_looked_at() {
    for from in
        [r#""mtotal":16384,"#, r#""mnode":0,"#, r#""mfree":15360,"#, r#""ctotal":16,"#, r#""cnos":1,"#]
    {
        let key = from.split('"').nth(1).unwrap();
        assert!(problem(from, "").starts_with(&format!("d/nodes.json, node 'n1': key '{key}' not found")));
        let null = format!("\"{key}\":null,");
        assert!(problem(from, &null).contains("expected a number, found null"));
        for idle in [r#""offline":true,"offline":false,"#, r#""vm_capable":false,"#] {
            // Of repeated keys the first one counts.
            let dead = node(from, &format!("{null}{idle}"));
            assert_eq!((dead.mem_total, dead.cpu_total, dead.mem_free, dead.cpu_node), (0.0, 0.0, Mib(0), 0));
            assert!(dead.offline && dead.spindle_total == 1);
        }
    }
    assert!(problem(r#""spindle_count":1,"#, r#""#).contains("node 'n1', ndparams: key 'spindle_count'"));
}

/// Ganeti reports no figures for a node that is down but not marked offline.
#[test]
fn a_node_that_does_not_answer_is_offline() {
    let nulls = r#""mtotal":null,"mnode":null,"mfree":null,"dtotal":null,"ctotal":null,"cnos":null,"#;
    let raw = with(r#""mtotal":16384,"#, nulls).unwrap();
    let n1 = &raw.nodes[0];
    assert_eq!((n1.offline, n1.mem_total, n1.mem_free, n1.disk_free), (true, 0.0, Mib(0), Mib(0)));
    assert_eq!(raw.warnings, ["node 'n1' does not answer and is treated as offline"]);
    // Anything but null is an error, as elsewhere.
    for other in ["\"x\"", "[]", "17"] {
        let some = nulls.replace("\"mnode\":null", &format!("\"mnode\":{other}"));
        assert!(problem(r#""mtotal":16384,"#, &some).contains("key 'm"));
    }
    assert_eq!(with("n1", "n1").unwrap().warnings, [""; 0]);
}

#[test]
fn optional_numbers_of_nodes() {
    for with in ["", r#""dtotal":null,"#] {
        assert_eq!(node(r#""dtotal":409600,"#, with).disk_total, 0.0);
    }
    assert!(problem(r#""dtotal":409600"#, r#""dtotal":"x""#).contains("key 'dtotal': expected a number"));
    let exclusive = r#""sptotal":5,"spfree":3,"ndparams":{"exclusive_storage":true},"name":"n1""#;
    let n1 = node(r#""name":"n1""#, exclusive);
    assert_eq!((n1.spindle_total, n1.spindle_free, n1.exclusive_storage), (5, 3, true));
    assert!(
        problem(r#""name":"n1""#, r#""ndparams":{"exclusive_storage":true},"name":"n1""#)
            .contains("key 'sptotal'")
    );
}

#[test]
fn groups_of_nodes() {
    let unknown = "d/nodes.json, node 'n1': key 'group.uuid': no group has the UUID";
    assert_eq!(problem(r#""group.uuid":"u1""#, r#""group.uuid":"u2""#), format!("{unknown} 'u2'"));
    let zero = "00000000-0000-0000-0000-000000000000";
    assert_eq!(problem(r#""group.uuid":"u1","#, ""), format!("{unknown} '{zero}'"));
    let texts = texts(r#""group.uuid":"u1","#, "").map(|text| text.replace("\"u1\"", &format!("\"{zero}\"")));
    assert!(parse(&answers(texts)).is_ok());
}

#[test]
fn memory_of_instances() {
    let ram = |ram: &str, more: &str| {
        let texts = texts("\"oper_ram\":1024", &format!("\"oper_ram\":{ram}"));
        parse(&answers(texts.map(|text| text.replace("\"vcpus\"", &format!("{more}\"vcpus\"")))))
            .map(|raw| raw.instances[0].mem.0)
    };
    assert_eq!(ram("10.6", ""), Ok(11));
    assert_eq!(ram("null", r#""memory":900,"maxmem":1000,"#), Ok(900));
    for memory in ["", r#""memory":null,"#, r#""memory":"x","#] {
        assert_eq!(ram("\"-\"", &format!(r#"{memory}"maxmem":1000,"#)), Ok(1000));
    }
    let error = ram("null", r#""minmem":1,"#).unwrap_err().to_string();
    assert!(
        error.starts_with("d/instances.json, instance 'i1': no memory: oper_ram is not a number"),
        "{error}"
    );
    assert!(problem(r#""oper_ram":1024,"#, "").contains("key 'oper_ram' not found"));
}

#[test]
fn nodes_of_instances() {
    assert_eq!(instance(r#"["n2"]"#, "[]").secondary, None);
    assert_eq!(instance(r#"["n2"]"#, r#"["n2",7]"#).secondary.map(|s| s.get()), Some(1));
    for (from, to, wanted) in [
        (r#"["n2"]"#, "[1]", "key 'snodes': Unable to read String: expected a string, found 1"),
        (r#"["n2"]"#, r#"["x"]"#, "key 'snodes': Unknown node 'x' for instance i1"),
        (r#""pnode":"n1""#, r#""pnode":"x""#, "key 'pnode': Unknown node 'x' for instance i1"),
        (
            r#""pnode":"n1""#,
            r#""pnode":null"#,
            "key 'pnode': Unable to read String: expected a string, found null",
        ),
    ] {
        assert_eq!(problem(from, to), format!("d/instances.json, instance 'i1': {wanted}"));
    }
}

#[test]
fn disks_of_instances() {
    let disks = |sizes: &str, spindles: &str| {
        let text = format!(r#""disk.sizes":{sizes},"disk.spindles":{spindles}"#);
        instance(r#""disk.sizes":[1024],"disk.spindles":[null]"#, &text).disks
    };
    assert_eq!(disks("[1,2]", "[1,2]").len(), 2);
    assert_eq!(disks("[1,2]", "[5]"), [Disk { size: Mib(1), spindles: Some(5) }]);
    assert_eq!(disks("[]", "[null]"), []);
    assert!(problem(r#""disk.spindles":[null]"#, r#""disk.spindles":null"#).contains("expected a list"));
    assert!(
        problem(r#""disk.spindles":[null]"#, r#""disk.spindles":["x"]"#)
            .contains("item 1: expected a number")
    );
}

#[test]
fn forthcoming_is_true_or_nothing() {
    for (value, meant) in [("true", true), ("null", false), ("\"x\"", false), ("1", false)] {
        let text = format!("\"forthcoming\":{value},\"pnode\"");
        assert_eq!(instance("\"pnode\"", &text).forthcoming, meant);
    }
}

#[test]
fn documents_of_another_form() {
    assert_eq!(problem(NODES, "{}"), "d/nodes.json: expected a list, found an object");
    assert_eq!(
        problem(NODES, "[1]"),
        "d/nodes.json, item 1: Unable to read JSObject: expected an object, found 1"
    );
    assert_eq!(problem(NODES, "[{}]"), "d/nodes.json, item 1: key 'name' not found, object contains only []");
    assert!(problem(NODES, "xx").starts_with("d/nodes.json, line 1, column 1: Invalid JSON"));
    assert_eq!(
        problem(r#""master":"n1""#, r#""master":"zz""#),
        "d/info.json: key 'master': no node has the name 'zz'"
    );
    assert!(
        problem(r#""default_hypervisor":"kvm""#, r#""default_hypervisor":"qemu""#).contains("is not one of")
    );
}

#[test]
fn the_first_error_counts() {
    let mut all = answers(texts("n1", "n1"));
    let failed = |name: &str| Err(LoadError::new(name, "no answer"));
    all.info.body = failed("info");
    assert_eq!(parse(&all).unwrap_err().place, "info");
    all.instances.body = Ok(b"x".to_vec());
    assert!(parse(&all).unwrap_err().place.starts_with("d/instances.json"));
    all.nodes.body = Ok(b"\xff".to_vec());
    assert_eq!(parse(&all).unwrap_err().to_string(), "d/nodes.json, line 1: not UTF-8 text (byte 0xff)");
    all.groups.body = failed("groups");
    assert_eq!(parse(&all).unwrap_err().place, "groups");
}

#[test]
fn disk_parameters_are_read_if_they_are_wanted() {
    let read = |parameters: &str| {
        let texts = texts("\"networks\":[\"x\"],", parameters);
        let raw = parse_detailed(&answers(texts), Detail::Storage)?;
        Ok(raw.groups[0].disk_parameters.clone())
    };
    let usual = DiskParameters::default();
    for nothing in ["", "{}", "null", r#"{"rbd":null,"gluster":{}}"#, r#"{"rbd":{"pool":null},"ext":7}"#] {
        let member = if nothing.is_empty() { String::new() } else { format!("\"diskparams\":{nothing},") };
        assert_eq!(read(&member), Ok(usual.clone()), "{nothing}");
    }
    let all = r#""diskparams":{"rbd":{"access":"kernelspace","pool":"ssd"},
        "gluster":{"host":"h","port":24008,"volume":"vms"}},"custom_diskparams":{"rbd":7},"#;
    let found = read(all).unwrap();
    let gluster = &found.gluster;
    assert_eq!(
        (&*found.rbd_pool, &*gluster.host, gluster.port, &*gluster.volume),
        ("ssd", "h", 24008, "vms")
    );
    for (value, wanted) in [
        ("7", ": key 'diskparams': Unable to read JSObject: expected an object, found 7"),
        (
            r#"{"rbd":[]}"#,
            ", diskparams: key 'rbd': Unable to read JSObject: expected an object, found a list",
        ),
        (
            r#"{"rbd":{"pool":7}}"#,
            ", diskparams, rbd: key 'pool': Unable to read String: expected a string, found 7",
        ),
        (r#"{"rbd":{"pool":""}}"#, ", diskparams, rbd: key 'pool': \"\" is not a name"),
        (r#"{"rbd":{"pool":"a\nb"}}"#, ", diskparams, rbd: key 'pool': \"a\\nb\" is not a name"),
        (r#"{"gluster":{"port":"1"}}"#, ", diskparams, gluster: key 'port': expected a number, found \"1\""),
        (r#"{"gluster":{"port":0}}"#, ", diskparams, gluster: key 'port': 0 is not a port"),
        (r#"{"gluster":{"host":""}}"#, ", diskparams, gluster: key 'host': \"\" is not a name"),
        (
            r#"{"gluster":{"volume":{}}}"#,
            ", diskparams, gluster: key 'volume': Unable to read String: expected a string, found an object",
        ),
    ] {
        let member = format!("\"diskparams\":{value},");
        let error: LoadError = read(&member).unwrap_err();
        assert_eq!(error.to_string(), format!("d/groups.json, group 'g1'{wanted}"));
        // If they are not wanted, they are not checked.
        assert_eq!(with("\"networks\":[\"x\"],", &member).unwrap().groups[0].disk_parameters, usual);
    }
}

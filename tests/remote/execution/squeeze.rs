//! `hsqueeze -X`: nodes power down and up, and nothing is lost on the way.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::process::Signal;
use serde_json::{Value, json};

use super::cluster::Cluster;
use super::program::{Place, Ran, Running, htools, tool};
use super::queue::{FIRST, Fate};
use super::rapi::Rapi;
use super::terminal::answered;

/// Reserves for which two nodes of the recorded cluster are not needed.
pub const NIGHT: &[&str] = &["--drbd", "--minimal-resources=1", "--target-resources=2", "--max-nodes=2"];
/// Reserves that exceed the cluster's capacity.
pub const MORNING: &[&str] = &["--minimal-resources=60", "--target-resources=60"];

/// The recorded cluster with an instance on a node that would otherwise be empty.
pub fn place() -> Place {
    let place = Place::new();
    place.world.lock().cluster.place("inst09.vc.test", "node6.vc.test", "node5.vc.test");
    place
}

fn command(place: &Place, options: &[&str]) -> Command {
    let mut command = tool("hsqueeze", place.directory.path());
    command.arg("--luxi=luxi.sock").args(options);
    command
}

pub fn execute(place: &Place, reserves: &[&str], more: &[&str]) -> Ran {
    Running::start(command(place, &[&["-X"], reserves, more].concat())).wait()
}

/// Description of a job in one or two words.
fn words(ops: &[Value]) -> String {
    let name = |op: &Value| {
        let id = op["OP_ID"].as_str().unwrap();
        let node = op["node_name"].as_str().or(op["name"].as_str()).or(op["node_names"][0].as_str());
        let subject = node.or(op["instance_name"].as_str()).unwrap().split('.').next().unwrap().to_owned();
        let what = match id {
            "OP_NODE_SET_PARAMS" if op["dry_run"] == true => "trial",
            "OP_NODE_SET_PARAMS" if op["drained"] == true => "drain",
            "OP_NODE_SET_PARAMS" if op["drained"] == false => "undrain",
            "OP_NODE_SET_PARAMS" if op["offline"] == true => "offline",
            "OP_NODE_SET_PARAMS" => "online",
            "OP_OOB_COMMAND" => op["command"].as_str().unwrap(),
            "OP_TAGS_SET" => "tag",
            "OP_TAGS_DEL" => "untag",
            _ => "move",
        };
        format!("{what} {subject}")
    };
    ops.iter().map(name).collect::<Vec<_>>().join(" + ")
}

fn jobs(place: &Place) -> Vec<String> {
    place.world.new_jobs().iter().map(|(_, job)| words(&job.ops)).collect()
}

fn idle(place: &Place) -> [Vec<String>; 3] {
    place.world.lock().cluster.idle_nodes()
}

fn all_in_use(place: &Place) {
    assert_eq!(idle(place), [[""; 0]; 3]);
}

fn off(place: &Place, nodes: &[&str]) {
    assert_eq!(idle(place), [nodes, &[], nodes]);
}

#[track_caller]
pub fn has(text: &str, part: &str) {
    assert!(text.contains(part), "no {part:?} in\n{text}");
}

#[test]
fn a_night() {
    let place = place();
    let (stdout, stderr) = execute(&place, NIGHT, &["--detailed-status"]).ends(4);
    assert!(
        stdout.starts_with("'Nodes to offline'\nnode6.vc.test\nnode4.vc.test\nGot job IDs 25,26\n"),
        "{stdout}"
    );
    has(&stderr, "\nhsqueeze: powered down 2 nodes (node6.vc.test, node4.vc.test) with 12 moves\n");
    off(&place, &["node4", "node6"]);
    let jobs = jobs(&place);
    assert_eq!(jobs[..2], ["drain node6", "drain node4"]);
    assert!(jobs[2..14].iter().all(|job| job.starts_with("move ")), "{jobs:?}");
    let last =
        ["tag node6", "tag node4", "offline node6", "offline node4", "power-off node6", "power-off node4"];
    assert_eq!(jobs[14..], last);
    let world = place.world.lock();
    let drain = &world.jobs[&FIRST].ops[0];
    has(drain["comment"].as_str().unwrap(), "condensing by 2 nodes (htools) version ");
    assert_eq!(drain["auto_promote"], true);
    drop(world);
    let tags = place.world.lock().cluster.tags("node4.vc.test");
    assert!(tags.contains(&"htools:standby:auto".to_owned()), "{tags:?}");
    assert!(tags.iter().any(|tag| tag.starts_with("htools:standby-size:")), "{tags:?}");
    // The second run has nothing to do.
    let (stdout, _) = execute(&place, NIGHT, &["-q", "--max-nodes=0", "--detailed-status"]).ends(0);
    assert_eq!(stdout, "");
}

#[test]
fn a_night_that_was_approved() {
    let place = place();
    Running::start(command(&place, &[NIGHT, &["--save-plan=P", "-q"]].concat())).wait().ends(0);
    let apply = || htools(&place, &["apply", "P", "-X", "--yes"]);
    let (stdout, stderr) = apply().ends(0);
    has(&stdout, "'Nodes to offline'\nnode6.vc.test\nnode4.vc.test\n");
    has(&stderr, "The plan fits the cluster: ");
    has(&stderr, "\nhsqueeze: powered down 2 nodes (node6.vc.test, node4.vc.test) with 12 moves\n");
    off(&place, &["node4", "node6"]);
    let count = jobs(&place).len();
    let (_, stderr) = apply().ends(1);
    has(&stderr, "The plan no longer fits the cluster:\n  step 1, drain node6.vc.test: no longer needed\n");
    assert_eq!(jobs(&place).len(), count);
}

#[test]
fn a_morning() {
    let place = place();
    execute(&place, NIGHT, &["-q"]).ends(0);
    let count = jobs(&place).len();
    let (stdout, _) = execute(&place, MORNING, &["-q", "--drbd"]).ends(0);
    has(&stdout, "hsqueeze: powered up 2 nodes (node4.vc.test, node6.vc.test) with ");
    assert_eq!(stdout.lines().count(), 1, "{stdout}");
    all_in_use(&place);
    let up = jobs(&place)[count..].to_vec();
    assert_eq!(up[..2], ["power-on node4", "power-on node6"]);
    let rest: Vec<&String> = up[2..].iter().filter(|job| !job.starts_with("trial")).collect();
    let first = ["online node4", "online node6", "untag node4", "untag node6", "tag node4", "tag node6"];
    assert_eq!(rest[..6], first);
    assert!(rest.len() > 6 && rest[6..].iter().all(|job| job.starts_with("move ")), "{rest:?}");
    let tags = place.world.lock().cluster.tags("node4.vc.test");
    assert!(!tags.contains(&"htools:standby:auto".to_owned()), "{tags:?}");
    // Both were switched a moment ago.
    let count = jobs(&place).len();
    let (_, stderr) = execute(&place, NIGHT, &["-v", "--cooldown=10m"]).ends(0);
    has(&stderr, "Node node6.vc.test stays online: it was powered up or down a short while ago\n");
    assert!(!jobs(&place)[count..].iter().any(|job| job.contains("node4") || job.contains("node6")));
}

#[test]
fn nothing_on_a_node_loses_its_power() {
    // Somebody puts an instance on the node after it is out of use. The test servers cannot handle a node that loses
    // its power with an instance on it.
    for (after, undone) in [
        ("\"offline\":true", "set online node6.vc.test, set online node4.vc.test"),
        ("OP_INSTANCE_MIGRATE", "undrain node6.vc.test, undrain node4.vc.test"),
    ] {
        let place = place();
        place.world.then(after, |cluster: &mut Cluster| {
            // No move of the plan removes it again.
            cluster.put("inst13.vc.test", "node6.vc.test");
        });
        let (stdout, stderr) = execute(&place, NIGHT, &["-q"]).ends(1);
        has(&stderr, "the node holds instance inst13.vc.test");
        has(&stderr, &format!("; taken back: {undone}"));
        assert_eq!(stdout, "hsqueeze: powered down no node, with 12 moves\n");
        all_in_use(&place);
        let world = place.world.lock();
        assert!(!world.submissions.iter().any(|text| text.contains("power-off")));
    }
}

#[test]
fn power_that_stays_on() {
    let place = place();
    place.world.lock().cluster.stuck.push("node6.vc.test".into());
    let (_, stderr) = execute(&place, NIGHT, &[]).ends(1);
    has(&stderr, "power off node 'node6.vc.test': job ");
    has(
        &stderr,
        "; node6.vc.test stays offline and may still have power; taken back: set online node4.vc.test\n",
    );
    assert_eq!(idle(&place), [&["node6"][..], &[], &[]]);
    let tags = place.world.lock().cluster.tags("node4.vc.test");
    assert!(!tags.iter().any(|tag| tag.starts_with("htools:")), "{tags:?}");
}

#[test]
fn draining_fails() {
    let place = place();
    place.world.lock().fates.insert(FIRST + 1, Fate::Fails("no\nway"));
    let (_, stderr) = execute(&place, NIGHT, &[]).ends(1);
    has(
        &stderr,
        r"Error: hsqueeze: step 2, drain node 'node4.vc.test': job 26 failed: no\nway; taken back: undrain node6.vc.test",
    );
    assert_eq!(jobs(&place), ["drain node6", "drain node4", "undrain node6"]);
    all_in_use(&place);
}

#[test]
fn others_come_up_instead() {
    let place = place();
    execute(&place, NIGHT, &["-q"]).ends(0);
    place.world.lock().cluster.stuck.push("node4.vc.test".into());
    let (stdout, stderr) = execute(&place, MORNING, &["-q"]).ends(1);
    has(&stderr, "power on node 'node4.vc.test': job ");
    has(&stdout, "hsqueeze: powered up 1 node (node6.vc.test) with ");
    off(&place, &["node4"]);
}

#[test]
fn a_drained_node_is_no_loop() {
    let place = place();
    {
        let cluster = &mut place.world.lock().cluster;
        cluster.set_drained("node4.vc.test");
        cluster.tag("node4.vc.test", "htools:standby:1");
    }
    let (_, stderr) = execute(&place, MORNING, &["-q"]).ends(1);
    has(
        &stderr,
        "node node4.vc.test was set online but is still not in use\nHint: check whether the node is drained\n",
    );
    assert_eq!(jobs(&place).iter().filter(|job| *job == "power-on node4").count(), 1);
}

#[test]
fn a_changed_cluster() {
    let place = place();
    place.world.on_read(|number, cluster: &mut Cluster| {
        if number == 1 {
            cluster.place("inst09.vc.test", "node5.vc.test", "node6.vc.test");
        }
    });
    let (stdout, stderr) = execute(&place, NIGHT, &[]).ends(0);
    has(
        &stderr,
        "The cluster has changed since it was read, so the plan is made anew:\n  instance 'inst09.vc.test' is on ",
    );
    assert_eq!(stdout.matches("'Nodes to offline'").count(), 2, "{stdout}");
    assert_eq!(idle(&place)[0], idle(&place)[2]);
    assert_eq!(idle(&place)[0].len(), 2);
}

#[test]
fn one_at_a_time_and_later_the_rest() {
    let place = place();
    place.world.hold(true);
    let running = Running::start(command(&place, &[&["-X", "--journal", "J"], NIGHT].concat()));
    running.until("Got job IDs 25,26\n");
    let (stdout, stderr) = execute(&place, NIGHT, &[]).ends(1);
    assert_eq!(stdout, "");
    has(&stderr, "Error: another hsqueeze is running on cluster cluster.vc.test (process ");
    running.signal(Signal::INT);
    running.until("Cancel request registered");
    place.world.hold(false);
    let (stdout, stderr) = running.wait().ends(0);
    has(&stdout, "Exiting early due to user request, \n1jobset(s) submitted: \n");
    has(&stderr, "hsqueeze --resume J continues the run");
    let (_, stderr) = Running::start(command(&place, &["--resume", "J"])).wait().ends(0);
    has(&stderr, "steps are done, in ");
    off(&place, &["node4", "node6"]);
}

#[test]
fn a_run_that_was_killed_after_a_failure() {
    let place = place();
    place.world.lock().fates.insert(FIRST + 1, Fate::Fails("no way"));
    let options = [&["-X", "--journal", "J"], NIGHT].concat();
    let (_, stderr) = Running::start(command(&place, &options)).wait().ends(1);
    has(&stderr, "taken back: undrain node6.vc.test");
    // Resuming the failed run undoes its steps once more, as if they had not been undone.
    let (_, stderr) = Running::start(command(&place, &["--resume", "J", "--journal", "K"])).wait().ends(1);
    has(
        &stderr,
        "J: step 2, drain node 'node4.vc.test', failed in this run; taken back: undrain node6.vc.test\nHint: make a new plan with hsqueeze",
    );
    all_in_use(&place);
}

#[test]
fn over_the_remote_api() {
    let place = place();
    let rapi = Rapi::new(&place.world);
    let script = place.path("switch");
    std::fs::write(&script, "#!/bin/sh\necho \"$*\" >> record\n").unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    let run = |options: &[&str]| {
        let mut command = tool("hsqueeze", place.directory.path());
        command.env("GANETI_RAPI_USER", "user").env("GANETI_RAPI_PASSWORD", "s3cr3t-pa55");
        command.args(["-X", "-m", &rapi.url()]).args(options);
        Running::start(command).wait()
    };
    let (stdout, stderr) = run(NIGHT).ends(1);
    assert_eq!(stdout, "");
    has(
        &stderr,
        "Error: hsqueeze: the remote API cannot switch the power of nodes\nHint: use --power-command with --exec and --master\n",
    );
    assert_eq!(place.world.lock().submissions.len(), 0);
    let (stdout, stderr) = run(&[NIGHT, &["-q", "--power-command=./switch -s north"]].concat()).ends(0);
    assert_eq!(stdout, "hsqueeze: powered down 2 nodes (node6.vc.test, node4.vc.test) with 12 moves\n");
    assert!(!stderr.contains("s3cr3t"), "{stderr}");
    assert_eq!(place.read("record"), "-s north off node6.vc.test\n-s north off node4.vc.test\n");
    assert_eq!(idle(&place), [&["node4", "node6"][..], &[], &[]]);
    let tags = place.world.lock().cluster.tags("node4.vc.test");
    assert!(tags.contains(&"htools:standby:auto".to_owned()), "{tags:?}");
    let (stdout, _) = run(&[MORNING, &["-q", "--power-command=./switch"]].concat()).ends(0);
    has(&stdout, "hsqueeze: powered up 2 nodes (node4.vc.test, node6.vc.test) with ");
    all_in_use(&place);
    // A command that fails.
    let (_, stderr) = run(&[NIGHT, &["--power-command=echo no current; false"]].concat()).ends(1);
    has(&stderr, "': 'echo no current; false off node");
    has(&stderr, "' failed: exit status: 1: no current");
    has(&stderr, ".vc.test stays offline and may still have power; taken back: set online node");
}

/// Reserves that the small node does not have.
const SWAP: &[&str] = &["--minimal-resources=10", "--target-resources=10", "--no-capacity-checks"];

/// Shared storage only. node1 and the much smaller node5 have all instances; node6 can be powered up.
fn with_a_small_node() -> Place {
    let place = Place::new();
    let mut world = place.world.lock();
    world.cluster.put_on_ceph();
    for (instance, node, _) in world.cluster.places() {
        match &*node {
            "node2" => world.cluster.put(&format!("{instance}.vc.test"), "node5.vc.test"),
            "node3" => world.cluster.put(&format!("{instance}.vc.test"), "node1.vc.test"),
            _ => {}
        }
    }
    world.cluster.shrink("node5.vc.test", 9200);
    for node in 2..5 {
        world.cluster.set_offline(&format!("node{node}.vc.test"));
    }
    for tag in ["htools:standby:1", "htools:standby-size:16384/512/512000/512000/8/1/1/0"] {
        world.cluster.tag("node6.vc.test", tag);
    }
    world.cluster.set_offline("node6.vc.test");
    world.cluster.set_power("node6.vc.test", false);
    drop(world);
    place
}

#[test]
fn a_large_node_comes_up_and_a_small_one_goes() {
    let place = with_a_small_node();
    let (stdout, stderr) = execute(&place, SWAP, &["--detailed-status"]).ends(4);
    assert!(
        stdout.starts_with("'Nodes to online'\nnode6.vc.test\n'Nodes to offline'\nnode5.vc.test\n"),
        "{stdout}"
    );
    has(&stderr, "\nhsqueeze: powered up 1 node (node6.vc.test) with ");
    has(&stderr, "; powered down 1 node (node5.vc.test) with ");
    let [offline, drained, without_power] = idle(&place);
    assert_eq!((offline.len(), drained.len(), without_power), (4, 0, vec!["node5".to_owned()]));
    let (stdout, _) = execute(&place, SWAP, &["--detailed-status"]).ends(0);
    assert_eq!(stdout, "'No action'\n");
}

/// The recorded cluster with an instance on node6 whose disks exist only there. The other nodes are left alone.
fn with_disks_of_one_node() -> Place {
    let place = Place::new();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let mut world = place.world.lock();
    world.cluster.put("inst12.vc.test", "node6.vc.test");
    for node in 2..6 {
        let name = format!("node{node}.vc.test");
        let tags = json!({"OP_ID": "OP_TAGS_SET", "name": name, "tags": [format!("htools:switched:{now}")]});
        world.cluster.carry_out(&tags).unwrap();
    }
    drop(world);
    place
}

/// Reserves for which that node is not needed, if the instance may be stopped.
const COPY: &[&str] = &["--all", "--minimal-resources=1", "--target-resources=2", "--cooldown=1d"];

#[test]
fn who_is_stopped_for_a_copy_is_asked_about() {
    let place = with_disks_of_one_node();
    let run = |answer: &str| answered(command(&place, &[&["-X"], COPY].concat()), answer);
    let (status, shown) = run("y\nn\n");
    assert_eq!(status, 1, "{shown}");
    has(&shown, "(1 instance is stopped for a copy of its disks). Execute? [y/N] ");
    has(&shown, "1 instance is stopped while disks are copied, for about ");
    has(&shown, " in all: inst12.vc.test. Stop it? [y/N] ");
    has(&shown, "Nothing was executed.");
    assert_eq!(place.world.lock().submissions.len(), 0);
    let (status, shown) = run("y\ny\n");
    assert_eq!(status, 0, "{shown}");
    has(&shown, "(1 instance was stopped for a copy of its disks)");
    assert_eq!(jobs(&place).iter().filter(|job| *job == "move inst12").count(), 1);
    off(&place, &["node6"]);
}

#[test]
fn the_remote_api_copies_no_disks() {
    let place = with_disks_of_one_node();
    let rapi = Rapi::new(&place.world);
    let mut command = tool("hsqueeze", place.directory.path());
    command.env("GANETI_RAPI_USER", "user").env("GANETI_RAPI_PASSWORD", "s3cr3t-pa55");
    command.args(["-X", "--yes", "--power-command=true", "-m", &rapi.url()]).args(COPY);
    let (_, stderr) = Running::start(command).wait().ends(1);
    has(
        &stderr,
        "Error: hsqueeze: the remote API cannot move instances with disks on one node only, such as inst12.vc.test\n\
         Hint: use --luxi on the master, or omit --all\n",
    );
    assert_eq!(place.world.lock().submissions.len(), 0);
}

#[test]
fn several_runs_of_one_command() {
    let place = place();
    execute(&place, NIGHT, &["-q"]).ends(0);
    let options = [&["-X", "--journal", "J", "--json-events", "E", "--json"], MORNING].concat();
    let (stdout, _) = Running::start(command(&place, &options)).wait().ends(0);
    serde_json::from_str::<Value>(&stdout).unwrap();
    // First powering up, then moving.
    assert!(place.path("J").exists() && place.path("J.2").exists() && !place.path("J.3").exists());
    let events = place.read("E");
    let ended = events.lines().filter(|line| line.contains(r#""event":"ended""#)).count();
    assert_eq!(ended, 2, "{events}");
}

//! `hbal --all-groups -X` and `--worst-group -X`: groups run in parallel.

use serde_json::Value;

use super::cluster::Cluster;
use super::program::{Place, Running, tool};
use super::queue::{FIRST, Fate};
use super::rapi::Rapi;

/// The recorded cluster in two groups of three nodes, each with one empty node.
pub fn place() -> Place {
    let place = Place::new();
    let mut world = place.world.lock();
    for (at, (name, _, secondary)) in world.cluster.places().into_iter().enumerate() {
        let nodes = if at % 2 == 0 { ["node1", "node2"] } else { ["node4", "node5"] };
        let [primary, other] = nodes.map(|node| format!("{node}.vc.test"));
        if !secondary.is_empty() {
            world.cluster.place(&format!("{name}.vc.test"), &primary, &other);
        }
    }
    world.cluster.split(&["node4.vc.test", "node5.vc.test", "node6.vc.test"]);
    drop(world);
    place
}

/// Checks that each instance is where the document's plan put it.
#[track_caller]
fn arrived(place: &Place, document: &Value) {
    let places = place.world.lock().cluster.places();
    let short = |value: &Value| value.as_str().unwrap_or_default().split('.').next().unwrap().to_owned();
    let steps = document["steps"].as_array().unwrap();
    for (name, primary, secondary) in &places {
        let Some(last) = steps.iter().rev().find(|step| short(&step["instance"]) == *name) else { continue };
        let to = &last["to"];
        assert_eq!((primary, secondary), (&short(&to["primary"]), &short(&to["secondary"])), "{last}");
    }
}

fn groups_with_steps(document: &Value) -> usize {
    let groups = document["groups"].as_array().unwrap();
    groups.iter().filter(|group| !group["steps"].as_array().unwrap().is_empty()).count()
}

#[test]
fn all_groups_go_on_side_by_side() {
    let place = place();
    let (stdout, _) = place.execute(&["--all-groups", "--json"]).ends(0);
    let document: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(groups_with_steps(&document), 2, "{document}");
    arrived(&place, &document);
    let steps = document["steps"].as_array().unwrap().len();
    let jobs = place.world.new_jobs();
    assert_eq!(jobs.len(), steps);
    // The jobs of a set come from both groups.
    let first: Vec<u64> = serde_json::from_value(document["jobsets"][0].clone()).unwrap();
    let own = document["groups"][0]["steps"].as_array().unwrap();
    let (here, there): (Vec<u64>, Vec<u64>) =
        first.iter().partition(|number| own.contains(&Value::from(**number)));
    assert!(!here.is_empty() && !there.is_empty(), "{first:?}");
    let names = |numbers: &[u64]| -> Vec<Value> {
        numbers.iter().map(|number| document["steps"][*number as usize - 1]["instance"].clone()).collect()
    };
    let begun: Vec<Value> =
        jobs[..first.len()].iter().map(|(_, job)| job.ops[0]["instance_name"].clone()).collect();
    assert_eq!(begun, names(&first));
}

#[test]
fn the_same_over_the_remote_api() {
    let place = place();
    let rapi = Rapi::new(&place.world);
    let mut command = tool("hbal", place.directory.path());
    command.env("GANETI_RAPI_USER", "user").env("GANETI_RAPI_PASSWORD", "x");
    command.args(["-m", &rapi.url(), "-X", "--all-groups", "--json"]);
    let (stdout, _) = Running::start(command).wait().ends(0);
    let document = serde_json::from_str(&stdout).unwrap();
    assert_eq!(groups_with_steps(&document), 2, "{document}");
    arrived(&place, &document);
}

#[test]
fn the_worst_group_only() {
    let place = place();
    let (stdout, _) = place.execute(&["--worst-group", "--json"]).ends(0);
    let document: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(groups_with_steps(&document), 1);
    arrived(&place, &document);
    assert_eq!(place.world.new_jobs().len(), document["steps"].as_array().unwrap().len());
}

#[test]
fn the_text_of_a_run() {
    let place = place();
    let (stdout, _) = place.execute(&["--all-groups"]).ends(0);
    let (plan, run) = stdout.split_once("node groups are improved with ").unwrap();
    assert!(plan.ends_with("\n\n2 of 2 "), "{stdout}");
    let jobs: Vec<&str> = run.lines().filter_map(|line| line.strip_prefix("Got job IDs ")).collect();
    assert!(jobs[0].starts_with("25,26"), "{stdout}");
}

#[test]
fn the_first_jobset_of_each_group() {
    let place = place();
    let (stdout, _) = place.execute(&["--all-groups", "--first-job-group", "--json"]).ends(0);
    let document: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(place.world.new_jobs().len(), document["jobsets"][0].as_array().unwrap().len());
}

/// Runs hbal and kills it while its first jobs are under way.
fn cut_off(place: &Place) {
    place.world.hold(true);
    let running = place.start(&["-X", "--journal", "J", "--all-groups"]);
    running.until("Got job IDs 25,26");
    running.kill();
    place.world.hold(false);
}

#[test]
fn a_killed_run_goes_on() {
    let place = place();
    cut_off(&place);
    let (_, stderr) = place.resume().ends(0);
    assert!(!stderr.contains("Error"), "{stderr}");
    let jobs = place.world.new_jobs();
    assert!(jobs.iter().all(|(_, job)| job.status == "success"));
    // Nothing is done twice, and nothing is left.
    let (stdout, _) = place.start(&["--all-groups"]).wait().ends(0);
    assert!(stdout.ends_with("\nNo node group can be improved.\n"), "{stdout}");
    let header = &place.journal()[0];
    assert_eq!(
        (&header["group"], header["work"]["steps"].as_array().unwrap().len()),
        (&"".into(), jobs.len())
    );
}

#[test]
fn a_resumed_run_that_does_not_fit_any_more() {
    let place = place();
    cut_off(&place);
    // An instance that would move late and only once has been moved by somebody else.
    let header = &place.journal()[0];
    let steps = header["work"]["steps"].as_array().unwrap();
    let once = |subject: &Value| steps.iter().filter(|step| step["subject"] == *subject).count() == 1;
    let at = steps.iter().rposition(|step| once(&step["subject"])).unwrap();
    let subject = steps[at]["subject"].as_str().unwrap();
    let from = &steps[at]["task"]["move"]["from"];
    let (primary, secondary) = (from["primary"].as_str().unwrap(), from["secondary"].as_str().unwrap());
    place.world.lock().cluster.place(subject, secondary, primary);
    let (_, stderr) = place.resume().ends(1);
    assert!(stderr.contains(&format!("step {}, instance '{subject}': ", at + 1)), "{stderr}");
}

#[test]
fn a_failure_ends_the_run_in_all_groups() {
    let place = place();
    place.world.lock().fates.insert(FIRST, Fate::Fails("no room"));
    let (stdout, stderr) = place.execute(&["--all-groups"]).ends(1);
    assert!(stderr.contains("Not all jobs completed successfully: step 1, "), "{stderr}");
    assert_eq!(stdout.matches("Got job IDs").count(), 1, "{stdout}");
}

#[test]
fn a_change_in_one_group_makes_a_new_plan() {
    let place = place();
    // Of the second group.
    place.world.on_read(|number, cluster: &mut Cluster| {
        if number == 1 {
            cluster.place("inst04.vc.test", "node5.vc.test", "node4.vc.test");
        }
    });
    let (stdout, stderr) = place.execute(&["--all-groups", "--json"]).ends(0);
    assert!(
        stderr.contains(
            "The cluster has changed since it was read, so the plan is made anew:\n  \
             instance 'inst04.vc.test' is on node5.vc.test and node4.vc.test, and was on"
        ),
        "{stderr}"
    );
    arrived(&place, &serde_json::from_str(&stdout).unwrap());
}

//! Clusters that change between the reading and the run.

use serde_json::Value;

use super::cluster::Cluster;
use super::program::Place;

#[test]
fn the_plan_is_made_anew() {
    for json in [false, true] {
        let place = Place::new();
        place.world.on_read(|number, cluster: &mut Cluster| {
            if number == 1 {
                cluster.place("inst01.vc.test", "node4.vc.test", "node2.vc.test");
            }
        });
        let (stdout, stderr) = place.execute(if json { &["--json"] } else { &[] }).ends(0);
        let words = "The cluster has changed since it was read, so the plan is made anew:\n  \
                     instance 'inst01.vc.test' is on node4.vc.test and node2.vc.test, and was on node1.vc.test and node2.vc.test\n";
        assert!(stderr.contains(words), "{stderr}");
        let first = place.world.lock().submissions[0].clone();
        assert!(!first.contains("inst01.vc.test"), "{first}");
        if json {
            // There is only the plan that was executed.
            let document: Value = serde_json::from_str(&stdout).unwrap();
            assert_eq!(document["steps"].as_array().unwrap().len(), place.world.new_jobs().len());
        } else {
            assert_eq!(stdout.matches("Trying to minimize the CV...").count(), 2);
        }
    }
}

#[test]
fn a_cluster_that_never_rests() {
    for json in [false, true] {
        let place = Place::new();
        place.world.on_read(|number, cluster: &mut Cluster| {
            let (a, b) = ("node4.vc.test", "node5.vc.test");
            let (primary, secondary) = if number % 2 == 0 { (a, b) } else { (b, a) };
            cluster.place("inst09.vc.test", primary, secondary);
        });
        let (stdout, stderr) = place.execute(if json { &["--json"] } else { &[] }).ends(1);
        let error =
            "Error: hbal: nothing was executed, because the cluster changed each time a plan was ready\n";
        assert!(stderr.ends_with(error), "{stderr}");
        assert_eq!(stderr.matches("so the plan is made anew").count(), 4);
        assert_eq!(place.world.lock().submissions.len(), 0);
        assert!(!place.path("J").exists());
        if json {
            serde_json::from_str::<Value>(&stdout).unwrap();
        }
    }
}

#[test]
fn a_node_that_went_offline() {
    let place = Place::new();
    place.world.on_read(|number, cluster: &mut Cluster| {
        if number == 1 {
            cluster.set_offline("node6.vc.test");
        }
    });
    let (_, stderr) = place.execute(&[]).ends(0);
    assert!(stderr.contains("  node 'node6.vc.test' is offline, and was in use\n"), "{stderr}");
    assert!(place.world.lock().submissions.iter().all(|text| !text.contains("node6")));
}

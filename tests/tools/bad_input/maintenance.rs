//! hroller: clusters and options for which no plan exists.

use std::fs;

use super::{Place, sample};

const CLUSTER: &str = "\
g|u|preferred||
h|u2|preferred||

n1|9000|0|8000|90000|50000|9|M|u|1|red
n2|9000|0|8000|90000|50000|9|N|u|1|blue
n3|9000|0|8000|90000|50000|9|N|u2|1|

web|100|1000|1|running|Y|n1|n2|drbd|
big|100|60000|1|running|Y|n2||plain|


";

#[test]
fn nothing_to_plan_for() {
    let place = Place::new();
    place.write("c.data", CLUSTER);
    let fails = |options: &[&str], message: &str| {
        let run = place.fails(&[&["hroller", "-q", "-t", "c.data"], options].concat(), message);
        assert_eq!(run.stdout, "");
    };
    fails(&["-G", "nope"], "option --group: 'nope' is not the name or UUID of exactly one node group");
    for options in [&["--node-tags="][..], &["--node-tags=green"], &["-On1", "-On2", "-On3"]] {
        fails(options, "Cannot create node graph");
    }
    fails(&[], "Not enough capacity to move non-redundant instances");
    fails(&["--ignore-non-redundant", "--full-evacuation"], "Not enough capacity to move secondaries");
    fails(
        &["--ignore-non-redundant", "--offline-maintenance", "--honour-run-state"],
        "2 instances run on the nodes to be maintained: web, big\nHint: stop them first, or plan with them running with -f",
    );
    let run = place.run(&["hroller", "-v", "-t", "c.data"]);
    let detail = "Not enough capacity to move non-redundant instances: node 'n2' cannot be emptied of them\n";
    assert!(run.stderr.ends_with(detail), "{}", run.stderr);
    fails(
        &["-S", "absent/x"],
        "cannot write file 'absent/x.original': No such file or directory (os error 2)",
    );
}

#[test]
fn masters() {
    let place = Place::new();
    let none = "o master node found; the source may not know it";
    place.write("c.data", CLUSTER.replace("|M|", "|N|"));
    place.fails(&["hroller", "-q", "-t", "c.data"], &format!("N{none}\nHint: -f plans without a master"));
    let run = place.run(&["hroller", "-q", "-t", "c.data", "-f", "--ignore-non-redundant"]);
    assert_eq!((run.status, run.stderr), (Some(0), format!("Warning: n{none}\n")));
    place.write("c.data", CLUSTER.replace("|N|", "|M|"));
    place.fails(&["hroller", "-q", "-t", "c.data", "-f"], "Found more than one master node: n1, n2, n3");
}

#[test]
fn commands_that_cannot_be_written() {
    let place = Place::new();
    let good = sample("unbalanced-drbd.data");
    let run = place.run(&["hroller", "-f", "--json", "-t", &good, "-Cabsent/commands"]);
    let message = "cannot write file 'absent/commands': No such file or directory (os error 2)";
    assert!(run.stderr.contains(message), "{}", run.stderr);
    assert_eq!((run.status, run.stdout.as_str()), (Some(1), ""));
    assert!(fs::metadata(place.path("absent")).is_err());
}

#[test]
fn odd_clusters_are_planned_for() {
    let place = Place::new();
    for (from, to) in [
        ("web|100|1000|", "web|-9000000000000000000|9000000000000000000|"),
        ("n1|9000|0|", "n1|NaN|0|"),
        ("n2|9000|0|8000", "n2|1e400|-1|8000"),
        ("web|100|1000|1|running|Y|n1|n2|drbd", "web|100|1000|1|running|Y|n1|n1|plain"),
        ("web|100|1000|1|running|Y|n1|n2|drbd", "web|100|1000|1|running|Y|n1||drbd"),
    ] {
        let text = CLUSTER.replacen(from, to, 1);
        assert_ne!(text, CLUSTER, "{from}");
        place.write("c.data", text);
        for options in [&[][..], &["--full-evacuation", "--migrate-shared", "-C", "-v", "-v"], &["--json"]] {
            let words = ["hroller", "-q", "-t", "c.data", "--ignore-non-redundant"];
            let run = place.run(&[&words, options].concat());
            assert!(run.status == Some(0) || run.stderr.contains("Error: "), "{}", run.stderr);
        }
    }
}

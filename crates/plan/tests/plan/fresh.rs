//! Changes of a cluster since a plan was made.

use htools_plan::fresh::differences;
use htools_testkit::cluster;

#[test]
fn what_came_went_and_moved() {
    let nodes = |flag: &str, third: &str| {
        [
            format!("n1|9000|0|8000|90000|80000|9|{flag}|u|1"),
            "n2|9000|0|9000|90000|80000|9|N|u|1".to_owned(),
            format!("{third}|9000|0|9000|90000|90000|9|N|u|1"),
        ]
    };
    let make = |nodes: &[String], instances: &[&str]| {
        let nodes: Vec<&str> = nodes.iter().map(String::as_str).collect();
        cluster(&nodes, instances, &[])
    };
    let a = |place: &str| format!("a|1000|10000|1|running|Y|{place}|drbd||1");
    let before = make(&nodes("N", "n3"), &[&a("n1|n2"), "b|10|10|1|running|Y|n1||ext||1"]);
    let group = before.groups[0].idx;
    assert_eq!(differences(&before, group, &before), Vec::<String>::new());
    let now = make(&nodes("Y", "n4"), &[&a("n2|n1"), "c|10|10|1|running|Y|n2||ext||1"]);
    assert_eq!(
        differences(&before, group, &now),
        [
            "node 'n1' is offline, and was in use",
            "node 'n3' no longer exists",
            "node 'n4' is new, in use",
            "instance 'a' is on n2 and n1, and was on n1 and n2",
            "instance 'b' no longer exists",
            "instance 'c' is new, on n2",
        ]
    );
}

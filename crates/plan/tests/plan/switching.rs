//! The work of powering nodes down and up.

use htools_model::Cluster;
use htools_plan::graph::{EdgeReason, StepIdx, Strength};
use htools_plan::switching::{Switch, power_down, power_up};
use htools_plan::work::{Task, Work};
use htools_search::squeeze::{Decision, GroupPlan, SqueezeOptions, squeeze};
use htools_testkit::cluster;

fn titles(work: &Work) -> Vec<Vec<String>> {
    let title = |at: &StepIdx| work.step(*at).title();
    work.jobsets.iter().map(|set| set.iter().map(title).collect()).collect()
}

/// Five nodes, two of which are needed; the last one has older tags.
fn idle() -> Cluster {
    let old = "htools:switched:5,htools:standby-size:1/0/0/0/1/0/0/0,x";
    let mut nodes: Vec<String> = (0..5).map(|n| format!("n{n}|9000|0|8000|90000|90000|9|N|u|1")).collect();
    nodes[0] = nodes[0].replace("|N|", "|M|");
    nodes[4] = format!("{}|{old}", nodes[4]);
    let nodes: Vec<&str> = nodes.iter().map(String::as_str).collect();
    let instances: Vec<String> = (0..5).map(|i| format!("i{i}|1000|0|1|running|Y|n{i}||ext||1")).collect();
    let instances: Vec<&str> = instances.iter().map(String::as_str).collect();
    cluster(&nodes, &instances, &[])
}

fn planned(cluster: &Cluster, minimal: f64) -> GroupPlan {
    let groups = cluster.groups_with_nodes();
    let options =
        SqueezeOptions { minimal, target: minimal, max_nodes: Some(2), ..SqueezeOptions::default() };
    squeeze(cluster, &groups, &options).plans.remove(0)
}

#[test]
fn down() {
    let cluster = idle();
    let plan = planned(&cluster, 0.5);
    assert_eq!((plan.decision, plan.nodes.len()), (Decision::Condense, 2));
    let work = power_down(&cluster, &plan.nodes, &plan.steps, Switch::Ganeti, 17).unwrap();
    assert_eq!(work.fault(), None);
    let sets = titles(&work);
    let moves = sets.len() - 7;
    assert!(moves > 0);
    assert_eq!(sets[0], ["drain n3", "drain n4"]);
    let rest: Vec<&[String]> = sets[1 + moves..].iter().map(Vec::as_slice).collect();
    assert_eq!(rest[0], ["make sure that nothing is on n3", "make sure that nothing is on n4"]);
    assert_eq!(rest[1], ["untag n4"]);
    assert_eq!(rest[2..4], [["tag n3", "tag n4"], ["set offline n3", "set offline n4"]]);
    assert_eq!(rest[4..], [["power off n3"], ["power off n4"]]);
    let text = serde_json::to_string(&work).unwrap();
    assert!(text.contains(r#""tags":["htools:standby-size:1/0/0/0/1/0/0/0","htools:switched:5"]"#), "{text}");
    assert!(text.contains(r#""tags":["htools:standby:auto","htools:standby-size:9000/0/90000/90000/9/1/1/0","htools:switched:17"]"#), "{text}");
    // The order in which nodes lose power is an edge like any other.
    let title = |step| work.step(step).title();
    let why = work.edges.iter().map(|edge| (title(edge.before), title(edge.after), edge.strength, &edge.why));
    let why: Vec<_> = why.filter(|(_, title, ..)| title.starts_with("power off")).collect();
    let power = |node| format!("power off {node}");
    let offline = |node| (format!("set offline {node}"), power(node), Strength::Must, &EdgeReason::Order);
    let one_by_one = (power("n3"), power("n4"), Strength::Should, &EdgeReason::Power);
    assert_eq!(why, [offline("n3"), offline("n4"), one_by_one]);
    // Every move from a node comes after its drain, and the check after the last move.
    for at in work.all() {
        let begins = matches!(work.step(at).task, Task::Drain);
        assert!(begins || work.edges.iter().any(|edge| edge.after == at), "{at}");
    }
    let by_command = power_down(&cluster, &plan.nodes, &plan.steps, Switch::Command, 17).unwrap();
    assert_eq!(by_command.fault(), None);
    assert!(by_command.steps.iter().filter(|s| s.task == Task::PowerOff).all(|s| s.opcodes.is_empty()));
}

#[test]
fn up() {
    let mut cluster = idle();
    for (node, tag) in [(3, "htools:standby:auto"), (4, "htools:standby:10")] {
        let spec = &mut cluster.nodes[node].spec;
        spec.offline = true;
        spec.tags.push(tag.to_owned());
    }
    let mut plan = planned(&cluster, 0.5);
    plan.nodes = vec![cluster.nodes[4].spec.idx, cluster.nodes[3].spec.idx];
    let work = power_up(&cluster, &plan.nodes, Switch::Ganeti, 17).unwrap();
    assert_eq!(work.fault(), None);
    let sets = titles(&work);
    assert_eq!(sets[..2], [["power on n4"], ["power on n3"]]);
    assert_eq!(sets[2..4], [["wait for n4", "wait for n3"], ["set online n4", "set online n3"]]);
    // Other standby tags stay.
    assert_eq!(sets[4], ["untag n3"]);
    assert_eq!(sets[5..], [["tag n4", "tag n3"]]);
    let text = serde_json::to_string(&work.steps[6]).unwrap();
    assert!(text.contains(r#""tags":["htools:standby:auto"]"#), "{text}");
}

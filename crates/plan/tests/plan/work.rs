//! Plans in names and opcodes.

use htools_model::{Cluster, Draft, Step};
use htools_plan::checker::CheckOptions;
use htools_plan::graph::{Edge, EdgeReason, StepIdx, Strength};
use htools_plan::jobset::jobsets;
use htools_plan::opcode::Opcode;
use htools_plan::work::{Builder, Task, Work};
use htools_search::{BalanceOptions, Balancer};
use htools_testkit::cluster;

/// Three nodes with all instances on the first two, and the plan that balances them.
fn planned() -> (Cluster, Vec<Step>) {
    let nodes = ["n1|9000|0|3000|90000|30000|9|N|u|1", "n2|9000|0|3000|90000|30000|9|N|u|1"];
    let nodes: Vec<&str> = nodes.into_iter().chain(["n3|9000|0|9000|90000|90000|9|N|u|1"]).collect();
    let instances: Vec<String> = (0..6)
        .map(|i| {
            let (p, s) = if i % 2 == 0 { ("n1", "n2") } else { ("n2", "n1") };
            format!("i{i}|2000|10000|1|running|Y|{p}|{s}|drbd||1")
        })
        .collect();
    let instances: Vec<&str> = instances.iter().map(String::as_str).collect();
    let start = cluster(&nodes, &instances, &[]);
    let mut end = Draft::of(&start);
    let all = end.all_nodes();
    let mut balancer = Balancer::new(&mut end, &all, BalanceOptions::default());
    let steps: Vec<Step> = std::iter::from_fn(|| balancer.next_step()).collect();
    (start, steps)
}

#[test]
fn plans_come_back_from_names() {
    let (start, steps) = planned();
    assert!(!steps.is_empty());
    let work = Work::of(&start, &steps, &jobsets(&start, &steps), CheckOptions::default()).unwrap();
    let text = serde_json::to_string(&work).unwrap();
    let read: Work = serde_json::from_str(&text).unwrap();
    assert_eq!(read, work);
    assert_eq!(read.fault(), None);
    let without_scores: Vec<Step> = steps.iter().map(|step| Step { score: 0.0, ..*step }).collect();
    assert_eq!(read.steps_on(&start, &read.all().collect::<Vec<_>>()).unwrap(), without_scores);
}

/// Older journals have no edges, and steps with `after`.
#[test]
fn journals_of_older_versions_are_read() {
    let (start, steps) = planned();
    let work = Work::of(&start, &steps, &jobsets(&start, &steps), CheckOptions::default()).unwrap();
    let mut value = serde_json::to_value(&work).unwrap();
    value.as_object_mut().unwrap().remove("edges");
    for step in value["steps"].as_array_mut().unwrap() {
        step["after"] = serde_json::json!([]);
    }
    let read: Work = serde_json::from_value(value).unwrap();
    assert_eq!(read, Work { edges: Vec::new(), ..work });
}

#[test]
fn unknown_names_are_told() {
    let (start, steps) = planned();
    let mut work = Work::of(&start, &steps, &jobsets(&start, &steps), CheckOptions::default()).unwrap();
    work.steps[0].subject = "nobody".into();
    let error = work.steps_on(&start, &[StepIdx::new(0)]).unwrap_err();
    assert_eq!(error.to_string(), "step 1: there is no instance 'nobody'");
}

#[test]
fn work_side_by_side() {
    let (start, steps) = planned();
    let work = Work::of(&start, &steps, &jobsets(&start, &steps), CheckOptions::default()).unwrap();
    let (count, sets) = (work.steps.len(), work.jobsets.len());
    assert!(sets > 1);
    let first = Work::of(&start, &steps, &jobsets(&start, &steps)[..1], CheckOptions::default()).unwrap();
    let joined = Work::side_by_side([work.clone(), Work::default(), first.clone(), work.clone()]);
    assert_eq!(joined.fault(), None);
    assert_eq!((joined.steps.len(), joined.jobsets.len()), (2 * count + first.steps.len(), sets));
    let begun = joined.jobsets[0].len();
    assert_eq!(begun, 2 * work.jobsets[0].len() + first.steps.len());
    let offset = count + first.steps.len();
    for (at, step) in work.steps.iter().enumerate() {
        assert_eq!((&joined.steps[at], &joined.steps[at + offset]), (step, step));
    }
    let moved = |edge: &Edge<EdgeReason<String>>| edge.clone().behind(offset);
    assert!(work.edges.iter().map(moved).eq(joined.edges.iter().rev().take(work.edges.len()).rev().cloned()));
    assert_eq!(Work::side_by_side([work.clone()]), work);
}

#[test]
fn jobsets_that_make_no_sense() {
    let (start, steps) = planned();
    let work = Work::of(&start, &steps, &jobsets(&start, &steps), CheckOptions::default()).unwrap();
    let count = work.steps.len();
    let once = format!("the jobsets do not list each of the {count} steps once");
    let why = EdgeReason::Order;
    let [before, after] = [0, count - 1].map(StepIdx::new);
    let work = Work { edges: vec![Edge { before, after, strength: Strength::Must, why }], ..work };
    assert_eq!(work.fault(), None);
    let waits = format!("step {count} waits for step 1, which is in no jobset before its own");
    let reversed = work.jobsets.iter().rev().cloned().collect();
    let twice = work.jobsets.iter().chain(&work.jobsets[..1]).cloned().collect();
    let missing = work.jobsets[1..].to_vec();
    let beyond = vec![(0..=count).map(StepIdx::new).collect()];
    for (jobsets, fault) in [(reversed, &waits), (twice, &once), (missing, &once), (beyond, &once)] {
        assert_eq!(Work { jobsets, ..work.clone() }.fault().as_ref(), Some(fault));
    }
}

#[test]
fn names_that_ganeti_cannot_have() {
    let (mut start, steps) = planned();
    let sets = jobsets(&start, &steps);
    let work = Work::of(&start, &steps, &sets, CheckOptions::default()).unwrap();
    let fault =
        "step 1: instance '$(x)': the name is not valid in Ganeti, so it is not used in commands or jobs";
    let mut read = work.clone();
    read.steps[0].subject = "$(x)".to_owned();
    assert_eq!(read.fault().as_deref(), Some(fault));
    // Every way for a name into a job is tried.
    for field in ["instance_name", "target_node", "remote_node"] {
        let text = serde_json::to_string(&work).unwrap();
        let changed = text.replace(&format!("\"{field}\":\""), &format!("\"{field}\":\"/"));
        let read: Work = serde_json::from_str(&changed).unwrap();
        assert!(
            changed == text || read.fault().is_some_and(|fault| fault.contains("is not valid in Ganeti")),
            "{field}"
        );
    }
    let mut tags = Builder::default();
    tags.nodes(&Task::Tag, ["n".to_owned()], |n| vec![Opcode::tag_node(n, vec!["a;b".to_owned()])]);
    assert_eq!(tags.finish().unwrap_err().name, "a;b");
    let instance = steps[0].instance;
    start.instances[instance.get()].details_mut().name = "a\nb".to_owned();
    assert_eq!(Work::of(&start, &steps, &sets, CheckOptions::default()).unwrap_err().name, "a\nb");
}

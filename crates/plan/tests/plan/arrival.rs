//! Comparison of clusters with the end of a plan.

use std::collections::HashMap;

use htools_model::{Cluster, Concession, Draft, Instance, Move, Placement, Step};
use htools_plan::arrival::{MissingEffect, NodeFlags, PlannedEnd};
use htools_plan::checker::CheckOptions;
use htools_plan::graph::StepIdx;
use htools_plan::jobset::jobsets;
use htools_plan::opcode::{Opcode, PowerCommand};
use htools_plan::work::{Builder, Relocation, Task, Work, WorkStep};
use htools_search::moves::{MoveRules, perform};
use htools_search::{BalanceOptions, Balancer};
use htools_testkit::cluster;

/// Twelve instances on the first two of four nodes.
fn crowded() -> Cluster {
    let nodes = ["n1|3000", "n2|3000", "n3|15000", "n4|15000"];
    let nodes = nodes.map(|node| {
        let (name, free) = node.split_once('|').unwrap();
        format!("{name}|15000|0|{free}|90000|80000|9|N|u|1")
    });
    let instances: Vec<String> = (0..12)
        .map(|i| {
            let (p, s) = if i % 2 == 0 { ("n1", "n2") } else { ("n2", "n1") };
            match i % 3 {
                0 => format!("i{i}|2000|0|1|running|Y|{p}||ext||1"),
                _ => format!("i{i}|2000|1000|1|running|Y|{p}|{s}|drbd||1"),
            }
        })
        .collect();
    let nodes: Vec<&str> = nodes.iter().map(String::as_str).collect();
    let instances: Vec<&str> = instances.iter().map(String::as_str).collect();
    cluster(&nodes, &instances, &[])
}

fn balanced(start: &Cluster) -> (Work, Vec<Step>, Cluster) {
    let mut end = Draft::of(start);
    let all = end.all_nodes();
    let mut balancer = Balancer::new(&mut end, &all, BalanceOptions::default());
    let steps: Vec<Step> = std::iter::from_fn(|| balancer.next_step()).collect();
    (
        Work::of(start, &steps, &jobsets(start, &steps), CheckOptions::default()).unwrap(),
        steps,
        end.into_cluster(),
    )
}

/// The nodes of an instance, in words.
fn shown(cluster: &Cluster, instance: &Instance) -> String {
    let name = |node| &cluster.node(node).spec.name;
    match instance.secondary {
        Some(secondary) => format!("on {} and {}", name(instance.primary), name(secondary)),
        None => format!("on {}", name(instance.primary)),
    }
}

fn missing_effects(work: &Work, now: &Cluster) -> Vec<MissingEffect> {
    PlannedEnd::of(work).missing_effects(now, &HashMap::new())
}

/// After some steps of a plan, the differences are exactly the moves that remain.
#[test]
fn what_is_missed_is_what_was_not_moved() {
    let start = crowded();
    let (work, steps, end) = balanced(&start);
    assert!(steps.len() > 3);
    assert_eq!(missing_effects(&work, &end), []);
    let mut now = Draft::of(&start);
    for step in &steps {
        let at = |i: &Instance| i.placement();
        let both = now.instances.iter().zip(&end.instances);
        let mut wanted: Vec<&str> =
            both.filter(|(now, end)| at(now) != at(end)).map(|(now, _)| now.name.as_str()).collect();
        wanted.sort_unstable();
        let missing_effects = missing_effects(&work, &now);
        assert_eq!(missing_effects.iter().map(|m| m.subject.as_str()).collect::<Vec<_>>(), wanted);
        perform(&mut now, step.instance, step.mv, &MoveRules::default()).unwrap();
    }
}

#[test]
fn only_what_the_plan_moved_counts() {
    let start = crowded();
    let (work, steps, end) = balanced(&start);
    let moved = |i: &Instance| steps.iter().any(|step| step.instance == i.idx);
    let mut now = end.clone();
    let others: Vec<usize> = now.instances.iter().filter(|i| !moved(i)).map(|i| i.idx.get()).collect();
    assert!(!others.is_empty());
    for at in others {
        now.instances[at].primary = now.nodes[3].spec.idx;
        now.instances[at].details_mut().name.push_str("-new");
    }
    assert_eq!(missing_effects(&work, &now), []);
    let at = steps[0].instance.get();
    let (name, place) = (end.instances[at].name.clone(), shown(&end, &end.instances[at]));
    now.instances[at].details_mut().name = "another".to_owned();
    let texts: Vec<String> = missing_effects(&work, &now).into_iter().map(|effect| effect.text).collect();
    assert_eq!(texts, [format!("instance '{name}' is gone, and should be {place}")]);
}

/// For a move between groups, the end of the last leg counts.
#[test]
fn legs_lead_to_their_last_end() {
    let place = |primary: &str, secondary: &str| Placement {
        primary: primary.to_owned(),
        secondary: Some(secondary.to_owned()),
    };
    let leg = |from: Placement<String>, to: Placement<String>| Relocation {
        mv: Move::Failover,
        from,
        to,
        concession: Concession::None,
    };
    let legs = vec![leg(place("n1", "n2"), place("n2", "n1")), leg(place("n2", "n1"), place("n2", "n3"))];
    let step = |legs| WorkStep {
        subject: "i1".to_owned(),
        task: Task::Cross(legs),
        opcodes: Vec::new(),
        freight: None,
    };
    let work = Work { steps: vec![step(legs)], jobsets: vec![vec![StepIdx::new(0)]], edges: Vec::new() };
    let text = &missing_effects(&work, &crowded())[0].text;
    assert_eq!(text, "instance 'i1' is on n2 and n1, and should be on n2 and n3");
    // A step without relocations has no end to compare.
    assert_eq!(
        missing_effects(
            &Work { steps: vec![step(Vec::new())], jobsets: vec![vec![StepIdx::new(0)]], edges: Vec::new() },
            &crowded()
        ),
        []
    );
}

#[test]
fn flags_and_tags_of_nodes() {
    let mut builder = Builder::default();
    let node = || ["n1".to_owned()];
    builder.nodes(&Task::Drain, node(), |node| vec![Opcode::set_drained(node, true)]);
    builder.nodes(&Task::Untag, node(), |node| vec![Opcode::untag_node(node, vec!["old".into()])]);
    builder.nodes(&Task::Tag, node(), |node| vec![Opcode::tag_node(node, vec!["new".into()])]);
    builder.nodes(&Task::SetOffline, node(), |node| vec![Opcode::set_offline(node, true)]);
    builder.nodes(&Task::PowerOff, node(), |node| vec![Opcode::power(node, PowerCommand::PowerOff)]);
    let work = builder.finish().unwrap();
    let end = PlannedEnd::of(&work);
    assert_eq!(end.nodes().collect::<Vec<_>>(), ["n1"]);
    let mut now = crowded();
    now.nodes[0].spec.tags = vec!["new".to_owned()];
    let with = |now: &Cluster, offline, drained, powered| -> Vec<String> {
        let flags = NodeFlags { offline, drained, powered };
        let missing_effects = end.missing_effects(now, &[("n1".to_owned(), flags)].into());
        missing_effects.into_iter().map(|effect| effect.text).collect()
    };
    // An offline node is not drained, and flags that Ganeti does not know are not compared.
    assert_eq!(with(&now, Some(true), Some(false), Some(false)), [""; 0]);
    assert_eq!(with(&now, Some(true), None, None), [""; 0]);
    now.nodes[0].spec.tags = vec!["old".to_owned()];
    assert_eq!(
        with(&now, Some(false), Some(true), Some(true)),
        ["node 'n1' is not offline, is still powered, has not the tag 'new', still has the tag 'old'"]
    );
    now.nodes.remove(0);
    assert_eq!(with(&now, None, None, None), ["node 'n1' is gone"]);
    // The reverse.
    let mut builder = Builder::default();
    builder.nodes(&Task::SetOnline, node(), |node| vec![Opcode::set_offline(node, false)]);
    builder.nodes(&Task::Undrain, node(), |node| vec![Opcode::set_drained(node, false)]);
    let work = builder.finish().unwrap();
    let flags = NodeFlags { offline: Some(true), drained: Some(true), powered: None };
    let missing_effects =
        PlannedEnd::of(&work).missing_effects(&crowded(), &[("n1".to_owned(), flags)].into());
    assert_eq!(missing_effects[0].text, "node 'n1' is still offline, is still drained");
}

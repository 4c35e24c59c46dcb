//! Durations of steps, and measured speeds.

use std::convert::Infallible;
use std::time::Duration;

use htools_model::{Concession, InstanceIdx, Mib, Move, NodeIdx, Placement, Step};
use htools_plan::durations::{Measured, Rates, data_of};
use htools_plan::work::{Relocation, WorkStep};
use htools_testkit::cluster;

/// A move of an instance with this memory, if it runs, and with disks of 6000 MiB.
fn step(mv: Move<&str>, memory: Option<i64>) -> WorkStep {
    let nodes = ["a", "b", "c"].map(|name| format!("{name}|9000|0|5000|90000|50000|9|N|u|1"));
    let nodes: Vec<&str> = nodes.iter().map(String::as_str).collect();
    let (status, memory) = memory.map_or(("ADMIN_down", 1000), |memory| ("running", memory));
    let instance = format!("i|{memory}|6000|1|{status}|Y|a|b|drbd||1");
    let cluster = cluster(&nodes, &[&instance], &[]);
    let from = Placement { primary: NodeIdx::new(0), secondary: Some(NodeIdx::new(1)) };
    let Ok(mv) = mv.try_map(|_| Ok::<_, Infallible>(NodeIdx::new(2)));
    let to = mv.placement(&cluster.instances[0]);
    let (instance, concession) = (InstanceIdx::new(0), Concession::None);
    WorkStep::moving(&cluster, &Step { instance, mv, from, to, score: 0.0, concession })
}

#[test]
fn times_follow_the_legs() {
    let rates = Rates::default();
    let seconds = |mv, memory| rates.seconds(&step(mv, memory));
    assert_eq!(seconds(Move::Failover, Some(1000)), 20.0);
    assert_eq!(seconds(Move::Failover, None), 60.0);
    assert_eq!(seconds(Move::ReplaceSecondary("c"), None), 115.0);
    assert_eq!(seconds(Move::ReplacePrimary("c"), Some(1000)), 155.0);
    let both = step(Move::ReplacePrimary("c"), Some(1000));
    assert_eq!(data_of(&both), (Mib(2000), Mib(6000)));
    // The unit test of the copies begins with this relocation.
    let place = |primary: &str, secondary: &str| Placement {
        primary: primary.to_owned(),
        secondary: Some(secondary.to_owned()),
    };
    let relocation = Relocation {
        mv: Move::ReplacePrimary("c".to_owned()),
        from: place("a", "b"),
        to: place("c", "b"),
        concession: Concession::None,
    };
    assert_eq!(both.relocations(), [relocation]);
}

#[test]
fn speeds_are_learnt() {
    let (go, copy) = (step(Move::Failover, Some(1000)), step(Move::ReplaceAndFailover("c"), Some(1000)));
    let seen = |step, seconds| Measured { step, took: Duration::from_secs(seconds) };
    // 50 MiB/s; then 15 s, 6000 MiB in 200 s, and the present time of a migration.
    let rates = Rates::default().refined(&[seen(&go, 30), seen(&copy, 15 + 200 + 30)]);
    assert_eq!((rates.bandwidth, rates.sync_rate), (50.0, 30.0));
    assert_eq!((rates.seconds(&go), rates.seconds(&copy)), (30.0, 245.0));
    // Implausible or missing measurements change nothing.
    assert_eq!(Rates::default().refined(&[seen(&go, 1)]), Rates::default());
    assert_eq!(Rates::default().refined(&[]), Rates::default());
    let stopped = step(Move::Failover, None);
    let rates = Rates::default().refined(&[seen(&stopped, 20), seen(&stopped, 40)]);
    assert_eq!(rates.failover, 30.0);
}

//! `--keep-room`: plans of all searches leave the room, and the independent checker agrees.

use crate::common::clusters::{Dice, Recipe, Style, balance_options, cases, recipes};
use htools::load::merge::{MergeOptions, finish, merge};
use htools::model::{Cluster, DiskTemplate, Draft, EvacMode, GroupIdx, Mib, RoomSize, WantedRoom};
use htools::plan::checker::{CheckOptions, check, check_crossings};
use htools::search::balance::deep::headway::{DeepWatch, SearchProgress};
use htools::search::balance::deep::order::order;
use htools::search::balance::deep::{DeepOptions, search};
use htools::search::groups::balance::{GroupBalanceOptions, balance as balance_groups};
use htools::search::moves::{MoveRules, perform};
use htools::search::place::evacuation::{Destination, evacuate};
use htools::search::squeeze::{SqueezeOptions, squeeze};
use htools::search::{BalanceOptions, Deadline, balance};
use proptest::prelude::*;

const SANE: &[Style] = &[Style::Mixed, Style::Tight, Style::Symmetric];

/// A random cluster that keeps room of a random size, mostly of one that is scarce.
fn cluster(recipe: &Recipe) -> Cluster {
    let mut dice = Dice::new(recipe.seed ^ 0x7003);
    let mut cluster = merge(recipe.raw(), &MergeOptions::default()).expect("no selection");
    finish(&mut cluster, Mib::ZERO);
    let online = cluster.nodes.iter().filter(|node| !node.spec.offline);
    let free = online.map(|node| node.state.ledger.mem_unallocated(&node.spec).0).max().unwrap_or(0);
    let template = dice.of(&[DiskTemplate::Drbd, DiskTemplate::Drbd, DiskTemplate::Ext, DiskTemplate::Plain]);
    let memory = Mib((free * dice.of(&[30, 60, 90, 110]) / 100).max(128));
    let size = RoomSize { memory, disk: Mib(1024), vcpus: dice.of(&[1, 1, 2]), spindles: 1, template };
    for group in &mut cluster.groups {
        // Most random policies would refuse the size.
        group.policy.ranges.clear();
        group.policy.disk_templates.push(template);
    }
    cluster.keep_room(Some(WantedRoom { size, count: dice.of(&[1, 2, 3, 6]) }));
    cluster
}

fn count(cluster: &Cluster) -> i64 {
    cluster.room().map_or(0, |room| room.count())
}

/// The cluster without offline nodes, from which instances may leave at the cost of the room.
fn sound(recipe: &Recipe) -> Cluster {
    let mut draft = Draft::from(cluster(recipe));
    let all = draft.all_nodes();
    draft.set_offline(&all, false);
    draft.into_cluster()
}

proptest! {
    #![proptest_config(cases(250))]

    #[test]
    fn balancing_leaves_the_room(
        recipe in recipes(SANE, 3..=9, 4..=30),
        options in balance_options(),
    ) {
        let cluster = sound(&recipe);
        let options = BalanceOptions {
            rules: MoveRules { ignore_soft_errors: false, ..options.rules },
            ..options
        };
        let before = count(&cluster);
        for group in cluster.groups_with_nodes() {
            let nodes = cluster.nodes_of(group).to_vec();
            let mut draft = Draft::of(&cluster);
            let found = balance::run(&mut draft, &nodes, options);
            prop_assert!(count(&draft) >= before, "{} of {before} after {} steps", count(&draft), found.steps.len());
            let checked = check(&cluster, &nodes, &found.steps, CheckOptions::default());
            prop_assert!(checked.is_ok(), "{:?}", checked.err());
            if recipe.seed % 3 > 0 {
                continue;
            }
            let deep = DeepOptions { effort: 2000, streams: 1, ..DeepOptions::of(&cluster, &nodes) };
            let watch = DeepWatch { deadline: &Deadline::never(), headway: &SearchProgress::default() };
            let found = search(&cluster, &nodes, &options, &deep, watch);
            for point in &found.line {
                let ordered = order(&cluster, &nodes, &options, &point.placements, 8);
                let mut draft = Draft::of(&cluster);
                for step in &ordered.steps {
                    perform(&mut draft, step.instance, step.mv, &options.rules).expect("it is in a plan");
                }
                prop_assert!(count(&draft) >= before, "deep: {} of {before}", count(&draft));
                let checked = check(&cluster, &nodes, &ordered.steps, CheckOptions::default());
                prop_assert!(checked.is_ok(), "deep: {:?}", checked.err());
            }
        }
    }

    #[test]
    fn moves_between_groups_and_evacuations_leave_the_room(recipe in recipes(SANE, 3..=9, 4..=30)) {
        let cluster = sound(&recipe);
        let before = count(&cluster);
        let found = balance_groups(&cluster, &GroupBalanceOptions::default());
        prop_assert!(count(&found.after) >= before, "{} of {before}", count(&found.after));
        let checked = check_crossings(&cluster, &found.steps);
        prop_assert!(checked.is_ok(), "{:?}", checked.err());
        for group in 0..cluster.groups.len() {
            let group = GroupIdx::new(group);
            let destination =
                Destination { group, targets: cluster.nodes_of(group).to_vec(), ignore_soft_errors: false };
            for idx in cluster.instances_of(group) {
                let mut draft = Draft::of(&cluster);
                if evacuate(&mut draft, idx, EvacMode::All, &destination).is_ok() {
                    prop_assert!(count(&draft) >= before, "{} of {before}", count(&draft));
                }
            }
        }
    }

    #[test]
    fn freed_nodes_leave_the_room(recipe in recipes(SANE, 3..=7, 2..=15), deep in any::<bool>()) {
        let cluster = cluster(&recipe);
        let groups = cluster.groups_with_nodes();
        let options = SqueezeOptions { minimal: 0.0, target: 0.0, capacity_checks: false, deep, ..SqueezeOptions::default() };
        let found = squeeze(&cluster, &groups, &options);
        if found.plans.iter().any(|plan| !plan.nodes.is_empty()) {
            prop_assert!(count(&found.after) >= count(&cluster), "{} of {}", count(&found.after), count(&cluster));
        }
    }

    /// The count after each move is that of a new count, and the same again once the move is taken back.
    #[test]
    fn the_count_follows_the_state(recipe in recipes(SANE, 2..=8, 1..=20)) {
        let cluster = cluster(&recipe);
        let mut draft = Draft::of(&cluster);
        let rules = MoveRules::default();
        let nodes = cluster.all_nodes();
        let found = balance::run(&mut Draft::of(&cluster), &nodes, BalanceOptions::default());
        for step in &found.steps {
            let mark = draft.mark();
            let before = count(&draft);
            if perform(&mut draft, step.instance, step.mv, &rules).is_err() {
                break;
            }
            let room = draft.room().expect("room is kept");
            prop_assert_eq!(room.count(), room.recounted(&draft).count());
            let after = count(&draft);
            draft.back_to(mark);
            prop_assert_eq!(count(&draft), before);
            perform(&mut draft, step.instance, step.mv, &rules).expect("it was possible");
            prop_assert_eq!(count(&draft), after);
        }
    }
}

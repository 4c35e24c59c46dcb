use proptest::prelude::*;

use super::*;

/// Random rules for up to seven nodes.
fn rules() -> impl Strategy<Value = OutageRules> {
    let load = (0_usize..7, [0_i64..9, 0_i64..9, 0_i64..4]).prop_map(|(from, amounts)| {
        let [load, kept, left] = amounts.map(Mib);
        TakeoverLoad { from, load, kept, left }
    });
    let takeover = (0_i64..24, 0_i64..6, prop::collection::vec(load, 0..6));
    let takeover = takeover.prop_map(|(room, others, mut loads)| {
        loads.sort_by_key(|load| load.from);
        loads.dedup_by_key(|load| load.from);
        Takeover { node: NodeIdx::new(0), room: Mib(room), others: Mib(others), loads }
    });
    let parts = (
        1_usize..8,
        prop::collection::vec([0_usize..7, 0_usize..7], 0..9),
        prop::collection::vec(takeover, 0..4),
        prop::option::of(1_usize..5),
    );
    parts.prop_map(|(count, pairs, takeovers, most)| OutageRules::new(count, pairs, takeovers, most))
}

/// Tells if every node can be down alone.
fn each_alone(rules: &OutageRules) -> bool {
    (0..rules.len()).all(|node| rules.allow(&[node]))
}

/// All divisions of `left` into batches, appended to those in `batches`.
fn fewest(rules: &OutageRules, node: usize, batches: &mut Vec<Vec<usize>>) -> Option<usize> {
    if node == rules.len() {
        return batches.iter().all(|batch| rules.allow(batch)).then_some(batches.len());
    }
    let mut best: Option<usize> = None;
    let mut note = |found: Option<usize>| best = best.into_iter().chain(found).min();
    for at in 0..batches.len() {
        batches[at].push(node);
        note(fewest(rules, node + 1, batches));
        batches[at].pop();
    }
    batches.push(vec![node]);
    note(fewest(rules, node + 1, batches));
    batches.pop();
    best
}

proptest! {
    #[test]
    fn a_subset_of_a_batch_is_a_batch(rules in rules(), batch in 0_u32..128, less in 0_u32..128) {
        let of_bits = |bits: u32| (0..rules.len()).filter(|node| bits & 1 << node != 0).collect::<Vec<_>>();
        if rules.allow(&of_bits(batch)) {
            prop_assert!(rules.allow(&of_bits(batch & less)));
        }
    }

    #[test]
    fn the_search_finds_the_fewest_batches(rules in rules()) {
        let nodes: Vec<usize> = (0..rules.len()).collect();
        let best = fewest(&rules, 0, &mut Vec::new());
        let times = vec![0; rules.len()];
        for count in 1..=rules.len() {
            // Nodes that cannot even be down alone are the caller's concern.
            if !each_alone(&rules) {
                continue;
            }
            let limits = vec![0; count];
            match search_batches(&rules, &nodes, BatchTimes { of_node: &times, limits: &limits }, &mut 1_000_000) {
                BatchSearch::Found(batches) => {
                    prop_assert!(batches.iter().all(|batch| rules.allow(batch)));
                    prop_assert_eq!(batches.iter().map(Vec::len).sum::<usize>(), rules.len());
                    prop_assert!(best.is_some_and(|best| best <= count));
                }
                BatchSearch::Impossible => prop_assert!(best.is_none_or(|best| best > count)),
                BatchSearch::Undecided => prop_assert!(false),
            }
        }
    }

    #[test]
    fn batches_that_are_filled_in_order_obey_the_rules(rules in rules()) {
        if each_alone(&rules) {
            let mut filled = OutageBatches::new(&rules);
            for node in (0..rules.len()).rev() {
                filled.put_first(node);
            }
            prop_assert!(filled.into_batches().iter().all(|batch| rules.allow(batch)));
        }
    }

    #[test]
    fn the_shortest_division_is_found(rules in rules(), times in prop::collection::vec(0_u64..9, 7)) {
        if !each_alone(&rules) {
            return Ok(());
        }
        let times = &times[..rules.len()];
        let best = least_time(&rules, times, 0, &mut Vec::new());
        let found = shortest_batches(&rules, times, rules.len(), u64::MAX, &mut 10_000_000);
        prop_assert_eq!(found.least, best);
        let batches = found.batches.unwrap();
        prop_assert!(batches.iter().all(|batch| rules.allow(batch)));
        prop_assert_eq!(batches.iter().map(|batch| longest(times, batch)).sum::<u64>(), best);
        // With little effort the bound is lower, but still holds.
        for mut budget in [0, 1, 10, 30] {
            prop_assert!(shortest_batches(&rules, times, rules.len(), u64::MAX, &mut budget).least <= best);
        }
    }
}

fn longest(times: &[u64], batch: &[usize]) -> u64 {
    batch.iter().map(|node| times[*node]).max().unwrap_or(0)
}

/// Least time of all divisions with these batches of the nodes before `node`.
fn least_time(rules: &OutageRules, times: &[u64], node: usize, batches: &mut Vec<Vec<usize>>) -> u64 {
    if node == rules.len() {
        let is_legal = batches.iter().all(|batch| rules.allow(batch));
        let time = batches.iter().map(|batch| longest(times, batch)).sum();
        return if is_legal { time } else { u64::MAX };
    }
    let mut best = u64::MAX;
    for at in 0..batches.len() {
        batches[at].push(node);
        best = best.min(least_time(rules, times, node + 1, batches));
        batches[at].pop();
    }
    batches.push(vec![node]);
    best = best.min(least_time(rules, times, node + 1, batches));
    batches.pop();
    best
}

#[test]
fn limits_of_time_bind() {
    let rules = OutageRules::new(3, [[0, 1]], Vec::new(), None);
    let search = |limits: &[u64]| {
        search_batches(&rules, &[0, 1, 2], BatchTimes { of_node: &[5, 5, 9], limits }, &mut 1000)
    };
    assert_eq!(search(&[9, 5]), BatchSearch::Found(vec![vec![0, 2], vec![1]]));
    assert_eq!(search(&[9, 4]), BatchSearch::Impossible);
    assert_eq!(search(&[8, 8]), BatchSearch::Impossible);
    let none =
        search_batches(&rules, &[0, 1, 2], BatchTimes { of_node: &[5, 5, 9], limits: &[9, 9] }, &mut 1);
    assert_eq!(none, BatchSearch::Undecided);
}

#[test]
fn what_is_unsafe_until_the_last_node_is_down_is_no_batch() {
    let load =
        |from, load, kept, left| TakeoverLoad { from, load: Mib(load), kept: Mib(kept), left: Mib(left) };
    // An instance of node 2 is broken: it needs memory once it runs again, but takes none when it moves.
    let loads = vec![load(0, 4, 4, 0), load(1, 3, 3, 0), load(2, 0, 4, 0)];
    let takeover = Takeover { node: NodeIdx::new(0), room: Mib(10), others: Mib::ZERO, loads };
    let rules = OutageRules::new(3, [], vec![takeover], None);
    assert!(rules.are_apart(0, 1) && !rules.allow(&[0, 1, 2]));
    assert!(rules.allow(&[0, 2]) && rules.allow(&[1, 2]));
}

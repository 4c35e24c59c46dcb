//! Large groups in which hsqueeze can free many nodes.

use super::Case;

/// Text of a cluster with nodes of 64 GiB. The first half of the nodes has three quarters of the instances.
fn skewed(nodes: usize, instances: usize, drbd: bool) -> String {
    const SIZES: [i64; 5] = [512, 1024, 2048, 4096, 8192];
    let mut free = vec![64_512i64; nodes];
    // A plain linear congruential generator gives the same cluster everywhere.
    let mut state = 1u64;
    let mut next = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below.max(1)
    };
    let mut rows = String::new();
    for at in 0..instances {
        let range = if next(4) < 3 { nodes / 2 } else { nodes };
        let (primary, size) = (next(range), SIZES[next(SIZES.len())]);
        if free[primary] - size < 16_384 {
            continue;
        }
        free[primary] -= size;
        let (template, secondary) = match drbd {
            true => ("drbd", format!("n{}", (primary + 1 + next(nodes - 1)) % nodes)),
            false => ("ext", String::new()),
        };
        rows += &format!("i{at}|{size}|10240|1|running|Y|n{primary}|{secondary}|{template}||1\n");
    }
    let mut text = String::from("g|u|preferred||\n\n");
    for (at, free) in free.iter().enumerate() {
        let role = if at == 0 { 'M' } else { 'N' };
        text += &format!("n{at}|65536|1024|{free}|4194304|4194304|24|{role}|u|1\n");
    }
    text + "\n" + &rows + "\n"
}

/// The cases.
pub fn cases() -> Vec<Case> {
    vec![
        Case {
            title: "1,000 nodes, 10,000 ext instances",
            command: "hsqueeze",
            cluster: skewed(1_000, 10_000, false),
            before: "84 s",
            most: 5.0,
        },
        Case {
            title: "1,000 nodes, 10,000 DRBD instances",
            command: "hsqueeze --drbd",
            cluster: skewed(1_000, 10_000, true),
            before: "over 200 s",
            most: 15.0,
        },
        Case {
            title: "20,000 nodes, 200,000 ext instances",
            command: "hsqueeze --max-nodes 1",
            cluster: skewed(20_000, 200_000, false),
            before: "over 60 s",
            most: 20.0,
        },
    ]
}

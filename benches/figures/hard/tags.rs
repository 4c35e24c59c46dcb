//! Very many tags, and very many groups.

use std::fmt::Write;

use super::Case;

/// The cases.
pub fn cases() -> Vec<Case> {
    vec![
        Case {
            title: "1,000 nodes, 10,000 instances with location, exclusion and migration tags",
            command: "hbal -l 1000",
            cluster: many_tags(),
            before: "over 111 s",
            most: 20.0,
        },
        Case {
            title: "400 location tags on each of 50 nodes, one step",
            command: "hbal -l 1",
            cluster: many_locations(),
            before: "over 60 s",
            most: 1.0,
        },
        Case {
            title: "two instances with 100,000 exclusion tags each",
            command: "hbal",
            cluster: two_instances(100_000),
            before: "38 s",
            most: 2.0,
        },
        Case {
            title: "5,000 groups and nothing to do",
            command: "hbal --all-groups",
            cluster: groups(5_000, 2, 10_000),
            before: "74 s",
            most: 2.0,
        },
        Case {
            title: "300 groups, 1,000 nodes, 10,000 instances",
            command: "hgroup compress",
            cluster: groups(300, 3, 10_000),
            before: "154 s",
            most: 15.0,
        },
    ]
}

/// Pseudo-random numbers, the same every time.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound
    }
}

/// A cluster of one group. Nodes get the tags of `node`; the `instances` DRBD instances get those of `instance`. Most
/// instances are on the first nodes. The cluster has tags, too.
fn one_group(
    nodes: usize,
    instances: usize,
    mut node: impl FnMut(usize, &mut Numbers) -> String,
    mut instance: impl FnMut(&mut Numbers) -> String,
    tags: &[&str],
) -> String {
    let mut numbers = Numbers(1);
    let mut rows = String::new();
    let mut used = vec![(0, 0); nodes];
    for at in 0..instances {
        let first = numbers.below(nodes).min(numbers.below(nodes));
        let second = (first + 1 + numbers.below(nodes - 1)) % nodes;
        let (memory, disk) = (512 << numbers.below(4), 10_240 << numbers.below(3));
        used[first] = (used[first].0 + memory, used[first].1 + disk);
        used[second].1 += disk;
        let own = instance(&mut numbers);
        let _ = writeln!(
            rows,
            "i{at}|{memory}|{disk}|{}|running|Y|n{first}|n{second}|drbd|{own}",
            1 + numbers.below(4)
        );
    }
    let most = |of: fn(&(usize, usize)) -> usize| used.iter().map(of).max().unwrap_or(0) * 8 / 5;
    let (memory, disk) = (most(|u| u.0), most(|u| u.1));
    let mut text = "g|u|preferred||\n\n".to_owned();
    for (at, (memory_used, disk_used)) in used.iter().enumerate() {
        let (free, disk_free) = (memory - 1024 - memory_used, disk - disk_used);
        let own = node(at, &mut numbers);
        let _ = writeln!(text, "n{at}|{memory}|1024|{free}|{disk}|{disk_free}|64|N|u|8|{own}");
    }
    text + "\n" + &rows + "\n" + &tags.join("\n") + "\n"
}

fn many_tags() -> String {
    let rules = [
        "htools:iextags:svc",
        "htools:iextags:own",
        "htools:iextags:tier",
        "htools:nlocation:rack",
        "htools:nlocation:feed",
        "htools:nlocation:room",
        "htools:nlocation:switch",
        "htools:desiredlocation:room",
        "htools:migration:cpu",
        "htools:allowmigration:cpu:0::cpu:1",
        "htools:allowmigration:cpu:1::cpu:2",
        "htools:allowmigration:cpu:2::cpu:3",
    ];
    let node = |at: usize, numbers: &mut Numbers| {
        let (feed, cpu) = (numbers.below(8), numbers.below(4));
        format!("rack:{},room:{},switch:{},feed:{feed},cpu:{cpu}", at / 10, at / 100, at / 4)
    };
    let instance = |numbers: &mut Numbers| {
        let [svc, own, tier, room] = [2000, 1000, 300, 10].map(|bound| numbers.below(bound));
        format!("svc:{svc},own:{own},tier:{tier},room:{room}")
    };
    one_group(1_000, 10_000, node, instance, &rules)
}

fn many_locations() -> String {
    let node = |_: usize, numbers: &mut Numbers| {
        let tags: Vec<String> = (0..400).map(|at| format!("loc:{}", 2 * at + numbers.below(2))).collect();
        tags.join(",")
    };
    let instance = |numbers: &mut Numbers| format!("svc:{},svc:x{}", numbers.below(100), numbers.below(100));
    one_group(50, 10_000, node, instance, &["htools:iextags:svc", "htools:nlocation:loc"])
}

fn two_instances(tags: usize) -> String {
    let forwards: Vec<String> = (0..tags).map(|at| format!("x:{at}")).collect();
    let backwards: Vec<&str> = forwards.iter().rev().map(String::as_str).collect();
    let (forwards, backwards) = (forwards.join(","), backwards.join(","));
    format!(
        "g|u|preferred||\n\n\
         n0|16384|1024|13312|100000|100000|8|N|u\nn1|16384|1024|15360|100000|100000|8|N|u\n\n\
         i0|1024|0|1|running|Y|n0||ext|{forwards}\ni1|1024|0|1|running|Y|n0||ext|{backwards}\n\n\
         htools:iextags:x\n"
    )
}

/// Groups of equal nodes with equal instances, each on two neighbours.
fn groups(groups: usize, nodes: usize, instances: usize) -> String {
    let mut text = String::new();
    (0..groups).for_each(|at| {
        let _ = writeln!(text, "g{at}|u{at}|preferred||");
    });
    text.push('\n');
    let count = groups * nodes;
    let (mut used, mut disks, mut rows) = (vec![0; count], vec![0; count], String::new());
    for at in 0..instances {
        let first = at % count;
        let second = first / nodes * nodes + (first + 1) % nodes;
        used[first] += 1024;
        disks[first] += 10_240;
        disks[second] += 10_240;
        let _ = writeln!(rows, "i{at}|1024|10240|1|running|Y|n{first}|n{second}|drbd|");
    }
    for at in 0..count {
        let (free, disk) = (64_512 - used[at], 2_000_000 - disks[at]);
        let _ = writeln!(text, "n{at}|65536|1024|{free}|2000000|{disk}|64|N|u{}", at / nodes);
    }
    text + "\n" + &rows + "\n\n"
}

//! Choice of a cluster's oddities and size, which depends on its purpose.

use std::collections::BTreeSet;

use htools::generate::random::Random;

/// Purpose of a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Balancing or display.
    Balance,
    /// New instances, or moves that an allocator request asks for.
    Allocate,
    /// Filling until nothing fits any more. The cluster is small, because this takes time.
    Fill,
}

/// Oddities of the cluster itself, with their probabilities.
const ODDITIES: [(&str, f64); 36] = [
    ("symmetric", 0.06),
    ("several groups", 0.22),
    ("split instances", 0.5),
    ("every template", 0.25),
    ("no drbd", 0.12),
    ("exclusion tags", 0.3),
    ("location tags", 0.2),
    ("desired locations", 0.5),
    ("migration tags", 0.18),
    ("offline nodes", 0.22),
    ("unknown nodes", 0.05),
    ("empty offline nodes", 0.3),
    ("run states", 0.3),
    ("auto_balance N", 0.2),
    ("forthcoming", 0.14),
    ("exclusive storage", 0.1),
    ("spindles", 0.3),
    ("zero spindles", 0.015),
    ("tight policy", 0.15),
    ("no policy", 0.2),
    ("different nodes", 0.4),
    ("odd sizes", 0.2),
    ("cpu speed", 0.15),
    ("os cpus", 0.2),
    ("missing memory", 0.2),
    ("surplus memory", 0.1),
    ("over-committed", 0.05),
    ("failing N+1", 0.1),
    ("full disks", 0.06),
    ("zero disks", 0.08),
    ("huge values", 0.02),
    ("zero totals", 0.01),
    ("duplicate names", 0.02),
    ("stray secondary", 0.03),
    ("drbd without secondary", 0.006),
    ("all offline", 0.006),
];

/// Oddities that concern only allocation, or need other probabilities for it.
const FOR_ALLOCATION: [(&str, f64); 19] = [
    ("several groups", 0.45),
    ("every template", 0.35),
    ("no drbd", 0.2),
    ("exclusive storage", 0.2),
    ("dedicated", 0.6),
    ("networks", 0.35),
    ("several ranges", 0.25),
    ("nearly full", 0.3),
    ("same policies", 0.6),
    ("offline nodes", 0.3),
    ("symmetric", 0.12),
    ("forthcoming", 0.1),
    ("split instances", 0.12),
    ("missing memory", 0.1),
    ("surplus memory", 0.05),
    ("unknown nodes", 0.0),
    ("duplicate names", 0.0),
    ("stray secondary", 0.015),
    ("drbd without secondary", 0.015),
];

/// Further changes for filling.
const FOR_FILLING: [(&str, f64); 11] = [
    // It would never be full.
    ("huge values", 0.0),
    ("several groups", 0.35),
    ("failing N+1", 0.2),
    ("over-committed", 0.08),
    ("run states", 0.2),
    ("drbd without secondary", 0.0),
    ("split instances", 0.06),
    ("empty offline nodes", 0.6),
    ("unknown nodes", 0.03),
    ("all offline", 0.015),
    ("forthcoming", 0.16),
];

/// Conflicts and dependencies between oddities: the second must be present, or must not.
const BONDS: [(&str, &str, bool); 9] = [
    ("split instances", "several groups", true),
    ("split instances", "no drbd", false),
    ("desired locations", "location tags", true),
    ("empty offline nodes", "offline nodes", true),
    ("dedicated", "exclusive storage", true),
    ("no drbd", "every template", false),
    ("different nodes", "symmetric", false),
    ("odd sizes", "symmetric", false),
    ("drbd without secondary", "several groups", false),
];

/// Draws the oddities of a cluster.
pub fn draw(purpose: Purpose, random: &mut Random) -> BTreeSet<&'static str> {
    let lists: &[&[(&'static str, f64)]] = match purpose {
        Purpose::Balance => &[&ODDITIES],
        Purpose::Allocate => &[&FOR_ALLOCATION, &ODDITIES],
        Purpose::Fill => &[&FOR_FILLING, &FOR_ALLOCATION, &ODDITIES],
    };
    let mut known = BTreeSet::new();
    let mut drawn = BTreeSet::new();
    for (name, probability) in lists.iter().copied().flatten() {
        if known.insert(*name) && random.chance(*probability) {
            drawn.insert(*name);
        }
    }
    for (feature, with, wanted) in BONDS {
        if drawn.contains(with) != wanted {
            drawn.remove(feature);
        }
    }
    drawn
}

/// Numbers of nodes and instances; large ones are for short runs.
pub fn extent(purpose: Purpose, random: &mut Random) -> (usize, usize, Option<&'static str>) {
    let weights = match purpose {
        Purpose::Balance => [0.01, 0.01, 0.72, 0.2, 0.04],
        Purpose::Allocate => [0.02, 0.03, 0.84, 0.1, 0.01],
        Purpose::Fill => [0.02, 0.04, 0.94, 0.0, 0.0],
    };
    let most = if purpose == Purpose::Balance { 9 } else { 5 };
    match random.weighted(&weights) {
        0 => (random.below(3), 0, Some("no instances")),
        1 => (1, random.below(12), Some("one node")),
        2 => {
            // Each group takes a share of the nodes.
            let nodes =
                if purpose == Purpose::Allocate { random.between(3, 10) } else { random.between(2, 8) };
            let nodes = nodes as usize;
            (nodes, nodes * random.between(if most == 5 { 0 } else { 2 }, most) as usize, None)
        }
        3 => {
            let nodes = random.between(9, 14) as usize;
            (nodes, nodes * random.between(1, 4) as usize, None)
        }
        _ if purpose == Purpose::Balance => {
            (random.between(15, 32) as usize, random.between(30, 120) as usize, Some("large"))
        }
        _ => (random.between(15, 20) as usize, random.between(20, 60) as usize, Some("large")),
    }
}

//! State of a cluster at one time: use of nodes, problems, and scores.

use crate::model::number::fixed;
use crate::model::shown::shown_name;
use crate::model::{Cluster, GroupIdx, Node, NodeIdx};
use crate::report::cluster::nodes::NodeMemory;
use crate::score::{Board, Components};
use crate::search::health::{GroupHealth, ProblemCounts};

/// Mebibytes as gibibytes with one decimal.
fn gib(mib: f64) -> String {
    fixed(mib / 1024.0, 1)
}

/// Minimum, mean and maximum of some figures; all 0 if there are none.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(in crate::report) struct FigureSpread {
    least: f64,
    mean: f64,
    most: f64,
}

impl FigureSpread {
    fn of(figures: &[f64]) -> FigureSpread {
        let count = figures.len();
        if count == 0 {
            return FigureSpread::default();
        }
        FigureSpread {
            least: figures.iter().copied().fold(f64::INFINITY, f64::min),
            mean: figures.iter().sum::<f64>() / count as f64,
            most: figures.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        }
    }

    pub(in crate::report) fn cells(self, shown: impl Fn(f64) -> String) -> [String; 3] {
        [self.least, self.mean, self.most].map(shown)
    }
}

/// Measure of a node: its name, the figure, and its format.
pub(in crate::report) type Measure = (&'static str, fn(&Node) -> f64, fn(f64) -> String);

pub(in crate::report) const MEASURES: [Measure; 4] = [
    ("memory of instances (GiB)", |n| n.state.ledger.mem_instances.as_f64(), gib),
    ("disk in use (GiB)", |n| n.spec.disk_total - n.state.ledger.disk_free.as_f64(), gib),
    ("virtual CPUs", |n| n.state.ledger.vcpus as f64, |x| fixed(x, 1)),
    ("primary instances", |n| n.state.primaries.len() as f64, |x| fixed(x, 1)),
];

/// Memory use of a node.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::report) struct MemoryUse {
    name: String,
    /// Share of its memory in use, from 0 to 1.
    memory: f64,
}

impl MemoryUse {
    fn of(node: &Node) -> MemoryUse {
        let memory = NodeMemory::of(node);
        let memory = if memory.total > 0.0 { memory.share_in_use() } else { 0.0 };
        MemoryUse { name: node.spec.alias().to_owned(), memory }
    }

    pub(in crate::report) fn text(&self) -> String {
        format!("{}: {:.0} %", shown_name(&self.name), self.memory * 100.0)
    }
}

/// Scores at one time.
#[derive(Debug, Clone)]
pub(crate) enum Scores {
    /// No scores are needed.
    None,
    /// One score of all nodes in question together.
    Whole(Components),
    /// A score of each node group, with its name.
    Groups(Vec<(String, Components)>),
}

/// State of a cluster at one time: use of online nodes, problems, and scores.
#[derive(Debug, Clone)]
pub(crate) struct Moment {
    pub(in crate::report) nodes: usize,
    pub(in crate::report) spreads: [FigureSpread; MEASURES.len()],
    /// The nodes with the largest and the smallest share of memory in use; `None` without nodes.
    pub(in crate::report) extremes: Option<[MemoryUse; 2]>,
    /// Problems by group.
    pub health: Vec<GroupHealth>,
    pub scores: Scores,
}

impl Moment {
    /// State of nodes, without scores.
    pub(crate) fn of(cluster: &Cluster, nodes: &[NodeIdx]) -> Moment {
        let online: Vec<&Node> = nodes.iter().map(|n| cluster.node(*n)).filter(|n| !n.spec.offline).collect();
        let spreads = MEASURES.map(|(_, figure, _)| {
            let figures: Vec<f64> = online.iter().map(|node| figure(node)).collect();
            FigureSpread::of(&figures)
        });
        let mut groups: Vec<GroupIdx> = nodes.iter().map(|n| cluster.node(*n).spec.group).collect();
        groups.sort_unstable();
        groups.dedup();
        Moment {
            nodes: online.len(),
            spreads,
            extremes: extremes(&online),
            health: groups.into_iter().map(|group| GroupHealth::of(cluster, group, false)).collect(),
            scores: Scores::None,
        }
    }

    /// The same with a score and its parts.
    pub(crate) fn with_parts(self, parts: &Components) -> Moment {
        Moment { scores: Scores::Whole(parts.clone()), ..self }
    }

    /// State of a whole cluster, with the score of each node group.
    pub(crate) fn of_groups(cluster: &Cluster) -> Moment {
        let members = cluster.groups.iter().zip(cluster.members());
        let members = members.filter(|(_, members)| !members.nodes.is_empty());
        let scores = members
            .map(|(group, members)| (group.name.clone(), Board::new(cluster, &members.nodes).components()));
        Moment { scores: Scores::Groups(scores.collect()), ..Moment::of(cluster, &cluster.all_nodes()) }
    }

    /// Number of problems.
    pub(crate) fn problems(&self) -> ProblemCounts {
        self.health.iter().map(GroupHealth::counts).sum()
    }

    /// The scores with their names: the weighted parts and the whole, or those of groups.
    pub(in crate::report) fn named_scores(&self) -> Vec<(String, f64)> {
        match &self.scores {
            Scores::None => Vec::new(),
            Scores::Whole(parts) => {
                let weighted = parts.parts();
                let weighted =
                    weighted.map(|(metric, value, weight)| (metric.name.to_owned(), value * weight));
                weighted.chain([("score".to_owned(), parts.score())]).collect()
            }
            Scores::Groups(groups) => {
                let named =
                    |(name, parts): &(String, Components)| (format!("score of {name}"), parts.score());
                groups.iter().map(named).collect()
            }
        }
    }
}

/// The fullest and the emptiest of some nodes; the first among equals.
fn extremes(nodes: &[&Node]) -> Option<[MemoryUse; 2]> {
    let mut uses = nodes.iter().map(|node| MemoryUse::of(node));
    let first = uses.next()?;
    let mut found = [first.clone(), first];
    for node in uses {
        if node.memory > found[0].memory {
            found[0] = node;
        } else if node.memory < found[1].memory {
            found[1] = node;
        }
    }
    Some(found)
}

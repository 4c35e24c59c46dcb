//! Result of a deep search, as a part of the documents of `hbal --json`.

use serde::Serialize;

use super::text::{gap, stuck_because};
use crate::model::Cluster;
use crate::report::balance::prices::PricedMove;
use crate::report::form::json::{Nodes, instance_names, node_name};
use crate::report::why::json::RefusingNodeView;
use crate::report::why::words::hold_words;
use crate::search::balance::deep::LinePoint;
use crate::search::balance::deep::plan::{DeepFound, DeepPlan};

#[derive(Debug, Clone, Serialize)]
pub(crate) struct DeepView {
    /// Lower bound of the score of any placement.
    bound: Option<f64>,
    /// Gap between the score after the last step and the bound, in percent of the score.
    gap: Option<f64>,
    optimal: Option<bool>,
    /// The best placement for each number of moved instances, if it beats those for smaller numbers.
    line: Vec<LineView>,
    /// Moves of the chosen placement with `--pareto`, the cheapest to leave out first.
    moves: Vec<PricedMoveView>,
    /// Instances that are moved once more, to make room on the way.
    detours: Vec<String>,
    /// Instances that stay on their nodes, because no order of moves is possible with them.
    given_up: Vec<String>,
    /// True if nothing is left to mend.
    complete: bool,
    /// Instances whose problems remain.
    stuck: Vec<StuckView>,
    /// Nodes whose problems remain.
    ailing: Vec<AilingView>,
}

/// Gain from a number of moves.
#[derive(Debug, Clone, Serialize)]
struct LineView {
    moves: usize,
    /// Disk that is copied plus memory that is migrated, in MiB.
    data: i64,
    score: f64,
    bound: f64,
    /// Share of the possible gain, from 0 to 1.
    share: f64,
    chosen: bool,
}

/// Move of the chosen placement.
#[derive(Debug, Clone, Serialize)]
struct PricedMoveView {
    instance: String,
    from: Nodes,
    to: Nodes,
    /// Increase of the score if this move is left out; `None` if the other moves do not fit then.
    price: Option<f64>,
}

#[derive(Debug, Clone, Serialize)]
struct StuckView {
    instance: String,
    node: String,
    complaint: &'static str,
    /// Reason that it does not move at all, in one word.
    held: Option<&'static str>,
    text: String,
    refused_by: Vec<RefusingNodeView>,
}

#[derive(Debug, Clone, Serialize)]
struct AilingView {
    node: String,
    complaint: &'static str,
    instances: usize,
    mobile: usize,
}

impl DeepView {
    /// `moves` are those of the chosen placement, if they are not steps of a plan.
    pub(crate) fn of(plan: &DeepPlan, moves: &[PricedMove], cluster: &Cluster) -> DeepView {
        let priced = |priced: &PricedMove| PricedMoveView {
            instance: cluster.instance(priced.instance).name.clone(),
            from: Nodes::of(cluster, cluster.instance(priced.instance).placement()),
            to: Nodes::of(cluster, priced.to),
            price: priced.price,
        };
        let mut view = DeepView {
            bound: None,
            gap: None,
            optimal: None,
            line: Vec::new(),
            moves: moves.iter().map(priced).collect(),
            detours: instance_names(cluster, &plan.ordered.detours),
            given_up: instance_names(cluster, &plan.ordered.given_up),
            complete: plan.is_complete(),
            stuck: Vec::new(),
            ailing: Vec::new(),
        };
        match &plan.found {
            DeepFound::Best(found) => {
                let reached = plan.last.score();
                let point = |(at, point): (usize, &LinePoint)| LineView {
                    moves: point.moves,
                    data: point.data.0,
                    score: point.score,
                    bound: point.bound,
                    share: found.share(point),
                    chosen: at == found.chosen,
                };
                view.bound = Some(found.bound());
                view.gap = Some(gap(reached, found.bound()));
                view.optimal = Some(found.is_optimal(reached));
                view.line = found.line.iter().enumerate().map(point).collect();
            }
            DeepFound::Mended(mending) => {
                let refused = |refusal| RefusingNodeView::of_role(cluster, refusal);
                let stuck = mending.stuck.iter().map(|of| StuckView {
                    instance: cluster.instance(of.instance).name.clone(),
                    node: node_name(cluster, of.node),
                    complaint: of.complaint.as_str(),
                    held: of.hold.map(|hold| hold_words(hold, cluster).name),
                    text: stuck_because(of, cluster),
                    refused_by: of.refusals.iter().map(refused).collect(),
                });
                view.stuck = stuck.collect();
                let ailing = mending.ailing.iter().map(|of| AilingView {
                    node: node_name(cluster, of.node),
                    complaint: of.complaint.as_str(),
                    instances: of.instances,
                    mobile: of.mobile,
                });
                view.ailing = ailing.collect();
            }
        }
        view
    }
}

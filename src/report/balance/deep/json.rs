//! What a deep search found, as a part of the documents of `hbal --json`.

use serde::Serialize;

use super::text::{gap, stuck_because};
use crate::model::Cluster;
use crate::report::form::json::{instance_names, node_name};
use crate::report::why::json::RefusingNodeView;
use crate::report::why::words::hold_words;
use crate::search::balance::deep::LinePoint;
use crate::search::balance::deep::plan::{DeepFound, DeepPlan};

/// What a deep search found.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct DeepView {
    /// No placement has a smaller score.
    bound: Option<f64>,
    /// How far the score after the last step is above that, in percent.
    gap: Option<f64>,
    optimal: Option<bool>,
    /// The best placement for every number of moved instances that has a better one than fewer.
    line: Vec<LineView>,
    /// Instances that are moved once more, to make room on the way.
    detours: Vec<String>,
    /// Instances that stay where they are, as no order of moves is possible with them.
    given_up: Vec<String>,
    /// Whether all that was to be ended is.
    complete: bool,
    /// Instances that cannot be helped.
    stuck: Vec<StuckView>,
    /// Nodes that cannot be helped.
    ailing: Vec<AilingView>,
}

/// What so many moves bring.
#[derive(Debug, Clone, Serialize)]
struct LineView {
    moves: usize,
    /// Disk that is copied and memory that is migrated, in MiB.
    data: i64,
    score: f64,
    bound: f64,
    /// The share of what can be gained, from 0 to 1.
    share: f64,
    chosen: bool,
}

#[derive(Debug, Clone, Serialize)]
struct StuckView {
    instance: String,
    node: String,
    complaint: &'static str,
    /// Why it does not move at all, in one word.
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
    /// What was found, for a cluster in which the names are.
    pub(crate) fn of(plan: &DeepPlan, cluster: &Cluster) -> DeepView {
        let mut view = DeepView {
            bound: None,
            gap: None,
            optimal: None,
            line: Vec::new(),
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

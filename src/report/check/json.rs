//! The document of `hcheck --json`: schema `htools.check/1`.

use serde::Serialize;

use super::{CheckResult, Snapshot as Findings};
use crate::affinity::UnmetKey;
use crate::load::tag_review::{IdleTag, Owner, Reason};
use crate::model::Cluster;
use crate::model::key_tags::KeyTagFault;
use crate::report::form::json::{Generator, instance_names, node_names};
use crate::report::why::json::{PlacesView, RefusingNodeView};
use crate::search::Stopped;
use crate::search::health::loss::Stranded;
use crate::search::health::survival::{GroupSurvival, JointFailure, SizeSurvival};
use crate::search::health::{GroupHealth, Loss, ProblemCounts as Found, Survival};

pub(crate) const SCHEMA: &str = "htools.check/1";

/// Result of `hcheck`: about the cluster, about the loss of certain nodes, or about the loss of any nodes.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct CheckDocument {
    schema: &'static str,
    generator: Generator,
    healthy: bool,
    check: Option<Checked>,
    loss: Option<Lost>,
    /// Only with `--survive`.
    #[serde(skip_serializing_if = "Option::is_none")]
    survival: Option<SurvivalView>,
}

#[derive(Debug, Clone, Serialize)]
struct Checked {
    simulation: bool,
    needs_rebalance: bool,
    initial: CheckedState,
    /// Null if nothing was balanced.
    rebalanced: Option<CheckedState>,
    stopped: Option<Stopped>,
    tags_without_effect: Vec<Tag>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unmet_keys: Vec<UnmetView>,
}

#[derive(Debug, Clone, Serialize)]
struct CheckedState {
    healthy: bool,
    counts: CountsView,
    groups: Vec<CheckedGroup>,
}

#[derive(Debug, Clone, Serialize)]
struct CountsView {
    n1_failing: usize,
    conflicting: usize,
    offline_primary: usize,
    offline_secondary: usize,
    /// Null without capacity checks.
    not_expendable: Option<usize>,
}

#[derive(Debug, Clone, Serialize)]
struct CheckedGroup {
    name: String,
    uuid: String,
    score: f64,
    /// Null before balancing.
    steps: Option<usize>,
    counts: CountsView,
    n1_failing: Vec<String>,
    conflicting: Vec<String>,
    conflicts: Vec<ConflictView>,
    offline_primary: Vec<String>,
    offline_secondary: Vec<String>,
    not_expendable: Option<Vec<String>>,
}

#[derive(Debug, Clone, Serialize)]
struct ConflictView {
    node: String,
    tag: String,
    instances: Vec<String>,
}

#[derive(Debug, Clone, Serialize)]
struct Tag {
    tag: String,
    owner: &'static str,
    name: Option<String>,
    reason: &'static str,
}

#[derive(Debug, Clone, Serialize)]
struct Lost {
    nodes: Vec<String>,
    placed: Vec<String>,
    unmirrored: Vec<String>,
    stranded: Vec<StrandedInstance>,
}

#[derive(Debug, Clone, Serialize)]
struct SurvivalView {
    nodes: usize,
    settled: bool,
    failing: u64,
    losing_data: u64,
    stopped: Option<Stopped>,
    groups: Vec<SurvivingGroup>,
}

#[derive(Debug, Clone, Serialize)]
struct SurvivingGroup {
    name: String,
    uuid: String,
    online_nodes: usize,
    sizes: Vec<SizeView>,
    worst: Vec<JointFailureView>,
}

#[derive(Debug, Clone, Serialize)]
struct SizeView {
    nodes: usize,
    combinations: Option<u64>,
    examined: u64,
    settled: bool,
    failing: u64,
    losing_data: u64,
}

#[derive(Debug, Clone, Serialize)]
struct JointFailureView {
    nodes: Vec<String>,
    without_place: Vec<String>,
    memory: i64,
    data_lost: usize,
    data_lost_memory: i64,
}

#[derive(Debug, Clone, Serialize)]
struct StrandedInstance {
    instance: String,
    disk_template: &'static str,
    memory: i64,
    #[serde(flatten)]
    places: PlacesView<RefusingNodeView>,
}

pub(crate) fn of_check(check: &CheckResult, cluster: &Cluster) -> CheckDocument {
    let rebalanced = check.rebalanced.as_ref();
    document(
        cluster,
        !check.initial.needs_rebalance(),
        Some(Checked {
            simulation: !check.without_simulation,
            needs_rebalance: check.initial.needs_rebalance(),
            initial: state(&check.initial, cluster, &[]),
            rebalanced: rebalanced.map(|found| state(found, cluster, &check.step_counts())),
            stopped: check.stopped,
            tags_without_effect: check.idle_tags.iter().map(tag).collect(),
            unmet_keys: check.unmet_keys.iter().map(UnmetView::of).collect(),
        }),
        None,
        None,
    )
}

pub(crate) fn of_loss(loss: &Loss, cluster: &Cluster) -> CheckDocument {
    let lost = Lost {
        nodes: node_names(cluster, &loss.nodes),
        placed: instance_names(cluster, &loss.placed),
        unmirrored: instance_names(cluster, &loss.unmirrored),
        stranded: loss.stranded.iter().map(|s| stranded(cluster, s)).collect(),
    };
    document(cluster, loss.stranded.is_empty(), None, Some(lost), None)
}

pub(crate) fn of_survival(survival: &Survival, cluster: &Cluster) -> CheckDocument {
    let size = |size: &SizeSurvival| SizeView {
        nodes: size.size,
        // More combinations than 64 bits can count.
        combinations: (size.combinations < u64::MAX).then_some(size.combinations),
        examined: size.examined,
        settled: size.is_settled(),
        failing: size.failing,
        losing_data: size.losing,
    };
    let failure = |failure: &JointFailure| JointFailureView {
        nodes: node_names(cluster, &failure.nodes),
        without_place: instance_names(cluster, &failure.homeless),
        memory: failure.homeless_mem.0,
        data_lost: failure.lost.count,
        data_lost_memory: failure.lost.mem.0,
    };
    let group = |group: &GroupSurvival| SurvivingGroup {
        name: cluster.group(group.group).name.clone(),
        uuid: cluster.group(group.group).uuid.clone(),
        online_nodes: group.online,
        sizes: group.sizes.iter().map(size).collect(),
        worst: group.worst.iter().map(failure).collect(),
    };
    let view = SurvivalView {
        nodes: survival.most,
        settled: survival.is_settled(),
        failing: survival.failing(),
        losing_data: survival.losing(),
        stopped: survival.stopped,
        groups: survival.groups.iter().map(group).collect(),
    };
    document(cluster, survival.is_shown(), None, None, Some(view))
}

fn document(
    cluster: &Cluster,
    healthy: bool,
    check: Option<Checked>,
    loss: Option<Lost>,
    survival: Option<SurvivalView>,
) -> CheckDocument {
    CheckDocument { schema: SCHEMA, generator: Generator::of(cluster), healthy, check, loss, survival }
}

fn state(found: &Findings, cluster: &Cluster, steps: &[usize]) -> CheckedState {
    let group = |(at, health): (usize, &GroupHealth)| group(health, cluster, steps.get(at).copied());
    CheckedState {
        healthy: !found.needs_rebalance(),
        counts: counts(found.counts),
        groups: found.groups.iter().enumerate().map(group).collect(),
    }
}

fn counts(found: Found) -> CountsView {
    let Found { n1_failing, conflicting, offline_primary, offline_secondary, at_risk } = found;
    CountsView { n1_failing, conflicting, offline_primary, offline_secondary, not_expendable: at_risk }
}

fn group(health: &GroupHealth, cluster: &Cluster, steps: Option<usize>) -> CheckedGroup {
    let group = cluster.group(health.group);
    let conflict = |c: &crate::search::health::Conflict| ConflictView {
        node: cluster.node(c.node).spec.name.clone(),
        tag: cluster.tag_table.name(c.tag).to_owned(),
        instances: instance_names(cluster, &c.instances),
    };
    CheckedGroup {
        name: group.name.clone(),
        uuid: group.uuid.clone(),
        score: health.score,
        steps,
        counts: counts(health.counts()),
        n1_failing: node_names(cluster, &health.n1_failing),
        conflicting: node_names(cluster, &health.conflicting),
        conflicts: health.conflicts.iter().map(conflict).collect(),
        offline_primary: instance_names(cluster, &health.offline_primary),
        offline_secondary: instance_names(cluster, &health.offline_secondary),
        not_expendable: health.at_risk.as_ref().map(|at_risk| node_names(cluster, at_risk)),
    }
}

/// A customer's affinity key that is not met where the instance runs.
#[derive(Debug, Clone, Serialize)]
struct UnmetView {
    instance: String,
    node: String,
    key: String,
    value: f64,
    weight: f64,
}

impl UnmetView {
    fn of(unmet: &UnmetKey) -> UnmetView {
        let UnmetKey { machine, node, key } = unmet;
        UnmetView {
            instance: machine.clone(),
            node: node.clone(),
            key: key.name.clone(),
            value: key.value,
            weight: key.weight,
        }
    }
}

fn tag(idle: &IdleTag) -> Tag {
    let (owner, name) = match &idle.owner {
        Owner::Cluster => ("cluster", None),
        Owner::Group(name) => ("group", Some(name)),
        Owner::Node(name) => ("node", Some(name)),
        Owner::Instance(name) => ("instance", Some(name)),
    };
    let reason = match idle.reason {
        Reason::Unknown => "unknown",
        // Such a key is not known on this kind of object.
        Reason::Key(KeyTagFault::Misplaced) => "unknown",
        Reason::Malformed | Reason::Key(_) => "malformed",
        Reason::Unused => "unused",
    };
    Tag { tag: idle.tag.clone(), owner, name: name.cloned(), reason }
}

fn stranded(cluster: &Cluster, stranded: &Stranded) -> StrandedInstance {
    let instance = cluster.instance(stranded.instance);
    StrandedInstance {
        instance: instance.name.clone(),
        disk_template: instance.template.as_str(),
        memory: instance.mem.0,
        places: PlacesView::of(cluster, &stranded.nearest, RefusingNodeView::of),
    }
}

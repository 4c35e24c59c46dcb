//! Counts how many more instances fit by filling a copy of the cluster. It uses one size (*standard*), or sizes
//! that shrink when nothing more fits (*tiered*).

mod bound;
mod emptying;
mod filling;
mod iterate;
mod loss;
mod reach;
mod size;
mod tiered;

pub use size::Size;

use std::collections::BTreeSet;

use super::parallel::join;
use super::place::{NoTargets, Targets};
use super::{Deadline, Stopped};
use filling::Filling;
use htools_model::redundancy::global::{Departures, Scope, groups_at_risk_until};
use htools_model::redundancy::n_plus_one::Failures;
use htools_model::{
    AllocPolicy, Cluster, DiskTemplate, FailCounts, FailKind, GroupIdx, InstanceIdx, NodeIdx,
};
use iterate::iterate;

/// Properties of the new instances, and tolerated problems.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FillSettings {
    /// Disk template of the new instances.
    pub template: DiskTemplate,
    /// Weight of an instance on the nodes' spindles.
    pub spindle_use: i64,
    /// Use nodes and groups even if they already have problems (`--accept-existing-errors`).
    pub accept_existing_errors: bool,
    /// Leave out groups with problems, and use the others (`--independent-groups`).
    pub independent_groups: bool,
    /// Require that every node can be lost (off with `--no-capacity-checks`).
    pub capacity_checks: bool,
}

impl FillSettings {
    /// The number of nodes that an instance needs.
    pub fn required_nodes(&self) -> i64 {
        if self.template.has_secondary() { 2 } else { 1 }
    }
}

/// Deadline and observer of a search.
pub struct FillWatch<'a> {
    /// Latest end of the search.
    pub deadline: &'a Deadline,
    /// Called after each placement with the number of placed instances.
    pub placed: &'a (dyn Fn(usize) + Sync),
}

/// State of a cluster before it is filled.
#[derive(Debug, Clone, PartialEq)]
pub struct FillGround {
    settings: FillSettings,
    /// Online nodes that fail N+1.
    pub bad_nodes: Vec<NodeIdx>,
    /// Groups that cannot survive the loss of each of their nodes.
    pub bad_groups: Vec<GroupIdx>,
    /// The places to try.
    pub targets: Result<Targets, NoTargets>,
    /// True if nothing is tried, because existing problems leave no usable group and must be repaired first.
    pub hopeless: bool,
}

/// A filled cluster.
#[derive(Debug, Clone)]
pub struct Filled {
    /// The cluster with the new instances.
    pub cluster: Cluster,
    /// The new instances, in the order in which they were placed.
    pub added: Vec<InstanceIdx>,
    /// Refusals of the last attempt; if a limit ended the run, those of the last successful one.
    pub failures: FailCounts,
    /// Reason for an early end of the search, if there was one.
    pub stopped: Option<Stopped>,
}

/// The part of the cluster that must stay redundant. Nodes are emptied in the order of the reference, since
/// hspace prints how many instances fit.
fn scope_of(settings: &FillSettings, exempt: BTreeSet<GroupIdx>) -> Scope {
    Scope { departures: Departures::AsListed, online_only: settings.accept_existing_errors, exempt }
}

impl FillGround {
    /// Examines a cluster.
    pub fn of(cluster: &Cluster, settings: FillSettings) -> FillGround {
        FillGround::of_until(cluster, settings, &Deadline::never())
    }

    /// Like [`FillGround::of`], but ignores the remaining groups at the deadline; then nothing is placed
    /// either.
    pub fn of_until(cluster: &Cluster, settings: FillSettings, deadline: &Deadline) -> FillGround {
        let bad_nodes = Failures::of(cluster, &cluster.all_nodes()).nodes;
        let scope = scope_of(&settings, BTreeSet::new());
        let bad_groups = groups_at_risk_until(cluster, &scope, &|| deadline.reached().is_some());
        let unallocable: Vec<bool> =
            cluster.groups.iter().map(|g| g.alloc_policy == AllocPolicy::Unallocable).collect();
        let mut unusable = unallocable.clone();
        if !settings.accept_existing_errors {
            bad_nodes.iter().for_each(|n| unusable[cluster.node(*n).spec.group.get()] = true);
        }
        if settings.independent_groups {
            bad_groups.iter().for_each(|g| unusable[g.get()] = true);
        }
        let some_group_left = settings.independent_groups && unusable.contains(&false);
        let online_outside = |left_out: &[bool]| {
            let nodes = cluster.nodes.iter().filter(|n| !n.spec.offline && !left_out[n.spec.group.get()]);
            let nodes: Vec<NodeIdx> = nodes.map(|n| n.spec.idx).collect();
            Targets::of(cluster, &nodes, settings.required_nodes())
        };
        let targets = online_outside(&unusable);
        let kept_by_trouble = || targets.is_err() && online_outside(&unallocable).is_ok();
        let hopeless = !settings.accept_existing_errors && !bad_nodes.is_empty() && !some_group_left
            || kept_by_trouble();
        FillGround { settings, bad_nodes, bad_groups, targets, hopeless }
    }

    /// The part of the cluster that must stay redundant.
    fn scope(&self) -> Option<Scope> {
        let s = &self.settings;
        let exempt =
            if s.independent_groups { self.bad_groups.iter().copied().collect() } else { BTreeSet::new() };
        s.capacity_checks.then_some(scope_of(s, exempt))
    }

    fn filling<'a>(
        &'a self,
        cluster: &'a Cluster,
        size: Size,
        watch: &'a FillWatch<'a>,
    ) -> Result<Filling<'a>, NoTargets> {
        let targets = self.targets.as_ref().map_err(|e| *e)?;
        Ok(Filling::new(cluster, self.settings, self.scope(), targets, size, watch))
    }

    /// Returns true if no group with places to try allows the disk template, so that no instance of any size
    /// fits.
    pub fn template_is_nowhere_allowed(&self, cluster: &Cluster) -> bool {
        let allowed = |node: &NodeIdx| {
            let policy = &cluster.group(cluster.node(*node).spec.group).policy;
            policy.disk_templates.contains(&self.settings.template)
        };
        self.targets.as_ref().is_ok_and(|targets| !targets.primaries().iter().any(allowed))
    }

    /// The unchanged cluster, if existing problems must be repaired first.
    fn nothing(&self, cluster: &Cluster) -> Filled {
        let failures = FailCounts::one(FailKind::N1);
        Filled { cluster: cluster.clone(), added: Vec::new(), failures, stopped: None }
    }

    /// The unchanged cluster, if no instances are requested.
    fn untouched(&self, cluster: &Cluster) -> Filled {
        let failures = FailCounts::default();
        Filled { cluster: cluster.clone(), added: Vec::new(), failures, stopped: None }
    }

    /// Makes the tiered allocation with `sizes` and the standard one with `size`, side by side. Each has a limit and an
    /// observer of its own.
    pub fn both_until(
        &self,
        cluster: &Cluster,
        sizes: &[Size],
        size: Size,
        limits: [Option<i64>; 2],
        watches: [&FillWatch<'_>; 2],
    ) -> [Result<Filled, NoTargets>; 2] {
        let (tiered, standard) = join(
            || self.tiered_until(cluster, sizes, limits[0], watches[0]),
            || self.standard_until(cluster, size, limits[1], watches[1]),
        );
        [tiered, standard]
    }

    /// Fills a cluster with instances of one size, up to `limit` of them.
    ///
    /// # Errors
    /// If there is no place to try.
    pub fn standard(&self, cluster: &Cluster, size: Size, limit: Option<i64>) -> Result<Filled, NoTargets> {
        self.standard_until(cluster, size, limit, &unwatched(&Deadline::never()))
    }

    /// Like [`standard`](Self::standard), but stops at the deadline.
    ///
    /// # Errors
    /// If there is no place to try.
    pub fn standard_until(
        &self,
        cluster: &Cluster,
        size: Size,
        limit: Option<i64>,
        watch: &FillWatch<'_>,
    ) -> Result<Filled, NoTargets> {
        if self.hopeless {
            return Ok(self.nothing(cluster));
        }
        let mut filling = self.filling(cluster, size, watch)?;
        let failures = iterate(&mut filling, size, limit);
        Ok(filling.finish(failures))
    }

    /// Fills a cluster with instances of each of the given sizes, which shrink when
    /// nothing more fits, up to `limit` of them.
    ///
    /// # Errors
    /// If there is no place to try.
    pub fn tiered(&self, cluster: &Cluster, sizes: &[Size], limit: Option<i64>) -> Result<Filled, NoTargets> {
        self.tiered_until(cluster, sizes, limit, &unwatched(&Deadline::never()))
    }

    /// Like [`tiered`](Self::tiered), but stops at the deadline.
    ///
    /// # Errors
    /// If there is no place to try.
    pub fn tiered_until(
        &self,
        cluster: &Cluster,
        sizes: &[Size],
        limit: Option<i64>,
        watch: &FillWatch<'_>,
    ) -> Result<Filled, NoTargets> {
        if self.hopeless {
            return Ok(self.nothing(cluster));
        }
        // If no instances are requested, it is no error that there is no place.
        let first = sizes.first().filter(|_| limit.is_none_or(|limit| limit > 0));
        let Some(first) = first else { return Ok(self.untouched(cluster)) };
        let mut filling = self.filling(cluster, *first, watch)?;
        let barren = self.template_is_nowhere_allowed(cluster);
        let mut failures = FailCounts::default();
        for &size in sizes {
            let added = filling.added() as i64;
            let left = limit.map(|limit| limit - added);
            if filling.stopped().is_some() || left.is_some_and(|left| left <= 0) {
                break;
            }
            // If no smaller size can fit either, the first one gives the reason.
            failures = if barren {
                iterate(&mut filling, size, left)
            } else {
                tiered::fill(&mut filling, size, left)
            };
        }
        Ok(filling.finish(failures))
    }
}

/// A search without an observer.
fn unwatched(deadline: &Deadline) -> FillWatch<'_> {
    FillWatch { deadline, placed: &|_| () }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::*;
    use htools_testkit::cluster;

    #[test]
    fn preparations_end_with_the_time() {
        let cluster = cluster(
            &["a|9000|0|1000|9000|9000|9|N|u|1", "b|9000|0|9000|9000|9000|9|Y|u|1"],
            &["i|8000|0|1|running|Y|a||ext|"],
            &[],
        );
        let settings = FillSettings {
            template: DiskTemplate::Ext,
            spindle_use: 1,
            accept_existing_errors: false,
            independent_groups: true,
            capacity_checks: true,
        };
        assert_eq!(FillGround::of(&cluster, settings).bad_groups, [GroupIdx::new(0)]);
        let over = Deadline::new(Some(Duration::ZERO), Arc::default());
        let ground = FillGround::of_until(&cluster, settings, &over);
        assert!(ground.bad_groups.is_empty(), "no group is looked at any more");
        let size = Size { memory: htools_model::Mib(1), disk: htools_model::Mib(1), vcpus: 1, spindles: 1 };
        let watch = FillWatch { deadline: &over, placed: &|_| () };
        let filled = ground.standard_until(&cluster, size, None, &watch).unwrap();
        assert!(filled.stopped.is_some() && filled.added.is_empty());
    }
}

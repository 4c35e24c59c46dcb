//! The request to fill a cluster: the options, completed from the cluster's policy.

use anyhow::{anyhow, bail, ensure};

use super::HspaceOptions;
use crate::model::{Cluster, InstanceSpec, Mib};
use crate::search::fill::{FillGround, FillSettings, FillWatch, Filled, Size};
use crate::search::place::NoTargets;
use crate::tools::hint::WithHint;

/// A request to fill a cluster with instances.
pub(crate) struct FillRequest {
    /// Properties shared by all new instances, and tolerated errors.
    pub settings: FillSettings,
    /// Sizes at the start of the tiered allocation.
    pub tiered: Vec<Size>,
    /// The size of the standard allocation.
    pub standard: Size,
    /// Most instances of the tiered allocation.
    pub tiered_limit: Option<i64>,
    /// Most instances of the standard allocation; not negative.
    pub standard_limit: Option<i64>,
}

impl FillRequest {
    /// Completes the options from the policy.
    ///
    /// # Errors
    /// If the cluster's policy lists no disk template. Ganeti's tool fails then, too, even if it needs none.
    pub(crate) fn of(options: &HspaceOptions, cluster: &Cluster) -> anyhow::Result<FillRequest> {
        let policy = &cluster.policy;
        let Some(&first) = policy.disk_templates.first() else {
            bail!("the cluster's policy lists no disk templates");
        };
        let settings = FillSettings {
            template: options.disk_template.unwrap_or(first),
            spindle_use: options.spindle_use.unwrap_or(policy.std.spindle_use),
            accept_existing_errors: options.accept_existing_errors,
            independent_groups: options.independent_groups,
            capacity_checks: !options.limits.no_capacity_checks,
        };
        let largest = || policy.ranges.iter().map(|range| size(&range.max)).collect();
        Ok(FillRequest {
            settings,
            tiered: options.tiered.map_or_else(largest, |size| vec![size]),
            standard: options.standard.unwrap_or_else(|| size(&policy.std)),
            tiered_limit: options.limit(),
            standard_limit: options.limit().filter(|limit| *limit >= 0),
        })
    }

    /// Makes the tiered and the standard allocation, side by side.
    pub(crate) fn fill(
        &self,
        ground: &FillGround,
        cluster: &Cluster,
        watches: [&FillWatch<'_>; 2],
    ) -> [Result<Filled, NoTargets>; 2] {
        let limits = [self.tiered_limit, self.standard_limit];
        ground.both_until(cluster, &self.tiered, self.standard, limits, watches)
    }

    /// Checks that the tiered allocation has a size to start with.
    ///
    /// # Errors
    /// If it has none.
    pub(crate) fn check_sizes(&self) -> anyhow::Result<()> {
        ensure!(
            !self.tiered.is_empty(),
            anyhow!("the cluster's policy has no maximum instance size")
                .hint("give a size with --tiered-alloc")
        );
        Ok(())
    }

    /// Checks that the allocations on a Pacemaker cluster come to an end. There, only memory and CPUs bound the number
    /// of instances, and resources often need neither.
    ///
    /// # Errors
    /// If a size needs neither, and the number is not limited.
    pub(crate) fn check_end(&self, options: &HspaceOptions) -> anyhow::Result<()> {
        let needs_nothing = |size: &Size| size.memory <= Mib::ZERO && size.vcpus <= 0;
        let mut sizes = self.tiered.iter().chain([&self.standard]);
        let is_bounded = !options.cib.is_named() || options.limit().is_some();
        ensure!(
            is_bounded || !sizes.any(needs_nothing),
            anyhow!("any number of resources fits if they need neither memory nor CPUs")
                .hint("give sizes with --tiered-alloc and --standard-alloc, or a number with -l")
        );
        Ok(())
    }
}

/// Size in a policy. Its spindle use is taken as the number of spindles, as in Ganeti.
fn size(spec: &InstanceSpec) -> Size {
    Size { memory: spec.memory, disk: spec.disk_size, vcpus: spec.cpus, spindles: spec.spindle_use }
}

//! The contenders: rules that decide which instances to migrate.

mod greedy;
mod hbal;
mod outlook;
mod steady;

use htools::model::{Cluster, InstanceIdx, NodeIdx};

use super::measured::Measured;
use super::slot::Slot;

pub use greedy::Greedy;
pub use hbal::{CpuUnit, Hbal, LoadWindow};
pub use outlook::Outlook;
pub use steady::{Steady, SteadyRules};

/// A decision to migrate an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Relocation {
    /// The instance.
    pub instance: InstanceIdx,
    /// Its new node.
    pub to: NodeIdx,
}

/// A rule that decides every quarter of an hour.
pub trait Contender {
    /// Name in tables.
    fn name(&self) -> String;

    /// The migrations to make now, in order. `cluster` has no load; `measured` has that of its instances until `now`.
    ///
    /// # Errors
    /// If the cluster cannot be read.
    fn decide(
        &mut self,
        cluster: &Cluster,
        measured: &Measured<'_>,
        now: Slot,
    ) -> anyhow::Result<Vec<Relocation>>;
}

/// Moves nothing.
pub struct Never;

impl Contender for Never {
    fn name(&self) -> String {
        "nothing is moved".into()
    }

    fn decide(&mut self, _: &Cluster, _: &Measured<'_>, _: Slot) -> anyhow::Result<Vec<Relocation>> {
        Ok(Vec::new())
    }
}

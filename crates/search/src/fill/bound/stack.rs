//! Instances of one size that arrive on a node together.

use crate::fill::{FillSettings, Size};
use crate::limits::alone;
use htools_model::{Cluster, Instance, Ledger, Mib, NodeIdx, NodeSpec, Strictness, TagArrival};

/// Largest number of instances on one node. A node that takes more has no limit.
pub(super) const MOST: i64 = 1 << 20;

/// Largest amount of instances that arrive together. Sums of such amounts do not overflow.
const PLAUSIBLE: i64 = 1 << 60;

/// Instances of one size that arrive on a node together. The rules treat them as one instance of their total size, since
/// each arrival only lowers what is left.
pub(super) struct Stack {
    size: Size,
    settings: FillSettings,
}

impl Stack {
    /// Instances of a size; `None` if an amount is negative, so that an arrival could make room.
    pub(super) fn of(settings: FillSettings, size: Size) -> Option<Stack> {
        let Size { memory, disk, vcpus, spindles } = size;
        let amounts = [memory.0, disk.0, vcpus, spindles, settings.spindle_use];
        amounts.iter().all(|amount| *amount >= 0).then_some(Stack { size, settings })
    }

    /// The given number of instances as one; `None` if it is implausibly large.
    fn together(&self, count: i64) -> Option<Instance> {
        let times = |amount: i64| amount.checked_mul(count).filter(|amount| *amount <= PLAUSIBLE);
        let size = Size {
            memory: Mib(times(self.size.memory.0)?),
            disk: Mib(times(self.size.disk.0)?),
            vcpus: times(self.size.vcpus)?,
            spindles: times(self.size.spindles)?,
        };
        let settings = FillSettings { spindle_use: times(self.settings.spindle_use)?, ..self.settings };
        Some(size.instance(&settings, 0))
    }

    /// One of the instances.
    pub(super) fn one(&self) -> Instance {
        self.size.instance(&self.settings, 0)
    }

    /// Memory of one instance.
    pub(super) fn memory(&self) -> Mib {
        self.size.memory
    }

    /// Tells if `count` more primaries fit into a ledger. Implausibly many do not count as refused.
    pub(super) fn fits(&self, spec: &NodeSpec, ledger: &Ledger, count: i64, strictness: Strictness) -> bool {
        let arrives = |all: &Instance| ledger.add_primary(spec, all, 0, TagArrival::default(), strictness);
        self.together(count).is_none_or(|all| arrives(&all).is_ok())
    }

    /// The largest number of primaries that a node takes; 0 if its policy refuses them, and `None` without a limit. A
    /// forced arrival ignores the policy.
    pub(super) fn most_primaries(
        &self,
        cluster: &Cluster,
        node: NodeIdx,
        strictness: Strictness,
    ) -> Option<i64> {
        let node = cluster.node(node);
        let spec = &alone(&node.spec);
        let policy = &cluster.group(spec.group).policy;
        if strictness == Strictness::Strict {
            if policy.accepts(&self.one(), spec.exclusive_storage).is_err() {
                return Some(0);
            }
            if spec.cpu_total < 0.0 {
                // Here a larger number of virtual CPUs has a smaller ratio, so a refusal does not bound the number.
                return None;
            }
        }
        let fits = |count: i64| self.fits(spec, &node.state.ledger, count, strictness);
        let mut above = 1;
        while fits(above) {
            if above >= MOST {
                return None;
            }
            above *= 2;
        }
        // `below` instances fit, and `above` do not.
        let mut below = above / 2;
        while below + 1 < above {
            let middle = below + (above - below) / 2;
            if fits(middle) { below = middle } else { above = middle }
        }
        Some(below)
    }
}

//! Limits that several bounds share: what nodes offer of a resource, and what a group holds if a node is lost.
//!
//! docs/bounds.md has the proofs.

pub(crate) mod loss;
pub(crate) mod resource;

use std::borrow::Cow;

use htools_model::NodeSpec;

/// The node without the reserve for several losses at once (`--keep-reserve`). Leaving a rule out only loosens a bound.
pub(crate) fn alone(spec: &NodeSpec) -> Cow<'_, NodeSpec> {
    match spec.joint_losses {
        0 | 1 => Cow::Borrowed(spec),
        _ => Cow::Owned(NodeSpec { joint_losses: 1, ..spec.clone() }),
    }
}

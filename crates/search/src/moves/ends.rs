//! What the moves of an instance make of its own two nodes, as far as that does
//! not depend on the new node.

use super::Trial;
use crate::place::kinds::bits;
use htools_model::{DiskCheck, Ledger, Mib, Strictness};

/// The instance's own nodes in the states in which its moves leave them. Where a
/// state depends on the new node (a reserve grows further if the node already
/// reserves memory for that one; location scores), it is the mildest one: the
/// smallest reserve, no common location. So a state that is missing here cannot
/// be reached by any move.
pub(crate) struct Ends {
    /// P without the instance.
    pub p_left: Ledger,
    /// P with the instance as a secondary.
    pub p_as_secondary: Option<Ledger>,
    /// Whether P can take the instance back under another secondary.
    pub p_stays: bool,
    /// The secondary node, if there is one.
    pub mirror: Option<MirrorEnds>,
}

/// States of S.
pub(crate) struct MirrorEnds {
    /// S without the instance.
    pub left: Ledger,
    /// S with the instance as a primary.
    pub as_primary: Option<Ledger>,
    /// S as a secondary for another primary node, after it ran the instance for a
    /// while.
    pub again: Option<Ledger>,
    /// Whether the instance can migrate from P to S.
    pub reachable: bool,
}

impl Trial<'_> {
    /// Works out in which states the moves leave P and S.
    pub(crate) fn ends(&self) -> Ends {
        let (p, i) = (&self.primary, self.instance);
        let soon = self.strictness(p.spec.offline);
        let mirror_offline = self.mirror.as_ref().is_some_and(|s| s.side.spec.offline);
        let secondary = |left: &Ledger, spec, strictness| {
            left.add_secondary(spec, i, Mib::ZERO, strictness, DiskCheck::Needed).ok()
        };
        let mirror = self.mirror.as_ref().map(|s| {
            let spec = s.side.spec;
            let as_primary = s.left.add_primary(spec, i, 0, s.side.tags, soon).ok();
            MirrorEnds {
                left: s.left,
                again: as_primary.and_then(|_| secondary(&s.left, spec, soon)),
                as_primary,
                reachable: p.spec.can_migrate_to(spec),
            }
        });
        Ends {
            p_left: self.primary_left,
            p_as_secondary: secondary(&self.primary_left, p.spec, self.strictness(mirror_offline)),
            p_stays: self.primary_left.add_primary(p.spec, i, 0, self.own_tags, Strictness::Forced).is_ok(),
            mirror,
        }
    }

    /// Whether P is the same as before when it takes the instance back under another secondary
    /// with which it has no locations in common. Rounding of its loads may forbid that.
    pub(crate) fn is_back_as_before(&self) -> bool {
        let (p, i) = (&self.primary, self.instance);
        let back = self.primary_left.add_primary(p.spec, i, 0, self.own_tags, Strictness::Forced);
        back.is_ok_and(|back| bits(&back) == bits(p.before))
    }
}

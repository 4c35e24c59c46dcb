//! Effect of an instance's moves on its own two nodes, as far as it does not depend on the new node.

use super::Trial;
use crate::place::kinds::bits;
use htools_model::{DiskCheck, Ledger, Mib, Strictness};

/// The states in which the moves leave the instance's own nodes, P (primary) and S (secondary).
///
/// Some states depend on the new node: the reserve grows further if memory is reserved for that node already,
/// and location scores differ. Then the mildest state is taken, with the smallest reserve and no common
/// location. So if a state is missing here, no move can reach it.
pub(crate) struct Ends {
    /// P without the instance.
    pub p_left: Ledger,
    /// P with the instance as a secondary.
    pub p_as_secondary: Option<Ledger>,
    /// True if P can take the instance back under another secondary.
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
    /// S as the secondary of another primary, after running the instance for a while.
    pub still_secondary: Option<Ledger>,
    /// True if the instance can migrate from P to S.
    pub reachable: bool,
}

impl Trial<'_> {
    /// Computes the states in which the moves leave P and S.
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
                still_secondary: as_primary.and_then(|_| secondary(&s.left, spec, soon)),
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

    /// Returns true if P is exactly as before when it takes the instance back under another secondary, without
    /// common locations. Rounding of its loads can prevent that.
    pub(crate) fn is_back_as_before(&self) -> bool {
        let (p, i) = (&self.primary, self.instance);
        let back = self.primary_left.add_primary(p.spec, i, 0, self.own_tags, Strictness::Forced);
        back.is_ok_and(|back| bits(&back) == bits(p.before))
    }
}

//! An instance put on other nodes at once, without the operations in between.

use smallvec::SmallVec;

use super::{Outcome, Refusal, Side, Trial};
use htools_model::score::Touched;
use htools_model::{DiskCheck, Ledger, Move, NodeIdx, Placement, Strictness};

/// A node and its ledger without the instance.
struct Vacated<'a> {
    side: Side<'a>,
    left: Ledger,
}

impl<'a> Trial<'a> {
    /// Puts the instance on the nodes of a placement other than its own. `strictness` is that of the rules on each node.
    ///
    /// # Errors
    /// The first rule that the placement breaks, and the node.
    pub(crate) fn put(
        &self,
        to: Placement,
        strictness: impl Fn(NodeIdx) -> Strictness,
    ) -> Result<Outcome<'a>, Refusal> {
        let i = self.instance;
        let secondary = to.secondary.filter(|_| i.template.has_secondary());
        let location = match secondary {
            Some(secondary) => self.cluster.common_locations(to.primary, secondary),
            None => i.location_score,
        };
        let mut touched: SmallVec<[Touched<'a>; Move::MOST_NODES]> = SmallVec::new();
        let there = self.vacated(to.primary);
        let entered =
            there.left.add_primary(there.side.spec, i, location, there.side.tags, strictness(to.primary));
        touched.push(there.side.touched(entered.map_err(there.side.refuse_primary())?));
        if let Some(node) = secondary {
            let there = self.vacated(node);
            let peer = self.peer(node, to.primary);
            let entered =
                there.left.add_secondary(there.side.spec, i, peer, strictness(node), DiskCheck::Needed);
            touched.push(there.side.touched(entered.map_err(there.side.refuse_secondary())?));
        }
        for node in [Some(i.primary), i.mirror()].into_iter().flatten() {
            if touched.iter().all(|there| there.spec.idx != node) {
                let Vacated { side, left } = self.vacated(node);
                touched.push(side.touched(left));
            }
        }
        let mut all = [touched[0]; Move::MOST_NODES];
        all[..touched.len()].copy_from_slice(&touched);
        Ok(Outcome { placement: to, location_score: location, touched: all, count: touched.len() })
    }

    /// The node without the instance.
    fn vacated(&self, node: NodeIdx) -> Vacated<'a> {
        let side = Side::new(self.cluster, node, self.instance);
        if node == self.instance.primary {
            return Vacated { left: self.primary_left, side: Side { tags: self.own_tags, ..side } };
        }
        match &self.mirror {
            Some(mirror) if mirror.side.spec.idx == node => Vacated { left: mirror.left, side },
            _ => Vacated { left: *side.before, side },
        }
    }
}

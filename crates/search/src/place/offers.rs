//! State of each kind of node after the arrival of an instance.

use std::sync::Arc;

use super::Conditions;
use super::floor::Floor;
use super::kinds::KindIdx;
use htools_model::score::NodeChange;
use htools_model::score::metrics::{Lanes, lanes};
use htools_model::{
    DiskCheck, FailKind, Instance, Ledger, Mib, NodeIdx, PolicyBreach, Strictness, TagArrival,
};

/// A node with the instance.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NodeWithInstance {
    pub ledger: Ledger,
    pub lanes: Lanes,
    pub change: NodeChange,
}

/// Verdicts on one instance by kind of node, computed on first use.
pub(crate) struct Offers<'a> {
    pub instance: &'a Instance,
    strictness: Strictness,
    /// Policies are ignored.
    anywhere: bool,
    known: KnownVerdicts,
}

/// Verdicts on instances of one size. They hold as long as the floor does.
#[derive(Default)]
pub(crate) struct KnownVerdicts {
    primaries: VerdictMemory,
    secondaries: VerdictMemory,
}

type OfferVerdict = Result<NodeWithInstance, FailKind>;

/// Verdicts by position of the kind, with the kind's serial. Kinds often refuse and verdicts are large, so
/// these are on the heap and shared.
type VerdictMemory = Vec<Option<(usize, Result<Arc<NodeWithInstance>, FailKind>)>>;

impl<'a> Offers<'a> {
    pub(crate) fn new(instance: &'a Instance, conditions: &Conditions) -> Offers<'a> {
        let known = KnownVerdicts::default();
        Offers { instance, strictness: conditions.strictness(), anywhere: false, known }
    }

    /// Verdicts under all rules, some of which are known from instances of the same size on the same floor.
    pub(crate) fn knowing(instance: &'a Instance, known: KnownVerdicts) -> Offers<'a> {
        Offers { known, ..Offers::strict(instance) }
    }

    pub(crate) fn into_known(self) -> KnownVerdicts {
        self.known
    }

    /// Verdicts under all rules.
    pub(crate) fn strict(instance: &'a Instance) -> Offers<'a> {
        Offers::new(instance, &Conditions::default())
    }

    /// Verdicts on an instance that must find a place: a node refuses only the impossible.
    pub(crate) fn forced(instance: &'a Instance) -> Offers<'a> {
        let conditions = Conditions { ignore_soft_errors: true, redundancy: None };
        Offers { anywhere: true, ..Offers::new(instance, &conditions) }
    }

    fn remembered<'o>(
        memory: &'o mut VerdictMemory,
        floor: &Floor<'_>,
        kind: KindIdx,
        find: impl FnOnce() -> OfferVerdict,
    ) -> Result<&'o Arc<NodeWithInstance>, FailKind> {
        if memory.len() <= kind {
            memory.resize(kind + 1, None);
        }
        let serial = floor.kinds.get(kind).serial;
        let entry = &mut memory[kind];
        if entry.as_ref().is_some_and(|e| e.0 != serial) {
            *entry = None;
        }
        let (_, verdict) = entry.get_or_insert_with(|| (serial, find().map(Arc::new)));
        verdict.as_ref().map_err(|reason| *reason)
    }

    /// A node of the kind with the instance as a primary, without common locations with its secondary.
    pub(crate) fn primary(
        &mut self,
        floor: &Floor<'_>,
        kind: KindIdx,
    ) -> Result<&Arc<NodeWithInstance>, FailKind> {
        let (instance, strictness, anywhere) = (self.instance, self.strictness, self.anywhere);
        Offers::remembered(&mut self.known.primaries, floor, kind, || {
            let sample = floor.kinds.get(kind);
            let node = floor.cluster.node(sample.sample);
            let policy = &floor.cluster.group(node.spec.group).policy;
            if !anywhere {
                policy.accepts(instance, node.spec.exclusive_storage).map_err(PolicyBreach::kind)?;
            }
            let tags = TagArrival::of(&node.state, instance);
            let after = sample
                .ledger
                .add_primary(&node.spec, instance, 0, tags, strictness)
                .map_err(|rule| rule.kind())?;
            Ok(arrived(floor, kind, after))
        })
    }

    /// A node of the kind with the instance as a secondary, if it does not back the primary yet.
    pub(crate) fn secondary(
        &mut self,
        floor: &Floor<'_>,
        kind: KindIdx,
    ) -> Result<&Arc<NodeWithInstance>, FailKind> {
        let instance = self.instance;
        Offers::remembered(&mut self.known.secondaries, floor, kind, || {
            second(floor, instance, kind, Mib::ZERO)
        })
    }

    /// A node with the instance as a secondary, if it already keeps `peer` for the primary.
    pub(crate) fn backing_secondary(&self, floor: &Floor<'_>, node: NodeIdx, peer: Mib) -> OfferVerdict {
        second(floor, self.instance, floor.kinds.of_node(node), peer)
    }
}

fn second(floor: &Floor<'_>, instance: &Instance, kind: KindIdx, peer: Mib) -> OfferVerdict {
    let sample = floor.kinds.get(kind);
    let spec = &floor.cluster.node(sample.sample).spec;
    let after = sample.ledger.add_secondary(spec, instance, peer, Strictness::Strict, DiskCheck::Needed);
    after.map(|after| arrived(floor, kind, after)).map_err(|rule| rule.kind())
}

fn arrived(floor: &Floor<'_>, kind: KindIdx, after: Ledger) -> NodeWithInstance {
    let sample = floor.kinds.get(kind);
    let spec = &floor.cluster.node(sample.sample).spec;
    let lanes = lanes(spec, &after);
    let change = NodeChange::between(spec, (&sample.ledger, &sample.lanes), (&after, &lanes));
    NodeWithInstance { ledger: after, lanes, change }
}

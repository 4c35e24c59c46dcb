//! Positions of hosts, resources and kinds of capacity in the lists of a [`WorkingSet`](super::WorkingSet).

use htools_model::index;

index!(
    /// A node of a Pacemaker cluster, by its position in [`WorkingSet::hosts`](super::WorkingSet::hosts).
    HostIdx
);
index!(
    /// A primitive, a group or a clone, by its position in [`WorkingSet::resources`](super::WorkingSet::resources).
    ResourceIdx
);
index!(
    /// A kind of capacity (cpu, memory), by its position in [`WorkingSet::attributes`](super::WorkingSet::attributes).
    AttributeIdx
);

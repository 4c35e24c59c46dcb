//! Model of a cluster: nodes, instances, groups, policies, and the state that changes when an instance is placed.
//!
//! * [`score`]: score of a placement. [`Board`](score::Board) computes it in the reference's order of operations, to
//!   the last bit.
//! * [`outage`]: rules on which nodes can be down together.
//! * [`redundancy`]: survival of lost nodes.

#![deny(missing_docs)]
#![cfg_attr(not(test), warn(unreachable_pub))]

pub mod autorepair;
mod carried_keys;
mod class;
mod cluster;
pub mod deadline;
mod draft;
mod failure;
mod group_reserve;
mod index;
mod instance;
mod job_id;
mod kept_room;
pub mod key_tags;
pub mod kinds;
pub mod known_tags;
pub mod metrics;
mod node;
mod node_reserve;
mod node_set;
pub mod number;
mod obstacle;
pub mod outage;
mod peers;
mod placement;
mod policy;
pub mod random;
pub mod redundancy;
pub mod score;
pub mod shown;
pub mod standby;
mod step;
pub mod storage;
mod tags;
pub mod units;
mod use_limits;
mod utilisation;
mod weights;

pub use carried_keys::{
    AffinityKey, CarriedKey, CarriedKeys, KeyIdx, KeyScope, KeyTable, KeysTooHeavy, WORTH_PARTS, proximity,
};
pub use class::{Class, loses_data};
pub use cluster::{Cluster, Group, Members, Place};
pub use draft::{Draft, Mark};
pub use failure::{FailCounts, FailKind};
pub use group_reserve::{GroupReserve, GroupReserves, NodeStake, ReserveChange, ReserveForInstance};
pub use index::{GroupIdx, InstanceIdx, NodeIdx, PoolIdx};
pub use instance::{Disk, Immobile, Instance, InstanceDetails};
pub use job_id::JobId;
pub use kept_room::{ClusterRoom, KeptRoom, NodeRoom, RoomRequest, RoomSize, WantedRoom};
pub use kinds::{AllocPolicy, DiskTemplate, EvacMode, Hypervisor, Mirroring, RunStatus, UnknownName};
pub use node::{Ledger, Node, NodeSpec, NodeState, Outage, PolicyHealth};
pub use node_reserve::{JointReserve, NodeReserve};
pub(crate) use node_set::NodeSet;
pub use obstacle::Obstacle;
pub use placement::{DiskCheck, Rule, Strictness, TagArrival};
pub use policy::{InstancePolicy, InstanceSpec, PolicyBreach, SpecRange};
pub use step::{Concession, Leg, Move, MovedMeanwhile, Placement, Step};
pub use storage::{
    DerivedPools, DiskParameters, GlusterVolume, GroupOffers, Partition, Pool, StorageMap, StorageType,
};
pub use tags::{ExclusionTags, Occurrences, TagId, TagSet, TagTable};
pub use units::Mib;
pub use use_limits::{NodeFigure, UseLimits};
pub use utilisation::Utilisation;
pub use weights::{WeightError, Weights};

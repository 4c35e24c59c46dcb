//! What a cluster is: nodes, instances, groups, policies, and the state that
//! changes when an instance is placed.

pub mod autorepair;
pub(crate) mod bar;
pub(crate) mod carried_keys;
pub(crate) mod class;
pub(crate) mod cluster;
pub(crate) mod draft;
pub(crate) mod failure;
pub(crate) mod group_reserve;
pub(crate) mod index;
pub(crate) mod instance;
pub(crate) mod job_id;
pub mod key_tags;
pub(crate) mod kinds;
pub mod known_tags;
pub mod metrics;
pub(crate) mod node;
pub(crate) mod node_reserve;
pub(crate) mod node_set;
pub(crate) mod peers;
pub(crate) mod placement;
pub(crate) mod policy;
pub mod random;
pub(crate) mod shown;
pub mod standby;
pub(crate) mod step;
pub(crate) mod storage;
pub(crate) mod tags;
pub(crate) mod units;
pub(crate) mod utilisation;
pub(crate) mod weights;

pub use bar::Bar;
pub use carried_keys::{
    AffinityKey, CarriedKey, CarriedKeys, KeyIdx, KeyScope, KeyTable, KeysTooHeavy, WORTH_PARTS, proximity,
};
pub use class::{Class, loses_data};
pub use cluster::{Cluster, Group, Members, Place};
pub use draft::{Draft, Mark};
pub use failure::{FailCounts, FailKind};
pub use group_reserve::{GroupReserve, GroupReserves, NodeStake, ReserveChange, ReserveForNewcomer};
pub use index::{GroupIdx, InstanceIdx, NodeIdx, PoolIdx};
pub use instance::{Disk, Immobile, Instance, InstanceDetails};
pub use job_id::JobId;
pub use kinds::{AllocPolicy, DiskTemplate, EvacMode, Hypervisor, Mirroring, RunStatus, UnknownName};
pub use node::{Ledger, Node, NodeSpec, NodeState, Outage, PolicyHealth};
pub use node_reserve::{JointReserve, NodeReserve};
pub use node_set::NodeSet;
pub use placement::{DiskCheck, Rule, Strictness, TagArrival};
pub use policy::{InstancePolicy, InstanceSpec, PolicyBreach, SpecRange};
pub use step::{Concession, Leg, Move, MovedMeanwhile, Placement, Step};
pub use storage::{
    DerivedPools, DiskParameters, GlusterVolume, GroupPools, Partition, Pool, StorageMap, StorageType,
};
pub use tags::{ExclusionTags, Occurrences, TagId, TagSet, TagTable};
pub use units::Mib;
pub use utilisation::Utilisation;
pub use weights::{WeightError, Weights};

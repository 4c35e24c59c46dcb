//! What a cluster is: nodes, instances, groups, policies, and the state that
//! changes when an instance is placed.

pub mod bar;
pub mod cluster;
pub mod draft;
pub mod failure;
pub mod index;
pub mod instance;
pub mod kinds;
pub mod known_tags;
pub mod node;
pub mod peers;
pub mod placement;
pub mod policy;
pub mod shown;
pub mod step;
pub mod storage;
pub mod tags;
pub mod units;
pub mod utilisation;

pub use bar::Bar;
pub use cluster::{Cluster, Group, Members, Place};
pub use draft::{Draft, Mark};
pub use failure::{FailCounts, FailKind};
pub use index::{GroupIdx, InstanceIdx, NodeIdx, PoolIdx};
pub use instance::{Disk, Immobile, Instance};
pub use kinds::{AllocPolicy, DiskTemplate, EvacMode, Hypervisor, Mirroring, RunStatus, UnknownName};
pub use node::{Ledger, Node, NodeSpec, NodeState, PolicyHealth};
pub use placement::{DiskCheck, Rule, Strictness, TagArrival};
pub use policy::{InstancePolicy, InstanceSpec, PolicyBreach, SpecRange};
pub use step::{Leg, Move, Placement, Step};
pub use storage::{DiskParameters, GlusterVolume, Partition, Pool, StorageMap, StorageType};
pub use tags::{ExclusionTags, Occurrences, TagId, TagSet, TagTable};
pub use units::Mib;
pub use utilisation::Utilisation;

//! What a cluster is: nodes, instances, groups, policies, and the state that
//! changes when an instance is placed.

pub mod index;
pub mod kinds;
pub mod policy;
pub mod units;
pub mod utilisation;

pub use index::{GroupIdx, InstanceIdx, NodeIdx};
pub use kinds::{AllocPolicy, DiskTemplate, EvacMode, Hypervisor, Mirroring, RunStatus, UnknownName};
pub use policy::{InstancePolicy, InstanceSpec, SpecRange};
pub use units::Mib;
pub use utilisation::Utilisation;

//! Where Debian's ganeti has the reference, whatever lies in its place on the search path: our own package puts our tools there.

/// The directory of the tools.
pub const TOOLS: &str = "/usr/lib/ganeti/default/usr/bin";

/// The directory of the allocator.
pub const ALLOCATORS: &str = "/usr/lib/ganeti/default/usr/lib/ganeti/iallocators";

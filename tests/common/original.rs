//! Paths of the reference in Debian's ganeti. They do not depend on the search path, where our own package replaces
//! the tools.

/// The directory of the tools.
pub const TOOLS: &str = "/usr/lib/ganeti/default/usr/bin";

/// The directory of the allocator.
pub const ALLOCATORS: &str = "/usr/lib/ganeti/default/usr/lib/ganeti/iallocators";

//! Positions of groups, nodes and instances. Names exist at the edges of the program only; everything inside works with
//! these indices.

/// Defines an index type for lists of one kind of object.
#[macro_export]
macro_rules! index {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(u32);

        impl $name {
            /// The index for the object at `position` of its list.
            ///
            /// # Panics
            /// If there are more than 2^32 objects.
            pub fn new(position: usize) -> Self {
                Self(u32::try_from(position).expect("fewer than 2^32 objects"))
            }

            /// The position in the list of all objects of this kind.
            pub fn get(self) -> usize {
                self.0 as usize
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

index!(
    /// A node, by its position in [`Cluster::nodes`](super::Cluster::nodes).
    NodeIdx
);
index!(
    /// An instance, by its position in [`Cluster::instances`](super::Cluster::instances).
    InstanceIdx
);
index!(
    /// A node group, by its position in [`Cluster::groups`](super::Cluster::groups).
    GroupIdx
);
index!(
    /// A storage pool, by its position in [`StorageMap::pools`](super::StorageMap::pools).
    PoolIdx
);

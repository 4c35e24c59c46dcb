//! Tests of the model, its scores and its redundancy that build clusters from text.

mod autorepair;
mod carried_keys;
mod closed;
mod cluster;
mod draft;
mod group_reserve;
mod instance;
mod kept_out;
mod n_plus_one;
mod node_pool;
mod outlook;
mod placement;
mod spread;
mod storage;

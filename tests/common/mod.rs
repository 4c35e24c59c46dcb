//! Shared parts of several test programs.

pub mod clusters;
pub mod exposition;
pub mod luxi;
pub mod luxi_server;
pub mod plain_evacuate;
pub mod plain_fill;
pub mod plain_placement;
pub mod rapi;
pub mod request;

//! Results of the tools, by subject. The forms of one result (text, JSON, pages, metrics) are side by side; `form` has
//! the parts that several subjects share.

pub mod allocator;
pub mod balance;
pub(crate) mod check;
pub mod cluster;
pub(crate) mod debug;
pub mod form;
pub(crate) mod groups;
pub mod pacemaker;
pub(crate) mod past;
pub(crate) mod readings;
pub(crate) mod repair;
pub(crate) mod rolling;
pub(crate) mod room;
pub(crate) mod runs;
pub(crate) mod runway;
pub(crate) mod space;
pub(crate) mod squeeze;
pub(crate) mod timetable;
mod why;

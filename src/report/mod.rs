//! Showing results: tables and numbers as scripts know them, saved files, JSON, and the
//! responses that Ganeti reads.

pub mod allocator;
pub(crate) mod check;
pub mod components;
pub(crate) mod debug;
pub(crate) mod deep;
pub(crate) mod explain;
pub(crate) mod file;
pub(crate) mod groups;
pub(crate) mod html;
pub(crate) mod info;
pub(crate) mod instances;
pub(crate) mod json;
pub(crate) mod markdown;
pub mod metrics;
pub mod nodes;
pub(crate) use crate::model::number;
pub mod pacemaker;
pub(crate) mod palette;
pub(crate) mod pareto;
pub(crate) mod repair;
pub(crate) mod rolling;
pub(crate) mod scan;
pub(crate) mod shell;
pub(crate) mod space;
pub(crate) mod squeeze;
pub(crate) mod summary;
pub(crate) mod table;
pub(crate) mod timetable;
pub(crate) mod tone;
mod why;

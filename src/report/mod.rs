//! Showing results: tables and numbers as scripts know them, saved files, JSON, and the
//! responses that Ganeti reads.

pub mod allocator;
pub mod check;
pub mod components;
pub mod debug;
pub mod explain;
pub mod file;
pub mod groups;
pub mod info;
pub mod instances;
pub mod json;
pub mod nodes;
pub mod number;
pub mod rolling;
pub mod scan;
pub mod shell;
pub mod space;
pub mod squeeze;
pub mod summary;
pub mod table;
pub mod text;
mod why;

//! Showing results: tables and numbers as scripts know them, saved files, JSON.

pub mod components;
pub mod debug;
pub mod file;
pub mod instances;
pub mod nodes;
pub mod number;
pub mod table;
pub mod text;

//! A cluster in numbers (`hinfo`).

pub(crate) mod json;
pub(crate) mod text;

//! What `hbal --deep` found.

pub(crate) mod html;
pub(crate) mod json;
pub(crate) mod text;

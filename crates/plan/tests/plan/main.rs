//! Tests of plans that search for their steps, or build clusters from text.

mod arrival;
mod command;
mod crossing;
mod durations;
mod fresh;
mod jobset;
mod moves;
mod rolling;
mod switching;
mod work;

//! Tests of the library: properties on random clusters, comparisons with plain definitions, and parsers with
//! arbitrary input.

// Each test program uses only a part of it.
#[allow(dead_code)]
#[path = "../common/mod.rs"]
mod common;

mod affinity;
mod allocation;
mod allocator;
mod autorepair;
mod cib_keys;
mod concessions;
mod crossings;
mod deep;
mod drafts;
mod fuzz_parsers;
mod ganeti_placing;
mod guest_losses;
mod house;
mod instances;
mod kept_room;
mod keyed_allocation;
mod lint;
mod maintenance;
mod mend;
mod merge;
mod metrics;
mod optimal;
mod optimal_roles;
mod outside;
mod pacemaker;
mod placements;
mod pools;
mod prices;
mod properties;
mod releases;
mod reserve;
mod rolling;
mod score_parts;
mod streams;
mod survival;
mod tag_review;
mod transfer;
mod transition;
mod transition_rules;
mod what_if;
mod whole;
mod words;

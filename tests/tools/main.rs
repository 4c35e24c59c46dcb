//! Runs of the tools on files.

// Each test program uses only a part of it.
#[allow(dead_code)]
#[path = "../common/mod.rs"]
mod common;

mod affinity;
mod bad_input;
mod command_line;
mod config;
mod corners;
mod deep;
mod diskless;
mod documents;
mod early_end;
mod estimates;
mod exclusions;
mod forthcoming;
mod hail;
mod health;
mod help;
mod hplace;
mod hplace_carried;
mod hplace_down;
mod hplace_promoted;
mod hplace_why;
mod install;
mod json;
mod kept_room;
mod manual;
mod metrics;
mod pacemaker;
mod pay_back;
mod plans;
mod pools;
mod prices;
mod recorded;
mod regroup;
mod reports;
mod reports_hplace;
mod reserve;
mod rules;
mod saved;
mod several_groups;
mod simulation;
mod squeeze;
mod steady;
mod threads;
mod units;
mod views;
mod week;
mod weights;
mod worked_example;

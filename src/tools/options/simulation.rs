//! The options of `hplace simulate`.

use std::path::PathBuf;

use crate::tools::cli::option::ArgumentKind::{File, Float, Integer};
use crate::tools::cli::{Given, OptionDef, ValueError};

use super::count;

/// Arrivals and lifetimes of machines, and the nightly moves.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct SimulationChoices {
    /// `--arrivals`; `-` is standard input.
    pub arrivals: Option<PathBuf>,
    /// `--poisson`: mean number of arrivals per day.
    pub per_day: Option<f64>,
    /// Mean lifetime of a machine, in days; none: 30.
    pub lifetime: Option<f64>,
    /// Number of days simulated; none: as in the document, or 365.
    pub days: Option<u32>,
    /// Make hbal's moves every night instead of only counting them.
    pub nightly: bool,
    /// File for the picture.
    pub svg: Option<PathBuf>,
}

type SimulationDef = OptionDef<SimulationChoices>;

const SIMULATE: &[&str] = &["simulate"];

fn amount(given: &Given) -> Result<f64, ValueError> {
    let amount = given.float().ok().filter(|amount| amount.is_finite() && *amount > 0.0);
    amount.ok_or_else(|| given.out_of_range("a number above 0"))
}

pub(crate) const ARRIVALS: SimulationDef =
    SimulationDef::addition("arrivals", "read arrivals and nodes from this JSON document")
        .more("The document is of the form htools.arrivals/1; - is standard input.")
        .common()
        .takes("FILE", File, |o, g| g.path().map(|path| o.arrivals = path))
        .only(SIMULATE);
pub(crate) const POISSON: SimulationDef = SimulationDef::addition(
    "poisson",
    "draw N arrivals a day on average",
).more("Each is like one of the machines in the document of -j, whose nodes are empty at first, or of a Ganeti cluster, where what runs is there at first.").common()
.takes("N", Float, |o, g| amount(g).map(|rate| o.per_day = Some(rate)))
.only(SIMULATE);
pub(crate) const LIFETIME: SimulationDef =
    SimulationDef::addition("lifetime", "mean days that machines stay, with --poisson")
        .otherwise("30")
        .common()
        .takes("DAYS", Float, |o, g| amount(g).map(|days| o.lifetime = Some(days)))
        .only(SIMULATE);
pub(crate) const DAYS: SimulationDef = SimulationDef::addition("days", "number of days to simulate")
    .otherwise("365")
    .common()
    .takes("N", Integer, |o, g| count(g).map(|days| o.days = Some(u32::try_from(days).unwrap_or(u32::MAX))))
    .only(SIMULATE);
pub(crate) const NIGHTLY: SimulationDef =
    SimulationDef::added_flag("nightly", "make hbal's moves every night, not only count them", |o| {
        o.nightly = true
    })
    .common()
    .only(SIMULATE);
pub(crate) const SVG_FILE: SimulationDef =
    SimulationDef::addition("svg-file", "draw the days of all strategies into this SVG file")
        .formerly("svg")
        .common()
        .takes("FILE", File, |o, g| g.path().map(|path| o.svg = path))
        .only(SIMULATE);

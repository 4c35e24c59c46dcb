//! Options for load that a monitoring system has measured.

use std::path::PathBuf;
use std::time::Duration;

use super::LoadOptions;
use super::catalogue::LoadDef;
use super::values::length_of_time;
use crate::load::measured::{ExporterPreset, LoadResource, MissingSeries};
use crate::tools::cli::option::ArgumentKind::{Choices, File, Float, Text};
use crate::tools::cli::value::shown_time;
use crate::tools::cli::{Given, ValueError};

/// Source of measured load, and what to ask it for.
#[derive(Debug, Clone, PartialEq)]
pub struct MeasuredOptions {
    /// `--load-from`, as it was given; a password in it is refused later.
    pub from: Option<String>,
    /// `--load-preset`; none: libvirt, unless expressions are given.
    pub preset: Option<ExporterPreset>,
    /// `--load-query`: in the order given, so that a later one counts.
    pub queries: Vec<(LoadResource, String)>,
    /// `--load-label`; none: that of the preset.
    pub label: Option<String>,
    /// `--load-pattern`; none: that of the preset.
    pub pattern: Option<String>,
    /// `--load-window`; none: [`MeasuredOptions::WINDOW`], or the usual history of a forecast.
    pub window: Option<Duration>,
    /// `--load-quantile`, from 0 to 100.
    pub quantile: f64,
    /// `--load-missing`
    pub missing: MissingSeries,
    /// `--load-credentials`
    pub credentials: Option<PathBuf>,
    /// `--load-cacert`
    pub certificates: Option<PathBuf>,
    /// `--forecast`: from an hour to 14 days.
    pub forecast: Option<Duration>,
}

impl MeasuredOptions {
    /// The usual window.
    const WINDOW: Duration = Duration::from_secs(7 * 86_400);

    /// The window whose values count.
    pub(crate) fn window(&self) -> Duration {
        self.window.unwrap_or(MeasuredOptions::WINDOW)
    }
}

impl Default for MeasuredOptions {
    fn default() -> MeasuredOptions {
        MeasuredOptions {
            from: None,
            preset: None,
            queries: Vec::new(),
            label: None,
            pattern: None,
            window: None,
            quantile: 95.0,
            missing: MissingSeries::default(),
            credentials: None,
            certificates: None,
            forecast: None,
        }
    }
}

/// Expressions, one on each line.
fn queries(given: &Given) -> Result<Vec<(LoadResource, String)>, ValueError> {
    let expected = "RESOURCE=EXPRESSION, where RESOURCE is cpu, memory, disk or network";
    let query = |line: &str| {
        let (resource, expression) = line.split_once('=')?;
        let expression = expression.trim();
        (!expression.is_empty()).then_some((resource.trim().parse().ok()?, expression.to_owned()))
    };
    let lines = given.text()?.lines().filter(|line| !line.trim().is_empty());
    let queries: Option<Vec<_>> = lines.map(query).collect();
    queries.filter(|queries| !queries.is_empty()).ok_or_else(|| given.out_of_range(expected))
}

fn percent(given: &Given) -> Result<f64, ValueError> {
    let found = given.float()?;
    if (0.0..=100.0).contains(&found) { Ok(found) } else { Err(given.out_of_range("a number from 0 to 100")) }
}

/// A time that can be forecast.
fn coming(given: &Given) -> Result<Duration, ValueError> {
    let time = length_of_time(given)?;
    let longest = Duration::from_secs(14 * 86_400);
    if time <= longest { Ok(time) } else { Err(given.out_of_range("a time of at most 14d")) }
}

/// A name of a label in Prometheus.
fn label(given: &Given) -> Result<String, ValueError> {
    let text = given.string()?;
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let is_name = text.chars().all(plain) && text.starts_with(|c: char| !c.is_ascii_digit());
    if is_name { Ok(text) } else { Err(given.out_of_range("letters, digits and underscores")) }
}

pub(crate) const LOAD_FROM: LoadDef = LoadDef::addition("load-from", "take the load of instances from Prometheus")
    .more("SOURCE is prometheus:URL. The processor, memory, disk and network load of each instance is a quantile of its values in a window of time.")
    .takes("SOURCE", Text, |o, g| g.string().map(|source| o.measured.from = Some(source)));
pub(crate) const LOAD_PRESET: LoadDef =
    LoadDef::addition("load-preset", "ask for the metrics of this exporter, with --load-from")
        .more("node is the node exporter in the instances, process the process exporter on the nodes. recorded is what the recording rules in packaging/prometheus make.")
        .takes("EXPORTER", Choices(ExporterPreset::WORDS), |o, g| {
            g.choice().map(|word| o.measured.preset = word.parse().ok())
        })
        .default(|o| o.measured.preset.unwrap_or_default().to_string());
pub(crate) const LOAD_QUERY: LoadDef = LoadDef::addition("load-query", "ask for RESOURCE by this expression; may be repeated")
    .more("The value is RESOURCE=EXPRESSION. RESOURCE is cpu, memory, disk or network. In the expression, {range} stands for the range of a rate. It replaces the preset's.")
    .takes("QUERY", Text, |o, g| queries(g).map(|queries| o.measured.queries.extend(queries)));
pub(crate) const LOAD_LABEL: LoadDef =
    LoadDef::addition("load-label", "find the instance's name in this label")
        .otherwise("that of the preset")
        .takes("LABEL", Text, |o, g| label(g).map(|label| o.measured.label = Some(label)));
pub(crate) const LOAD_PATTERN: LoadDef = LoadDef::addition("load-pattern", "take the name from the part of the label that matches")
    .more("REGEX is a regular expression; its first group, or the whole match, is the name. Series that do not match are ignored.")
    .otherwise("the whole label; node: without the port")
    .takes("REGEX", Text, |o, g| g.string().map(|pattern| o.measured.pattern = Some(pattern)));
pub(crate) const LOAD_WINDOW: LoadDef =
    LoadDef::addition("load-window", "look at the values of the last TIME")
        .takes("TIME", Text, |o, g| length_of_time(g).map(|time| o.measured.window = Some(time)))
        .default(|o| shown_time(o.measured.window()));
pub(crate) const LOAD_QUANTILE: LoadDef =
    LoadDef::addition("load-quantile", "take the value that N percent do not exceed")
        .takes("N", Float, |o, g| percent(g).map(|quantile| o.measured.quantile = quantile))
        .default(|o| o.measured.quantile.to_string());
pub(crate) const LOAD_MISSING: LoadDef =
    LoadDef::addition("load-missing", "choose the load of instances without measurements")
        .more("median is that of their node group.")
        .takes("LOAD", Choices(MissingSeries::WORDS), |o, g| {
            g.choice().map(|word| {
                if let Ok(missing) = word.parse() {
                    o.measured.missing = missing;
                }
            })
        })
        .default(|o| o.measured.missing.to_string());
pub(crate) const LOAD_CREDENTIALS: LoadDef =
    LoadDef::addition("load-credentials", "read the user and password for --load-from from FILE")
        .more("It is a line of USER:PASSWORD. Nobody else may be able to read FILE.")
        .takes("FILE", File, |o, g| g.path().map(|path| o.measured.credentials = path));
pub(crate) const LOAD_CACERT: LoadDef =
    LoadDef::addition("load-cacert", "trust only the certificates or authorities in FILE for --load-from")
        .takes("FILE", File, |o, g| g.path().map(|path| o.measured.certificates = path));

pub(crate) const FORECAST: LoadDef =
    LoadDef::addition("forecast", "take the load of the coming TIME, with --load-from")
        .more("It is forecast from the same hours of earlier weeks and their trend. TIME is at most 14d. The errors of such forecasts in the past are printed on standard error.")
        .takes("TIME", Text, |o, g| coming(g).map(|time| o.measured.forecast = Some(time)));

/// Options for the source of measured load. A saved plan does not choose the credentials.
pub(crate) const LOAD_SOURCE: [LoadDef; 3] = [LOAD_FROM, LOAD_CREDENTIALS, LOAD_CACERT];

/// Options for measured load.
pub(crate) const MEASURED: [LoadDef; 11] = [
    LOAD_FROM,
    LOAD_PRESET,
    LOAD_QUERY,
    LOAD_LABEL,
    LOAD_PATTERN,
    LOAD_WINDOW,
    LOAD_QUANTILE,
    LOAD_MISSING,
    LOAD_CREDENTIALS,
    LOAD_CACERT,
    FORECAST,
];

impl LoadOptions {
    /// Tells if the load of instances is measured, or read from a file.
    pub(crate) fn is_load_measured(&self) -> bool {
        self.utilisation.is_some() || self.mond || self.measured.from.is_some()
    }
}

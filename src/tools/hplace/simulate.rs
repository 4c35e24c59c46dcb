//! `hplace simulate` compares strategies while machines come and go.

use anyhow::{Context, anyhow, bail, ensure};

use super::HplaceOptions;
use super::affinity::of_cluster;
use super::cluster::opened;
use crate::affinity;
use crate::affinity::simulation::document::{self, DAYS};
use crate::affinity::simulation::{NightWork, PoissonArrivals, Timeline, simulate};
use crate::input::encoding::decode;
use crate::input::local::read_limited;
use crate::pacemaker::execute::SIZE;
use crate::report::form::file::write_whole;
use crate::report::form::json;
use crate::report::form::palette::Palette;
use crate::report::pacemaker::simulation::SimulationResult;
use crate::tools::ExitStatus;
use crate::tools::hint::WithHint;
use crate::tools::options::affinity::AffinityChoices;
use crate::tools::output::Output;
use crate::tools::source;

/// Default mean lifetime of a machine, in days.
const LIFETIME: f64 = 30.0;

/// Compares the strategies.
///
/// # Errors
/// Fails if a file cannot be read or written, or if options conflict.
pub(super) fn run(options: &HplaceOptions, output: &mut Output) -> anyhow::Result<ExitStatus> {
    check(options)?;
    let timeline = timeline(options, output)?;
    let nights = if options.simulation.nightly { NightWork::Made } else { NightWork::Counted };
    let runs = simulate(&timeline, nights);
    let result = SimulationResult { timeline: &timeline, nights, runs: &runs };
    if let Some(file) = &options.simulation.svg {
        write_whole(file, &result.svg(&Palette::PICTURE))?;
    }
    if options.output.json {
        output.write(&json::text(&result.document())?)?
    } else {
        result.lines().iter().try_for_each(|line| output.line(line))?
    }
    output.flush()?;
    Ok(ExitStatus::Success)
}

fn check(options: &HplaceOptions) -> anyhow::Result<()> {
    let (simulation, keys) = (&options.simulation, &options.affinity);
    let is_ganeti = options.load.source.is_named();
    ensure!(keys.ram_ratio.is_none() || is_ganeti, "option --ram-ratio applies only to Ganeti clusters");
    match (&simulation.arrivals, simulation.per_day) {
        (Some(_), Some(_)) => bail!("options --arrivals and --poisson exclude each other"),
        (None, None) => {
            return Err(anyhow!("the simulation has no arrivals").hint(
                "use --arrivals FILE to read them, or --poisson N with -j FILE to draw them at random",
            ));
        }
        (Some(_), None) => {
            ensure!(
                keys.file.is_none(),
                "option -j does not apply to --arrivals, whose document has the nodes"
            );
            ensure!(
                !is_ganeti,
                "options -t, -m and -L do not apply to --arrivals, whose document has the nodes"
            );
            ensure!(simulation.lifetime.is_none(), "option --lifetime needs --poisson");
            let ties = keys.random_tie == Some(true);
            ensure!(keys.seed.is_none() || ties, "option --seed needs --poisson or --tie random");
        }
        (None, Some(_)) => match (&keys.file, is_ganeti) {
            (None, false) => {
                return Err(anyhow!("option --poisson needs nodes and machines").hint(
                    "name a document with -j FILE, or a Ganeti cluster with -t FILE, -m ADDRESS or -L",
                ));
            }
            (Some(_), true) => bail!("option -j names a cluster, so no other cluster can be named"),
            _ => {}
        },
    }
    Ok(())
}

/// The arrivals and departures to simulate: read from a document, or drawn at random.
fn timeline(options: &HplaceOptions, output: &mut Output) -> anyhow::Result<Timeline> {
    let (simulation, keys) = (&options.simulation, &options.affinity);
    // With --poisson, the seed also draws the arrivals, so it must reach the ties only with --tie random.
    let ties = AffinityChoices { seed: keys.seed.filter(|_| keys.random_tie == Some(true)), ..keys.clone() };
    let drawn = |per_day| {
        let lifetime = simulation.lifetime.unwrap_or(LIFETIME);
        let (days, seed) = (simulation.days.unwrap_or(DAYS), keys.seed.unwrap_or(0));
        PoissonArrivals { per_day, lifetime, days, seed }
    };
    if let Some(per_day) = simulation.per_day.filter(|_| options.load.source.is_named()) {
        let (_, mut fleet) = of_cluster(options, source::load(&options.load, output)?, output)?;
        fleet.options = ties.over(&fleet.options).map_err(anyhow::Error::msg)?;
        return Ok(drawn(per_day).draw_beside(fleet)?);
    }
    let file = simulation.arrivals.as_ref().or(keys.file.as_ref()).context("no document is named")?;
    let (document, source) = opened(file)?;
    let bytes = read_limited(document, SIZE).with_context(|| format!("cannot read file '{source}'"))?;
    let text = decode(&bytes, &source)?;
    let Some(per_day) = simulation.per_day else {
        let arrivals = document::parse(text, &source)?;
        arrivals.warnings.iter().try_for_each(|line| output.error_line(line))?;
        let options = ties.over(&arrivals.fleet.options).map_err(anyhow::Error::msg)?;
        let days = simulation.days.unwrap_or(arrivals.days);
        let count = arrivals.rentals.len();
        let timeline = arrivals.timeline(options, days, &source)?;
        let late = count - timeline.rentals().len();
        if late > 0 {
            let days = timeline.days();
            output.error_line(&format!(
                "Warning: {late} of {count} machines arrive after the end of day {days}"
            ))?;
        }
        return Ok(timeline);
    };
    let (mut fleet, warnings) = affinity::document::parse(text, &source)?;
    warnings.iter().try_for_each(|line| output.error_line(line))?;
    fleet.options = ties.over(&fleet.options).map_err(anyhow::Error::msg)?;
    Ok(drawn(per_day).draw(fleet)?)
}

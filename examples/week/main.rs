//! A week of load and the nodes that it needs: a simulation of `hsqueeze` run from cron.
//!
//! ```sh
//! cargo run --release --example week -- --help
//! ```
//!
//! Instances come and go according to a file with a week's load. New ones go where hail would place them. When cron
//! would run hsqueeze, the library makes a plan, which is checked and executed. Nodes that are off report only their
//! tags, as on real clusters. Everything is random but determined by `--seed`.

mod plot;
mod profile;
mod simulate;
mod table;
mod world;

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, ensure};
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use htools::load::text;
use profile::{Profile, Tick};
use simulate::{Settings, Week, simulate};

fn command() -> Command {
    let file = |name: &'static str, default: &'static str| {
        Arg::new(name)
            .long(name)
            .value_name("FILE")
            .value_parser(value_parser!(PathBuf))
            .default_value(default)
    };
    let factor = |name: &'static str, default: &'static str| {
        Arg::new(name).long(name).value_name("FACTOR").value_parser(value_parser!(f64)).default_value(default)
    };
    let number = |name: &'static str, value: &'static str| {
        Arg::new(name).long(name).value_name(value).value_parser(value_parser!(u32)).default_value("0")
    };
    let switch = |name: &'static str| Arg::new(name).long(name).action(ArgAction::SetTrue);
    let output = |name: &'static str| {
        Arg::new(name).long(name).value_name("FILE").value_parser(value_parser!(PathBuf))
    };
    Command::new("week")
        .about("Simulates a week in which hsqueeze powers nodes down and up")
        .arg(
            file("cluster", "data/week.data").help("The cluster at the beginning, as text; all nodes are on"),
        )
        .arg(file("load", "data/week.txt").help("The load of the week: instances wanted, by time and group"))
        .arg(factor("minimal-resources", "2").help("As with hsqueeze"))
        .arg(factor("target-resources", "4").help("As with hsqueeze"))
        .arg(switch("drbd").help("As with hsqueeze"))
        .arg(
            Arg::new("at")
                .long("at")
                .value_name("HOURS")
                .value_delimiter(',')
                .value_parser(value_parser!(u32).range(0..24))
                .help("When hsqueeze runs, for example 6,22; otherwise at every time of the load"),
        )
        .arg(number("cooldown", "MINUTES").help("Leave nodes alone for so long after they were switched"))
        .arg(factor("churn", "0.02").help("Share of instances that is replaced from one time to the next"))
        .arg(number("seed", "N").default_value("1").help("Names the random choices"))
        .arg(switch("compare").help("Compare some settings, in Markdown"))
        .arg(switch("csv").help("Print what happened at every time, with commas"))
        .arg(output("plot").help("Draw load and nodes, as SVG"))
}

fn main() -> anyhow::Result<()> {
    let matches = command().get_matches();
    let path = |name: &str| matches.get_one::<PathBuf>(name).context("it has a default");
    let read = |name: &str| {
        let path = path(name)?;
        fs::read_to_string(path).with_context(|| format!("cannot read '{}'", path.display()))
    };
    let raw = text::parse(&read("cluster")?, &path("cluster")?.display().to_string())?;
    let profile = Profile::parse(&read("load")?)
        .with_context(|| path("load").map_or_else(|_| String::new(), |p| p.display().to_string()))?;
    if matches.get_flag("compare") {
        let week = |settings: Settings| Ok((settings.clone(), simulate(raw.clone(), &profile, &settings)?));
        let weeks = table::compared().into_iter().map(week).collect::<anyhow::Result<Vec<_>>>()?;
        print!("{}", table::comparison(&weeks));
        return Ok(());
    }
    let week = simulate(raw.clone(), &profile, &settings(&matches)?)?;
    match matches.get_flag("csv") {
        true => print!("{}", table::series(&week, &profile.groups, profile.ticks.iter().map(Tick::text))),
        false => print!("{}", table::days(&week)),
    }
    if let Some(file) = matches.get_one::<PathBuf>("plot") {
        draw(file, &profile, &week)?;
    }
    Ok(())
}

fn draw(file: &PathBuf, profile: &Profile, week: &Week) -> anyhow::Result<()> {
    fs::write(file, plot::svg(profile, week)?).with_context(|| format!("cannot write '{}'", file.display()))
}

fn settings(matches: &ArgMatches) -> anyhow::Result<Settings> {
    let factor = |name: &str| matches.get_one::<f64>(name).copied().context("it has a default");
    let number = |name: &str| matches.get_one::<u32>(name).copied().context("it has a default");
    let settings = Settings {
        minimal: factor("minimal-resources")?,
        target: factor("target-resources")?,
        drbd: matches.get_flag("drbd"),
        at: matches.get_many("at").map(|hours| hours.copied().collect()).unwrap_or_default(),
        cooldown: number("cooldown")?,
        churn: factor("churn")?,
        seed: number("seed")?.into(),
    };
    ensure!(settings.minimal >= 0.0, "--minimal-resources: {} is not possible", settings.minimal);
    ensure!(settings.target >= settings.minimal, "--target-resources is less than --minimal-resources");
    ensure!((0.0..=1.0).contains(&settings.churn), "--churn: {} is no share", settings.churn);
    Ok(settings)
}

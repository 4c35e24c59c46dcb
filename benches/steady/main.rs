//! A replayed week of load on a cluster of 40 nodes and 400 instances. Every quarter of an hour, a contender sees the
//! measured load and may migrate instances. Prints a table in Markdown:
//!
//!     cargo bench --bench steady [-- --seeds N --only WORD --cpu PERCENT --margin POINTS --rounds N --cooldown HOURS]
//!
//! The steady contenders are hbal's own search with its options.

mod contenders;
mod figures;
mod measured;
mod pattern;
mod replay;
mod slot;
mod week;
mod world;

use anyhow::{Context, bail};
use contenders::{Contender, CpuUnit, Greedy, Hbal, LoadWindow, Never, Outlook, Steady, SteadyRules};
use figures::{Figures, print_table, print_verdicts};
use rayon::prelude::*;
use replay::replay;
use slot::{HOUR, a_day};
use week::{NODES, Week};

/// Values of the options.
struct Options {
    seeds: u64,
    /// Part of the names of the contenders to run.
    only: String,
    rules: SteadyRules,
}

/// Role of a contender in the comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    /// Rules of today and of others.
    Others,
    /// Steady balancing.
    Ours,
    /// A limit that no tool can reach or would use.
    Limit,
}

/// A contender that can begin anew for each week.
struct Entry {
    side: Side,
    make: Box<dyn Fn() -> Box<dyn Contender> + Send + Sync>,
}

fn entry<C: Contender + 'static>(side: Side, make: impl Fn() -> C + Send + Sync + 'static) -> Entry {
    Entry { side, make: Box::new(move || Box::new(make())) }
}

fn entries(rules: SteadyRules) -> Vec<Entry> {
    let hbal = |window, unit| entry(Side::Others, move || Hbal { window, unit });
    let greedy = |margin| entry(Side::Others, move || Greedy { margin });
    let steady = |side, outlook| entry(side, move || Steady::new(SteadyRules { outlook, ..rules }));
    vec![
        entry(Side::Limit, || Never),
        hbal(LoadWindow::Unknown, CpuUnit::ShareOfNode),
        hbal(LoadWindow::Slots(3 * HOUR), CpuUnit::ShareOfNode),
        hbal(LoadWindow::Slots(7 * a_day()), CpuUnit::ShareOfNode),
        hbal(LoadWindow::Slots(3 * HOUR), CpuUnit::Cores),
        hbal(LoadWindow::Slots(7 * a_day()), CpuUnit::Cores),
        greedy(0.0),
        greedy(0.1),
        steady(Side::Ours, Outlook::Present),
        steady(Side::Ours, Outlook::Forecast),
        steady(Side::Limit, Outlook::Known),
    ]
}

fn main() -> anyhow::Result<()> {
    let options = options(std::env::args().skip(1))?;
    let weeks: Vec<Week> = (1..=options.seeds).into_par_iter().map(Week::generate).collect();
    let mut entries = entries(options.rules);
    entries.retain(|entry| (entry.make)().name().contains(&options.only));
    let runs: Vec<(usize, &Week)> =
        (0..entries.len()).flat_map(|at| weeks.iter().map(move |week| (at, week))).collect();
    let run = |(at, week): &(usize, &Week)| replay(week, (entries[*at].make)().as_mut());
    let found = runs.par_iter().map(run).collect::<anyhow::Result<Vec<Figures>>>()?;
    let rows: Vec<(Side, String, &[Figures])> = entries
        .iter()
        .zip(found.chunks(weeks.len().max(1)))
        .map(|(entry, figures)| (entry.side, (entry.make)().name(), figures))
        .collect();
    println!("{}\n", about(&weeks));
    print_table(rows.iter().map(|(_, name, figures)| (name.as_str(), *figures)));
    let of_side = |side| rows.iter().filter(move |row| row.0 == side).map(|row| (row.1.as_str(), row.2));
    print_verdicts(of_side(Side::Ours), &of_side(Side::Others).collect::<Vec<_>>());
    Ok(())
}

fn about(weeks: &[Week]) -> String {
    let range = |of: fn(&Week) -> f64| {
        let all = weeks.iter().map(of).map(|share| share * 100.0);
        let (low, high) =
            all.fold((f64::INFINITY, 0.0), |(low, high): (f64, f64), one| (low.min(one), high.max(one)));
        format!("{low:.0} to {high:.0} %")
    };
    let repacked = weeks.iter().map(Week::repacked).sum::<f64>() / weeks.len().max(1) as f64;
    format!(
        "{} weeks of {NODES} nodes. Processor load of the cluster: mean {}, peak {}.\nHours above 85 % if all instances were placed anew every quarter of an hour: {repacked:.1}.",
        weeks.len(),
        range(Week::mean),
        range(Week::peak)
    )
}

fn options(mut words: impl Iterator<Item = String>) -> anyhow::Result<Options> {
    let mut options = Options { seeds: 10, only: String::new(), rules: SteadyRules::default() };
    while let Some(word) = words.next() {
        let mut value = || words.next().with_context(|| format!("{word}: a value is missing"));
        let mut number = || -> anyhow::Result<u32> { value()?.parse().context("not a number") };
        match word.as_str() {
            "--bench" => {}
            "--seeds" => options.seeds = number()?.into(),
            "--cpu" => options.rules.above[0] = number()?,
            "--margin" => options.rules.margin = f64::from(number()?),
            "--cooldown" => options.rules.cooldown = usize::try_from(number()?)? * HOUR,
            "--rounds" => options.rules.rounds = usize::try_from(number()?)?,
            "--only" => options.only = value()?,
            _ => bail!("unknown option '{word}'"),
        }
    }
    Ok(options)
}

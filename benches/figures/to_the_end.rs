//! Whole plans, from the text file to the printed list. Steps are limited only where the whole plan would take too
//! long.

use htools::generate::TemplateMix;

use crate::common::numbers::{memory, seconds, thousands};
use crate::common::workshop::Run;
use crate::common::{Bench, Kind};
use crate::targets::Targets;
use crate::{name, size};

/// The largest cluster that --quick measures.
const QUICK: usize = 1000;
const LEFT_OUT: &str = "left out by --quick";

struct Case {
    kind: Kind,
    /// Most steps.
    steps: Option<usize>,
    /// Target time in seconds.
    seconds: Option<f64>,
    /// Target memory in MiB.
    mib: Option<f64>,
    /// True if it is measured only with --long.
    long: bool,
}

impl Case {
    /// A plan without a limit of steps that must take less than `seconds`.
    const fn within(seconds: f64, kind: Kind) -> Case {
        Case { kind, steps: None, seconds: Some(seconds), mib: None, long: false }
    }

    /// The command line of hbal.
    fn command(&self) -> String {
        match self.steps {
            None => "hbal".to_owned(),
            Some(steps) => format!("hbal -l {steps}"),
        }
    }

    /// Name of a target with this limit.
    fn target(&self, limit: &str) -> String {
        let Kind { nodes, instances, .. } = self.kind;
        let command = if self.steps.is_none() { "hbal to the end".to_owned() } else { self.command() };
        format!("{} {}, {command}: under {limit}", size(nodes, instances), look(&self.kind))
    }

    /// Compares the measurements with the targets.
    fn check(&self, run: Option<Run>, targets: &mut Targets) {
        if let Some(most) = self.seconds {
            let target = self.target(&format!("{most} s"));
            match run {
                Some(Run { seconds: time, .. }) => targets.check(&target, &seconds(time), time < most),
                None => targets.open(&target, LEFT_OUT),
            }
        }
        if let Some(most) = self.mib {
            let target = self.target(&memory(Some(most)));
            match run {
                Some(run) => targets.memory(&target, run.mib, most),
                None => targets.open(&target, LEFT_OUT),
            }
        }
    }
}

/// Template and special properties.
fn look(kind: &Kind) -> String {
    let peculiar = [(kind.tags, ", tags"), (kind.heterogeneous, ", mixed node sizes")];
    let words = peculiar.iter().filter(|(there, _)| *there).map(|(_, word)| *word);
    kind.template().to_owned() + &words.collect::<String>()
}

const LARGE: Kind = Kind::drbd(1000, 10_000);
const LARGEST: Kind = Kind::drbd(10_000, 100_000);
const CASES: [Case; 6] = [
    Case::within(0.2, Kind::drbd(100, 1000)),
    Case::within(10.0, LARGE),
    Case::within(20.0, Kind { tags: true, heterogeneous: true, ..LARGE }),
    Case::within(15.0, Kind { templates: TemplateMix::Ext, ..Kind::drbd(5000, 30_000) }),
    Case { steps: Some(1000), mib: Some(1024.0), ..Case::within(30.0, LARGEST) },
    Case { seconds: None, long: true, ..Case::within(0.0, LARGEST) },
];

/// Prints the table.
pub fn table(bench: &Bench, long: bool, targets: &mut Targets) -> anyhow::Result<()> {
    println!(
        "| cluster | template | command | steps | time | steps a second | memory at its peak |\n\
         |---|---|---|---:|---:|---:|---:|"
    );
    for case in CASES.iter().filter(|case| long || !case.long) {
        let left_out = bench.settings.quick && case.kind.nodes > QUICK;
        let run = if left_out { None } else { Some(measure(bench, case)?) };
        case.check(run, targets);
    }
    println!();
    Ok(())
}

/// Prints a row.
fn measure(bench: &Bench, case: &Case) -> anyhow::Result<Run> {
    let input = bench.input(case.kind)?;
    let command = case.command();
    let words: Vec<&str> = command.split(' ').collect();
    let run = bench.ours(&words, &input)?;
    let steps = bench.steps()?;
    println!(
        "| {} | {} | {command} | {} | {} | {} | {} |",
        name(&input),
        look(&case.kind),
        thousands(steps),
        seconds(run.seconds),
        thousands((steps as f64 / run.seconds) as usize),
        memory(run.mib)
    );
    Ok(run)
}

//! The figures that the project quotes, measured as its users see them: whole
//! processes, the best of several runs, on clusters of the library's own
//! generator or of a script. Prints tables in Markdown:
//!
//!     cargo bench --bench figures [-- [--reference] [--limit SECONDS] [--quick]
//!         [--clusters PYTHON_SCRIPT]]
//!
//! With --reference the same commands are given to Ganeti's own tools in the
//! same run, on the same files, each for at most --limit seconds.

#[path = "../common/mod.rs"]
mod common;
mod first_step;
mod loading;
mod speed;
mod targets;

use common::clusters::Input;
use common::numbers::thousands;
use common::{Bench, Settings};
use targets::Targets;

fn main() -> anyhow::Result<()> {
    let matches = Settings::command("figures", "Measures the figures that the project quotes").get_matches();
    let bench = Bench::new(Settings::of(&matches))?;
    println!("{}\n", bench.describe());
    let mut targets = Targets::default();
    speed::table(&bench, &mut targets)?;
    first_step::table(&bench, &mut targets)?;
    loading::table(&bench, &mut targets)?;
    targets.print();
    Ok(())
}

/// Nodes and instances.
fn size(nodes: usize, instances: usize) -> String {
    format!("{}/{}", thousands(nodes), thousands(instances))
}

fn name(input: &Input) -> String {
    size(input.kind.nodes, input.instances)
}

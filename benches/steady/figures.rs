//! Figures of replayed weeks, as tables.

/// Share of the best contender's migrations that is wanted at most.
const WANTED: f64 = 0.2;

/// Figures of a replayed week.
#[derive(Debug, Clone, Copy, Default)]
pub struct Figures {
    /// Hours of nodes whose processors or memory are above the limit, summed over the nodes.
    pub busy: f64,
    /// Those of them with the memory above the limit.
    pub memory: f64,
    /// Hours of nodes whose processors have more to do than they can.
    pub full: f64,
    /// Migrations.
    pub migrations: usize,
    /// Memory of the migrated instances in GiB.
    pub gib: f64,
    /// Migrations to a node that the instance has left less than a day before.
    pub back: usize,
    /// Migrations of an instance that was migrated less than a day before.
    pub again: usize,
}

fn mean(all: &[Figures], of: impl Fn(&Figures) -> f64) -> f64 {
    all.iter().map(of).sum::<f64>() / all.len().max(1) as f64
}

fn most(all: &[Figures], of: impl Fn(&Figures) -> f64) -> f64 {
    all.iter().map(of).fold(0.0, f64::max)
}

/// Prints a row for each contender.
pub fn print_table<'f>(rows: impl Iterator<Item = (&'f str, &'f [Figures])>) {
    println!(
        "| contender | hours above 85 %, mean | worst | of them memory | hours above 100 % | migrations, mean | worst | GiB | moved back | again within 24 h |"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|");
    for (name, all) in rows {
        println!(
            "| {name} | {:.0} | {:.0} | {:.0} | {:.1} | {:.0} | {:.0} | {:.0} | {:.1} | {:.1} |",
            mean(all, |one| one.busy),
            most(all, |one| one.busy),
            mean(all, |one| one.memory),
            mean(all, |one| one.full),
            mean(all, |one| one.migrations as f64),
            most(all, |one| one.migrations as f64),
            mean(all, |one| one.gib),
            mean(all, |one| one.back as f64),
            mean(all, |one| one.again as f64),
        );
    }
}

/// Compares ours with each of the others in each week: time no worse, a fifth of the migrations, none moved back.
pub fn print_verdicts<'f>(
    ours: impl Iterator<Item = (&'f str, &'f [Figures])>,
    others: &[(&str, &[Figures])],
) {
    let header: Vec<&str> = others.iter().map(|(name, _)| *name).collect();
    if header.is_empty() {
        return;
    }
    println!("\nWeeks with no more time above 85 % / with at most a fifth of the migrations of\n");
    println!("| | {} |", header.join(" | "));
    println!("|---|{}", "---:|".repeat(header.len()));
    for (name, all) in ours {
        let cells: Vec<String> = others.iter().map(|(_, other)| verdict(all, other)).collect();
        println!("| {name} | {} |", cells.join(" | "));
    }
}

fn verdict(ours: &[Figures], other: &[Figures]) -> String {
    let count = |holds: fn(&Figures, &Figures) -> bool| {
        ours.iter().zip(other).filter(|(our, other)| holds(our, other)).count()
    };
    let time = count(|our, other| our.busy <= other.busy);
    let moves = count(|our, other| our.migrations as f64 <= WANTED * other.migrations as f64);
    format!("{time} / {moves}")
}

//! The search of a balancing run: one step after another, until there is no better one or the time is up.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::ensure;

use super::HbalOptions;
use super::deep::goal;
use super::scope::BalancedScope;
use super::views::Text;
use crate::model::number::counted;
use crate::model::{Cluster, Draft, Step};
use crate::report::balance::deep::text::conceded;
use crate::report::balance::plan::columns::StepColumns;
use crate::report::balance::prices::{PRICE_LEGEND, price_text};
use crate::score::{Board, Components};
use crate::search::balance::deep;
use crate::search::balance::deep::headway::{DeepWatch, SearchProgress};
use crate::search::balance::deep::merge::merged;
use crate::search::balance::deep::order::OrderedSteps;
use crate::search::balance::deep::plan::{DeepGoal, DeepPlan, plan};
use crate::search::balance::price::prices;
use crate::search::balance::{Balancing, run_watched};
use crate::search::moves::perform_step;
use crate::search::{Balancer, Deadline, Stopped, Tally};
use crate::tools::progress::Progress;

/// Terms of a running search.
pub(super) struct BalanceWatch<'a> {
    /// Time limit and interrupt.
    pub deadline: &'a Deadline,
    /// True if the search shows its progress.
    pub shown: bool,
}

/// Result of a search.
pub(super) struct Searched {
    /// The steps, in order.
    pub steps: Vec<Step>,
    /// The score after the last one.
    pub last: Components,
    /// Cause of an early end, if any.
    pub stopped: Option<Stopped>,
    /// The deep plan that the steps come from; none for a step-by-step search.
    pub deep: Option<DeepPlan>,
    /// Prices of the steps, if they are shown.
    pub prices: Vec<Option<f64>>,
}

/// Searches for the steps that the options request, prints them, and then reports on the search on standard error.
pub(super) fn search(
    options: &HbalOptions,
    cluster: &mut Draft,
    scope: &BalancedScope,
    watch: &BalanceWatch<'_>,
    text: &mut Text<'_>,
) -> anyhow::Result<Searched> {
    match goal(options, cluster, &scope.nodes)? {
        Some(goal) => deep_search(options, &goal, cluster, scope, watch, text),
        None => step_by_step(options, cluster, scope, watch, text),
    }
}

/// Searches for a plan that reaches a goal.
fn deep_search(
    options: &HbalOptions,
    goal: &DeepGoal,
    cluster: &mut Draft,
    scope: &BalancedScope,
    watch: &BalanceWatch<'_>,
    text: &mut Text<'_>,
) -> anyhow::Result<Searched> {
    let columns = StepColumns::of(cluster, &scope.nodes, &scope.instances);
    let headway = Arc::new(SearchProgress::default());
    let progress = if watch.shown { Progress::of_deep(Arc::clone(&headway)) } else { Progress::hidden() };
    let (nodes, balance, seen) =
        (&scope.nodes, &options.balance, DeepWatch { deadline: watch.deadline, headway: &headway });
    let found = match goal {
        // A Pareto front is only shown, so its moves need no order.
        DeepGoal::Best(effort) if options.pareto => {
            DeepPlan::unordered(deep::search(cluster, nodes, balance, effort, seen))
        }
        goal => plan(cluster, nodes, balance, goal, seen),
    };
    drop(progress);
    let prices = wanted_prices(options, cluster, &found.ordered.steps);
    print_steps(&columns, options, cluster, &found.ordered.steps, &prices, text)?;
    if let Some(stopped) = found.stopped {
        text.output.error_line(&early_end(stopped, found.ordered.steps.len()))?;
    }
    let (steps, last) = (found.ordered.steps.clone(), found.last.clone());
    Ok(Searched { steps, last, stopped: found.stopped, deep: Some(found), prices })
}

/// Searches step by step and prints each step as it is found.
fn step_by_step(
    options: &HbalOptions,
    cluster: &mut Draft,
    scope: &BalancedScope,
    watch: &BalanceWatch<'_>,
    text: &mut Text<'_>,
) -> anyhow::Result<Searched> {
    let columns = StepColumns::of(cluster, &scope.nodes, &scope.instances);
    let began = Instant::now();
    let mut progress = if watch.shown { Progress::start() } else { Progress::hidden() };
    let before = options.merge.then(|| Cluster::clone(cluster));
    let observe = |balancer: &Balancer<'_>, steps: &[Step]| -> anyhow::Result<()> {
        let Some(step) = steps.last() else { return Ok(()) };
        progress.step(steps.len(), step.score);
        if options.merge || options.prices {
            // Merging may replace these steps, and prices are known at the end.
            return Ok(());
        }
        let line = columns.line(balancer.cluster(), steps.len(), step, "");
        progress.with_line_hidden(|| {
            text.line(line)?;
            // The reader should see each step as it is found.
            anyhow::Ok(text.output.flush()?)
        })
    };
    // However short the time limit is, the search makes one step if there is one.
    let found = run_watched(cluster, &scope.nodes, options.balance, watch.deadline, 1, observe)?;
    drop(progress);
    let (steps, took) = (found.steps.len(), began.elapsed());
    if let Some(stopped) = found.stopped {
        text.output.error_line(&early_end(stopped, steps))?;
    }
    if options.load.verbosity > 1 {
        text.output.error_line(&summary(steps, took, found.tally))?;
    }
    let Balancing { steps, last, stopped, .. } = found;
    let mut found = Searched { steps, last, stopped, deep: None, prices: Vec::new() };
    let count = found.steps.len();
    if let Some(before) = before {
        found = merge(options, before, cluster, scope, found)?;
    }
    found.prices = wanted_prices(options, cluster, &found.steps);
    if options.merge || options.prices {
        print_steps(&columns, options, cluster, &found.steps, &found.prices, text)?;
    }
    if found.steps.len() < count {
        text.line(format!("Merged {} into {}", counted(count, "step"), found.steps.len()))?;
        conceded(cluster, &found.steps).try_for_each(|line| text.line(line))?;
    }
    Ok(found)
}

/// Prices of the steps, if they are shown; `cluster` is in its state after the last one.
fn wanted_prices(options: &HbalOptions, cluster: &Cluster, steps: &[Step]) -> Vec<Option<f64>> {
    if options.wants_prices() { prices(cluster, steps, &options.balance.rules) } else { Vec::new() }
}

/// Replaces the steps by one move for each instance, if they can be ordered. The cluster is then in the state after
/// these moves.
fn merge(
    options: &HbalOptions,
    before: Cluster,
    cluster: &mut Draft,
    scope: &BalancedScope,
    found: Searched,
) -> anyhow::Result<Searched> {
    let balance = &options.balance;
    let Some(OrderedSteps { steps, .. }) = merged(&before, &scope.nodes, balance, &found.steps) else {
        return Ok(found);
    };
    *cluster = Draft::from(before);
    for step in &steps {
        let done = perform_step(cluster, step, &balance.rules);
        ensure!(done.is_ok(), "hbal: the merged steps are not possible");
    }
    Ok(Searched { steps, last: Board::new(cluster, &scope.nodes).components(), ..found })
}

/// Prints all steps, with their prices if the options ask for them.
fn print_steps(
    columns: &StepColumns,
    options: &HbalOptions,
    cluster: &Cluster,
    steps: &[Step],
    prices: &[Option<f64>],
    text: &mut Text<'_>,
) -> anyhow::Result<()> {
    let prices: &[Option<f64>] = if options.prices { prices } else { &[] };
    for (at, step) in steps.iter().enumerate() {
        let price = prices.get(at).map(|price| format!(" price={:<11}", price_text(*price)));
        text.line(columns.line(cluster, at + 1, step, &price.unwrap_or_default()))?;
    }
    if prices.is_empty() { Ok(()) } else { text.line(PRICE_LEGEND) }
}

fn early_end(stopped: Stopped, steps: usize) -> String {
    format!("{} ended the search after {}", stopped.subject(), counted(steps, "step"))
}

/// Statistics of the search in one line.
fn summary(steps: usize, took: Duration, tally: Tally) -> String {
    let Tally { considered, skipped, evaluated, scored: _ } = tally;
    let seconds = took.as_secs_f64();
    // Avoids a division by zero; no clock is as fine as this.
    let rate = evaluated as f64 / seconds.max(1e-9);
    format!(
        "Search: {} in {seconds:.3} s; {considered} moves considered, {skipped} skipped without a look, \
         {evaluated} evaluated ({rate:.0} a second)",
        counted(steps, "step")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn early_ends_in_words() {
        assert_eq!(early_end(Stopped::TimeLimit, 1), "The time limit ended the search after 1 step");
        assert_eq!(early_end(Stopped::Interrupt, 12), "An interrupt ended the search after 12 steps");
    }

    #[test]
    fn a_search_in_one_line() {
        let tally = Tally { considered: 5000, skipped: 4000, evaluated: 1000, scored: 10 };
        assert_eq!(
            summary(3, Duration::from_millis(500), tally),
            "Search: 3 steps in 0.500 s; 5000 moves considered, 4000 skipped without a look, \
             1000 evaluated (2000 a second)"
        );
        assert!(summary(0, Duration::ZERO, Tally::default()).ends_with(" 0 evaluated (0 a second)"));
    }
}

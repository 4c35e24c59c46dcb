//! Balances one group, from its description to the result of the search.

use super::HbalOptions;
use super::deep::emptied;
use super::scope::BalancedScope;
use super::search::{BalanceWatch, Searched, search};
use super::views::Text;
use crate::model::number::general;
use crate::model::{Cluster, Draft, Mib, Step};
use crate::plan::jobset::{Jobset, jobsets};
use crate::report::balance::components::{components, score};
use crate::report::balance::deep::text as deep;
use crate::report::balance::metrics::BalanceFigures;
use crate::report::balance::plan::json::EndingView;
use crate::report::balance::prices::{PricedMove, cheapest_first, price_table};
use crate::report::room::price_text;
use crate::score::Components;
use crate::search::Stopped;
use crate::search::balance::InitialScore;
use crate::search::balance::deep::plan::{DeepFound, DeepPlan};
use crate::search::balance::price::prices_of_placements;
use crate::tools::output::Recording;

/// A group after its search.
pub(super) struct Balanced {
    /// The group before the search.
    pub scope: BalancedScope,
    /// Outcome of the search.
    pub ending: EndingView,
    /// The score before the first step.
    pub initial: Components,
    /// The part of it that cannot be avoided.
    pub unavoidable: f64,
    /// The score after the last step.
    pub last: Components,
    /// The steps, in order.
    pub steps: Vec<Step>,
    /// The steps in sets that can run at the same time.
    pub jobsets: Vec<Jobset>,
    /// Cause of an early end of the search, if any.
    pub stopped: Option<Stopped>,
    /// Result of the deep search, if there was one.
    pub deep: Option<DeepPlan>,
    /// Prices of the steps, if they are shown.
    pub prices: Vec<Option<f64>>,
    /// Prices of the moves of the chosen placement with `--pareto`, the cheapest first, if they are shown.
    pub priced_moves: Vec<PricedMove>,
    /// The score that would be reached if no room were kept for further instances; none if none is kept.
    pub without_room: Option<f64>,
    totals: (Mib, Mib),
}

/// A group before its search.
#[derive(Clone)]
pub(super) struct BalanceStart {
    pub scope: BalancedScope,
    pub initial_score: InitialScore,
}

impl BalanceStart {
    /// Computes the score of a group.
    pub(super) fn of(cluster: &Cluster, scope: BalancedScope) -> BalanceStart {
        BalanceStart { initial_score: InitialScore::of(cluster, &scope.nodes), scope }
    }

    /// Figures of a group that is not searched.
    pub(super) fn figures(&self, options: &HbalOptions) -> BalanceFigures<'_> {
        let score = self.initial_score.components.score();
        BalanceFigures {
            group: self.scope.group,
            before: score,
            unavoidable: self.initial_score.unavoidable,
            after: score,
            steps: &[],
            complete: self.is_balanced(options),
            deep: None,
        }
    }

    /// Tells if there is nothing to gain.
    pub(super) fn is_balanced(&self, options: &HbalOptions) -> bool {
        !options.mends() && self.initial_score.is_balanced(options.balance.min_score)
    }
}

/// Balances a group. Prints its state, each step and the outcome.
pub(super) fn balance(
    options: &HbalOptions,
    cluster: &mut Draft,
    start: BalanceStart,
    watch: &BalanceWatch<'_>,
    text: &mut Text<'_>,
) -> anyhow::Result<Balanced> {
    let balanced = begin(options, cluster, start, text)?;
    if balanced.was_searched() { search_group(options, cluster, balanced, watch, text) } else { Ok(balanced) }
}

/// Prints the state of a group. The ending is `Balanced` if there is nothing to gain; otherwise the group has to be
/// searched.
pub(super) fn begin(
    options: &HbalOptions,
    cluster: &Cluster,
    start: BalanceStart,
    text: &mut Text<'_>,
) -> anyhow::Result<Balanced> {
    let level = options.load.verbosity;
    let is_balanced = start.is_balanced(options);
    let BalanceStart { scope, initial_score: InitialScore { components: initial, unavoidable } } = start;
    scope.describe(cluster, options, text)?;
    scope.print_lists("Initial", options, cluster, text.output)?;
    let totals = scope.totals(cluster);
    announce_score(&initial, level, text)?;
    if is_balanced {
        for line in balanced_message(initial.score(), unavoidable, options.balance.min_score) {
            text.line(line)?;
        }
    } else {
        text.line(goal_text(options, cluster)?)?;
    }
    Ok(Balanced {
        ending: if is_balanced { EndingView::Balanced } else { EndingView::NoSolution },
        last: initial.clone(),
        initial,
        unavoidable,
        steps: Vec::new(),
        jobsets: Vec::new(),
        stopped: None,
        deep: None,
        prices: Vec::new(),
        priced_moves: Vec::new(),
        without_room: None,
        totals,
        scope,
    })
}

/// Description of the goal.
fn goal_text(options: &HbalOptions, cluster: &Cluster) -> anyhow::Result<String> {
    let emptied = emptied(options, cluster)?;
    let names: Vec<&str> = emptied.iter().map(|node| cluster.node(*node).spec.alias()).collect();
    Ok(match &names[..] {
        _ if options.repair_only => "Trying to mend what is wrong...".to_owned(),
        [] => "Trying to minimize the CV...".to_owned(),
        names => format!("Trying to empty {}...", names.join(", ")),
    })
}

/// Searches a group that is not balanced.
pub(super) fn search_group(
    options: &HbalOptions,
    cluster: &mut Draft,
    mut balanced: Balanced,
    watch: &BalanceWatch<'_>,
    text: &mut Text<'_>,
) -> anyhow::Result<Balanced> {
    let free = without_room(cluster);
    let Searched { steps, last, stopped, deep, prices } =
        search(options, cluster, &balanced.scope, watch, text)?;
    if let Some(free) = free.filter(|_| stopped.is_none()) {
        balanced.without_room = score_without_room(options, free, &balanced.scope, watch, text)?;
    }
    balanced.last = last;
    balanced.jobsets = jobsets(cluster, &steps);
    balanced.ending = if steps.is_empty() { EndingView::NoSolution } else { EndingView::Improved };
    (balanced.steps, balanced.stopped) = (steps, stopped);
    balanced.deep = deep;
    balanced.prices = prices;
    balanced.priced_moves = balanced.chosen_moves(options, cluster);
    balanced.report(options, cluster, text)?;
    Ok(balanced)
}

/// A copy of the cluster in which no room is kept; none if none is anyway.
fn without_room(cluster: &Cluster) -> Option<Draft> {
    cluster.wanted_room().map(|_| {
        let mut free = cluster.clone();
        free.keep_room(None);
        Draft::from(free)
    })
}

/// The score that the same search reaches where no room is kept; none if it has to end early.
fn score_without_room(
    options: &HbalOptions,
    mut free: Draft,
    scope: &BalancedScope,
    watch: &BalanceWatch<'_>,
    text: &Text<'_>,
) -> anyhow::Result<Option<f64>> {
    let discarded = Recording::shown(false);
    let mut output = discarded.output();
    let mut silent = Text { output: &mut output, json: true, cib: text.cib };
    let watch = BalanceWatch { shown: false, ..*watch };
    let found = search(options, &mut free, scope, &watch, &mut silent)?;
    Ok(Some(found.last.score()).filter(|_| found.stopped.is_none()))
}

impl Balanced {
    /// Figures of a searched group.
    pub(super) fn figures(&self) -> BalanceFigures<'_> {
        BalanceFigures {
            group: self.scope.group,
            before: self.initial.score(),
            unavoidable: self.unavoidable,
            after: self.last.score(),
            steps: &self.steps,
            complete: self.stopped.is_none(),
            deep: self.deep.as_ref(),
        }
    }

    /// Tells if the group had to be searched.
    pub(super) fn was_searched(&self) -> bool {
        self.ending != EndingView::Balanced
    }

    /// Tells if `--repair-only` or `--evacuate` has achieved its goal completely.
    pub(super) fn is_complete(&self) -> bool {
        self.deep.as_ref().is_none_or(DeepPlan::is_complete)
    }

    /// Moves of the chosen placement with their prices, if they are shown with `--pareto`. The cluster is still in
    /// its state before them.
    fn chosen_moves(&self, options: &HbalOptions, cluster: &Cluster) -> Vec<PricedMove> {
        let Some(DeepPlan { found: DeepFound::Best(found), .. }) =
            self.deep.as_ref().filter(|_| options.pareto && options.wants_prices())
        else {
            return Vec::new();
        };
        let placements = &found.best().placements;
        let prices = prices_of_placements(cluster, placements, &options.balance.rules);
        let priced = placements.iter().zip(prices).map(|((instance, to), price)| PricedMove {
            instance: *instance,
            to: *to,
            price,
        });
        let mut moves: Vec<PricedMove> = priced.collect();
        cheapest_first(&mut moves);
        moves
    }

    fn report(&self, options: &HbalOptions, cluster: &Cluster, text: &mut Text<'_>) -> anyhow::Result<()> {
        let level = options.load.verbosity;
        if let Some(DeepPlan { found: DeepFound::Best(found), .. }) =
            self.deep.as_ref().filter(|_| options.pareto)
        {
            deep::pareto(found).iter().try_for_each(|line| text.line(line))?;
            if options.prices && !self.priced_moves.is_empty() {
                text.line("Moves of the chosen placement, the cheapest to leave out first:")?;
                price_table(&self.priced_moves, cluster).iter().try_for_each(|line| text.line(line))?;
            }
            return Ok(());
        }
        let (first, last) = (self.initial.score(), self.last.score());
        let idle = self.steps.is_empty() && options.mends() && self.is_complete();
        if idle {
            text.line("There is nothing to be done")?;
        } else if self.steps.is_empty() {
            text.line("No solution found")?;
        } else if level > 2 {
            text.line(format!("Final coefficients:   overall {}", score(last)))?;
            components(&self.last).iter().try_for_each(|line| text.line(line))?;
        } else {
            // Emptying nodes may worsen the balance.
            let verb = if last > first { "changed" } else { "improved" };
            text.line(format!("Cluster score {verb} from {} to {}", score(first), score(last)))?;
        }
        if level >= 1 {
            text.line(format!("Solution length={}", self.steps.len()))?;
        }
        if let Some(without) = self.without_room.filter(|_| level >= 1) {
            text.line(price_text(last, without))?;
        }
        if let Some(plan) = &self.deep {
            deep::conclusion(plan, cluster).iter().try_for_each(|line| text.line(line))?;
        }
        Ok(())
    }

    /// Prints the group as it is after the last step.
    pub(super) fn show_final(
        &self,
        options: &HbalOptions,
        cluster: &Cluster,
        text: &mut Text<'_>,
    ) -> anyhow::Result<()> {
        self.scope.print_lists("Final", options, cluster, text.output)?;
        if options.load.verbosity > 3 {
            let (before, after) = (self.totals, self.scope.totals(cluster));
            text.line(format!("Original: mem={} disk={}", before.0.0, before.1.0))?;
            text.line(format!("Final:    mem={} disk={}", after.0.0, after.1.0))?;
        }
        Ok(())
    }
}

fn announce_score(initial: &Components, level: i32, text: &mut Text<'_>) -> anyhow::Result<()> {
    if level > 2 {
        text.line(format!("Initial coefficients: overall {}", score(initial.score())))?;
        return components(initial).iter().try_for_each(|line| text.line(line));
    }
    text.line(format!("Initial score: {}", score(initial.score())))
}

fn balanced_message(initial: f64, unavoidable: f64, min_score: f64) -> [String; 4] {
    [
        format!("Cluster is already well balanced (initial score {},", general(initial)),
        format!("optimum score due to N+1 reservations {},", general(unavoidable)),
        format!("minimum score {}).", general(min_score)),
        "Nothing to do, exiting".to_owned(),
    ]
}

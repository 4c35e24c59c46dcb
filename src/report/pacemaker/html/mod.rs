//! The page of `hplace`: nodes, resources with the reasons for their places, actions, and losses of nodes.

mod losses;
mod nodes;

use std::collections::BTreeSet;

use maud::{Markup, html};

use self::losses::survival_answer;
use super::changes::{ResourceAction, primitives, remarks};
use super::survive::SurvivalResult;
use super::text::{action_text, overcommitted};
use super::transition::rows as action_rows;
use super::{first_few, optimum, warnings, why};
use crate::model::number::counted;
use crate::model::shown::shown_name;
use crate::pacemaker::pinning::ForesightError;
use crate::pacemaker::why::PlacementExplainer;
use crate::pacemaker::{AllPlaced, HostIdx, ResourceIdx, Strategy, Transition, WorkingSet};
use crate::report::form::html::commands::NextAction;
use crate::report::form::html::grid::{Grid, GridCell, GridRow};
use crate::report::form::html::words::{lines, unbroken};
use crate::report::form::html::{PageAnswer, ReportPage, Section, class, sign};
use crate::report::form::table::Align;
use crate::report::form::tone::Tone;

/// Largest number of hosts times resources for which each resource shows its reasons on every host.
const EXPLAINED: usize = 2000;

/// A placement, with everything that follows from it.
pub(crate) struct PlacementPage<'a> {
    pub set: &'a WorkingSet,
    pub strategy: Strategy,
    pub placed: &'a AllPlaced,
    pub plan: &'a Transition,
    /// True if the order of the actions is known.
    pub has_order: bool,
    /// Effects of the loss of each host, if they were worked out.
    pub survival: Option<&'a SurvivalResult<'a>>,
    /// True if Pacemaker would not place the resources so by itself.
    pub is_imposed: bool,
}

impl PlacementPage<'_> {
    /// The page.
    ///
    /// # Errors
    /// Those of placing.
    pub(crate) fn page(&self) -> Result<ReportPage, ForesightError> {
        let sections =
            [self.remarks()?, Some(self.resources()?), self.nodes(), self.actions(), self.losses()?];
        let count = |count: usize, noun: &str| counted(count, noun);
        Ok(ReportPage {
            title: "Placement of resources".to_owned(),
            cluster: self.set.name().map(shown_name),
            subject: format!(
                "{} with {}, placed by strategy {}.",
                count(self.set.hosts.len(), "node"),
                count(primitives(self.set).count(), "resource"),
                self.placed.method(self.strategy)
            ),
            answers: self.answers(),
            sections: sections.into_iter().flatten().collect(),
            next: match self.is_imposed && self.changed() > 0 {
                true => NextAction::Place,
                false => NextAction::Nothing,
            },
        })
    }

    fn host(&self, host: HostIdx) -> String {
        shown_name(&self.set.host(host).name)
    }

    fn resource(&self, resource: ResourceIdx) -> String {
        shown_name(&self.set.resource(resource).id)
    }

    fn action(&self, resource: ResourceIdx) -> ResourceAction {
        ResourceAction::of(self.set, &self.plan.changes, resource)
    }

    /// Number of resources that are acted on.
    fn changed(&self) -> usize {
        primitives(self.set).filter(|one| self.action(*one) != ResourceAction::None).count()
    }

    fn answers(&self) -> Vec<PageAnswer> {
        let unplaced: Vec<ResourceIdx> = self.placed.unplaced(self.set).collect();
        let down = self.plan.changes.down(self.set, self.placed).len();
        let names = first_few(unplaced.iter().map(|one| self.resource(*one)));
        let placing = match (unplaced.len(), down) {
            (0, 0) => answer("Does everything have a place?", Tone::Good, "yes".to_owned(), Vec::new()),
            (0, down) => answer(
                "Does everything run?",
                Tone::Bad,
                format!("{} down", counted(down, "resource")),
                vec!["they have a place, but cannot run there".to_owned()],
            ),
            (count, _) => answer(
                "Does everything have a place?",
                Tone::Bad,
                format!("{} without a place", counted(count, "resource")),
                vec![names],
            ),
        };
        [Some(placing), Some(self.change()), self.survival.map(survival_answer)]
            .into_iter()
            .flatten()
            .collect()
    }

    fn change(&self) -> PageAnswer {
        let by = if self.is_imposed { "What changes" } else { "What Pacemaker will do" };
        let actions: Vec<ResourceAction> = primitives(self.set).map(|one| self.action(one)).collect();
        let kinds = [
            (ResourceAction::Start, "start", "starts"),
            (ResourceAction::Stop, "stop", "stops"),
            (ResourceAction::Move, "move with a stop", "moves with a stop"),
            (ResourceAction::Migrate, "live migration", "live migrations"),
            (ResourceAction::Restart, "restart", "restarts"),
            (ResourceAction::Reload, "reload", "reloads"),
            (ResourceAction::Held, "stop that is not possible", "stops that are not possible"),
            (ResourceAction::Blocked, "start that is held back", "starts that are held back"),
        ];
        let details = kinds.iter().filter_map(|(kind, one, more)| {
            match actions.iter().filter(|action| *action == kind).count() {
                0 => None,
                1 => Some(format!("1 {one}")),
                count => Some(format!("{count} {more}")),
            }
        });
        let text = match self.changed() {
            0 => "nothing".to_owned(),
            1 => "1 resource changes".to_owned(),
            count => format!("{count} resources change"),
        };
        answer(by, Tone::Plain, text, details.collect())
    }

    /// Warnings, and the proven properties of the best placement.
    fn remarks(&self) -> Result<Option<Section>, ForesightError> {
        let over = overcommitted(self.set, self.placed);
        let over = (!over.is_empty()).then(|| format!("More is placed there than fits: {}", over.join(", ")));
        let warnings = warnings::texts(self.set, self.placed, self.plan);
        let warned: Vec<String> = over.into_iter().chain(warnings).collect();
        let proved = self.placed.optimum.as_ref().map(|found| optimum::lines(self.set, found));
        let lines: Vec<(Tone, String)> = warned
            .into_iter()
            .map(|line| (Tone::Bad, line))
            .chain(proved.into_iter().flatten().map(|line| (Tone::Plain, line)))
            .collect();
        let body = html! {
            @for (tone, line) in &lines { p class=[class(*tone)] { (sign(*tone)) (unbroken(line)) } }
        };
        Ok(Section::of("remarks", "To be noted", Some(body).filter(|_| !lines.is_empty())))
    }

    fn resources(&self) -> Result<Section, ForesightError> {
        let explainer = PlacementExplainer::of(self.set, self.strategy, self.placed)?;
        let all: Vec<ResourceIdx> = primitives(self.set).collect();
        let is_explained = all.len().saturating_mul(self.set.hosts.len()) <= EXPLAINED;
        let unplaced: BTreeSet<ResourceIdx> = self.placed.unplaced(self.set).collect();
        let mut rows: Vec<(bool, GridRow)> = all
            .iter()
            .map(|one| {
                let action = self.action(*one);
                let is_down = self.set.resource(*one).active.is_none() && action == ResourceAction::None;
                let row = self.resource_row(&explainer, *one, unplaced.contains(one), is_explained);
                (action != ResourceAction::None || is_down, row)
            })
            .collect();
        rows.sort_by_key(|(is_first, _)| !is_first);
        let grid = Grid {
            id: "resource-table",
            caption: "Resources, with the reasons for their places",
            columns: vec![
                ("Resource", Align::Left),
                ("Now on", Align::Left),
                ("Placed on", Align::Left),
                ("What is done", Align::Left),
                ("Why", Align::Left),
            ],
            rows: rows.into_iter().map(|(_, row)| row).collect(),
            noun: Some("resource"),
        };
        let body = html! {
            @if grid.rows.is_empty() { p { "The cluster has no resources." } } @else { (grid.markup()) }
            @if !is_explained {
                p class="note" { code class="once" { "hplace why RESOURCE" } " tells the score on every node." }
            }
        };
        Ok(Section { id: "resources", title: "Resources", body })
    }

    fn resource_row(
        &self,
        explainer: &PlacementExplainer<'_>,
        resource: ResourceIdx,
        is_unplaced: bool,
        is_explained: bool,
    ) -> GridRow {
        let (set, changes) = (self.set, &self.plan.changes);
        let of = set.resource(resource);
        let now: Vec<String> = of.active_hosts().map(|host| self.host(host)).collect();
        let then = changes.get(resource).runs_on().map(|host| self.host(host)).unwrap_or_default();
        let text = action_text(set, changes, resource);
        let (tone, text) = match text.as_str() {
            _ if is_unplaced => (Tone::Bad, "has no place".to_owned()),
            "-" => (Tone::Plain, String::new()),
            _ => (Tone::Plain, text + &remarks(set, changes, resource)),
        };
        let reason = why::in_short(explainer, changes, resource);
        let details = match is_explained {
            true => why::statements(explainer, changes, resource),
            false => Vec::new(),
        };
        GridRow {
            cells: vec![
                GridCell::name(self.resource(resource)),
                GridCell::line(now.join(", ")),
                GridCell::line(then),
                GridCell::of(toned(tone, &text)),
                GridCell::of(explained(&reason, &details)),
            ],
            changes: self.action(resource) != ResourceAction::None,
        }
    }

    /// Actions of the transition.
    fn actions(&self) -> Option<Section> {
        if !self.has_order {
            return None;
        }
        let rows = action_rows(self.set, self.plan).into_iter().map(|row| GridRow {
            cells: vec![
                GridCell::count(row.number.number()),
                GridCell::text(row.what),
                GridCell::of(lines(&row.waits)),
            ],
            changes: false,
        });
        let grid = Grid {
            id: "action-table",
            caption: "Actions, in an order in which they can be executed",
            columns: vec![
                ("Action", Align::Right),
                ("What is done", Align::Left),
                ("Waits for", Align::Left),
            ],
            rows: rows.collect(),
            noun: Some("action"),
        };
        Section::of("actions", "What is done, in order", grid.some())
    }
}

fn answer(question: &'static str, tone: Tone, text: String, details: Vec<String>) -> PageAnswer {
    PageAnswer { question, tone, text, details }
}

/// A reason in a line, with all statements about the resource if there are any.
fn explained(reason: &str, details: &[String]) -> Markup {
    html! {
        (unbroken(reason))
        @if !details.is_empty() {
            details {
                summary { "Score on every node" }
                @for line in details { small class="line" { (unbroken(line.trim())) } }
            }
        }
    }
}

fn toned(tone: Tone, text: &str) -> Markup {
    html! { @if !text.is_empty() { span class=[class(tone)] { (sign(tone)) (unbroken(text)) } } }
}

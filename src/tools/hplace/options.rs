//! What hplace is asked to do.

use anyhow::bail;

use super::affinity;
use crate::pacemaker::optimal::ThenGoal;
use crate::pacemaker::{AllocationScore, PlacementMethod};
use crate::tools::cli::heading::OptionTopic;
use crate::tools::options::affinity::AffinityChoices;
use crate::tools::options::simulation::SimulationChoices;
use crate::tools::options::*;

/// Which cluster is placed, how, and what of it is shown.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct HplaceOptions {
    pub load: LoadOptions,
    pub output: OutputOptions,
    pub execution: ExecutionOptions,
    pub limits: LimitOptions,
    pub cib: CibOptions,
    pub affinity: AffinityChoices,
    /// Comparing strategies with machines that come and go.
    pub simulation: SimulationChoices,
    pub command: PlacementCommand,
    pub forms: PlacementForms,
    /// None: the cluster's own.
    pub method: Option<PlacementMethod>,
    /// What decides last between the best placements; none: what goes with the cluster's strategy.
    pub then: Option<ThenGoal>,
    /// The most running resources that may be moved.
    pub max_moves: Option<usize>,
    /// How many changes are tried; none: the usual number.
    pub steps: Option<u64>,
    /// What it is worth to a Ganeti instance to stay where it is; none: 1.
    pub stickiness: Option<AllocationScore>,
    /// When the cluster is looked at; none: when its document says, or now.
    pub now: Option<jiff::Timestamp>,
    /// `--nodes`: how many are lost at once; none: 1.
    pub lost: Option<usize>,
    /// From which priority on it counts that a resource stays down; none: 1, or 0 where no resource has one.
    pub least_priority: Option<i64>,
    /// How many losses are shown; none: 10.
    pub top: Option<usize>,
    /// How many nodes more resources are to survive the loss of.
    pub survive: usize,
    /// Whether constraints are taken away once the resources are where they should be.
    pub no_keep: bool,
    /// Whether what hplace has changed is taken back.
    pub undo: bool,
    /// How long the cluster may take, in seconds; none: ten minutes.
    pub wait_limit: Option<u64>,
}

impl ToolOptions for HplaceOptions {
    fn keep(&mut self, typed: Vec<TypedOption>) {
        self.output.typed = typed;
    }

    fn command<'w>(&self, word: &'w str) -> &'w str {
        match self.method {
            _ if !word.is_empty() => word,
            _ if affinity::is_asked(self) => "affinity",
            Some(PlacementMethod::Optimal) => "optimal",
            _ => word,
        }
    }

    fn sources(&mut self) -> Vec<&mut SourceOptions> {
        vec![&mut self.load.source]
    }
}

impl OptionTopic for HplaceOptions {}

parts!(HplaceOptions {
    load: LoadOptions,
    output: OutputOptions,
    execution: ExecutionOptions,
    limits: LimitOptions,
    cib: CibOptions,
    affinity: AffinityChoices,
    simulation: SimulationChoices,
    forms: PlacementForms
});

/// In which forms a placement is shown, and what is shown with it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct PlacementForms {
    pub reasons: bool,
    pub crm_simulate_format: bool,
    pub show_normalized: bool,
    /// What is done, and what waits for what, as text.
    pub transition: bool,
    /// The same for Graphviz.
    pub dot: bool,
    /// The same in Pacemaker's XML.
    pub transition_xml: bool,
}

/// What `hplace` is asked.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) enum PlacementCommand {
    /// Where the resources go.
    #[default]
    Place,
    /// Why some of them do.
    Why(Vec<String>),
    /// What the loss of nodes means.
    Survive,
    /// How many more of a size fit: its words.
    Fit(Vec<String>),
    /// What putting a node in standby does.
    Evacuate(String),
    /// What is very likely not meant.
    Lint,
    /// What the strategies come to with machines that come and go.
    Simulate,
}

/// Options for forms in which nothing but a placement can be shown, each printed alone.
pub(super) const ALONE: [&str; 5] =
    ["crm-simulate-format", "show-normalized", "transition-dot", "transition-xml", "commands"];
/// The same of forms that go with others.
const BESIDE: [&str; 2] = ["transition", "with-reasons"];

impl HplaceOptions {
    /// Places by the strategy of this name.
    pub(super) fn place_by(&mut self, strategy: &str) {
        self.method = strategy.parse().ok();
        self.affinity.asked = self.method.is_none();
    }

    /// Refuses the forms of a placement where `what` is shown, but for those of some options.
    pub(super) fn no_forms_but(&self, known: &[&str], what: &str) -> anyhow::Result<()> {
        let forms = ALONE.into_iter().chain(BESIDE).filter(|form| !known.contains(form));
        self.output.refuse(&forms.collect::<Vec<_>>(), &format!("to {what}"))
    }

    /// Some forms are printed alone.
    pub(super) fn only_one_form(&self) -> anyhow::Result<()> {
        let is_given = |form: &&str| self.output.has(form);
        let forms = ALONE.into_iter().chain(["json"]).chain(BESIDE).filter(is_given);
        let mut given = forms.map(|form| format!("--{form}"));
        if let (true, Some(one), Some(other)) = (ALONE.iter().any(is_given), given.next(), given.next()) {
            bail!("only one of {one} and {other} can be given");
        }
        Ok(())
    }
}

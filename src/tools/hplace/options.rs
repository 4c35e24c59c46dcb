//! The options and commands of hplace.

use anyhow::bail;

use super::affinity;
use crate::pacemaker::cib::change::ChangedTicket;
use crate::pacemaker::measured::MeasuredAttribute;
use crate::pacemaker::optimal::ThenGoal;
use crate::pacemaker::{AllocationScore, PlacementMethod, Release};
use crate::tools::cli::heading::OptionTopic;
use crate::tools::options::affinity::AffinityChoices;
use crate::tools::options::simulation::SimulationChoices;
use crate::tools::options::*;

#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct HplaceOptions {
    pub load: LoadOptions,
    pub output: OutputOptions,
    pub execution: ExecutionOptions,
    pub limits: LimitOptions,
    pub cib: CibOptions,
    pub affinity: AffinityChoices,
    /// Options of `hplace simulate`.
    pub simulation: SimulationChoices,
    pub command: PlacementCommand,
    pub forms: PlacementForms,
    /// None: the cluster's own strategy.
    pub method: Option<PlacementMethod>,
    /// Tie-breaker between the best placements; none: minimal if that is the cluster's strategy, else balanced.
    pub tie_breaker: Option<ThenGoal>,
    /// Maximum number of running resources that leave a node on which they could stay.
    pub max_moves: Option<usize>,
    /// `--effort`: number of changes that the search tries; none: 10 million.
    pub steps: Option<u64>,
    /// Score of a Ganeti instance for staying on its node; none: 1.
    pub stickiness: Option<AllocationScore>,
    /// Time as of which the cluster is read; none: the time in its document, or else the present.
    pub now: Option<jiff::Timestamp>,
    /// Tickets in another state than in the document.
    pub tickets: Vec<ChangedTicket>,
    /// `--measured`: utilization attributes that count as measured.
    pub measured: Vec<MeasuredAttribute>,
    /// The release of Pacemaker that is played; none: that of the document.
    pub release: Option<Release>,
    /// `--nodes`: number of nodes lost at once, 1 or 2; none: 1.
    pub nodes_lost: Option<usize>,
    /// Lowest priority at which a resource that stays down counts; none: 1, or 0 if no priority is above 0.
    pub least_priority: Option<i64>,
    /// Number of losses shown, the worst first; none: 10.
    pub top: Option<usize>,
    /// `--keep-reserve`: number of nodes, 0 to 2, for whose loss `hplace fit` keeps room.
    pub kept_reserve: usize,
    /// Remove the constraints once the resources are in place.
    pub no_keep: bool,
    /// Undo earlier changes by hplace.
    pub undo: bool,
    /// Maximum time until the cluster is at rest, in seconds; none: 600.
    pub wait_limit: Option<u64>,
}

impl ToolOptions for HplaceOptions {
    fn keep(&mut self, typed: Vec<TypedOption>) {
        self.output.typed = typed;
    }

    fn threads(&self) -> Option<usize> {
        self.output.threads
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

/// Output forms of a placement, and additions to them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct PlacementForms {
    pub reasons: bool,
    pub crm_simulate_format: bool,
    pub show_normalized: bool,
    /// The actions and their dependencies, as text.
    pub transition: bool,
    /// The same for Graphviz.
    pub dot: bool,
    /// The same in Pacemaker's XML.
    pub transition_xml: bool,
}

/// A command of hplace.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) enum PlacementCommand {
    /// Place all resources. This is also the command of `optimal`, of `affinity` and without a first word.
    #[default]
    Place,
    /// Explain the places of these resources.
    Why(Vec<String>),
    /// Try the loss of nodes.
    Survive,
    /// Count the further resources that fit; the words give their size.
    Fit(Vec<String>),
    /// Put this node in standby, or show the effects.
    Evacuate(String),
    /// Find likely mistakes in the configuration.
    Lint,
    /// Compare strategies while machines come and go.
    Simulate,
}

/// Options for output forms of a placement that are printed alone.
pub(super) const ALONE: [&str; 5] =
    ["crm-simulate-format", "show-normalized", "transition-dot", "transition-xml", "commands"];
/// Options for additions to the output of a placement, which can be combined.
const BESIDE: [&str; 2] = ["transition", "with-reasons"];

impl HplaceOptions {
    /// Places by the strategy of this name.
    pub(super) fn place_by(&mut self, strategy: &str) {
        self.method = strategy.parse().ok();
        self.affinity.asked = self.method.is_none();
    }

    /// Refuses the output forms of a placement except `known`; `what` names the output that does not have them.
    pub(super) fn refuse_forms_except(&self, known: &[&str], what: &str) -> anyhow::Result<()> {
        let forms = ALONE.into_iter().chain(BESIDE).filter(|form| !known.contains(form));
        self.output.refuse(&forms.collect::<Vec<_>>(), &format!("does not apply to {what}"))
    }

    /// Refuses other output forms beside one that is printed alone.
    pub(super) fn only_one_form(&self) -> anyhow::Result<()> {
        let is_given = |form: &&str| self.output.has(form);
        let forms = ALONE.into_iter().chain(["json"]).chain(BESIDE).filter(is_given);
        let mut given = forms.map(|form| format!("--{form}"));
        if let (true, Some(one), Some(other)) = (ALONE.iter().any(is_given), given.next(), given.next()) {
            bail!("options {one} and {other} exclude each other");
        }
        Ok(())
    }
}

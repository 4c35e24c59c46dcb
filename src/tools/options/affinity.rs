//! The options of placement by affinity keys.

use std::path::PathBuf;

use crate::affinity::{AffinityOptions, MachineOrder};
use crate::model::Mib;
use crate::tools::cli::OptionDef;
use crate::tools::cli::option::ArgumentKind::{Choices, File, Float, Integer};

use super::{count, some};

/// Options of placement by affinity keys; `None` stands for the value in the document.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct AffinityChoices {
    /// `--strategy affinity`.
    pub asked: bool,
    /// `-j`; `-` is standard input.
    pub file: Option<PathBuf>,
    /// None: the order of the document.
    pub order: Option<MachineOrder>,
    /// True: choose at random between equally good nodes. False or none: the smallest name wins.
    pub random_tie: Option<bool>,
    pub seed: Option<u64>,
    pub zero_disables: bool,
    pub verify: bool,
    pub overhead: Option<Mib>,
    pub initial_msav: Option<f64>,
    pub final_msav: Option<f64>,
    pub msav_steps: Option<u32>,
    /// None: 1.
    pub ram_ratio: Option<f64>,
    /// Plan the moves of misplaced instances.
    pub plan: bool,
}

impl AffinityChoices {
    /// The options of a document, overridden by these.
    ///
    /// # Errors
    /// Fails if options conflict.
    pub(crate) fn over(&self, said: &AffinityOptions) -> Result<AffinityOptions, String> {
        let options = AffinityOptions {
            initial_msav: self.initial_msav.unwrap_or(said.initial_msav),
            final_msav: self.final_msav.unwrap_or(said.final_msav),
            msav_steps: self.msav_steps.unwrap_or(said.msav_steps),
            overhead: self.overhead.unwrap_or(said.overhead),
            zero_disables: self.zero_disables,
            tie_seed: self.seed.filter(|_| self.random_tie == Some(true)),
        };
        options.check()?;
        match (self.random_tie == Some(true), self.seed) {
            (true, None) => Err("--tie random needs --seed N, so that a run can be repeated".to_owned()),
            (false, Some(_)) => Err("option --seed needs --tie random".to_owned()),
            _ => Ok(options),
        }
    }

    /// The first given option that makes sense only for placement by keys.
    pub(crate) fn first_given(&self) -> Option<&'static str> {
        let given = [
            (self.order.is_some(), "--order"),
            (self.random_tie.is_some(), "--tie"),
            (self.seed.is_some(), "--seed"),
            (self.zero_disables, "--zero-weight-disables"),
            (self.verify, "--verify"),
            (self.overhead.is_some(), "--overhead"),
            (self.initial_msav.is_some(), "--initial-msav"),
            (self.final_msav.is_some(), "--final-msav"),
            (self.msav_steps.is_some(), "--msav-steps"),
            (self.ram_ratio.is_some(), "--ram-ratio"),
            (self.plan, "--plan"),
        ];
        given.into_iter().find(|(given, _)| *given).map(|(_, name)| name)
    }
}

type AffinityDef = OptionDef<AffinityChoices>;

/// Maximum of `--ram-ratio`.
const MOST_PROMISED: f64 = 1000.0;

pub(crate) const FLEET_FILE: AffinityDef =
    AffinityDef::addition("fleet", "take nodes and machines from this JSON document")
        .more("The document is of the form htools.fleet/1; - is standard input.")
        .common()
        .short('j')
        .takes("FILE", File, |o, g| g.path().map(|path| o.file = path));
pub(crate) const AFFINITY: AffinityDef =
    AffinityDef::added_flag("affinity", "choose primary nodes of new instances by affinity keys", |o| {
        o.asked = true
    })
    .more("Keys are in tags that begin with htools:key:. Secondary nodes are chosen as usual.");
pub(crate) const ORDER: AffinityDef =
    AffinityDef::new("order", "order in which machines are placed; ram: largest memory first")
        .otherwise("document")
        .takes("WORD", Choices(&["document", "ram"]), |o, g| {
            g.choice().map(|word| {
                let by_ram = word == "ram";
                o.order = Some(if by_ram { MachineOrder::Ram } else { MachineOrder::Document });
            })
        })
        .added();
pub(crate) const TIE: AffinityDef =
    AffinityDef::addition("tie", "choice between equally good nodes: smallest name, or random")
        .otherwise("name")
        .takes("WORD", Choices(&["name", "random"]), |o, g| {
            g.choice().map(|word| o.random_tie = Some(word == "random"))
        });
pub(crate) const SEED: AffinityDef =
    AffinityDef::addition("seed", "seed of the random choices, with --tie random")
        .more("The same number gives the same nodes.")
        .takes("N", Integer, |o, g| count(g).map(|seed| o.seed = Some(seed)));
pub(crate) const ZERO_WEIGHT_DISABLES: AffinityDef = AffinityDef::added_flag(
    "zero-weight-disables",
    "let a key of weight 0 hide the same key of the levels above",
    |o| o.zero_disables = true,
);
pub(crate) const VERIFY: AffinityDef =
    AffinityDef::added_flag("verify", "list running machines that would be started elsewhere today", |o| {
        o.verify = true
    })
    .more("What moving them would gain is told, too.");
pub(crate) const PLAN: AffinityDef =
    AffinityDef::added_flag("plan", "plan the moves to where instances would be started today", |o| {
        (o.verify, o.plan) = (true, true)
    })
    .more("For Ganeti clusters. It implies --verify. With --save-plan, htools apply carries the plan out.");
pub(crate) const OVERHEAD: AffinityDef =
    AffinityDef::new("overhead", "MiB that a machine needs beyond its memory")
        .otherwise("1024")
        .takes("MIB", Integer, |o, g| {
            let most = i64::from(u32::MAX);
            let mib = g.int().ok().filter(|mib| (0..=most).contains(mib));
            o.overhead = Some(Mib(mib.ok_or_else(|| g.out_of_range("between 0 and 4294967295"))?));
            Ok(())
        })
        .added();
pub(crate) const RAM_RATIO: AffinityDef =
    AffinityDef::new("ram-ratio", "memory that may be promised per memory of a node, on Ganeti")
        .otherwise("1")
        .takes("X", Float, |o, g| {
            let ratio = g.float()?;
            if !(0.0..=MOST_PROMISED).contains(&ratio) {
                return Err(g.out_of_range("between 0 and 1000"));
            }
            o.ram_ratio = Some(ratio);
            Ok(())
        })
        .added();
pub(crate) const INITIAL_MSAV: AffinityDef = AffinityDef::addition(
    "initial-msav",
    "threshold of the first round",
)
.otherwise("80")
.takes("X", Float, |o, g| g.float().map(|x| o.initial_msav = Some(x)));
pub(crate) const FINAL_MSAV: AffinityDef = AffinityDef::addition("final-msav", "threshold of the last round")
    .otherwise("-10")
    .takes("X", Float, |o, g| g.float().map(|x| o.final_msav = Some(x)));
pub(crate) const MSAV_STEPS: AffinityDef =
    AffinityDef::addition("msav-steps", "number of rounds").otherwise("10").takes("N", Integer, |o, g| {
        some(g).map(|steps| o.msav_steps = Some(u32::try_from(steps).unwrap_or(u32::MAX)))
    });
/// Thresholds of the rounds.
pub(crate) const ROUNDS: [AffinityDef; 3] = [INITIAL_MSAV, FINAL_MSAV, MSAV_STEPS];

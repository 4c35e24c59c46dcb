//! The options of hplace.

use super::commands::*;
use super::options::HplaceOptions;
use crate::pacemaker::cib::change::{ChangedTicket, TicketChange};
use crate::pacemaker::cib::parse_date;
use crate::pacemaker::optimal::ThenGoal;
use crate::pacemaker::{AllocationScore, Release};
use crate::tools::cli::option::ArgumentKind::{Choices, Integer, Text};
use crate::tools::cli::{Given, Heading, OperandWords, OptionDef, Spec, ValueError, example};
use crate::tools::options::affinity::*;
use crate::tools::options::catalogue::*;
use crate::tools::options::measured::*;
use crate::tools::options::pace::{PRINT_PLAN, SAVE_PLAN};
use crate::tools::options::simulation::*;
use crate::tools::options::{count, some};

/// Name, purpose and options.
pub(crate) const SPEC: Spec<HplaceOptions> = Spec {
    name: "hplace",
    summary: "show where Pacemaker places the resources of a cluster, and why",
    forms: &["[OPTION...]", "COMMAND [OPTION...]"],
    examples: &[
        example("hplace --live", "show where this cluster's resources go"),
        example("hplace why --live db", "explain the place of the resource db"),
        example("hplace survive --live", "try the loss of every node"),
    ],
    options: &[
        &XML_FILE.only(PACEMAKER).under(Heading::Cluster),
        &LIVE.only(PACEMAKER).under(Heading::Cluster),
        &[TEXT_DATA.only(GANETI), MASTER.only(GANETI).rare()],
        &[RAPI_CREDENTIALS.only(GANETI), RAPI_CACERT.only(GANETI), INSECURE_HTTP.only(GANETI)],
        &[LUXI.only(GANETI).rare(), IALLOC_SRC.only(GANETI)],
        &[OFFLINE.only(GANETI).rare(), EXCLUSION_TAGS.only(GANETI)],
        &HplaceDef::new("stickiness", "worth of staying for a Ganeti instance; 0: place all anew")
            .otherwise("1")
            .under(Heading::Limits)
            .takes("N", Integer, |o, g| stickiness(g).map(|worth| o.stickiness = Some(worth)))
            .added()
            .only(STAYING),
        &HplaceDef::new("strategy", "place by this strategy, whatever the CIB says")
            .more("optimal and affinity are as the commands of these names.")
            .common()
            .takes("WORD", Choices(STRATEGIES), |o, g| g.choice().map(|word| o.place_by(word)))
            .added()
            .only(ANY_STRATEGY),
        &[FLEET_FILE.only(PLACING_BY_KEYS), ORDER.only(KEYS), TIE.only(PLACING_BY_KEYS)],
        &SEED
            .says("seed of the random choices: --tie random, --poisson")
            .more("The same number draws the same.")
            .otherwise("0 with --poisson")
            .only(PLACING_BY_KEYS),
        &ZERO_WEIGHT_DISABLES.only(PLACING_BY_KEYS),
        &[VERIFY.common().only(KEYS), PLAN.common().only(KEYS)],
        &PRINT_PLAN
            .says("show the moves of --plan in this form")
            .more("json, dot and svg, a time table, are all that is printed then.")
            .otherwise("text")
            .only(KEYS),
        &SAVE_PLAN.says("write the plan to FILE, for htools apply").more("With --plan.").only(KEYS),
        &[OVERHEAD.only(PLACING_BY_KEYS), RAM_RATIO.only(PLACING_BY_KEYS)],
        &DYNU_FILE.only(KEYS),
        &[INITIAL_MSAV.only(PLACING_BY_KEYS), FINAL_MSAV.only(PLACING_BY_KEYS)],
        &MSAV_STEPS.only(PLACING_BY_KEYS),
        &HplaceDef::addition("then", "prefer even use, or the fewest nodes, among the best")
            .otherwise("minimal where the CIB says so, else balanced")
            .common()
            .takes("WORD", Choices(ThenGoal::WORDS), |o, g| g.choice().map(|word| o.tie_breaker = word.parse().ok()))
            .only(SEARCHING),
        &HplaceDef::addition("max-moves", "let at most N running resources leave their node")
            .more("Those do not count that cannot stay where they are.")
            .under(Heading::Limits)
            .common()
            .takes("N", Integer, |o, g| {
                count(g).map(|most| o.max_moves = Some(usize::try_from(most).unwrap_or(usize::MAX)))
            })
            .only(SEARCHING),
        &HplaceDef::addition("effort", "try at most N changes")
            .formerly("steps")
            .otherwise("10000000")
            .under(Heading::Limits)
            .takes("N", Integer, |o, g| count(g).map(|steps| o.steps = Some(steps)))
            .only(SEARCHING),
        &TIME_LIMIT.only(SEARCHING),
        &SKIP_UNSUPPORTED.only(PACEMAKER),
        &HplaceDef::new("now", "look at the Pacemaker cluster as it is at DATE")
            .more(
                "DATE is such as '2026-11-25 18:30'. Dates in rules, and the times after which failures are \
                 forgotten, go by it.",
            )
            .under(Heading::Pacemaker)
            .takes("DATE", Text, |o, g| {
                let now = parse_date(g.text()?);
                o.now = Some(now.ok_or_else(|| g.out_of_range("a date such as 2026-11-25 18:30"))?);
                Ok(())
            })
            .added()
            .only(PACEMAKER),
        &HplaceDef::new("pacemaker-version", "play this version: 2.1.5, 3.0.0, 3.0.2, or 3.0 for the newest")
            .more("2.1.5 stands for all older ones. 3.0.2 restarts containers that older versions started.")
            .otherwise("by the crm_feature_set of the CIB")
            .under(Heading::Pacemaker)
            .takes("VERSION", Choices(Release::CHOICES), |o, g| g.choice().map(|word| o.release = Release::chosen(word)))
            .added()
            .only(PACEMAKER),
        &HplaceDef::addition("grant", "look at the Pacemaker cluster with this ticket granted")
            .more("Without it, nothing that needs the ticket runs. The option can be repeated.")
            .under(Heading::Pacemaker)
            .takes("TICKET", Text, |o, g| ticket(o, g, TicketChange::Grant))
            .only(TICKETS),
        &HplaceDef::addition("revoke", "look at the cluster without this ticket")
            .more("The loss-policy of each constraint about it then counts.")
            .under(Heading::Pacemaker)
            .takes("TICKET", Text, |o, g| ticket(o, g, TicketChange::Revoke))
            .only(TICKETS),
        &HplaceDef::addition("ticket-standby", "look at the cluster with this ticket in standby")
            .more("Resources that need the ticket then stop, whatever the loss-policy.")
            .under(Heading::Pacemaker)
            .takes("TICKET", Text, |o, g| ticket(o, g, TicketChange::Standby))
            .only(TICKETS),
        &HplaceDef::addition("ticket-activate", "look at the cluster with this ticket out of standby")
            .under(Heading::Pacemaker)
            .takes("TICKET", Text, |o, g| ticket(o, g, TicketChange::Activate))
            .only(TICKETS),
        &HplaceDef::addition("measured", "count a utilization attribute as measured, by --load-from")
            .more(
                "The value is ATTRIBUTE=RESOURCE[/UNIT]. RESOURCE is cpu, memory, disk or network. UNIT is a number, \
                 or kB, MB, GB, TB, KiB, MiB, GiB or TiB, with or without a number before it; memory is in MiB \
                 without UNIT. The amount is rounded up, and never below the configured one. The answer is as if these \
                 amounts were in the CIB. The option can be repeated.",
            )
            .under(Heading::Pacemaker)
            .takes("MEASURE", Text, measured)
            .only(MEASURING),
        &LOAD_FROM.says("take measured load from Prometheus, for --measured").more(
            "SOURCE is prometheus:URL. The load of each primitive is a quantile of its values in a window of time.",
        ).under(Heading::Pacemaker).only(MEASURING),
        &[
            LOAD_PRESET.under(Heading::Pacemaker).only(MEASURING),
            LOAD_QUERY.under(Heading::Pacemaker).only(MEASURING),
            LOAD_LABEL.says("find the primitive's id, or its domain, in this label").otherwise("that of the preset").under(Heading::Pacemaker).only(MEASURING),
            LOAD_PATTERN.under(Heading::Pacemaker).only(MEASURING),
            LOAD_WINDOW.under(Heading::Pacemaker).only(MEASURING),
            LOAD_QUANTILE.under(Heading::Pacemaker).only(MEASURING),
            LOAD_MISSING
                .says("choose the load of running primitives without measurements")
                .more("median is that of the measured ones with the attribute.")
                .under(Heading::Pacemaker).only(MEASURING),
            LOAD_CREDENTIALS.under(Heading::Pacemaker).only(MEASURING),
            LOAD_CACERT.under(Heading::Pacemaker).only(MEASURING),
        ],
        &HplaceDef::added_flag("with-reasons", "say why each resource is where it is", |o| {
            o.forms.reasons = true
        })
        .formerly("explain")
        .under(Heading::Output)
        .common()
        .only(EXPLAINING),
        &HplaceDef::added_flag(
            "crm-simulate-format",
            "print scores and capacities as crm_simulate -s -U does",
            |o| o.forms.crm_simulate_format = true,
        )
        .under(Heading::Output)
        .only(PLACING_ITSELF),
        &HplaceDef::added_flag("show-normalized", "print what the cluster comes to, as JSON", |o| {
            o.forms.show_normalized = true
        })
        .more("That is primitives, scores, colocations and orders.")
        .under(Heading::Output)
        .only(PLACING),
        &HplaceDef::added_flag("transition", "show the actions, and what waits for what", |o| {
            o.forms.transition = true
        })
        .under(Heading::Output)
        .common()
        .only(ACTING),
        &HplaceDef::added_flag("transition-dot", "print only the graph of actions, for Graphviz", |o| {
            o.forms.dot = true
        })
        .formerly("dot")
        .more("It is as crm_simulate -D draws it.")
        .under(Heading::Output)
        .only(PLACING),
        &HplaceDef::added_flag(
            "transition-xml",
            "print only the graph of actions, in Pacemaker's XML",
            |o| o.forms.transition_xml = true,
        )
        .more("It is as crm_simulate -G writes it.")
        .under(Heading::Output)
        .only(PLACING),
        &HplaceDef::addition("nodes", "lose N nodes at once, 1 or 2")
            .otherwise("1")
            .common()
            .takes("N", Integer, |o, g| one_or_two(g).map(|nodes| o.nodes_lost = Some(nodes)))
            .only(SURVIVE),
        &HplaceDef::addition("min-priority", "count resources of priority N or more that stay down")
            .formerly("priority")
            .more("The exit status is 2 if there are any.")
            .otherwise("1, or 0 where no resource has one")
            .takes("N", Integer, |o, g| g.int().map(|least| o.least_priority = Some(least)))
            .only(SURVIVE),
        &HplaceDef::addition("top", "show the N worst losses")
            .otherwise("10")
            .under(Heading::Output)
            .common()
            .takes("N", Integer, |o, g| some(g).map(|most| o.top = Some(most)))
            .only(SURVIVE),
        &HplaceDef::addition("keep-reserve", "keep room for the loss of any N nodes, 1 or 2")
            .formerly("survive")
            .common()
            .takes("N", Integer, |o, g| one_or_two(g).map(|nodes| o.kept_reserve = nodes))
            .only(FIT),
        &[ARRIVALS, POISSON, LIFETIME, DAYS, NIGHTLY, SVG_FILE],
        &COMMANDS_FORM
            .says("print the commands that bring Pacemaker there")
            .more(
                "They are for cibadmin (cib), pcs, crmsh or crm_resource. Pacemaker comes to this placement by \
                 its own strategy then. The last lines tell how it is taken back.",
            )
            .under(Heading::Execution)
            .common()
            .only(COMMANDING),
        &EXEC
            .says("have Pacemaker do it, and compare the result")
            .more("It sets location constraints, or the node's standby, and waits. It needs --live.")
            .added()
            .only(CHANGING),
        &HplaceDef::added_flag("no-keep", "remove the constraints at the end, with --exec", |o| {
            o.no_keep = true
        })
        .more("It is refused where the resources would not stay there.")
        .under(Heading::Execution)
        .only(PLACING),
        &HplaceDef::added_flag("undo", "take back what hplace has set", |o| o.undo = true)
            .more(
                "All constraints that hplace has set are removed; after evacuate, the node comes out of standby \
                 instead. Without --exec it shows what would follow.",
            )
            .under(Heading::Execution)
            .common()
            .only(UNDOING),
        &HplaceDef::addition("wait-limit", "wait at most N seconds for the cluster, with --exec")
            .otherwise("600")
            .under(Heading::Execution)
            .takes("N", Integer, |o, g| some(g).map(|seconds| o.wait_limit = Some(seconds as u64)))
            .only(CHANGING),
        &[YES.only(CHANGING), JOURNAL.only(CHANGING), RESUME.only(CHANGING)],
        &JSON,
        &REPORT
            .says("write the placement to FILE as a page for browsers")
            .more("The page has the reason of each place, nodes before and after, and the loss of each node.")
            .only(PLACING),
        &[VERBOSE, QUIET],
        &THREADS,
        &LAST,
    ],
    words: &[
        OperandWords { name: "COMMAND", kind: Choices(WORDS), min: 0, max: Some(1) },
        OperandWords { name: "RESOURCE", kind: Text, min: 0, max: None },
    ],
    commands: COMMANDS,
    ..Spec::PLAIN
};

type HplaceDef = OptionDef<HplaceOptions>;

/// Names of the strategies: those of [`PlacementMethod`](crate::pacemaker::PlacementMethod), and `affinity`.
pub(super) const STRATEGIES: &[&str] =
    &["default", "utilization", "balanced", "minimal", "optimal", "affinity"];

fn stickiness(given: &Given) -> Result<AllocationScore, ValueError> {
    let worth = given.int().ok().filter(|worth| *worth >= 0);
    Ok(AllocationScore::of(worth.ok_or_else(|| given.out_of_range("at least 0"))?))
}

fn measured(options: &mut HplaceOptions, given: &Given) -> Result<(), ValueError> {
    let measured = given.text()?.parse();
    options.measured.push(measured.map_err(|_| {
        given.out_of_range("ATTRIBUTE=RESOURCE[/UNIT], such as cpu=cpu or hv_memory=memory/MiB")
    })?);
    Ok(())
}

fn ticket(options: &mut HplaceOptions, given: &Given, change: TicketChange) -> Result<(), ValueError> {
    given.string().map(|ticket| options.tickets.push(ChangedTicket { ticket, change }))
}

fn one_or_two(given: &Given) -> Result<usize, ValueError> {
    match given.int()? {
        1 => Ok(1),
        2 => Ok(2),
        _ => Err(given.out_of_range("1 or 2")),
    }
}

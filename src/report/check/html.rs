//! The page of `hcheck`.

use maud::html;

use super::loss::refusals;
use super::problem_rows::LeftProblems;
use super::problems::{tag_text, unmet_reason};
use super::{CheckResult, CheckStage, problem_rows as problems};
use crate::affinity::UnmetKey;
use crate::model::number::{counted, fixed};
use crate::model::{Cluster, Draft, InstanceIdx, Step};
use crate::report::balance::plan::steps::{PlannedMove, StepRows};
use crate::report::cluster::nodes::html::NodeRows;
use crate::report::form::amount::amount;
use crate::report::form::html::commands::NextAction;
use crate::report::form::html::grid::{Grid, GridCell, GridRow};
use crate::report::form::html::words::unbroken;
use crate::report::form::html::{PageAnswer, ReportPage, Section, class, sign, size};
use crate::report::form::table::Align;
use crate::report::form::tone::{Tone, of_change};
use crate::report::why::words::obstacle_text;
use crate::search::health::{GroupHealth, Loss};

/// Problems now, and problems that balancing would fix.
pub(crate) fn check(found: &CheckResult, cluster: &Cluster) -> ReportPage {
    let nodes = cluster.all_nodes();
    let mut answers = vec![problems::answer("What is wrong", found.initial.counts)];
    answers.extend(found.rebalanced.as_ref().map(|_| mending(found)));
    answers.extend(
        found.rebalanced.as_ref().map(|after| problems::answer("What balancing would leave", after.counts)),
    );
    let before = problems::list(&found.initial.groups, cluster, CheckStage::Initially);
    let after = found.rebalanced.as_ref();
    let after = after.map(|after| LeftProblems {
        problems: problems::list(&after.groups, cluster, CheckStage::Rebalanced),
        fixer: "balancing",
    });
    let outcome = match (found.without_simulation, found.initial.needs_rebalance(), found.leaves_problems()) {
        (true, ..) => "Balancing was not simulated.",
        (_, false, _) => "Nothing is wrong.",
        (_, _, false) => "Balancing would fix all problems.",
        (_, _, true) => "Balancing would not fix all problems.",
    };
    let sections = [
        problems::section(cluster, before, after),
        groups(found, cluster),
        balancing(found, cluster),
        NodeRows { before: cluster, after: None, nodes: &nodes }.section(),
        idle_tags(found),
        unmet_keys(found),
    ];
    ReportPage {
        title: "Health of the cluster".to_owned(),
        cluster: cluster.name.clone(),
        subject: format!("{} {outcome}", size(cluster, &nodes)),
        answers,
        sections: sections.into_iter().flatten().collect(),
        next: match found.steps.iter().any(|steps| !steps.is_empty()) {
            true => NextAction::Balance,
            false => NextAction::Nothing,
        },
    }
}

/// The steps of balancing, group after group.
fn balancing(found: &CheckResult, cluster: &Cluster) -> Option<Section> {
    let steps: Vec<Step> = found.steps.concat();
    let moves = PlannedMove::all(&mut Draft::of(cluster), &steps, &[]);
    let section = StepRows { cluster, moves: &moves, table: None, phases: &[] }.section()?;
    Some(Section { title: "The steps of balancing", ..section })
}

fn mending(found: &CheckResult) -> PageAnswer {
    let steps: usize = found.step_counts().iter().sum();
    let sum = |groups: &[GroupHealth]| groups.iter().map(|group| group.score).sum::<f64>();
    let (before, after) = (sum(&found.initial.groups), sum(&found.last().groups));
    let stopped = found.stopped.map(|stopped| format!("{} ended the simulation", stopped.subject()));
    PageAnswer {
        question: "What balancing would do",
        tone: of_change(before, after),
        text: counted(steps, "step"),
        details: [format!("scores of groups, added up: {} → {}", fixed(before, 2), fixed(after, 2))]
            .into_iter()
            .chain(stopped)
            .collect(),
    }
}

/// The groups with their scores, now and after balancing.
fn groups(found: &CheckResult, cluster: &Cluster) -> Option<Section> {
    let row = |(at, group): (usize, &GroupHealth)| {
        let after = found.rebalanced.as_ref().map(|after| &after.groups[at]);
        let wrong = |group: &GroupHealth| {
            let answer = problems::answer("", group.counts());
            html! {
                span class=[class(answer.tone)] { (sign(answer.tone)) (answer.text) }
                @for detail in &answer.details { small class="line" { (detail) } }
            }
        };
        let mut cells = vec![GridCell::text(&cluster.group(group.group).name), GridCell::of(wrong(group))];
        cells.extend(after.map(|after| GridCell::of(wrong(after))));
        cells.push(GridCell::number(fixed(group.score, 4), group.score));
        cells.extend(after.map(|after| GridCell::number(fixed(after.score, 4), after.score)));
        cells.extend(found.steps.get(at).map(|steps| GridCell::count(steps.len())));
        GridRow { cells, changes: found.steps.get(at).is_some_and(|steps| !steps.is_empty()) }
    };
    let titles = match found.rebalanced {
        Some(_) => vec![
            ("Group", Align::Left),
            ("Wrong", Align::Left),
            ("After balancing", Align::Left),
            ("Score", Align::Right),
            ("After balancing", Align::Right),
            ("Steps", Align::Right),
        ],
        None => vec![("Group", Align::Left), ("Wrong", Align::Left), ("Score", Align::Right)],
    };
    let grid = Grid {
        id: "group-table",
        caption: "Node groups",
        columns: titles,
        rows: found.initial.groups.iter().enumerate().map(row).collect(),
        noun: Some("group"),
    };
    Section::of("groups", "Node groups", grid.some())
}

fn idle_tags(found: &CheckResult) -> Option<Section> {
    let lines: Vec<String> = found.idle_tags.iter().map(tag_text).collect();
    let list = html! { ul { @for line in &lines { li { (unbroken(line)) } } } };
    Section::of("tags", "Tags without effect", Some(list).filter(|_| !lines.is_empty()))
}

/// The customers' affinity keys that are not met.
fn unmet_keys(found: &CheckResult) -> Option<Section> {
    let row = |of: &UnmetKey| {
        let UnmetKey { machine, node, key } = of;
        let number = |number: f64| GridCell::number(number.to_string(), number);
        let cells = vec![
            GridCell::text(machine),
            GridCell::text(node),
            GridCell::text(&key.name),
            number(key.value),
            number(key.weight),
            GridCell::text(unmet_reason(of)),
        ];
        GridRow { cells, changes: false }
    };
    let grid = Grid {
        id: "key-table",
        caption: "Affinity keys that are not met",
        columns: vec![
            ("Instance", Align::Left),
            ("Node", Align::Left),
            ("Key", Align::Left),
            ("Value", Align::Right),
            ("Weight", Align::Right),
            ("Why", Align::Left),
        ],
        rows: found.unmet_keys.iter().map(row).collect(),
        noun: Some("key"),
    };
    Section::of("keys", "Affinity keys that are not met", grid.some())
}

/// Effects of the loss of nodes.
pub(crate) fn loss(found: &Loss, cluster: &Cluster) -> ReportPage {
    let names: Vec<&str> = found.nodes.iter().map(|n| cluster.node(*n).spec.alias()).collect();
    let stranded = found.stranded.len();
    let survived = stranded == 0;
    let answer = |question, tone, text: String| PageAnswer { question, tone, text, details: Vec::new() };
    let answers = vec![
        answer(
            "Is the loss survived?",
            if survived { Tone::Good } else { Tone::Bad },
            if survived { "yes".to_owned() } else { "no".to_owned() },
        ),
        answer("Run elsewhere", Tone::Plain, counted(found.placed.len(), "instance")),
        answer("Have no second copy", Tone::Plain, counted(found.unmirrored.len(), "instance")),
        answer("Run nowhere", if survived { Tone::Good } else { Tone::Bad }, counted(stranded, "instance")),
    ];
    let nodes = cluster.all_nodes();
    let sections =
        [fates(found, cluster), NodeRows { before: cluster, after: None, nodes: &nodes }.section()];
    ReportPage {
        title: format!("Without {}", names.join(", ")),
        cluster: cluster.name.clone(),
        subject: size(cluster, &nodes),
        answers,
        sections: sections.into_iter().flatten().collect(),
        next: NextAction::Nothing,
    }
}

/// Outcome for each instance, those without a place first.
fn fates(found: &Loss, cluster: &Cluster) -> Option<Section> {
    let row = |instance: InstanceIdx, tone: Tone, text: &str, details: Vec<String>| {
        let there = cluster.instance(instance);
        let fate = html! {
            span class=[class(tone)] { (sign(tone)) (text) }
            @for line in &details { small class="line" { (unbroken(line)) } }
        };
        GridRow {
            cells: vec![
                GridCell::text(there.alias()),
                GridCell::of(fate),
                GridCell::number(amount(there.mem), there.mem.as_f64()),
                GridCell::text(there.template.as_str()),
            ],
            changes: tone == Tone::Bad,
        }
    };
    let stranded = found.stranded.iter().map(|stranded| {
        let refused_places = stranded.nearest.kept.iter().map(|refused_place| {
            format!(
                "{}: {}",
                cluster.node(refused_place.node).spec.alias(),
                obstacle_text(refused_place, "it is offline")
            )
        });
        let why = std::iter::once(refusals(stranded, cluster)).chain(refused_places).collect();
        row(stranded.instance, Tone::Bad, "runs nowhere", why)
    });
    let unmirrored = found.unmirrored.iter();
    let unmirrored = unmirrored.map(|i| row(*i, Tone::Plain, "goes on without a second copy", Vec::new()));
    let placed = found.placed.iter().map(|i| row(*i, Tone::Good, "runs on another node", Vec::new()));
    let grid = Grid {
        id: "fate-table",
        caption: "What becomes of instances",
        columns: vec![
            ("Instance", Align::Left),
            ("Outcome", Align::Left),
            ("Memory", Align::Right),
            ("Disk template", Align::Left),
        ],
        rows: stranded.chain(unmirrored).chain(placed).collect(),
        noun: Some("instance"),
    };
    Section::of("fates", "What becomes of instances", grid.some())
}

use roxmltree::{Document, ParsingOptions};

use super::grid::{Grid, GridCell, GridRow};
use super::*;
use crate::model::Draft;
use crate::plan::durations::Rates;
use crate::plan::jobset::jobsets;
use crate::plan::stream::StreamLimits;
use crate::plan::work::Work;
use crate::report::balance::plan::html::{PageHead, PlanReport};
use crate::report::balance::plan::steps::PlannedMove;
use crate::report::cluster::summary::Moment;
use crate::report::form::table::Align;
use crate::report::timetable::Timetable;
use crate::score::Board;
use crate::search::BalanceOptions;
use crate::search::balance::run;
use htools_testkit::cluster;

const EVIL: &str = "<img src=x onerror=alert(1)>\"'&\u{1b}\u{202e}";

fn parsed(text: &str) -> Document<'_> {
    let options = ParsingOptions { allow_dtd: true, ..ParsingOptions::default() };
    Document::parse_with_options(text, options).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn origin(command: &str) -> PageOrigin {
    let next = NextCommand { purpose: command.to_owned(), command: command.to_owned() };
    PageOrigin { command: command.to_owned(), source: None, next: vec![next] }
}

fn page() -> ReportPage {
    let answer =
        PageAnswer { question: "?", tone: Tone::Bad, text: EVIL.to_owned(), details: vec![EVIL.to_owned()] };
    let row = GridRow { cells: vec![GridCell::name(EVIL), GridCell::number(EVIL, 1.0)], changes: true };
    let columns = vec![("a", Align::Left), ("b", Align::Right)];
    let grid = Grid { id: "t", caption: "c", columns, rows: vec![row], noun: Some("name") };
    let sections = vec![Section { id: "s", title: "S", body: grid.markup() }];
    ReportPage {
        title: EVIL.to_owned(),
        cluster: Some(EVIL.to_owned()),
        subject: EVIL.to_owned(),
        answers: vec![answer],
        sections,
        next: NextAction::Nothing,
    }
}

#[test]
fn names_and_commands_are_text_wherever_they_are() {
    let text = page().text(&origin(EVIL));
    let document = parsed(&text);
    assert!(!text.contains("<img") && !text.contains('\u{1b}') && !text.contains('\u{202e}'), "{text}");
    let shown = "<img src=x onerror=alert(1)>\"'&\\u{1b}\\u{202e}";
    let named = |name: &str| {
        let found = document.descendants().filter(|node| node.has_tag_name(name));
        found.filter(|node| node.text() == Some(shown)).count()
    };
    let tags = ["strong", "h1", "td", "th", "code"];
    assert_eq!(tags.map(named), [1, 1, 1, 1, 2]);
    let title = document.descendants().find(|node| node.has_tag_name("title")).unwrap();
    assert_eq!(title.text(), Some(format!("{shown} – {shown}").as_str()));
}

/// The policy allows exactly the script and style in the page, to the last byte.
#[test]
fn the_policy_names_the_style_and_the_script() {
    let text = page().text(&origin("htools"));
    let document = parsed(&text);
    let policy =
        document.descendants().find_map(|node| node.attribute("content").filter(|c| c.contains("src")));
    let policy = policy.unwrap();
    for (element, directive) in [("style", "style-src"), ("script", "script-src")] {
        let found: Vec<_> = document.descendants().filter(|node| node.has_tag_name(element)).collect();
        let [node] = &found[..] else { panic!("{} of {element}", found.len()) };
        assert!(policy.contains(&format!("{directive} {};", digest(node.text().unwrap()))), "{policy}");
    }
    assert!(policy.starts_with("default-src 'none';"), "{policy}");
    let inline = document.descendants().flat_map(|node| node.attributes());
    let inline = inline.filter(|a| a.name() == "style" || a.name().starts_with("on") || a.name() == "src");
    assert_eq!(inline.count(), 0);
}

/// A plan's page shows the problems that it fixes, the gain of each step, and the total cost.
#[test]
fn a_plan_tells_what_changes() {
    let before = cluster(
        &["a|9000|0|5000|9000|5000|9|M|u", "b|9000|0|9000|9000|5000|9|N|u", "c|9000|0|9000|9000|9000|9|Y|u"],
        &["one|2000|2048|1|running|Y|a|c|drbd|", "two|2000|2048|1|running|Y|a|b|drbd|"],
        &[],
    );
    let nodes = before.all_nodes();
    let mut after = Draft::of(&before);
    let steps = run(&mut after, &nodes, BalanceOptions::default()).steps;
    let moment =
        |cluster: &Cluster| Moment::of(cluster, &nodes).with_parts(&Board::new(cluster, &nodes).components());
    let moments = [moment(&before), moment(&after)];
    let work = Work::rebuilt(&before, &steps, jobsets(&before, &steps), Default::default()).unwrap();
    let table = Timetable::of(&work, Rates::default(), StreamLimits::default());
    let moves = PlannedMove::all(&mut Draft::of(&before), &steps, &[]);
    let report = PlanReport {
        before: (&before, &moments[0]),
        after: (&after, &moments[1]),
        nodes: &nodes,
        moves: &moves,
        table: Some(&table),
        stopped: None,
    };
    let head = PageHead { title: "T".to_owned(), outcome: String::new(), change: None };
    let text = report.page(head, Vec::new(), None).text(&origin("hbal"));
    let document = parsed(&text);
    let sections = document.descendants().filter(|node| node.has_tag_name("section"));
    let ids: Vec<&str> = sections.filter_map(|node| node.attribute("id")).collect();
    assert_eq!(ids, ["problems", "nodes", "plan", "time", "score", "next"]);
    let words: Vec<&str> = document.descendants().filter_map(|node| node.text()).map(str::trim).collect();
    for wanted in
        ["1 problem", "the plan fixes it", "leaves an offline node", "its secondary node c is offline"]
    {
        assert!(words.iter().any(|text| text.contains(wanted)), "{wanted}: {words:?}");
    }
    let rows = document.descendants().find(|node| node.attribute("id") == Some("step-table")).unwrap();
    let rows = rows.descendants().filter(|node| node.has_tag_name("tr")).count();
    assert_eq!(rows, 1 + steps.len());
}

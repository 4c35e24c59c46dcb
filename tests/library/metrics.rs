//! The exposition format: any names and values are read back unchanged. The table of metrics in the documents matches
//! the code.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;

use htools::report::form::metrics::{Family, FamilyRow, Sheet, distinct_names, exposition};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::common::exposition::parse;

proptest! {
    #[test]
    fn any_text_and_any_number_are_read_back(
        values in prop::collection::vec((any::<String>(), any::<String>(), any::<f64>()), 0..20),
        cluster in "(?s).*",
    ) {
        let names = distinct_names(values.iter().map(|(group, ..)| group.as_str()));
        let mut sheet = Sheet::of(cluster.clone());
        for (name, (_, component, value)) in names.iter().zip(&values) {
            sheet.put(Family::GroupScorePart, &[name, component], *value);
        }
        let text = exposition(&[&sheet]);
        let found = parse(&text).map_err(TestCaseError::fail)?;
        prop_assert_eq!(found.len(), values.len());
        for (series, (name, (_, component, value))) in found.iter().zip(names.iter().zip(&values)) {
            prop_assert_eq!(series.label("cluster"), Some(cluster.as_str()));
            prop_assert_eq!(series.label("group"), Some(name.as_str()));
            prop_assert_eq!(series.label("component"), Some(component.as_str()));
            prop_assert!(series.value == *value || (series.value.is_nan() && value.is_nan()));
        }
    }

    #[test]
    fn distinct_names_are_distinct(names in prop::collection::vec("(a|b| \\(2\\)|){0,3}", 0..30)) {
        let mut distinct = distinct_names(names.iter().map(String::as_str));
        prop_assert!(distinct.iter().zip(&names).all(|(new, old)| new.starts_with(old.as_str())));
        distinct.sort();
        distinct.dedup();
        prop_assert_eq!(distinct.len(), names.len());
    }
}

/// The reader refuses malformed text; otherwise the tests that use it would prove nothing.
#[test]
fn the_reader_is_strict() {
    let head = "# HELP a_b h\n# TYPE a_b gauge\n";
    parse(&format!("{head}a_b 1\n")).unwrap();
    parse(&format!("{head}a_b{{x=\"1\"}} 1\na_b{{x=\"2\"}} +Inf\n")).unwrap();
    for wrong in [
        "a_b 1\n",
        "# TYPE a_b gauge\na_b 1\n",
        "# HELP a_b h\na_b 1\n",
        "# HELP a_b h\n",
        "# HELP a_b h\n# TYPE a_b counter\na_b 1\n",
        "# HELP a_total h\n# TYPE a_total gauge\na_total 1\n",
    ] {
        assert!(parse(wrong).is_err(), "{wrong}");
    }
    for wrong in [
        "a_b 1",
        "a_b 1\na_b 1\n",
        "a_c 1\n",
        "a_b{x=\"1} 1\n",
        "a_b{x=\"\\t\"} 1\n",
        "a_b{x=\"1\",x=\"2\"} 1\n",
        "a_b{x=\"1\"}1\n",
        "a_b one\n",
        "a_b inf\n",
        "\n",
        "# HELP a_b h\n# TYPE a_b gauge\n",
    ] {
        assert!(parse(&format!("{head}{wrong}")).is_err(), "{wrong}");
    }
}

#[test]
fn the_table_follows_the_conventions() {
    let mut names: Vec<&str> = Family::ALL.iter().map(|family| family.row().name).collect();
    for family in Family::ALL {
        let row = family.row();
        assert!(row.help.ends_with('.') && !row.help.contains('\n'), "{}", row.name);
        assert!(
            row.labels.first().is_none_or(|label| *label == "cluster") || row.name == "htools_build_info"
        );
    }
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), Family::ALL.len());
}

const DOCUMENT: &str = "docs/monitoring.md";
const BEGINNING: &str = "## All metrics\n\n";

/// The document's tables.
fn tables() -> String {
    let mut sources: Vec<&str> = Family::ALL.iter().map(|family| family.row().source).collect();
    sources.dedup();
    let mut text = String::new();
    for source in sources {
        let _ = writeln!(text, "### {source}\n\n| metric | labels | |\n|---|---|---|");
        for row in Family::ALL.iter().map(|family| family.row()).filter(|row| row.source == source) {
            let labels: Vec<String> = row.labels.iter().map(|label| format!("`{label}`")).collect();
            let _ = writeln!(text, "| `{}` | {} | {} |", row.name, labels.join(", "), row.help);
        }
        text.push('\n');
    }
    text
}

/// `UPDATE_DOCS=1 cargo test --test library metrics` updates them.
#[test]
fn every_metric_is_documented() {
    let document = fs::read_to_string(DOCUMENT).unwrap();
    let (before, rest) = document.split_once(BEGINNING).expect(BEGINNING);
    let end = rest.find("\n## ").map_or(rest.len(), |at| at + 1);
    let made = tables();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        let text = format!("{before}{BEGINNING}{made}{}", &rest[end..]);
        fs::write(DOCUMENT, text.trim_end().to_owned() + "\n").unwrap();
        return;
    }
    assert_eq!(rest[..end].trim_end(), made.trim_end(), "UPDATE_DOCS=1 cargo test --test library metrics");
}

/// The words of a text that are names of our metrics.
fn metric_names(text: &str) -> Vec<&str> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.filter(|word| word.starts_with("htools_")).collect()
}

fn row(name: &str) -> &'static FamilyRow {
    let rows = Family::ALL.iter().map(|family| family.row());
    rows.clone().find(|row| row.name == name).unwrap_or_else(|| panic!("there is no metric {name}"))
}

fn of<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    value[key].as_array().unwrap_or_else(|| panic!("{key} is missing in {value}"))
}

/// Labels in the legend of a panel, `{{label}}`.
fn legend_labels(legend: &str) -> impl Iterator<Item = &str> {
    legend.split("{{").skip(1).map(|rest| rest.split_once("}}").expect("closing braces").0)
}

#[test]
fn the_dashboard_shows_all_metrics_and_no_others() {
    let text = fs::read_to_string("packaging/grafana/htools.json").unwrap();
    let board: Value = serde_json::from_str(&text).unwrap();
    assert!(board["title"].is_string() && board["uid"] == "htools" && board["schemaVersion"].is_u64());
    assert!(board["id"].is_null(), "an id is given where it is loaded");
    let variables = of(&board["templating"], "list");
    let variables: Vec<(&Value, &Value)> = variables.iter().map(|v| (&v["name"], &v["type"])).collect();
    let wanted = [("datasource", "datasource"), ("cluster", "query"), ("group", "query")];
    assert!(
        variables.iter().zip(wanted).all(|((name, kind), wanted)| **name == wanted.0 && **kind == wanted.1)
    );
    assert_eq!(variables.len(), wanted.len());

    let (mut ids, mut shown, mut taken) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for panel in of(&board, "panels") {
        assert!(ids.insert(panel["id"].as_u64().unwrap()), "{panel}");
        let place = &panel["gridPos"];
        let [x, y, w, h] = ["x", "y", "w", "h"].map(|key| place[key].as_u64().unwrap());
        assert!(w > 0 && h > 0 && x + w <= 24, "{place}");
        for cell in (x..x + w).flat_map(|x| (y..y + h).map(move |y| (x, y))) {
            assert!(taken.insert(cell), "two panels at {cell:?}: {panel}");
        }
        assert!(panel["title"].as_str().is_some_and(|title| !title.is_empty()));
        if panel["type"] == "row" {
            continue;
        }
        assert_eq!(panel["datasource"], json!({"type": "prometheus", "uid": "${datasource}"}));
        assert!(panel["fieldConfig"]["defaults"]["unit"].is_string() && !of(panel, "targets").is_empty());
        for target in of(panel, "targets") {
            let expression = target["expr"].as_str().unwrap();
            let names = metric_names(expression);
            assert!(!names.is_empty(), "{expression}");
            let labels: Vec<&str> = names.iter().flat_map(|name| row(name).labels).copied().collect();
            let mut legend = legend_labels(target["legendFormat"].as_str().unwrap());
            assert!(legend.all(|label| labels.contains(&label)), "{target}");
            shown.extend(names);
        }
    }
    let missing: Vec<&str> =
        Family::ALL.iter().map(|family| family.row().name).filter(|name| !shown.contains(name)).collect();
    assert!(missing.is_empty(), "not on the dashboard: {missing:?}");
    // The dashboard's variables, too.
    metric_names(&text).into_iter().for_each(|name| assert_eq!(row(name).name, name));
}

#[test]
fn the_alerts_are_about_metrics_that_there_are() {
    for file in ["htools.rules.yml", "htools.rules.test.yml", "htools-runway.rules.test.yml"] {
        let text = fs::read_to_string(format!("packaging/prometheus/{file}")).unwrap();
        let names = metric_names(&text);
        assert!(names.len() > 6, "{file}");
        names.into_iter().for_each(|name| assert_eq!(row(name).name, name));
    }
}

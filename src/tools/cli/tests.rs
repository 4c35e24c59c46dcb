//! What holds for every row of every program.

use std::collections::HashSet;

use super::option::{Argument, ArgumentKind};
use super::*;
use crate::tools::{TOOLS, config, exporter, generate, install, launcher, plans};

fn programs() -> impl Iterator<Item = &'static dyn Program> {
    let commands: [&dyn Program; 5] =
        [&launcher::SPEC, &generate::SPEC, &exporter::SPEC, &install::SPEC, &config::command::SPEC];
    TOOLS.iter().map(|tool| tool.spec).chain(commands).chain(plans::COMMANDS)
}

/// Every option of every program, with a usable argument.
fn one_of_each() -> impl Iterator<Item = Given> {
    programs().flat_map(|spec| spec.options()).map(|option| {
        let value = match (option.argument, option.kind) {
            (Argument::None, _) => None,
            (_, ArgumentKind::Choices(words)) => words.first().map(OsString::from),
            (_, ArgumentKind::NodeFields) => Some("name".into()),
            _ if option.long == "until" => Some("06:00".into()),
            _ if option.long == "now" => Some("2026-11-25 18:30".into()),
            _ if ["nodes", "survive"].contains(&option.long) => Some("2".into()),
            _ if option.long == "weights" => Some("n1_cnt=3".into()),
            _ if option.long == "severity" => Some("n1_failing=critical".into()),
            _ if option.long.ends_with("-alloc") => Some("1,2,3".into()),
            (_, ArgumentKind::Float) if option.long != "spindle-use" => Some("0.75".into()),
            _ => Some("3".into()),
        };
        Given { option, value }
    })
}

#[test]
fn spellings_are_unique() {
    for spec in programs() {
        let (mut long, mut short) = (HashSet::new(), HashSet::new());
        for option in spec.options() {
            assert!(long.insert(option.long), "{} --{}", spec.name(), option.long);
            assert!(option.short.is_none_or(|letter| short.insert(letter)), "{} {option:?}", spec.name());
        }
    }
}

#[test]
fn every_option_sets_something() {
    for given in one_of_each() {
        assert!(given.option.tried(&given).unwrap().sets, "{given:?}");
    }
}

#[test]
fn a_default_that_is_shown_is_the_value_that_it_names() {
    let mut count = 0;
    for option in programs().flat_map(|spec| spec.options()) {
        let Some(text) = option.shown_default() else { continue };
        // in words: what else it depends on
        let value = text.split(',').next().map(OsString::from);
        let tried = option.tried(&Given { option, value }).unwrap();
        assert_eq!(tried.default, Some(text), "{option:?}");
        count += 1;
    }
    assert!(count > 20, "{count}");
}

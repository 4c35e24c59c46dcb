//! Rules that every option of every program must follow.

use std::collections::HashSet;

use super::option::{Argument, ArgumentKind};
use super::*;
use crate::tools::launcher;

fn programs() -> impl Iterator<Item = &'static dyn Program> {
    crate::tools::programs().chain([&launcher::SPEC as &dyn Program])
}

/// Every option of every program, with a usable argument.
fn one_of_each() -> impl Iterator<Item = Given> {
    programs().flat_map(one_of_each_of)
}

/// Every option of a program, with a usable argument.
fn one_of_each_of(spec: &dyn Program) -> impl Iterator<Item = Given> + use<> {
    spec.options().into_iter().map(|option| {
        let value = match (option.argument, option.kind) {
            (Argument::None, _) => None,
            // The first word is the default.
            _ if option.long == "load-missing" => Some("zero".into()),
            (_, ArgumentKind::Choices(words)) => words.first().map(OsString::from),
            (_, ArgumentKind::NodeFields) => Some("name".into()),
            _ if option.long == "until" => Some("06:00".into()),
            _ if option.long == "now" => Some("2026-11-25 18:30".into()),
            _ if ["nodes", "survive", "keep-reserve"].contains(&option.long) => Some("2".into()),
            _ if option.long == "measured" => Some("cpu=cpu".into()),
            _ if option.long == "only-if" => Some("memory>85".into()),
            _ if ["keep-room", "make-room"].contains(&option.long) && option.argument != Argument::None => {
                Some("64g".into())
            }
            _ if option.long == "load-query" => Some("cpu=x".into()),
            _ if option.long == "load-label" => Some("vm".into()),
            _ if option.long == "weights" => Some("n1_cnt=3".into()),
            _ if option.long == "severity" => Some("n1_failing=critical".into()),
            _ if option.long.ends_with("-alloc") => Some("1,2,3".into()),
            (_, ArgumentKind::Float) if option.long != "spindle-use" => Some("0.75".into()),
            _ => Some("3".into()),
        };
        Given::named(option, value)
    })
}

/// The programs, each without the options of its commands, and their commands.
fn all_programs() -> impl Iterator<Item = Box<dyn Program>> {
    programs().flat_map(|spec| spec.commands().into_iter().chain([spec.alone()]))
}

#[test]
fn spellings_are_unique() {
    for spec in programs() {
        let (mut long, mut short) = (HashSet::new(), HashSet::new());
        for option in spec.options() {
            let names = [option.long, option.formerly].into_iter().filter(|name| !name.is_empty());
            for name in names {
                assert!(long.insert(name), "{} --{name}", spec.name());
            }
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
        let tried = option.tried(&Given::named(option, value)).unwrap();
        assert_eq!(tried.default, Some(text), "{option:?}");
        count += 1;
    }
    assert!(count > 20, "{count}");
}

/// Words that a purpose must not open with: conditions and questions hide what the option does.
const OPENINGS: [&str; 16] = [
    "with", "by", "if", "when", "where", "whether", "what", "how", "who", "which", "the", "of", "do", "not",
    "in", "as",
];

#[test]
fn purposes_are_short_and_open_with_a_verb_or_a_noun() {
    for option in programs().flat_map(|spec| spec.options()) {
        let purpose = option.purpose;
        let length = purpose.chars().count();
        assert!((8..=70).contains(&length), "--{}: {length} characters: {purpose}", option.long);
        let first = purpose.split(' ').next().unwrap();
        let is_word = first.chars().all(|c| c.is_alphabetic());
        assert!(is_word && !OPENINGS.contains(&first), "--{}: {purpose}", option.long);
        assert!(first == "MiB" || first.starts_with(char::is_lowercase), "--{}: {purpose}", option.long);
        assert!(!purpose.ends_with('.') && !purpose.contains(" ["), "--{}: {purpose}", option.long);
    }
}

#[test]
fn a_short_help_fits_the_screen_and_shows_what_is_common() {
    for spec in all_programs() {
        let lines: Vec<String> = usage::brief(&*spec, 80).into_iter().map(|(_, line)| line).collect();
        assert!(lines.len() <= usage::SCREEN, "{}: {}", spec.name(), lines.len());
        assert!(lines.iter().all(|line| line.chars().count() <= 80), "{lines:#?}");
        assert_eq!(spec.examples().len(), 3, "{}", spec.name());
        let options = spec.options();
        let common: Vec<_> = options.iter().filter(|option| option.is_common).collect();
        assert!(common.len() <= 15, "{}: {} options are common", spec.name(), common.len());
        // commands may leave less room
        for option in common.iter().filter(|_| spec.commands().is_empty()) {
            let row = format!("--{}", option.long);
            assert!(lines.iter().any(|line| line.contains(&row)), "{}: {row}: {lines:#?}", spec.name());
        }
    }
}

#[test]
fn a_full_help_has_every_option_once_in_lines_that_fit() {
    let widths = [80, 100, 300].into_iter();
    for (spec, columns) in widths.flat_map(|columns| all_programs().map(move |spec| (spec, columns))) {
        let lines: Vec<String> = usage::full(&*spec, columns).into_iter().map(|(_, line)| line).collect();
        let longest = lines.iter().map(|line| line.chars().count()).max();
        assert!(longest <= Some(columns.min(100)), "{}: {longest:?}", spec.name());
        for option in spec.options() {
            let row = format!("  {}", option.form());
            let rows = lines.iter().filter(|line| **line == row || line.starts_with(&format!("{row}  ")));
            assert_eq!(rows.count(), 1, "{} {row}", spec.name());
        }
    }
}

#[test]
fn examples_are_command_lines_of_their_program() {
    for spec in programs().filter(|spec| spec.name() != launcher::SPEC.name) {
        let of_commands = spec.commands().into_iter().flat_map(|command| command.examples());
        for example in of_commands.chain(spec.examples()) {
            let words = example.line.strip_prefix(spec.name()).unwrap().split_whitespace();
            let words: Vec<OsString> = words.map(OsString::from).collect();
            match spec.check(&words) {
                // words that are no options; a cluster that the configuration does not name
                Ok(()) | Err(Stop::Positional(..) | Stop::WrongWords(_)) => {}
                Err(stop) => panic!("{}: {stop:?}", example.line),
            }
        }
    }
}

#[test]
fn an_option_of_another_command_is_told_where_it_belongs() {
    let mut count = 0;
    for spec in programs() {
        for given in one_of_each_of(spec) {
            for command in spec.commands() {
                let word = super::program::last_word(command.name());
                let value = given.value.as_ref().map(|value| format!("={}", value.to_string_lossy()));
                let typed = format!("--{}{}", given.option.long, value.unwrap_or_default());
                let line = [OsString::from(word), typed.into()];
                let own = command.find(given.option.long).is_some();
                let refused = matches!(spec.check(&line), Err(Stop::Misplaced { .. }));
                assert_ne!(own, refused, "{line:?}");
                count += 1;
            }
        }
    }
    assert!(count > 500, "{count}");
}

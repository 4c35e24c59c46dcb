//! The command line of `htools generate`.

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};

use super::{ClusterSpec, TemplateMix};

/// The options and arguments, for help and completion as well.
pub fn command() -> Command {
    let number = |name: &'static str, help: &'static str| {
        Arg::new(name).required(true).value_parser(value_parser!(usize)).help(help)
    };
    let share = |name: &'static str, default: &'static str, help: &'static str| {
        Arg::new(name)
            .long(name)
            .value_name("SHARE")
            .default_value(default)
            .value_parser(parse_share)
            .help(help)
    };
    let flag = |name: &'static str, help: &'static str| {
        Arg::new(name).long(name).action(ArgAction::SetTrue).help(help)
    };
    Command::new("generate")
        .about("Write a random, feasible, unbalanced cluster in the text format")
        .arg(number("nodes", "Number of nodes").value_name("NODES"))
        .arg(
            number("instances", "Number of instances; those that find no room are left out")
                .value_name("INSTANCES"),
        )
        .arg(
            Arg::new("template")
                .value_name("TEMPLATE")
                .required(true)
                .value_parser(["drbd", "ext", "plain", "mixed"])
                .help("Disk template of the instances"),
        )
        .arg(
            Arg::new("seed")
                .long("seed")
                .value_name("N")
                .default_value("1")
                .value_parser(value_parser!(u64))
                .help("The same seed gives the same cluster"),
        )
        .arg(
            Arg::new("groups")
                .long("groups")
                .value_name("G")
                .default_value("1")
                .value_parser(value_parser!(usize))
                .help("Number of node groups"),
        )
        .arg(flag("hetero", "Nodes of different sizes"))
        .arg(share("skew", "0.5", "Share of the nodes that holds most instances"))
        .arg(share("fill", "0.55", "Mean share of memory in use"))
        .arg(flag("tags", "Exclusion tags and node locations"))
}

fn parse_share(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|x| (0.0..=1.0).contains(x))
        .ok_or_else(|| "expected a number from 0 to 1".into())
}

/// What cluster the command line asks for.
pub fn spec(matches: &ArgMatches) -> ClusterSpec {
    let number = |name: &str| matches.get_one::<usize>(name).copied().unwrap_or_default();
    let share = |name: &str| matches.get_one::<f64>(name).copied().unwrap_or_default();
    let templates = match matches.get_one::<String>("template").map(String::as_str) {
        Some("ext") => TemplateMix::Ext,
        Some("plain") => TemplateMix::Plain,
        Some("mixed") => TemplateMix::Mixed,
        _ => TemplateMix::Drbd,
    };
    ClusterSpec {
        nodes: number("nodes"),
        instances: number("instances"),
        templates,
        groups: number("groups"),
        heterogeneous: matches.get_flag("hetero"),
        skew: share("skew"),
        fill: share("fill"),
        tags: matches.get_flag("tags"),
        seed: matches.get_one("seed").copied().unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_is_sound() {
        command().debug_assert();
    }

    #[test]
    fn arguments_become_a_specification() {
        let words = "generate 20 200 mixed --seed 9 --groups 2 --hetero --skew 0.25 --fill 0.7 --tags";
        let spec = spec(&command().get_matches_from(words.split(' ')));
        let wanted = ClusterSpec {
            groups: 2,
            heterogeneous: true,
            skew: 0.25,
            fill: 0.7,
            tags: true,
            ..ClusterSpec::new(20, 200, TemplateMix::Mixed, 9)
        };
        assert_eq!(spec, wanted);
        assert!(command().try_get_matches_from(["generate", "2", "2", "ext", "--fill", "2"]).is_err());
    }
}

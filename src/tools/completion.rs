//! `htools completion`: one completion script for all names of the program.
//!
//! Parts that clap_complete leaves out are added to its output: words in Fish, `--option=value` in Bash, one file for
//! several commands in Zsh, options whose argument is attached or missing, and lists of fields.

use clap::{Arg, Command, ValueHint};
use clap_complete::Shell;

use super::cli::option::{Argument, ArgumentKind, OptionRow};
use super::{TOOLS, launcher};
use crate::report::cluster::nodes::text::fields;

/// The shells that there are scripts for.
pub(super) const SHELLS: [Shell; 3] = [Shell::Bash, Shell::Zsh, Shell::Fish];

/// Their names.
pub(super) const SHELL_NAMES: &[&str] = &["bash", "zsh", "fish"];

/// The completion script of the executable, under its own name and under those of all tools.
pub(super) fn script(shell: Shell) -> String {
    let own = generated(shell, launcher::command());
    let tools: String = TOOLS.iter().map(|tool| generated(shell, tool.spec.command())).collect();
    match shell {
        Shell::Bash => bash(&(own + &tools)),
        Shell::Zsh => zsh(&tools, &own),
        _ => fish(&(own + &tools)),
    }
}

fn generated(shell: Shell, mut command: Command) -> String {
    let name = command.get_name().to_owned();
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, name, &mut script);
    String::from_utf8_lossy(&script).into_owned()
}

/// The names that the program answers to, its own first.
pub(super) fn names() -> Vec<&'static str> {
    std::iter::once(launcher::SPEC.name).chain(TOOLS.iter().map(|tool| tool.spec.name())).collect()
}

/// The options whose argument is attached or missing. They are the same for all tools.
fn attached() -> Vec<&'static dyn OptionRow> {
    let mut found: Vec<&'static dyn OptionRow> = Vec::new();
    for option in TOOLS.iter().flat_map(|tool| tool.spec.options()) {
        let known = found.iter().any(|other| other.long == option.long);
        if matches!(option.argument, Argument::Optional(_)) && !known {
            found.push(option);
        }
    }
    found
}

/// Bash takes `--priority=low` for three words, while the functions of clap_complete look for
/// the option in the word before. A function in front of theirs tells them what it is.
fn bash(generated: &str) -> String {
    let through = names().iter().fold(generated.to_owned(), |script, name| {
        script.replace(&format!("complete -F _{name} "), "complete -F _htools_words ")
    });
    let options: Vec<String> = attached()
        .iter()
        .flat_map(|option| [Some(format!("--{}", option.long)), option.short.map(|s| format!("-{s}"))])
        .flatten()
        .collect();
    let options = options.join("|");
    let files = attached()
        .iter()
        .filter(|option| matches!(option.kind, ArgumentKind::File | ArgumentKind::NewFile))
        .filter_map(|option| option.short)
        .collect::<String>();
    let fields: Vec<&str> = fields().map(|(field, ..)| field).collect();
    let fields = fields.join(" ");
    format!(
        r#"{through}
# finds the option that the word belongs to, then calls the function of the command
_htools_words() {{
    local current=$2 before=$3 list=
    if [[ $before == = ]]; then
        before=${{COMP_WORDS[COMP_CWORD-2]}}
    elif [[ ${{COMP_WORDS[COMP_CWORD]}} != = ]]; then
        # their argument is never a word of its own
        case $before in {options}) before= ;; esac
    fi
    if [[ $current == -p* ]]; then
        before=--print-nodes list=-p current=${{current#-p}}
    fi
    if [[ $before == --print-nodes ]]; then
        # behind the fields that are there already
        list+=${{current%"${{current##*[,+]}}"}}
        COMPREPLY=($(compgen -P "$list" -W "{fields}" -- "${{current##*[,+]}}"))
        compopt -o nospace
        return
    fi
    if [[ $current == -[{files}]* ]]; then
        local IFS=$'\n'
        COMPREPLY=($(compgen -P "${{current:0:2}}" -f -- "${{current:2}}"))
        return
    fi
    "_${{1##*/}}" "$1" "$current" "$before"
}}
"#
    )
}

/// Zsh finds the function for a command by the first line of a file in its search path, which
/// then is the body of one function for all commands, or by what sourcing the script declares.
fn zsh(tools: &str, own: &str) -> String {
    let names = names().join(" ");
    let quoted = |text: &str| text.replace('\'', r"'\''").replace(':', r"\:");
    let fields: String =
        fields().map(|(field, _, meaning)| format!("        '{field}:{}'\n", quoted(meaning))).collect();
    let script = format!(
        r#"#compdef {names}

_htools_fields() {{
    local -a fields=(
{fields}    )
    # behind the fields that are there already
    compset -P '*[,+]'
    _describe -t fields field fields -S '' "$@"
}}

{tools}
if [ "$funcstack[1]" = "_htools" ] && [ "$service" != "htools" ]; then
    "_$service" "$@"
    return
fi
{own}"#
    );
    let script = script.replace("::FIELDS:'", "::FIELDS:_htools_fields'");
    attached().iter().fold(script, |script, option| {
        // - for +: the argument is in the same word, or there is none
        let long = format!("'*--{}=", option.long);
        let script = script.replace(&format!("{long}["), &format!("{long}-["));
        match option.short {
            Some(s) => script.replace(&format!("'*-{s}+["), &format!("'*-{s}-[")),
            None => script,
        }
    })
}

/// Fish takes the word behind an option for its argument where `-r` says so, and has to be told
/// of words that are no options.
fn fish(generated: &str) -> String {
    let attached = attached();
    let mut script = String::with_capacity(generated.len());
    for line in generated.split_inclusive('\n') {
        match attached.iter().find(|option| line.contains(&format!(" -l {} ", option.long))) {
            Some(option) if option.kind == ArgumentKind::NodeFields => {
                script.push_str(&line.replacen("' -r -f", "' -f -a \"(__htools_fields)\"", 1));
            }
            // files are offered behind a letter, too
            Some(_) if line.contains("' -r -F") => {
                script.push_str(&line.replacen("' -r -F", "' -f -a \"(__htools_files)\"", 1));
            }
            Some(_) => script.push_str(&line.replacen("' -r", "'", 1)),
            None => script.push_str(line),
        }
    }
    let quoted = |text: &str| text.replace('\\', r"\\").replace('\'', r"\'");
    let fields: String =
        fields().map(|(field, _, meaning)| format!("        {field} '{}' \\\n", quoted(meaning))).collect();
    script += &format!(
        r#"
function __htools_files
    __fish_complete_path (string replace -r '^(--[a-z-]+=|-.)' '' -- (commandline -ct))
end

function __htools_fields
    # behind the fields that are there already
    set -l typed (string replace -r '^(--print-nodes=|-p)' '' -- (commandline -ct))
    set -l before (string replace -r '[^,+]*$' '' -- $typed)
    printf "$before%s\t%s\n" \
{}
end
"#,
        fields.trim_end_matches("\\\n")
    );
    for tool in TOOLS {
        script += &fish_words(tool.spec.name(), "", &tool.spec.command());
    }
    let own = launcher::command();
    for command in own.get_subcommands() {
        let condition = format!(" -n '__fish_htools_using_subcommand {}'", command.get_name());
        script += &fish_words(launcher::SPEC.name, &condition, command);
    }
    script
}

/// The words of a command that are no options.
fn fish_words(name: &str, condition: &str, command: &Command) -> String {
    let choices = |arg: &Arg| -> Vec<String> {
        arg.get_possible_values().iter().map(|value| value.get_name().to_owned()).collect()
    };
    let chosen: Vec<String> = command.get_positionals().flat_map(choices).collect();
    let words = match command.get_positionals().next().map(Arg::get_value_hint) {
        Some(ValueHint::FilePath) => return String::new(),
        Some(ValueHint::DirPath) => "(__fish_complete_directories)".to_owned(),
        Some(ValueHint::Hostname) => "(__fish_print_hostnames)".to_owned(),
        _ => chosen.join(" "),
    };
    format!("complete -c {name}{condition} -f -a '{words}'\n")
}

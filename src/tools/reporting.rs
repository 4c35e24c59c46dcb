//! HTML report (`--report`) of all tools.

mod next;

use self::next::next_commands;
use super::options::{OutputOptions, TypedOption};
use crate::plan::shell::quoted;
use crate::remote::rapi::Address;
use crate::report::form::file::write_whole;
use crate::report::form::html::{PageOrigin, ReportPage};

/// Options that name a cluster in a file.
const FILES: [&str; 3] = ["text-data", "ialloc-src", "xml-file"];
/// Options that name a live cluster; without a value, that of this node.
const LIVE: [&str; 3] = ["luxi", "master", "live"];

/// Writes the report with `--report`.
///
/// # Errors
/// If the report cannot be made, or the file cannot be written.
pub(super) fn write(
    tool: &str,
    options: &OutputOptions,
    page: impl FnOnce() -> anyhow::Result<ReportPage>,
) -> anyhow::Result<()> {
    let Some(path) = &options.report else { return Ok(()) };
    let page = page()?;
    let typed: Vec<TypedOption> = options.typed.iter().map(without_secrets).collect();
    let origin = PageOrigin {
        command: command(tool, &typed),
        source: source(&typed),
        next: next_commands(tool, &typed, page.next),
    };
    Ok(write_whole(path, &page.text(&origin))?)
}

/// The source of the cluster, for people.
fn source(typed: &[TypedOption]) -> Option<String> {
    typed.iter().find_map(|option| match (option.long?, &option.value) {
        (long, Some(file)) if FILES.contains(&long) => Some(match file.as_str() {
            "-" => "from standard input".to_owned(),
            file => format!("in {file}"),
        }),
        (long, None) if LIVE.contains(&long) => Some("of this node".to_owned()),
        (long, Some(address)) if LIVE.contains(&long) => Some(format!("at {address}")),
        ("simulate", _) => Some("made up by --simulate".to_owned()),
        _ => None,
    })
}

/// The command line in shell syntax, without passwords.
fn command(tool: &str, typed: &[TypedOption]) -> String {
    let words = typed.iter().map(|option| quoted(&option.again()));
    [tool.to_owned()].into_iter().chain(words).collect::<Vec<_>>().join(" ")
}

/// An option without its secrets.
fn without_secrets(typed: &TypedOption) -> TypedOption {
    let shown = |value: &String| match typed.long {
        Some("master") => Address::new(value.as_ref()).shown(),
        _ => value.clone(),
    };
    TypedOption { value: typed.value.as_ref().map(shown), ..typed.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_can_be_typed_again_and_show_no_password() {
        let typed = |long, value: &str| TypedOption { long, value: Some(value.to_owned()) };
        let options = [
            typed(None, "balance"),
            typed(Some("master"), "https://user:S3CR3T@host.example.com:5080"),
            typed(Some("exclude-instances"), "a b,c'd"),
            TypedOption { long: Some("deep"), value: None },
        ];
        let options: Vec<TypedOption> = options.iter().map(without_secrets).collect();
        let line = command("hgroup", &options);
        assert_eq!(
            line,
            r"hgroup balance '--master=https://user:***@host.example.com:5080' '--exclude-instances=a b,c'\''d' --deep"
        );
    }
}

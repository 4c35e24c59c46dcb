//! HTML report (`--report`) of all tools.

use super::options::{OutputOptions, TypedOption};
use crate::plan::shell::quoted;
use crate::remote::rapi::Address;
use crate::report::form::file::write_whole;
use crate::report::form::html::ReportPage;

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
    Ok(write_whole(path, &page()?.text(&command(tool, &options.typed)))?)
}

/// The command line in shell syntax, without passwords.
fn command(tool: &str, typed: &[TypedOption]) -> String {
    let words = typed.iter().map(|option| quoted(&without_secrets(option).again()));
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
        let line = command("hgroup", &options);
        assert_eq!(
            line,
            r"hgroup balance '--master=https://user:***@host.example.com:5080' '--exclude-instances=a b,c'\''d' --deep"
        );
    }
}

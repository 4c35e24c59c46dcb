//! Output of a plan's commands (`-C`).

use super::options::CommandTarget;
use super::output::Output;

/// Shows the commands under a heading, or names the file that holds them. Shows nothing without `-C`. The file has
/// been written before.
///
/// # Errors
/// If standard output cannot be written.
pub(super) fn show(
    target: Option<&CommandTarget>,
    heading: &str,
    lines: impl FnOnce() -> Vec<String>,
    output: &mut Output,
) -> anyhow::Result<()> {
    match target {
        None => Ok(()),
        Some(CommandTarget::Stdout) => {
            output.line("")?;
            output.line(heading)?;
            Ok(lines().iter().try_for_each(|line| output.line(line))?)
        }
        Some(CommandTarget::File(path)) => {
            Ok(output.line(&format!("The commands have been written to file '{}'", path.display()))?)
        }
    }
}

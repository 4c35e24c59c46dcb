//! Where the commands of a plan go (`-C`).

use super::options::CommandTarget;
use super::output::Output;

/// Shows the commands under a heading, or says in which file they are; nothing if they are not
/// asked for. The file is written already.
///
/// # Errors
/// Standard output.
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

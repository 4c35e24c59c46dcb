//! Commands that can be copied, and the commands to run after a report.

use maud::{Markup, html};

use super::words::unbroken;

/// A command that can be run after reading a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NextCommand {
    /// Effect of the command, in a sentence.
    pub purpose: String,
    /// The command as a shell takes it.
    pub command: String,
}

/// Action that the result of a page calls for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NextAction {
    /// Nothing is to be done.
    Nothing,
    /// The plan can be executed by the tool that made it.
    Execute,
    /// The plan is executed by a script.
    RunScript,
    /// The cluster should be balanced.
    Balance,
    /// The wanted placement can be imposed on Pacemaker.
    Place,
}

/// Commands with a button that copies them. Without scripts, a click selects them all.
pub(in crate::report) fn copyable(commands: &str) -> Markup {
    html! {
        div class="command" {
            pre { code { (commands) } }
            button type="button" class="quiet copy" data-copy="" { "Copy" }
        }
    }
}

/// The commands to run next, each with its purpose.
pub(super) fn list(commands: &[NextCommand]) -> Markup {
    html! {
        @for NextCommand { purpose, command } in commands {
            p { (unbroken(purpose)) }
            (copyable(command))
        }
    }
}

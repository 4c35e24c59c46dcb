//! Effects of failed and unfinished operations on a resource and its host.

use super::super::index::HostIdx;
use super::super::working_set::RunCondition;
use super::history::{KeptOperation, OperationKey};
use super::migrations::{HistoryPlace, MigrationOutcome};
use super::on_fail::{FailureRules, OnFail};

/// Reason why a resource with other roles than started and stopped is not supported.
pub(super) const PROMOTED: &str = "a resource that is promoted";

/// Reason why a resource without roles is not supported if it is degraded.
pub(super) const DEGRADED: &str = "a resource that is degraded";

/// Reason why a resource is not supported: Pacemaker does not write its history so.
const GARBLED: &str =
    "an operation whose status, exit code, key, interval or ends Pacemaker would not write so";

/// Outcome of the operations of a resource on a host.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct PastOutcome {
    /// True if it runs there, or may.
    pub(super) active: bool,
    /// True if it runs there in the promoted role, or may.
    pub(super) promoted: bool,
    /// True if it could not be promoted there.
    pub(super) failed_promotion: bool,
    /// True if it was not yet known to be started when the document was written.
    pub(super) starting: bool,
    /// Reaction to its failures.
    pub(super) on_fail: OnFail,
    /// True if it is banned from this host.
    pub(super) banned: bool,
    /// True if it may not stay on this host, as it could not be stopped. Another instance of its clone may come there.
    pub(super) unstopped: bool,
    /// True if it is banned from all hosts.
    pub(super) banned_everywhere: bool,
    /// True if it must be stopped and stay down.
    pub(super) stopped: bool,
    /// True if it must be left alone, wherever it is.
    pub(super) untouchable: bool,
    /// True if a failure is ignored. The fail count of the resource is then ignored, too.
    pub(super) ignored: bool,
    /// The target of a live migration that had begun when the document was written, unless its end is known.
    pub(super) begun: Option<HostIdx>,
    /// Other hosts on which it may run, by the results of live migrations.
    pub(super) elsewhere: Vec<HostIdx>,
    /// The host to which it was sent, if its arrival is unknown.
    pub(super) sent: Option<HostIdx>,
    /// True if it arrived elsewhere and its remains must be stopped here.
    pub(super) left: bool,
    /// Reason why it is not supported, if any.
    pub(super) unsupported: Option<&'static str>,
}

/// Outcome of operations in the order of their calls.
pub(super) fn outcome(
    operations: &[KeptOperation],
    rules: &FailureRules<'_>,
    fencing: bool,
    managed: bool,
    here: &HistoryPlace<'_>,
) -> PastOutcome {
    let mut now = PastOutcome::default();
    let mut failed = None;
    for (at, operation) in operations.iter().enumerate() {
        // Up to Pacemaker 2.1.5, this counts even if the failure is forgotten.
        let counts = !operation.forgotten || here.keeps_forgotten;
        now.untouchable |= counts && operation.cannot_be_stopped() && !here.can_be_fenced;
        // An unmanaged resource that does not run was stopped by an administrator.
        if !managed && operation.code == 7 && operation.is_judged() {
            (now.active, now.starting, now.on_fail) = (false, false, OnFail::Ignore);
            now.promoted = false;
        } else {
            let migration = || MigrationOutcome::of(operation, &operations[at + 1..], here);
            now.follow(operation, rules, fencing, &migration, &mut failed);
        }
    }
    now
}

impl PastOutcome {
    fn follow<'o>(
        &mut self,
        operation: &'o KeptOperation,
        rules: &FailureRules<'_>,
        fencing: bool,
        migration: &dyn Fn() -> MigrationOutcome,
        last_failed: &mut Option<OperationKey<'o>>,
    ) {
        let key = operation.key();
        if matches!(key.name, "notify" | "meta-data" | "reload" | "reload-agent" | "cancel" | "delete") {
            return;
        }
        if operation.forgotten {
            return;
        }
        if operation.garbled {
            self.leave_beyond(GARBLED);
        }
        if matches!(key.name, "migrate_to" | "migrate_from") {
            return self.migrate(operation, rules.of(operation, fencing), migration);
        }
        match operation.status {
            // Cancelled operations, and pending ones other than starts and promotions, do not tell where it runs.
            1 => return,
            -1 if key.name == "start" => {
                (self.active, self.starting, self.promoted) = (true, true, false);
                self.forgive();
                return;
            }
            -1 if key.name == "promote" => {
                (self.active, self.promoted) = (true, true);
                self.leave_beyond(PROMOTED);
                return;
            }
            -1 => return,
            _ => {}
        }
        let (probes, judged) = (operation.probes(), operation.is_judged());
        if self.follow_role(operation) {
            return;
        }
        let absent = probes && (operation.status == 7 || judged && matches!(operation.code, 2 | 5));
        if absent {
            (self.active, self.starting, self.banned) = (false, false, true);
            self.promoted = false;
            return;
        }
        if judged
            && operation.code == 7
            && (probes || (operation.expected == Some(7) && operation.status == 0))
        {
            (self.active, self.starting, self.promoted) = (false, false, false);
            self.on_fail = OnFail::Ignore;
            return;
        }
        if operation.is_done() {
            match key.name {
                "start" => {
                    (self.active, self.starting, self.promoted) = (true, false, false);
                    self.failed_promotion = false;
                    self.forgive();
                }
                "stop" => {
                    (self.active, self.starting, self.promoted) = (false, false, false);
                    self.failed_promotion = false;
                    (self.begun, self.left) = (None, false);
                    self.forgive();
                }
                "monitor" => {
                    (self.active, self.starting) = (true, false);
                    // Pacemaker compares the keys that the operations name, whatever they are.
                    if *last_failed == Some(operation.named()) {
                        self.forgive();
                    }
                }
                _ => self.leave_beyond("an operation that is not known"),
            }
            return;
        }
        *last_failed = Some(operation.named());
        let on_fail = rules.of(operation, fencing);
        self.fail_in_role(operation, on_fail);
        self.fail(operation, on_fail);
    }

    /// Takes in a live migration, as seen by one of its two hosts.
    fn migrate(
        &mut self,
        operation: &KeptOperation,
        on_fail: OnFail,
        migration: &dyn Fn() -> MigrationOutcome,
    ) {
        if operation.status == 1 {
            return;
        }
        self.starting &= operation.is_pending();
        match migration() {
            MigrationOutcome::Begun(to) => self.begun = self.begun.or(to),
            MigrationOutcome::Over => {}
            MigrationOutcome::Arrived => {
                self.active = true;
                self.forgive();
            }
            MigrationOutcome::Left => (self.active, self.left) = (false, true),
            MigrationOutcome::Sent(to) => {
                self.active = true;
                self.sent = to;
                self.elsewhere.extend(to);
            }
            MigrationOutcome::FailedThere(to) => {
                self.active = true;
                self.on_fail = self.on_fail.max(OnFail::Restart);
                self.elsewhere.extend(to);
            }
            MigrationOutcome::FailedHere(other) => {
                self.elsewhere.extend(other);
                self.fail(operation, on_fail);
            }
        }
    }

    /// Takes in a failed operation.
    fn fail(&mut self, operation: &KeptOperation, on_fail: OnFail) {
        // A missing agent is not a failure that can be ignored.
        let on_fail = if operation.lacks_agent() { on_fail.max(OnFail::Restart) } else { on_fail };
        let stops = operation.name == "stop";
        let fatal = operation.status == 6 || operation.is_judged() && operation.code == 6;
        if !matches!(
            operation.name.as_str(),
            "start" | "stop" | "monitor" | "asyncmon" | "migrate_to" | "migrate_from" | "promote" | "demote"
        ) {
            self.leave_beyond("a failed operation that is not known");
        }
        if on_fail == OnFail::Ignore {
            self.ignored = true;
            self.starting = false;
            self.active = !(stops || operation.probes());
            return;
        }
        // A resource that could not be stopped ends with its container.
        let ends = stops && on_fail == OnFail::RestartContainer;
        (self.active, self.starting) = (!ends, false);
        if ends {
            self.on_fail = self.on_fail.max(on_fail);
            self.ignored = true;
            return;
        }
        self.banned |= operation.is_hard();
        self.unstopped |= stops;
        self.banned_everywhere |= fatal;
        self.stopped |= on_fail == OnFail::Stop;
        self.on_fail = self.on_fail.max(on_fail);
    }

    /// Notes the first reason why it is not supported.
    pub(super) fn leave_beyond(&mut self, reason: &'static str) {
        self.unsupported.get_or_insert(reason);
    }

    /// Forgives failures that affect only the resource, after a successful start, stop or arrival.
    pub(super) fn forgive(&mut self) {
        if self.on_fail <= OnFail::Block {
            self.on_fail = OnFail::Ignore;
        }
    }

    pub(super) fn failed(&self) -> bool {
        self.active && self.on_fail > OnFail::Demote
    }

    pub(super) fn condition(&self) -> RunCondition {
        match (self.failed(), self.starting) {
            _ if self.untouchable || (self.active && self.on_fail == OnFail::Block) => RunCondition::Blocked,
            (true, _) => RunCondition::Failed,
            (false, true) => RunCondition::Starting,
            (false, false) => RunCondition::Sound,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::PROMOTED;
    use crate::cib;

    /// Only parts of promotable clones can be promoted.
    #[test]
    fn what_is_promoted_is_said_once() {
        let resource = |list: &str| format!(r#"<lrm_resource id="p">{list}</lrm_resource>"#);
        let operation = |name: &str, call: usize, code: usize| {
            format!(
                r#"<lrm_rsc_op id="p{call}" operation="{name}" call-id="{call}" op-status="0" rc-code="{code}" interval="0" transition-key="1:1:{code}:x"/>"#
            )
        };
        let operations =
            [("start", 1, 0), ("promote", 2, 0), ("monitor", 3, 8), ("demote", 4, 0), ("notify", 5, 0)];
        let history = resource(&operations.map(|(name, call, code)| operation(name, call, code)).concat());
        let primitive = r#"<primitive id="p" class="ocf" provider="pacemaker" type="Stateful"/>"#;
        let promotable = format!(
            r#"<clone id="c"><meta_attributes id="m"><nvpair id="m1" name="promotable" value="true"/></meta_attributes>{primitive}</clone>"#
        );
        for (resources, reasons) in [(primitive, vec![PROMOTED]), (&promotable, Vec::new())] {
            let document = format!(
                r#"<cib have-quorum="1"><configuration><nodes><node id="1" uname="n"/></nodes><resources>{resources}</resources></configuration><status><node_state id="1" uname="n" in_ccm="true" crmd="online" join="member" expected="member"><lrm id="1"><lrm_resources>{history}</lrm_resources></lrm></node_state></status></cib>"#
            );
            let unsupported = cib::parse(&document, "x").unwrap().unsupported;
            assert_eq!(
                unsupported.iter().map(|element| &element.reason).collect::<Vec<_>>(),
                reasons,
                "{resources}"
            );
        }
    }
}

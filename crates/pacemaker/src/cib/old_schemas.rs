//! Names of options before schema 3.0. Pacemaker upgrades such documents when it reads them.
//!
//! Source: documents before and after `cibadmin --upgrade` of Pacemaker 2.1.5.

use super::Reader;
use super::properties::Properties;

/// Options that lost their underscores, by their old and new names.
const UNDERSCORED: [(&str, &str); 8] = [
    ("no_quorum_policy", "no-quorum-policy"),
    ("remove_after_stop", "remove-after-stop"),
    ("startup_fencing", "startup-fencing"),
    ("stonith_action", "stonith-action"),
    ("stonith_enabled", "stonith-enabled"),
    ("stop_orphan_actions", "stop-orphan-actions"),
    ("stop_orphan_resources", "stop-orphan-resources"),
    ("symmetric_cluster", "symmetric-cluster"),
];

/// Options that became defaults of resources, by their old and new names.
const MOVED: [(&str, &str); 4] = [
    ("default-resource-stickiness", "resource-stickiness"),
    ("default_resource_stickiness", "resource-stickiness"),
    ("is-managed-default", "is-managed"),
    ("is_managed_default", "is-managed"),
];

impl<'a> Reader<'a, '_> {
    /// Gives the options of a document of an old schema their present names, and keeps those that are defaults of
    /// resources now.
    pub(super) fn upgrade_options(&mut self, options: Properties<'a>) -> Properties<'a> {
        let schema = self.root.attribute("validate-with").unwrap_or_default();
        if !["pacemaker-1.", "pacemaker-2."].iter().any(|old| schema.starts_with(old)) {
            return options;
        }
        let new_name = |names: &[(&str, &'static str)], name: &str| {
            names.iter().find(|(old, _)| *old == name).map(|(_, new)| *new)
        };
        let (moved, kept): (Vec<_>, Vec<_>) =
            options.iter().partition(|(name, _)| new_name(&MOVED, name).is_some());
        let named = |names: &[(&str, &'static str)], all: Vec<(&'a str, &'a str)>| {
            let named = all.into_iter().map(|(name, value)| (new_name(names, name).unwrap_or(name), value));
            named.collect::<Properties<'a>>()
        };
        self.old_defaults = named(&MOVED, moved);
        named(&UNDERSCORED, kept)
    }
}

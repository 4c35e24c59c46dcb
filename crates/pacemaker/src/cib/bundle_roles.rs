//! Roles in colocations of bundles.

use super::super::index::ResourceIdx;
use super::super::promotion::Role;
use super::super::score::AllocationScore;
use super::Reader;
use super::colocations::ColocatedRoles;

/// Reasons why a colocation is not supported.
const WITH_CLONE: &str = "a colocation of a bundle's role with a clone";
const WITH_GROUP: &str = "a colocation of a role with a group that need not be followed";
const PROMOTED_WITH_BUNDLE: &str = "a mandatory colocation of promoted instances with a bundle";
pub(super) const WITHOUT_ROLES: &str = "a colocation for a role that the resource does not have";

impl Reader<'_, '_> {
    /// Reason why a colocation of or with a bundle is not supported in these roles, if any.
    pub(super) fn unknown_roles_of_bundle(
        &self,
        dependent: ResourceIdx,
        primary: ResourceIdx,
        score: AllocationScore,
        roles: ColocatedRoles,
    ) -> Option<&'static str> {
        let set = &self.set;
        roles.dependent?;
        if set.bundle(dependent).is_none() && set.resource(dependent).promotion.is_none() {
            Some(WITHOUT_ROLES)
        } else if set.resource(primary).is_group() && !score.is_infinite() {
            Some(WITH_GROUP)
        } else if set.resource(primary).is_clone()
            && set.bundle(primary).is_none()
            && !(set.release.follows_roles_of_bundles() && score != AllocationScore::INFINITY)
        {
            Some(WITH_CLONE)
        } else if !set.release.follows_roles_of_bundles()
            && set.bundle(dependent).is_none()
            && self.is_followed_otherwise(score, roles)
        {
            Some(PROMOTED_WITH_BUNDLE)
        } else {
            None
        }
    }

    /// Returns true for a mandatory colocation of promoted instances that Pacemaker follows in another way with bundles:
    /// it stops instances that are elsewhere.
    fn is_followed_otherwise(&self, score: AllocationScore, roles: ColocatedRoles) -> bool {
        let forces = match roles.primary {
            None => score == AllocationScore::INFINITY,
            Some(_) => score == AllocationScore::MINUS_INFINITY,
        };
        forces && roles.dependent == Some(Role::Promoted)
    }

    /// The roles that count in a colocation of or with a bundle. Up to Pacemaker 2.1.5, no role of a bundle matters for
    /// promotions.
    pub(super) fn counting_roles_of_bundle(
        &self,
        dependent: ResourceIdx,
        primary: ResourceIdx,
        score: AllocationScore,
        roles: ColocatedRoles,
    ) -> ColocatedRoles {
        let set = &self.set;
        if set.bundle(primary).is_none() {
            return roles;
        }
        let is_kept_apart = score < AllocationScore::ZERO;
        let goes_by_instances = set.goes_by_instances(dependent, primary);
        // A resource that must be with unpromoted containers can be with any of them.
        let is_any = !goes_by_instances
            && score == AllocationScore::INFINITY
            && roles.primary == Some(Role::Unpromoted);
        if set.release.follows_roles_of_bundles() {
            return ColocatedRoles { primary: roles.primary.filter(|_| !is_any), ..roles };
        }
        let dependent_role = match set.bundle(dependent) {
            Some(_) if is_kept_apart => roles.dependent,
            Some(_) => None,
            None => roles.dependent.filter(|_| roles.primary.is_none()),
        };
        let primary_role = match set.bundle(dependent) {
            // Of two bundles, the roles of both sides are the same to Pacemaker.
            Some(_) => roles.primary.or(roles.dependent),
            None => roles.primary,
        };
        ColocatedRoles {
            dependent: dependent_role,
            primary: primary_role.filter(|_| !is_kept_apart && !is_any),
        }
    }
}

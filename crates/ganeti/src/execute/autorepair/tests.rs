//! The way out of repairs that have failed.

use super::world::World;
use super::*;
use crate::execute::fake::FakeHost;
use htools_model::autorepair::RepairKind;

/// The way out that is told when a repair by this job has failed.
fn way_out(joins: bool, opcodes: Vec<Opcode>) -> Option<String> {
    let mut around = FakeHost::default();
    around.clock.set(1000);
    let mut world = World::new(joins);
    let wanted = WantedRepair { kind: RepairKind::Migrate, opcodes, again: false };
    let mut attend = |world: &mut World| {
        let tags: Vec<String> = world.tags.iter().cloned().collect();
        let mut repairer = Repairer {
            client: Some(world),
            changes: true,
            around: &mut around,
            reason: "r".to_owned(),
            delay: 1.0,
        };
        repairer.attend("i", &tags, RepairWish::Repair(&wanted), false).unwrap()
    };
    let begun = attend(&mut world);
    assert!(matches!(begun.attended, Attended::Begun(_)) && begun.cleanup.is_none(), "{begun:?}");
    (0..9).for_each(|_| world.advance());
    let ended = attend(&mut world);
    assert!(matches!(ended.attended, Attended::Ended(_)), "{ended:?}");
    assert_eq!(ended.message.unwrap(), "it broke");
    ended.cleanup
}

#[test]
fn a_live_migration_that_failed_half_way_is_told_with_the_way_out() {
    let migrate = |target: Option<&str>, failover: bool| {
        let mut opcode = Opcode::migrate("i", target.map(str::to_owned));
        if let Opcode::Migrate { allow_failover, .. } = &mut opcode {
            *allow_failover = failover;
        }
        vec![opcode]
    };
    for joins in [true, false] {
        let told = way_out(joins, migrate(None, false));
        assert_eq!(told.unwrap(), "gnt-instance migrate --cleanup -f i");
        let told = way_out(joins, migrate(Some("n2"), false));
        assert_eq!(told.unwrap(), "gnt-instance migrate --cleanup -f -n n2 i");
        // it does not run
        assert_eq!(way_out(joins, migrate(None, true)), None);
        assert_eq!(way_out(joins, vec![Opcode::failover("i", None)]), None);
        // a node name that Ganeti cannot have
        assert_eq!(way_out(joins, migrate(Some("$(touch x)"), false)), None);
        // over RAPI the second job waits for the first, which has failed in something else
        let two = [vec![Opcode::startup("i")], migrate(None, false)].concat();
        assert_eq!(way_out(joins, two).is_some(), joins);
    }
}

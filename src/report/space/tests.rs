use super::*;
use crate::model::{FailCounts, Mib};
use crate::search::fill::FillGround;
use htools_testkit::cluster;

const SETTINGS: FillSettings = FillSettings {
    template: DiskTemplate::Plain,
    spindle_use: 1,
    accept_existing_errors: false,
    independent_groups: false,
    capacity_checks: false,
};

/// Two empty nodes.
fn nodes(exclusive: &str) -> Cluster {
    let row = |name| format!("{name}|4096|0|4096|102400|102400|4|N|u|8||{exclusive}|8");
    cluster(&[&row("a"), &row("b")], &[], &[])
}

fn size(memory: i64, spindles: i64) -> Size {
    Size { memory: Mib(memory), disk: Mib(2048), vcpus: 1, spindles }
}

fn tiered(cluster: &Cluster, sizes: &[Size]) -> AllocationRun {
    let filled = FillGround::of(cluster, SETTINGS).tiered(cluster, sizes, None).unwrap();
    AllocationRun::of(AllocationKind::Tiered, sizes, filled, false)
}

#[test]
fn equal_sizes_in_a_row_are_one_tier() {
    let cluster = nodes("N");
    let run = tiered(&cluster, &[size(3000, 1)]);
    let tiers: Vec<(i64, usize)> = run.tiers().iter().map(|t| (t.size.memory.0, t.count)).collect();
    assert_eq!(tiers[0], (3000, 2));
    assert_eq!(run.allocated(), tiers.iter().map(|t| t.1).sum::<usize>());
    assert_eq!(run.totals.instances, run.allocated());
    let text = text::result(&FillStart::of(&cluster, SETTINGS), &run);
    assert_eq!(
        text[..2],
        ["Tiered allocation results:", "  -   2 instances of spec MEM 3000, DSK 2048, CPU 1"]
    );
    let shell = shell::result(&FillStart::of(&cluster, SETTINGS), &run);
    assert!(shell.iter().any(|line| line.starts_with("HTS_TSPEC='3000,2048,1,1=2 ")), "{shell:?}");
}

#[test]
fn reasons_by_frequency() {
    let cluster = nodes("N");
    let mut filled = FillGround::of(&cluster, SETTINGS).tiered(&cluster, &[size(1, 1)], Some(0)).unwrap();
    let run = |filled: &Filled, hopeless| {
        AllocationRun::of(AllocationKind::Standard, &[size(1, 1)], filled.clone(), hopeless)
    };
    assert_eq!(run(&filled, false).main_reason(), FailKind::Mem);
    assert_eq!(run(&filled, false).reasons().len(), FailKind::ALL.len());
    filled.failures = FailCounts::one(FailKind::N1);
    assert_eq!(run(&filled, true).reasons(), [(FailKind::N1, 1)]);
    let shell = shell::result(&FillStart::of(&cluster, SETTINGS), &run(&filled, true));
    let last = ["HTS_ALLOC_INSTANCES=0", "HTS_ALLOC_FAIL_REASON=FAILN1", "HTS_ALLOC_FAILN1_CNT=1"];
    assert_eq!(shell[shell.len() - 3..], last);
}

#[test]
fn spindles_are_shown_where_they_are_of_interest() {
    for (exclusive, spindles) in [("N", ""), ("Y", ", SPN 2")] {
        let cluster = nodes(exclusive);
        let start = FillStart::of(&cluster, SETTINGS);
        assert_eq!(start.exclusive_storage, !spindles.is_empty());
        let run = tiered(&cluster, &[size(2048, 2)]);
        let wanted = format!("  MEM 2048, DSK 2048, CPU 1{spindles}, using disk template 'plain'.");
        assert_eq!(text::request(&start, &run)[1], wanted);
        let last = text::result(&start, &run).pop().unwrap();
        let map = map::allocation_map(&start, &run);
        assert_eq!(map[0], "Tiered allocation map");
        if start.exclusive_storage {
            assert!(last.starts_with("  - spindles usage efficiency: "), "{last}");
            assert_eq!(map[1], " new-0 b  2048 2048 1 2");
        } else {
            assert!(last.starts_with("  -   vcpu usage efficiency: "), "{last}");
            assert_eq!(map[1], " new-0 b  2048 2048 1 ");
        }
    }
}

#[test]
fn nothing_has_a_map_too() {
    let cluster = nodes("N");
    let run = tiered(&cluster, &[size(1, 1)]);
    assert_eq!(map::allocation_map(&FillStart::of(&cluster, SETTINGS), &run), ["Tiered allocation map"]);
    assert_eq!(text::result(&FillStart::of(&cluster, SETTINGS), &run)[1], "  - no instances allocated");
}

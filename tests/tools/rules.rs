//! Every placement rule with every tool that places instances: an instance goes to the node `dst`, unless the rule
//! forbids it.

use std::fs;
use std::path::Path;

use assert_cmd::Command;
use htools::load::text;
use htools::model::Rule;
use serde_json::{Value, json};

use crate::common::request::message;

/// A tool, or a use of one, that chooses nodes. hroller is not among them: its choices are Ganeti's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Placer {
    Balance,
    Deep,
    Evacuate,
    Offline,
    Squeeze,
    Fill,
    Allocate,
    AllocateSeveral,
    Relocate,
    EvacuateInstance,
    ChangeGroup,
    Compress,
    BalanceGroups,
    Redistribute,
    Repair,
}

const PLACERS: [Placer; 15] = [
    Placer::Balance,
    Placer::Deep,
    Placer::Evacuate,
    Placer::Offline,
    Placer::Squeeze,
    Placer::Fill,
    Placer::Allocate,
    Placer::AllocateSeveral,
    Placer::Relocate,
    Placer::EvacuateInstance,
    Placer::ChangeGroup,
    Placer::Compress,
    Placer::BalanceGroups,
    Placer::Redistribute,
    Placer::Repair,
];

impl Placer {
    fn words(self) -> &'static [&'static str] {
        match self {
            Placer::Balance => &["hbal"],
            Placer::Deep => &["hbal", "--deep", "--effort=20000"],
            Placer::Evacuate => &["hbal", "--evacuate=src"],
            Placer::Offline => &["hbal", "-O", "src"],
            Placer::Squeeze => &[
                "hsqueeze",
                "--all",
                "--minimal-resources=0",
                "--target-resources=0",
                "--no-capacity-checks",
            ],
            Placer::Fill => &["hspace", "-l", "1", "--no-capacity-checks"],
            Placer::Allocate | Placer::AllocateSeveral => {
                &["hail", "--no-capacity-checks", "-t", "cluster.data", "request.json"]
            }
            // A request does not contain the own memory of KVM nodes.
            Placer::Relocate | Placer::EvacuateInstance | Placer::ChangeGroup => {
                &["hail", "--no-capacity-checks", "--static-kvm-node-memory=0", "request.json"]
            }
            Placer::Compress => &["hgroup", "compress", "-G", "g", "--no-capacity-checks"],
            Placer::BalanceGroups => &["hgroup", "balance", "--no-capacity-checks"],
            Placer::Redistribute => &["hgroup", "redistribute", "--no-capacity-checks"],
            Placer::Repair => &["harep", "--dry-run", "--json"],
        }
    }

    /// The file with the final cluster that `-S s` writes, if the tool has the option.
    fn saved(self) -> Option<&'static str> {
        Some(match self {
            Placer::Balance | Placer::Deep | Placer::Evacuate | Placer::Offline => "s.balanced",
            Placer::Squeeze => "s.squeezed",
            Placer::Fill => "s.standard",
            Placer::Allocate
            | Placer::AllocateSeveral
            | Placer::Relocate
            | Placer::EvacuateInstance
            | Placer::ChangeGroup => "s.post-ialloc",
            Placer::Compress | Placer::BalanceGroups | Placer::Redistribute => "s.regrouped",
            Placer::Repair => return None,
        })
    }

    /// Tells if `dst` is in another group than `src`.
    fn crosses(self) -> bool {
        matches!(self, Placer::Compress | Placer::BalanceGroups | Placer::Redistribute | Placer::ChangeGroup)
    }

    /// Tells if the request to the allocator contains the places of instances.
    fn asks_about_a_cluster(self) -> bool {
        matches!(self, Placer::Relocate | Placer::EvacuateInstance | Placer::ChangeGroup)
    }

    /// Tells if the tool has `--min-disk`. For the others, no disk must stay free.
    fn keeps_disk(self) -> bool {
        let without =
            matches!(self, Placer::Squeeze | Placer::Repair | Placer::Relocate | Placer::EvacuateInstance)
                || matches!(self, Placer::ChangeGroup | Placer::Allocate | Placer::AllocateSeveral);
        !without
    }

    fn places_new(self) -> bool {
        matches!(self, Placer::Fill | Placer::Allocate | Placer::AllocateSeveral)
    }
}

/// Effect of a rule in a tool.
enum Meeting {
    /// The tool respects it.
    Heeded,
    /// It does not count there: an instance that must leave a lost node ignores all but hard rules.
    Soft,
    /// It never applies there.
    Never,
}

/// The effect to test; none if another test covers it.
fn meeting(rule: Rule, placer: Placer) -> Option<Meeting> {
    Some(match rule {
        // New instances of hspace have no tags. Like those of hail, they have no previous place.
        Rule::Pool | Rule::ExclusionTag if placer == Placer::Fill => Meeting::Never,
        Rule::MigrationTags if placer.places_new() => Meeting::Never,
        Rule::DiskReserve | Rule::PlannedDiskReserve if !placer.keeps_disk() => Meeting::Never,
        Rule::Memory | Rule::Disk | Rule::Spindles | Rule::Pool | Rule::MigrationTags => Meeting::Heeded,
        Rule::CpuRatio
        | Rule::SpindleRatio
        | Rule::ExclusionTag
        | Rule::Redundancy
        | Rule::DiskReserve
        | Rule::PlannedDiskReserve
        | Rule::PlannedSpindles
        | Rule::MemoryForFailover
        | Rule::PlannedMemory
        | Rule::PlannedCpuRatio
        | Rule::PlannedDisk
        | Rule::PlannedSpindleRatio => match placer {
            Placer::Offline | Placer::Repair => Meeting::Soft,
            _ => Meeting::Heeded,
        },
        // tests/library/reserve.rs and tests/tools/reserve.rs
        Rule::JointReserve | Rule::GroupReserve => return None,
        // Only hbal sets such limits, with --only-if: crates/search/src/steady/tests.rs.
        Rule::UseLimit => return None,
        // harep has no such option.
        Rule::ClosedNode => match placer {
            Placer::Repair => Meeting::Never,
            Placer::Offline => Meeting::Soft,
            _ => Meeting::Heeded,
        },
        // hspace counts instances, and harep has no such option.
        Rule::KeptRoom => match placer {
            Placer::Fill | Placer::Repair => Meeting::Never,
            Placer::Offline | Placer::Redistribute => Meeting::Soft,
            _ => Meeting::Heeded,
        },
        // Pacemaker's clusters have it, and hbal --no-return: crates/model/tests/model/kept_out.rs.
        Rule::KeptOut => return None,
        // No tool gives an instance a secondary node that its template does not need; see
        // crates/model/src/placement.rs.
        Rule::NotMirrored => return None,
    })
}

const RULES: [Rule; 24] = [
    Rule::Memory,
    Rule::Disk,
    Rule::DiskReserve,
    Rule::Spindles,
    Rule::SpindleRatio,
    Rule::Redundancy,
    Rule::JointReserve,
    Rule::GroupReserve,
    Rule::KeptRoom,
    Rule::CpuRatio,
    Rule::ExclusionTag,
    Rule::MemoryForFailover,
    Rule::PlannedMemory,
    Rule::PlannedDisk,
    Rule::PlannedDiskReserve,
    Rule::PlannedSpindles,
    Rule::PlannedSpindleRatio,
    Rule::PlannedCpuRatio,
    Rule::NotMirrored,
    Rule::MigrationTags,
    Rule::Pool,
    Rule::KeptOut,
    Rule::UseLimit,
    Rule::ClosedNode,
];

/// A node, by default with 16 GiB of memory and 90 GB of disk.
struct NodeRow {
    name: &'static str,
    mem: i64,
    used: i64,
    disk: i64,
    disk_used: i64,
    cpus: i64,
    role: &'static str,
    group: &'static str,
    spindles: i64,
    /// Free spindles on a node with exclusive storage.
    free_spindles: Option<i64>,
    tags: &'static str,
}

impl NodeRow {
    fn new(name: &'static str, group: &'static str) -> NodeRow {
        let (role, tags) = ("N", "");
        NodeRow {
            name,
            mem: 16384,
            used: 0,
            disk: 90000,
            disk_used: 0,
            cpus: 8,
            role,
            group,
            spindles: 16,
            free_spindles: None,
            tags,
        }
    }

    fn line(&self) -> String {
        let NodeRow { name, mem, used, disk, disk_used, cpus, role, group, spindles, free_spindles, tags } =
            self;
        let (free, free_disk) = (mem - used, disk - disk_used);
        let storage = free_spindles.map_or("N|0".to_owned(), |free| format!("Y|{free}"));
        format!(
            "{name}|{mem}|0|{free}|{disk}|{free_disk}|{cpus}|{role}|{group}|{spindles}|{tags}|{storage}\n"
        )
    }
}

/// The instance on `src` that should go to `dst`.
struct Mover {
    cpus: i64,
    spindle_use: i64,
    tags: &'static str,
    /// Spindles of its disk, if nodes have exclusive storage.
    disk_spindles: Option<i64>,
    is_mirrored: bool,
}

impl Mover {
    fn template(&self) -> &'static str {
        if self.is_mirrored { "drbd" } else { "ext" }
    }

    /// The request to the allocator, with the cluster of a text if it needs one.
    fn request(&self, placer: Placer, text: &str) -> Value {
        let leaves = if self.is_mirrored { "mid" } else { "src" };
        let mode = if self.is_mirrored { "secondary-only" } else { "primary-only" };
        let request = match placer {
            Placer::Relocate => json!({"type": "relocate", "name": "i", "relocate_from": [leaves],
                "required_nodes": 1}),
            Placer::EvacuateInstance => {
                json!({"type": "node-evacuate", "instances": ["i"], "evac_mode": mode})
            }
            Placer::ChangeGroup => {
                json!({"type": "change-group", "instances": ["i"], "target_groups": ["h"]})
            }
            Placer::AllocateSeveral => json!({"type": "multi-allocate", "instances": [self.newcomer()]}),
            _ => self.newcomer(),
        };
        if placer.asks_about_a_cluster() {
            let raw = text::parse(text, "scene").unwrap();
            return message(&raw, &["kvm"], &request);
        }
        json!({"version": 2, "cluster_name": "c", "cluster_tags": [], "enabled_hypervisors": ["kvm"], "ipolicy": {},
            "nodegroups": {}, "nodes": {}, "instances": {}, "request": request})
    }

    fn newcomer(&self) -> Value {
        let tags: Vec<&str> = Some(self.tags).filter(|tags| !tags.is_empty()).into_iter().collect();
        let mut disk = json!({"size": 1024, "mode": "rw"});
        if let Some(spindles) = self.disk_spindles {
            disk["spindles"] = spindles.into();
        }
        json!({"type": "allocate", "name": "new", "memory": 2048, "vcpus": self.cpus, "disk_space_total": 1024,
            "spindle_use": self.spindle_use, "disks": [disk], "disk_template": self.template(),
            "required_nodes": if self.is_mirrored { 2 } else { 1 }, "nics": [], "tags": tags, "os": "x", "hypervisor": "kvm"})
    }
}

/// A cluster in which `dst` is the best node for an instance on `src`. With `closed`, the rule forbids it.
fn scene(rule: Rule, placer: Placer, closed: bool) -> (String, Mover) {
    let group = if placer.crosses() { "h" } else { "g" };
    let mirrored = [
        Rule::Disk,
        Rule::DiskReserve,
        Rule::Spindles,
        Rule::SpindleRatio,
        Rule::MemoryForFailover,
        Rule::PlannedDisk,
        Rule::PlannedDiskReserve,
        Rule::PlannedSpindles,
        Rule::PlannedSpindleRatio,
    ];
    let is_mirrored = mirrored.contains(&rule);
    let mut mover = Mover { cpus: 1, spindle_use: 1, tags: "", disk_spindles: None, is_mirrored };
    let is_exclusive = matches!(rule, Rule::Spindles | Rule::PlannedSpindles);
    let (mut src, mut dst) = (
        NodeRow { used: 2048, ..NodeRow::new("src", "g") },
        NodeRow { role: "M", ..NodeRow::new("dst", group) },
    );
    let (mut cluster_tag, mut spindle_ratio, mut others, mut tops) = ("", 32.0, Vec::new(), Vec::new());
    let either = |closes: &'static str, opens: &'static str| if closed { closes } else { opens };
    let size = |closes: i64, opens: i64| if closed { closes } else { opens };
    // name, memory, disk, virtual CPUs, node, template, tags, spindles, forthcoming
    let planned = |mem, disk, cpus, template, spindles| {
        format!("f|{mem}|{disk}|{cpus}|running|Y|dst||{template}||{spindles}|-|Y\n")
    };
    match rule {
        Rule::Memory | Rule::MemoryForFailover => dst.mem = size(2000, 16384),
        Rule::CpuRatio => (mover.cpus, dst.cpus) = (5, size(1, 8)),
        Rule::ExclusionTag => {
            (cluster_tag, mover.tags) = ("htools:iextags:x\n", "x:1");
            others.push(format!("p|128|1024|1|running|Y|dst||plain|{}|1|-|N\n", either("x:1", "x:2")));
            (dst.used, dst.disk_used) = (128, 1024);
        }
        Rule::MigrationTags => {
            (cluster_tag, src.tags, dst.tags) = ("htools:migration:m\n", "m:a", either("", "m:a"));
        }
        Rule::Pool => {
            (src.tags, mover.tags) = ("htools:pool:p", "htools:pool:p");
            dst.tags = either("htools:pool:q", "htools:pool:p");
        }
        // `--no-target`
        Rule::ClosedNode => {}
        // Only dst has room for the instance of `--keep-room`.
        Rule::KeptRoom => src.mem = 12288,
        Rule::PlannedMemory => others.push(planned(size(15000, 100), 1024, 1, "ext", 1)),
        Rule::PlannedCpuRatio => others.push(planned(100, 1024, size(32, 1), "ext", 1)),
        Rule::Disk => dst.disk = size(500, 90000),
        Rule::SpindleRatio => (mover.spindle_use, spindle_ratio, dst.spindles) = (12, 1.0, size(4, 16)),
        Rule::PlannedDisk => others.push(planned(100, size(89500, 1024), 1, "plain", 1)),
        // `--min-disk=0.1`
        Rule::DiskReserve => dst.disk_used = size(80500, 0),
        Rule::PlannedDiskReserve => others.push(planned(100, size(80500, 1024), 1, "plain", 1)),
        Rule::Spindles => (mover.spindle_use, mover.disk_spindles) = (2, Some(2)),
        Rule::PlannedSpindles => {
            (mover.spindle_use, mover.disk_spindles) = (2, Some(2));
            others.push(format!("f|100|1024|1|running|Y|dst||plain||1|{}|Y\n", size(7, 2)));
        }
        // The memory that dst reserves for an instance of top.
        Rule::Redundancy => {
            let memory = size(15000, 13000);
            tops.push(NodeRow { used: memory, disk_used: 1024, ..NodeRow::new("top", group) });
            others.push(format!("r|{memory}|1024|1|running|Y|top|dst|drbd||1|-|N\n"));
            dst.disk_used = 1024;
        }
        Rule::PlannedSpindleRatio => {
            spindle_ratio = 1.0;
            others.push(planned(100, 1024, 1, "plain", size(16, 2)));
        }
        _ => unreachable!("{rule:?} is tried nowhere"),
    }
    let mut mid = NodeRow { disk_used: 1024, ..NodeRow::new("mid", "g") };
    // No other node is as good as dst.
    let used = if mover.is_mirrored && placer.crosses() { 2000 } else { 15000 };
    let mut far = NodeRow { used, disk_used: 1024, tags: src.tags, ..NodeRow::new("far", group) };
    if rule == Rule::SpindleRatio {
        // With 12 spindles per mover, a node that takes one has no room for a second.
        (src.spindles, mid.spindles, far.spindles) = (24, 24, 16);
    }
    if matches!(placer, Placer::Balance | Placer::Deep | Placer::BalanceGroups) {
        (src.used, src.disk_used) = (src.used + 8000, 1024);
        others.push("q|8000|1024|1|running|Y|src||plain||1|-|N\n".to_owned());
    }
    if placer.places_new() || placer == Placer::Redistribute {
        src.role = "Y";
    }
    if placer == Placer::Repair {
        let lost = if mover.is_mirrored { &mut mid } else { &mut src };
        lost.role = "Y";
    }
    if is_exclusive {
        let free = if rule == Rule::Spindles { size(1, 8) } else { 8 };
        (src.free_spindles, mid.free_spindles) = (Some(8), Some(8));
        (dst.free_spindles, far.free_spindles) = (Some(free), Some(8));
    }
    let mut nodes = src.line();
    if mover.is_mirrored {
        src.disk_used += 1024;
        nodes = src.line() + &mid.line();
    }
    nodes += &(dst.line() + &far.line());
    tops.iter().for_each(|top| nodes += &top.line());
    let Mover { cpus, spindle_use, tags, disk_spindles, .. } = mover;
    let disk_spindles = disk_spindles.map_or("-".to_owned(), |spindles| spindles.to_string());
    let (template, at) = (mover.template(), if mover.is_mirrored { "src|mid" } else { "src|" });
    let is_lost = placer == Placer::Repair && !mover.is_mirrored;
    let status = if is_lost { "ERROR_nodeoffline" } else { "running" };
    let repair = if placer == Placer::Repair { "ganeti:watcher:autorepair:failover\n" } else { "" };
    let instance =
        format!("i|2048|1024|{cpus}|{status}|Y|{at}|{template}|{tags}|{spindle_use}|{disk_spindles}|N\n");
    let load = format!("l|{used}|1024|1|running|Y|far||plain||1|-|N\n");
    let standard = format!("2048,{cpus},1024,1,1,{spindle_use}");
    let policy = format!(
        "|{standard}|128,1,128,1,1,1;65536,64,1048576,16,8,12|ext,rbd,drbd,plain|4.0|{spindle_ratio:.1}\n"
    );
    let groups = if placer.crosses() { "g|g|preferred||\nh|h|preferred||\n" } else { "g|g|preferred||\n" };
    let of_h = if placer.crosses() { format!("h{policy}") } else { String::new() };
    let text = format!(
        "{groups}\n{nodes}\n{instance}{}{load}\n{cluster_tag}{repair}\n{policy}g{policy}{of_h}",
        others.concat()
    );
    (text, mover)
}

/// Tells if the instance, or a new one, is on `dst` afterwards.
fn arrives(directory: &Path, rule: Rule, placer: Placer, closed: bool) -> bool {
    let (text, mover) = scene(rule, placer, closed);
    let request = mover.request(placer, &text).to_string();
    fs::write(directory.join("request.json"), request).unwrap();
    fs::write(directory.join("cluster.data"), text).unwrap();
    let saved = placer.saved().map(|name| directory.join(name));
    saved.iter().for_each(|saved| drop(fs::remove_file(saved)));
    let mut command = Command::new(env!("CARGO_BIN_EXE_htools"));
    let command = command.env_remove("HTOOLS").current_dir(directory).args(placer.words());
    if saved.is_some() {
        command.args(["-S", "s"]);
    }
    if !placer.words().contains(&"hail") {
        command.args(["-t", "cluster.data"]);
    }
    if matches!(rule, Rule::DiskReserve | Rule::PlannedDiskReserve) {
        command.arg("--min-disk=0.1");
    }
    if rule == Rule::KeptRoom {
        command.arg(if closed { "--keep-room=15g,1c,ext" } else { "--keep-room=1g,1c,ext" });
    }
    if rule == Rule::ClosedNode && closed && placer != Placer::Repair {
        command.arg("--no-target=dst");
    }
    if (rule, placer) == (Rule::Redundancy, Placer::Squeeze) {
        // Otherwise top would be freed.
        command.arg("--exclude-instances=r");
    }
    if placer == Placer::Fill {
        command.args(["--disk-template", mover.template()]);
    }
    let output = command.output().unwrap();
    assert!(matches!(output.status.code(), Some(0 | 1)), "{rule:?} {placer:?}: {output:?}");
    let Some(saved) = saved else {
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        let to = &answer["instances"][0]["to"];
        return answer["instances"][0]["name"] == "i"
            && [&to["primary"], &to["secondary"]].contains(&&json!("dst"));
    };
    let name = if placer.places_new() { "new" } else { "i|" };
    let after = fs::read_to_string(saved).unwrap_or_default();
    after.lines().any(|line| line.starts_with(name) && line.contains("|dst|"))
}

#[test]
fn every_rule_holds_in_every_tool() {
    let directory = tempfile::tempdir().unwrap();
    let mut wrong = Vec::new();
    for (rule, placer) in RULES.iter().flat_map(|rule| PLACERS.map(|placer| (*rule, placer))) {
        let goes_when_closed = match meeting(rule, placer) {
            Some(Meeting::Heeded) => false,
            Some(Meeting::Soft) => true,
            Some(Meeting::Never) | None => continue,
        };
        let [open, closed] = [false, true].map(|closed| arrives(directory.path(), rule, placer, closed));
        if (open, closed) != (true, goes_when_closed) {
            wrong.push(format!("{rule:?} with {placer:?}: goes there {open}, if forbidden {closed}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

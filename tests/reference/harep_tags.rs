//! Tags of automatic repairs, as people and programs write them, and invalid ones.
//!
//! Numbers are written as programs write them, because the two sides read `+5`, `007` and `0x10` differently.

use htools::generate::random::Random;

/// Prefix of all these tags.
pub const PREFIX: &str = "ganeti:watcher:autorepair:";

/// Kinds of repair, in ascending order.
const KINDS: [&str; 4] = ["fix-storage", "migrate", "failover", "reinstall"];
/// Moments in the past.
const PAST: [i64; 7] = [7, 100, 86_400, 1_300_000_000, 1_300_000_001, 1_600_000_000, 1_700_000_000];
/// A time in the future. For ours, a repair that ended then has just ended.
pub const FUTURE: i64 = 9_999_999_999;

/// Jobs of earlier repairs, by number, with their statuses.
pub type Jobs = Vec<(u64, &'static str)>;

/// Permissions in the tags of a cluster, a group or an instance.
pub fn permissions(random: &mut Random) -> Vec<String> {
    let count = 1 + random.weighted(&[0.7, 0.2, 0.1]);
    (0..count).map(|_| format!("{PREFIX}{}", permission(random))).collect()
}

fn permission(random: &mut Random) -> String {
    // For later times, ours shows seconds.
    let until = [FUTURE, 4_102_444_800, 32_503_679_999, 253_402_207_200];
    match random.weighted(&[0.68, 0.07, 0.04, 0.09, 0.06, 0.03, 0.03]) {
        0 => KINDS[random.weighted(&[0.15, 0.15, 0.3, 0.4])].to_owned(),
        1 => "suspend".to_owned(),
        2 => "suspend:".to_owned(),
        3 => format!("suspend:{}", random.pick(&until)),
        4 => format!("suspend:{}", random.pick(&PAST)),
        5 => {
            (*random.pick(&["suspend:abc", "suspend:1e11", "suspend::", "suspend:-5", "suspend:9999999999:"]))
                .to_owned()
        }
        _ => (*random.pick(&["Failover", "failover:", "reinstall:x", "", "pending", "result", "unknown"]))
            .to_owned(),
    }
}

/// Tags of an instance that needs a repair of a kind: the last one has just ended well, or is not permitted.
pub fn repeated(kind: &str, random: &mut Random) -> Vec<String> {
    let [permitted, said] = match random.chance(0.5) {
        true => ["reinstall", "success:5"],
        false => ["fix-storage", "enoperm:"],
    };
    vec![format!("{PREFIX}{permitted}"), format!("{PREFIX}result:{kind}:u1:{FUTURE}:{said}")]
}

/// Tags with an instance's repairs. The jobs that they name are added to `jobs`.
pub fn history(jobs: &mut Jobs, random: &mut Random) -> Vec<String> {
    let ids = ["u1", "u2", "0d3cb5b4-4e5b-4d6e-9f1c-0a1b2c3d4e5f"];
    let mut times = PAST.to_vec();
    random.shuffle(&mut times);
    times.truncate(1 + random.weighted(&[0.65, 0.25, 0.1]));
    times.sort_unstable();
    let mut tags = Vec::new();
    for (at, time) in times.iter().enumerate() {
        // Mostly different repairs, sometimes two tags of the same one.
        let id = ids[if random.chance(0.25) { 0 } else { at }];
        let is_last = at + 1 == times.len();
        let time = if is_last && random.chance(0.15) { FUTURE } else { *time };
        // No repair follows an unfinished one, unless something went wrong.
        let may_be_open = is_last || random.chance(0.1);
        tags.push(format!("{PREFIX}{}", one(id, time, may_be_open, jobs, random)));
    }
    if random.chance(0.12) {
        tags.push(format!("{PREFIX}{}", malformed(random)));
    }
    tags
}

fn one(id: &str, time: i64, may_be_open: bool, jobs: &mut Jobs, random: &mut Random) -> String {
    let kind = KINDS[random.weighted(&[0.35, 0.05, 0.3, 0.3])];
    match random.weighted(&[if may_be_open { 0.4 } else { 0.0 }, 0.28, 0.12, 0.2]) {
        // A pending repair without jobs is about to begin.
        0 if time != FUTURE && random.chance(0.12) => format!("pending:{kind}:{id}:{time}:"),
        0 => format!("pending:{kind}:{id}:{time}:{}", some_jobs(jobs, random)),
        1 => format!("result:{kind}:{id}:{time}:success:{}", random.pick(&["", "5", "5+6"])),
        2 => format!("result:{kind}:{id}:{time}:failure:{}", random.pick(&["", "5", "5+6"])),
        _ => format!("result:{kind}:{id}:{time}:enoperm:"),
    }
}

/// New jobs, in the form of a tag.
fn some_jobs(jobs: &mut Jobs, random: &mut Random) -> String {
    let open = ["queued", "waiting", "canceling", "running"];
    let statuses: &[&str] = match random.weighted(&[0.45, 0.2, 0.35]) {
        0 => &["success"],
        1 => &["success", "error", "canceled"],
        _ => &open,
    };
    let numbers: Vec<String> = (0..1 + random.weighted(&[0.6, 0.3, 0.1]))
        .map(|_| {
            let number = 11 + jobs.len() as u64;
            jobs.push((number, *random.pick(statuses)));
            number.to_string()
        })
        .collect();
    numbers.join("+")
}

/// Something that begins like a repair tag but is none.
fn malformed(random: &mut Random) -> String {
    (*random.pick(&[
        "pending:failover:m:100",
        "pending:failover:m:100:1:2",
        "pending:nothing:m:100:1",
        "pending:failover:m:abc:1",
        "pending:failover:m:100:x",
        "pending:failover:m:100:1+",
        "pending:failover:m:100:+",
        "pending:failover:m:100:1++2",
        "pending:failover:m:1.5:1",
        "pending:failover:m::1",
        "result:failover:m:100:unknown:1",
        "result:failover:m:100:failure",
        "result:failover:m:100:failure:1:2",
        "result:failover:m:100:failure:x+y",
        "result:nothing:m:100:failure:1",
        "result::m:100:failure:1",
        "Pending:failover:m:100:1",
    ]))
    .to_owned()
}

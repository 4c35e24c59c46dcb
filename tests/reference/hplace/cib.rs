//! Random Pacemaker clusters, as CIBs.

#[path = "../../common/cib_text.rs"]
pub mod cib_text;

use std::collections::BTreeSet;
use std::fmt::Write;

use cib_text::{DUMMY, FENCING, attributes, begin, history};
use htools::generate::random::Random;

/// Size and features of a cluster.
#[derive(Debug, Clone, Copy)]
pub struct Dimensions {
    /// Nodes.
    pub hosts: usize,
    /// Primitives, in groups or not.
    pub primitives: usize,
    /// True if there may be clones.
    pub clones: bool,
    /// True if operations may have failed, or not have ended.
    pub failures: bool,
    /// True if primitives may run on several nodes.
    pub several: bool,
    /// True if the configuration may have changed since resources were started.
    pub changed: bool,
}

impl Dimensions {
    /// A small cluster that combines all features.
    pub fn small(random: &mut Random) -> Dimensions {
        Dimensions {
            hosts: 2 + random.below(5),
            primitives: 2 + random.below(11),
            clones: false,
            failures: false,
            several: false,
            changed: false,
        }
    }
}

/// A primitive before it is written into the CIB.
#[derive(Clone)]
struct Primitive {
    id: String,
    group: Option<usize>,
    /// The clone of the primitive, or of its group.
    clone: Option<usize>,
    /// Positions of the hosts where it runs.
    active: Vec<usize>,
    /// Most running instances of its clone.
    most: usize,
    stonith: bool,
    /// True if it is no longer configured.
    gone: bool,
}

impl Primitive {
    /// Its clone and its group.
    fn wholes(&self) -> (Option<usize>, Option<usize>) {
        (self.clone, self.group)
    }

    fn agent(&self) -> &'static str {
        if self.stonith { FENCING } else { DUMMY }
    }
}

/// The language features of a CIB, decided once for the whole document.
struct Flavour {
    fencing: bool,
    kinds: Vec<&'static str>,
    colocations: bool,
    orders: bool,
    loose: bool,
    clones: bool,
    several: bool,
    /// True if clones depend on others in colocations, instead of the reverse. Never both, so there are no circles.
    clones_follow: bool,
}

const STRATEGIES: [&str; 4] = ["default", "utilization", "balanced", "minimal"];
const SCORES: [&str; 10] =
    ["INFINITY", "-INFINITY", "100", "-100", "50", "1", "-1", "999999", "-20", "+INFINITY"];
/// Time at which clusters with expiring failures are evaluated.
const NOW: i64 = 1_710_000_000;
pub const RACKS: [&str; 4] = ["a", "b", "B", "c"];

/// A random document.
pub fn document(of: Dimensions, random: &mut Random) -> String {
    let all = ["cpu", "memory", "disk"];
    let flavour = Flavour {
        fencing: random.chance(0.25),
        kinds: all[..1 + random.weighted(&[0.4, 0.4, 0.2])].to_vec(),
        colocations: random.chance(0.6),
        orders: random.chance(0.5),
        loose: random.chance(0.5),
        clones: of.clones && random.chance(0.4),
        several: of.several,
        clones_follow: of.clones && random.chance(0.2),
    };
    let names = host_names(of.hosts, random);
    let states: Vec<usize> = (0..of.hosts).map(|_| random.weighted(&[0.8, 0.05, 0.05, 0.04, 0.06])).collect();
    let primitives = primitives(of, &flavour, &states, random);
    let (gone, configured): (Vec<Primitive>, Vec<Primitive>) =
        primitives.into_iter().partition(|one| one.gone);
    let mut xml = String::new();
    let at = random.below(of.hosts);
    begin(&mut xml, at);
    if of.failures {
        xml = xml.replacen("<cib ", &format!(r#"<cib execution-date="{NOW}" "#), 1);
    }
    options(&mut xml, &flavour, of, random);
    hosts(&mut xml, &names, &states, &flavour, random);
    resources(&mut xml, &configured, &flavour, random);
    if of.failures {
        xml = with_responses(&xml, random);
    }
    constraints(&mut xml, &names, &configured, &flavour, random);
    if random.chance(0.3) {
        let stickiness = random.pick(&["0", "1", "100", "INFINITY", "-5"]);
        let _ = writeln!(
            xml,
            r#"<rsc_defaults><meta_attributes id="rd"><nvpair id="rd1" name="resource-stickiness" value="{stickiness}"/></meta_attributes></rsc_defaults>"#
        );
    }
    xml.push_str("</configuration>\n");
    let all = [&configured[..], &gone[..]].concat();
    status(&mut xml, &names, &states, &all, of, random);
    xml.push_str("</cib>\n");
    match of.changed {
        true => with_parameters(xml, &configured, random),
        false => xml,
    }
}

/// Digests of recorded parameters: none, `k=1`, `k=2`, and both `k=1` and `l=1`.
const NOTED: [&str; 4] = [
    "f2317cad3d54cec5d7d7aa7d0bf35cf8",
    "042498509a0cd2f60a87f70f8615ae86",
    "85d20f684ac2d6fe7512f5c9f87212cc",
    "956d225f1261d857d759758076a4385e",
];

/// The same CIB with parameters for primitives. Some were started with these parameters. Others were started with
/// different ones, so they restart or reload, or with another agent.
fn with_parameters(mut xml: String, primitives: &[Primitive], random: &mut Random) -> String {
    let [none, one, two, both] = NOTED;
    for primitive in primitives {
        let (id, agent) = (&primitive.id, primitive.agent());
        let reload = format!(r#"{both}" op-restart-digest="{one}" op-force-restart=" k "#);
        let (parameters, noted) = match random.weighted(&[0.5, 0.15, 0.12, 0.15, 0.08]) {
            0 => continue,
            1 => ("k=1", one.to_owned()),
            2 => ("k=1", two.to_owned()),
            3 => ("k=1 l=2", reload),
            _ => ("k=1", one.to_owned()),
        };
        let is_other = noted == one && random.chance(0.3) && !primitive.stonith;
        let pairs: Vec<(&str, String)> = parameters
            .split(' ')
            .filter_map(|pair| pair.split_once('='))
            .map(|(name, value)| (name, value.to_owned()))
            .collect();
        let mut sets = String::new();
        attributes(&mut sets, "instance_attributes", id, &pairs);
        let head = format!(r#"<primitive id="{id}" {agent}>"#);
        xml = xml.replacen(&head, &format!("{head}{sets}"), 1);
        let begin = format!(r#"<lrm_resource id="{id}" "#);
        let mut parts = xml.split(&begin);
        let mut text = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let (history, rest) = part.split_once("</lrm_resource>").unwrap_or((part, ""));
            let history = history.replace(none, &noted);
            let history = if is_other { history.replacen("pacemaker", "heartbeat", 1) } else { history };
            text.extend([&begin, &history, "</lrm_resource>", rest]);
        }
        xml = text;
    }
    xml
}

fn host_names(count: usize, random: &mut Random) -> Vec<String> {
    let first = random.below(10);
    let stem = *random.pick(&["node", "n-", "Web"]);
    let mut names: Vec<String> = (0..count).map(|at| format!("{stem}{}", first + at)).collect();
    random.shuffle(&mut names);
    names
}

fn primitives(of: Dimensions, flavour: &Flavour, states: &[usize], random: &mut Random) -> Vec<Primitive> {
    let mut primitives = Vec::new();
    let (mut group, mut clone) = (0, 0);
    let groups = random.chance(0.45);
    while primitives.len() < of.primitives {
        let members = if groups && random.chance(0.25) { 1 + random.below(4) } else { 0 };
        let cloned = flavour.clones && random.chance(0.25);
        let together = (random.chance(0.6)).then(|| random.below(of.hosts));
        let spread: Vec<usize> = (0..of.hosts).filter(|_| cloned && random.chance(0.7)).collect();
        for _ in 0..members.max(1) {
            let mut active: Vec<usize> = match together {
                _ if cloned => spread.clone(),
                Some(host) if members > 0 && random.chance(0.8) => vec![host],
                _ => random.chance(0.6).then(|| random.below(of.hosts)).into_iter().collect(),
            };
            if of.several && random.chance(0.3) {
                active.push(random.below(of.hosts));
            }
            // Without fencing, nothing runs on a node that is down.
            active.retain(|host| states[*host] != 4 || flavour.fencing);
            primitives.push(Primitive {
                id: format!("{}{}", random.pick(&["vm", "r", "db-"]), primitives.len()),
                group: (members > 0).then_some(group),
                clone: cloned.then_some(clone),
                active,
                most: spread.len(),
                stonith: false,
                gone: false,
            });
        }
        group += usize::from(members > 0);
        clone += usize::from(cloned);
    }
    if flavour.fencing && random.chance(0.9) {
        let at = random.below(primitives.len() + 1);
        if at == primitives.len() || primitives[at].group.is_none() {
            let active = (0..of.hosts).find(|host| states[*host] == 0).into_iter().collect();
            let id = "fence-dev".to_owned();
            let fence =
                Primitive { id, group: None, clone: None, active, most: 1, stonith: true, gone: false };
            primitives.insert(at, fence);
        }
    }
    for primitive in primitives.iter_mut().skip(1).filter(|_| of.changed) {
        primitive.gone = primitive.wholes() == (None, None) && random.chance(0.25);
    }
    primitives
}

fn options(xml: &mut String, flavour: &Flavour, of: Dimensions, random: &mut Random) {
    let mut pairs = vec![
        ("placement-strategy", *random.pick(&STRATEGIES)),
        ("stonith-enabled", if flavour.fencing { "true" } else { "false" }),
    ];
    let mut sometimes = |chance, name, value| {
        if random.chance(chance) {
            pairs.push((name, value));
        }
    };
    sometimes(0.12, "symmetric-cluster", "false");
    sometimes(0.03, "maintenance-mode", "true");
    sometimes(0.02, "stop-all-resources", "true");
    sometimes(0.2, "concurrent-fencing", "true");
    if of.changed {
        sometimes(0.3, "stop-orphan-resources", "false");
    }
    xml.push_str(r#"<crm_config><cluster_property_set id="o">"#);
    for (name, value) in pairs {
        let _ = writeln!(xml, r#"<nvpair id="o-{name}" name="{name}" value="{value}"/>"#);
    }
    xml.push_str("</cluster_property_set></crm_config>\n");
}

fn hosts(xml: &mut String, names: &[String], states: &[usize], flavour: &Flavour, random: &mut Random) {
    xml.push_str("<nodes>\n");
    let same = random.chance(0.4).then(|| 4 + random.below(9));
    for (at, name) in names.iter().enumerate() {
        let score = if random.chance(0.05) { r#" score="10""# } else { "" };
        let _ = write!(xml, r#"<node id="{at}" uname="{name}"{score}>"#);
        let mut pairs = Vec::new();
        if random.chance(0.6) {
            pairs.push(("rack", (*random.pick(&RACKS)).to_owned()));
        }
        if random.chance(0.3) {
            pairs.push(("load", random.below(20).to_string()));
        }
        match states[at] {
            1 => pairs.push(("standby", "on".to_owned())),
            2 => pairs.push(("maintenance", "true".to_owned())),
            _ => {}
        }
        attributes(xml, "instance_attributes", &format!("n{at}"), &pairs);
        let mut amounts = Vec::new();
        for kind in &flavour.kinds {
            if random.chance(0.95) {
                amounts.push((*kind, same.unwrap_or_else(|| 1 + random.below(16)).to_string()));
            }
        }
        attributes(xml, "utilization", &format!("n{at}"), &amounts);
        xml.push_str("</node>\n");
    }
    xml.push_str("</nodes>\n");
}

fn resources(xml: &mut String, primitives: &[Primitive], flavour: &Flavour, random: &mut Random) {
    xml.push_str("<resources>\n");
    let mut open = (None, None);
    for primitive in primitives {
        if primitive.wholes() != open {
            close(xml, open);
            begin_wholes(xml, primitive, flavour, random);
            open = primitive.wholes();
        }
        let id = &primitive.id;
        let agent = primitive.agent();
        let _ = write!(xml, r#"<primitive id="{id}" {agent}>"#);
        let metas =
            if primitive.group.is_some() && random.chance(0.7) { Vec::new() } else { metas(flavour, random) };
        attributes(xml, "meta_attributes", id, &metas);
        let mut amounts = Vec::new();
        for kind in &flavour.kinds {
            if !primitive.stonith && random.chance(0.9) {
                amounts.push((*kind, random.below(if flavour.loose { 4 } else { 7 }).to_string()));
            }
        }
        attributes(xml, "utilization", id, &amounts);
        xml.push_str("</primitive>\n");
    }
    close(xml, open);
    xml.push_str("</resources>\n");
}

fn close(xml: &mut String, (clone, group): (Option<usize>, Option<usize>)) {
    xml.push_str(if group.is_some() { "</group>\n" } else { "" });
    xml.push_str(if clone.is_some() { "</clone>\n" } else { "" });
}

fn begin_wholes(xml: &mut String, primitive: &Primitive, flavour: &Flavour, random: &mut Random) {
    if let Some(clone) = primitive.clone {
        let _ = write!(xml, r#"<clone id="C{clone}">"#);
        let mut metas = metas(flavour, random);
        let mut sometimes = |chance: f64, name, value: String| {
            if random.chance(chance) {
                metas.push((name, value));
            }
        };
        sometimes(0.4, "interleave", "true".to_owned());
        sometimes(0.2, "ordered", "true".to_owned());
        sometimes(0.15, "clone-min", (1 + primitive.active.len() % 3).to_string());
        let least = primitive.most.max(1);
        let most = if primitive.most % 3 == 2 { 1 } else { least + primitive.active.len() % 2 };
        sometimes(0.35, "clone-max", most.to_string());
        sometimes(0.2, "notify", "true".to_owned());
        attributes(xml, "meta_attributes", &format!("C{clone}"), &metas);
    }
    if let Some(group) = primitive.group {
        let _ = write!(xml, r#"<group id="g{group}">"#);
        let metas = metas(flavour, random);
        attributes(xml, "meta_attributes", &format!("g{group}"), &metas);
    }
}

fn metas(flavour: &Flavour, random: &mut Random) -> Vec<(&'static str, String)> {
    let mut metas = Vec::new();
    let mut sometimes = |chance: f64, name, values: &[&str]| {
        if random.chance(chance) {
            metas.push((name, (*random.pick(values)).to_owned()));
        }
    };
    sometimes(0.3, "priority", &["1", "5", "10", "-3", "INFINITY"]);
    sometimes(0.3, "resource-stickiness", &["0", "1", "50", "100", "INFINITY", "-10"]);
    sometimes(0.07, "target-role", &["Stopped", "Started"]);
    sometimes(0.06, "is-managed", &["false", "true"]);
    sometimes(0.04, "maintenance", &["true", "false"]);
    sometimes(0.3, "allow-migrate", &["true"]);
    sometimes(0.2, "migration-threshold", &["1", "3", "0", "INFINITY"]);
    if flavour.several {
        sometimes(0.5, "multiple-active", &["stop_start", "block", "stop_only", "stop_unexpected"]);
    }
    if flavour.colocations {
        sometimes(0.1, "critical", &["false", "true"]);
    }
    metas
}

fn constraints(
    xml: &mut String,
    names: &[String],
    primitives: &[Primitive],
    flavour: &Flavour,
    random: &mut Random,
) {
    let mut targets: Vec<String> =
        primitives.iter().filter(|one| one.wholes() == (None, None)).map(|one| one.id.clone()).collect();
    let groups: BTreeSet<usize> =
        primitives.iter().filter(|one| one.clone.is_none()).filter_map(|one| one.group).collect();
    targets.extend(groups.iter().map(|group| format!("g{group}")));
    let clones: BTreeSet<usize> = primitives.iter().filter_map(|one| one.clone).collect();
    // Colocations and orders concern clones more often than other resources.
    targets.extend(clones.iter().flat_map(|clone| std::iter::repeat_n(format!("C{clone}"), 3)));
    let members: Vec<&Primitive> =
        primitives.iter().filter(|one| one.group.is_some() && one.clone.is_none()).collect();
    let any = |random: &mut Random| match members.is_empty() || random.chance(0.85) {
        true => random.pick(&targets).clone(),
        false => random.pick(&members).id.clone(),
    };
    xml.push_str("<constraints>\n");
    for at in 0..random.below(2 + primitives.len()) {
        location(xml, at, &any(random), names, random);
    }
    let count = primitives.len() / 2;
    for at in 0..if flavour.colocations { random.below(2 + count) } else { 0 } {
        let (one, other) = (any(random), any(random));
        let is_clone = |id: &str| id.starts_with('C');
        let meets = is_clone(&one) != is_clone(&other);
        if !meets || is_clone(&one) == flavour.clones_follow {
            colocation(xml, at, (&one, &other), random);
        }
    }
    if flavour.colocations && random.chance(0.15) && targets.len() > 2 {
        set_of_colocations(xml, &targets, random);
    }
    for at in 0..if flavour.orders { random.below(2 + count) } else { 0 } {
        order(xml, at, (&any(random), &any(random)), random);
    }
    if flavour.orders && random.chance(0.3) {
        sets_of_orders(xml, &targets, random);
    }
    xml.push_str("</constraints>\n");
}

fn location(xml: &mut String, at: usize, resource: &str, names: &[String], random: &mut Random) {
    let score = *random.pick(&SCORES);
    if random.chance(0.75) {
        let name = random.pick(names);
        let _ = writeln!(xml, r#"<rsc_location id="l{at}" rsc="{resource}" node="{name}" score="{score}"/>"#);
        return;
    }
    let expression = |number: usize, random: &mut Random| match random.below(4) {
        0 => format!(
            r#"<expression id="l{at}e{number}" attribute="rack" operation="{}"/>"#,
            random.pick(&["defined", "not_defined"])
        ),
        1 => {
            let operation = random.pick(&["lt", "lte", "gt", "gte", "eq"]);
            format!(
                r#"<expression id="l{at}e{number}" attribute="load" operation="{operation}" value="{}"/>"#,
                random.below(20)
            )
        }
        2 => format!(
            r##"<expression id="l{at}e{number}" attribute="#uname" operation="{}" value="{}"/>"##,
            random.pick(&["eq", "ne"]),
            random.pick(names)
        ),
        _ => format!(
            r#"<expression id="l{at}e{number}" attribute="rack" operation="{}" value="{}"/>"#,
            random.pick(&["eq", "ne"]),
            random.pick(&RACKS)
        ),
    };
    let first = expression(1, random);
    let second = if random.chance(0.4) { expression(2, random) } else { String::new() };
    let op = random.pick(&["", r#" boolean-op="or""#, r#" boolean-op="and""#]);
    let worth = match random.chance(0.15) {
        true => r#"score-attribute="load""#.to_owned(),
        false => format!(r#"score="{score}""#),
    };
    let _ = writeln!(
        xml,
        r#"<rsc_location id="l{at}" rsc="{resource}"><rule id="l{at}r" {worth}{op}>{first}{second}</rule></rsc_location>"#
    );
}

fn colocation(xml: &mut String, at: usize, (one, other): (&str, &str), random: &mut Random) {
    // Colocations of clones form no circles.
    if one == other || (one.starts_with('C') && other.starts_with('C') && one < other) {
        return;
    }
    let score = *random.pick(&SCORES);
    let attribute = if random.chance(0.15) { r#" node-attribute="rack""# } else { "" };
    let influence =
        if random.chance(0.1) { random.pick(&[r#" influence="false""#, r#" influence="true""#]) } else { "" };
    let _ = writeln!(
        xml,
        r#"<rsc_colocation id="c{at}" rsc="{one}" with-rsc="{other}" score="{score}"{attribute}{influence}/>"#
    );
}

fn set_of_colocations(xml: &mut String, targets: &[String], random: &mut Random) {
    let mut members: Vec<String> = targets.iter().filter(|id| !id.starts_with('C')).cloned().collect();
    if members.len() < 2 {
        return;
    }
    random.shuffle(&mut members);
    members.truncate(2 + random.below(2));
    let score = *random.pick(&SCORES);
    let sequential = random.pick(&["", r#" sequential="true""#, r#" sequential="false""#]);
    let ordering = random.pick(&["", "", r#" ordering="group""#, r#" ordering="listed""#]);
    let references: String = members.iter().map(|id| format!(r#"<resource_ref id="{id}"/>"#)).collect();
    let _ = writeln!(
        xml,
        r#"<rsc_colocation id="cs" score="{score}"><resource_set id="css"{sequential}{ordering}>{references}</resource_set></rsc_colocation>"#
    );
}

fn order(xml: &mut String, at: usize, (first, then): (&str, &str), random: &mut Random) {
    if first == then {
        return;
    }
    let kind = random.pick(&["", "", r#" kind="Mandatory""#, r#" kind="Optional""#, r#" kind="Serialize""#]);
    let _ = writeln!(xml, r#"<rsc_order id="o{at}" first="{first}" then="{then}"{kind}/>"#);
}

/// An order of two or three sets. For some sets, one member is enough.
fn sets_of_orders(xml: &mut String, targets: &[String], random: &mut Random) {
    let mut members: Vec<String> = targets.to_vec();
    members.sort();
    members.dedup();
    random.shuffle(&mut members);
    let kind = random.pick(&["", "", "", r#" kind="Optional""#, r#" symmetrical="false""#]);
    let _ = write!(xml, r#"<rsc_order id="os"{kind}>"#);
    for number in 0..2 + random.below(2) {
        let set = members.split_off(members.len().saturating_sub(1 + random.below(3)));
        let all = *random.pick(&[r#" require-all="false""#, r#" require-all="false""#, ""]);
        let sequential =
            random.pick(&[r#" sequential="false""#, r#" sequential="false""#, r#" sequential="true""#, ""]);
        let references: String = set.iter().map(|id| format!(r#"<resource_ref id="{id}"/>"#)).collect();
        if !set.is_empty() {
            let _ =
                write!(xml, r#"<resource_set id="os{number}"{sequential}{all}>{references}</resource_set>"#);
        }
    }
    xml.push_str("</rsc_order>\n");
}

fn status(
    xml: &mut String,
    names: &[String],
    states: &[usize],
    primitives: &[Primitive],
    Dimensions { failures, several, .. }: Dimensions,
    random: &mut Random,
) {
    xml.push_str("<status>\n");
    for (at, name) in names.iter().enumerate() {
        let words = match states[at] {
            4 => r#"in_ccm="false" crmd="offline" join="down" expected="member""#,
            _ => r#"in_ccm="true" crmd="online" join="member" expected="member""#,
        };
        let _ = write!(xml, r#"<node_state id="{at}" uname="{name}" {words}>"#);
        let mut pairs = Vec::new();
        if states[at] == 3 {
            pairs.push(("shutdown".to_owned(), "1700000000".to_owned()));
        }
        for primitive in primitives {
            if random.chance(0.04) {
                let end = random.pick(&["", "#monitor_10000", "#start_0"]);
                pairs.push((
                    format!("fail-count-{}{end}", primitive.id),
                    (*random.pick(&["1", "2", "3", "INFINITY"])).to_owned(),
                ));
                if failures && random.chance(0.8) {
                    pairs.push((format!("last-failure-{}{end}", primitive.id), past(random).to_string()));
                }
            }
        }
        let pairs: Vec<(&str, String)> =
            pairs.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
        let _ = write!(xml, r#"<transient_attributes id="{at}">"#);
        attributes(xml, "instance_attributes", &format!("s{at}"), &pairs);
        let _ = write!(xml, r#"</transient_attributes><lrm id="{at}"><lrm_resources>"#);
        for (number, primitive) in primitives.iter().enumerate() {
            if failures && !primitive.stonith && primitive.active.contains(&at) && random.chance(0.3) {
                trouble(xml, (&primitive.id, primitive.agent()), name, random);
                continue;
            }
            let is_sent = several && !failures && !primitive.stonith && states[at] != 4;
            if is_sent && primitive.active.contains(&at) && random.chance(0.2) {
                let target = random.pick(names).clone();
                begun_migration(xml, (&primitive.id, primitive.agent()), (name, &target));
                continue;
            }
            history(
                xml,
                number + 1,
                (&primitive.id, primitive.agent()),
                name,
                primitive.active.contains(&at),
            );
        }
        xml.push_str("</lrm_resources></lrm></node_state>\n");
    }
    xml.push_str("</status>\n");
}

/// The same CIB with `on-fail` reactions of primitives.
fn with_responses(xml: &str, random: &mut Random) -> String {
    let words = ["restart", "ignore", "block", "stop", "standby", "fence"];
    let mut parts = xml.split("</primitive>");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for (at, part) in parts.enumerate() {
        let responses = [("monitor", "10s"), ("start", "0"), ("monitor", "0")].map(|(name, every)| {
            let word = random.pick(&words);
            let word = if random.chance(0.3) { format!(r#" on-fail="{word}""#) } else { String::new() };
            format!(r#"<op id="op{at}-{name}-{every}" name="{name}" interval="{every}"{word}/>"#)
        });
        if random.chance(0.4) {
            let after = random.pick(&["60", "60s", "10min", "1h", "0"]);
            let _ = write!(
                text,
                r#"<meta_attributes id="ft{at}"><nvpair id="ft{at}-1" name="failure-timeout" value="{after}"/></meta_attributes>"#
            );
        }
        let _ = write!(text, "<operations>{}</operations>", responses.concat());
        text.push_str("</primitive>");
        text.push_str(part);
    }
    text
}

/// A time before the evaluation, in seconds since 1970.
fn past(random: &mut Random) -> i64 {
    NOW - random.pick(&[5, 30, 59, 60, 61, 599, 600, 601, 4000])
}

/// History of a resource on a host with a failed or unfinished operation.
fn trouble(xml: &mut String, (id, agent): (&str, &str), host: &str, random: &mut Random) {
    let code = *random.pick(&[1, 1, 1, 2, 3, 4, 5, 6]);
    // Operation, status, code, interval, expected code.
    let started = ("start", 0, 0, 0, 0);
    let operations = match random.below(9) {
        0 | 1 => vec![started, ("monitor", 4, code, 10_000, 0)],
        2 => vec![("start", 4, code, 0, 0)],
        3 => vec![started, ("stop", 4, code, 0, 0)],
        4 => vec![("monitor", 4, code, 0, 7)],
        5 => vec![started, ("monitor", 2, 198, 10_000, 0), ("stop", 0, 0, 0, 0)],
        6 => vec![("monitor", 4, 1, 10_000, 0), ("stop", 0, 0, 0, 0), started],
        7 => vec![("start", -1, 193, 0, 0)],
        _ => vec![started, ("stop", -1, 193, 0, 0)],
    };
    let _ = write!(xml, r#"<lrm_resource id="{id}" {agent}>"#);
    for (at, of) in operations.into_iter().enumerate() {
        let changed = past(random);
        operation(xml, id, host, at + 2, of, &format!(r#"last-rc-change="{changed}""#));
    }
    xml.push_str("</lrm_resource>");
}

/// History of a resource on a host from which a migration has begun.
fn begun_migration(xml: &mut String, (id, agent): (&str, &str), (host, target): (&str, &str)) {
    let _ = write!(xml, r#"<lrm_resource id="{id}" {agent}>"#);
    operation(xml, id, host, 2, ("start", 0, 0, 0, 0), "");
    let way = format!(r#"migrate_source="{host}" migrate_target="{target}""#);
    operation(xml, id, host, 3, ("migrate_to", -1, 193, 0, 0), &way);
    xml.push_str("</lrm_resource>");
}

/// An operation with its name, status, code, interval and expected code.
fn operation(
    xml: &mut String,
    id: &str,
    host: &str,
    call: usize,
    (operation, status, code, interval, meant): (&str, i32, i32, u32, i32),
    more: &str,
) {
    let uuid = "00000000-0000-0000-0000-000000000000";
    let _ = write!(
        xml,
        r#"<lrm_rsc_op id="{id}_{call}" operation_key="{id}_{operation}_{interval}" operation="{operation}" {more} crm_feature_set="3.16.1" transition-key="{call}:1:{meant}:{uuid}" transition-magic="{status}:{code};{call}:1:{meant}:{uuid}" exit-reason="" on_node="{host}" call-id="{call}" rc-code="{code}" op-status="{status}" interval="{interval}" op-digest="f2317cad3d54cec5d7d7aa7d0bf35cf8"/>"#
    );
}

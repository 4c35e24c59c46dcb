//! Promotable clones, made of the clones of other CIBs.

use std::collections::BTreeSet;

use htools::generate::random::Random;

use super::rarer::each;

/// Values of the node attributes by which agents ask to be promoted.
const WISHES: [&str; 8] = ["-5", "0", "1", "5", "10", "10", "100", "1000"];

/// The same CIB with promotable clones: some instances are promoted, agents ask for promotions, and locations,
/// colocations and orders are about promoted instances.
pub fn with_promotables(xml: &str, random: &mut Random) -> String {
    let primitives = cloned(xml);
    let text = each(xml, "<clone ", |_, clone| {
        let most = if random.chance(0.3) {
            format!(r#"<nvpair id="{clone}-pm" name="promoted-max" value="{}"/>"#, 1 + random.below(3))
        } else {
            String::new()
        };
        format!(
            r#"<meta_attributes id="{clone}-p"><nvpair id="{clone}-pp" name="promotable" value="true"/>{most}</meta_attributes>"#
        )
    });
    let text = with_promoted(&text, &primitives, random);
    let text = each(&text, "<transient_attributes ", |_, host| {
        let mut asked = String::new();
        for name in &primitives {
            if random.chance(0.7) {
                let value = random.pick(&WISHES);
                asked += &format!(r#"<nvpair id="m{host}-{name}" name="master-{name}" value="{value}"/>"#);
            }
        }
        format!(r#"<instance_attributes id="m{host}">{asked}</instance_attributes>"#)
    });
    with_roles(&text, random)
}

/// The primitives in clones.
fn cloned(xml: &str) -> BTreeSet<String> {
    let clones = xml.split("<clone ").skip(1).filter_map(|rest| rest.split("</clone>").next());
    let names = clones.flat_map(|clone| clone.split(r#"<primitive id=""#).skip(1));
    names.filter_map(|rest| rest.split('"').next()).map(str::to_owned).collect()
}

/// The same CIB in which some starts of these primitives are promotions.
fn with_promoted(xml: &str, primitives: &BTreeSet<String>, random: &mut Random) -> String {
    primitives.iter().fold(xml.to_owned(), |text, name| {
        let start = format!(r#"operation_key="{name}_start_0" operation="start""#);
        let promotion = format!(r#"operation_key="{name}_promote_0" operation="promote""#);
        let mut parts = text.split(&start);
        let first = parts.next().unwrap_or_default().to_owned();
        parts.fold(first, |before, part| before + if random.chance(0.3) { &promotion } else { &start } + part)
    })
}

/// The same CIB in which some constraints with clones are about their promoted instances.
fn with_roles(xml: &str, random: &mut Random) -> String {
    let lines = xml.lines().map(|line| {
        let attribute = |name: &str| {
            let rest = line.split(&format!(r#" {name}=""#)).nth(1)?;
            rest.split('"').next()
        };
        let is_clone = |name: &str| attribute(name).is_some_and(|id| id.starts_with('C'));
        let more = match line.split(' ').next().unwrap_or_default() {
            "<rsc_location" if is_clone("rsc") && attribute("node").is_some() && random.chance(0.4) => {
                r#" role="Promoted""#
            }
            "<rsc_colocation" if is_clone("with-rsc") && !is_clone("rsc") && random.chance(0.6) => {
                r#" with-rsc-role="Promoted""#
            }
            "<rsc_order" if is_clone("first") && !is_clone("then") && random.chance(0.6) => {
                r#" first-action="promote" then-action="start""#
            }
            _ => "",
        };
        match line.split_once(' ') {
            Some((tag, rest)) if !more.is_empty() => format!("{tag}{more} {rest}\n"),
            _ => format!("{line}\n"),
        }
    });
    lines.collect()
}

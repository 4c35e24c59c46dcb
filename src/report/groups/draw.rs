//! Drawing of a cluster's partitions: groups on one side, storage pools on the other, and a line from each group to the
//! pools that it reaches.

use std::fmt::Write;

use super::status::text::condition_text;
use crate::model::number::counted;
use crate::model::shown::escaped;
use crate::model::{AllocPolicy, Cluster};
use crate::search::groups::health::Health;
use crate::search::groups::status::{GroupStatus, GroupsStatus};

/// Colours of a box by health: border and background.
fn colours(health: Health) -> (&'static str, &'static str) {
    match health {
        Health::Healthy => ("#2e7d32", "#e8f5e9"),
        Health::Weak => ("#ef6c00", "#fff3e0"),
        Health::Unhealthy => ("#c62828", "#ffebee"),
    }
}

/// Lines of text in a box.
fn label(group: &GroupStatus, cluster: &Cluster) -> [String; 3] {
    let there = cluster.group(group.group);
    let policy = match there.alloc_policy {
        AllocPolicy::Preferred => String::new(),
        other => format!(" ({other})"),
    };
    let size = format!("{}, {}", counted(group.capacity.nodes, "node"), counted(group.instances, "instance"));
    let wrong = condition_text(&group.condition);
    let health = if wrong.is_empty() { group.health().as_str().to_owned() } else { wrong };
    [plain(&format!("{}{policy}", there.name)), size, health]
}

/// A text without control characters.
fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}

/// The drawing in Graphviz's language.
pub(crate) fn dot(status: &GroupsStatus, cluster: &Cluster) -> String {
    let quoted = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"");
    let mut out =
        String::from("graph partitions {\n  rankdir=LR;\n  node [fontname=\"sans-serif\", fontsize=11];\n");
    for (at, group) in status.groups.iter().enumerate() {
        let (line, ground) = colours(group.health());
        let label = label(group, cluster).map(|text| quoted(&text)).join("\\n");
        // Writing to a string cannot fail.
        let _ = writeln!(
            out,
            "  g{at} [shape=box, style=\"rounded,filled\", color=\"{line}\", fillcolor=\"{ground}\", label=\"{label}\"];"
        );
    }
    for (at, partition) in status.partitions.iter().enumerate() {
        let pool = quoted(&plain(&status.storage.pool(partition.pool).to_string()));
        let count = counted(partition.instances, "instance");
        let _ = writeln!(out, "  p{at} [shape=cylinder, label=\"{pool}\\n{count}\"];");
    }
    for (at, partition) in status.partitions.iter().enumerate() {
        for group in &partition.groups {
            let _ = writeln!(out, "  g{} -- p{at};", group.get());
        }
    }
    out.push_str("}\n");
    out
}

const BOX_WIDTH: usize = 260;
const BOX_HEIGHT: usize = 58;
const GAP: usize = 18;
const MARGIN: usize = 16;
const CHANNEL: usize = 220;
const POOL_WIDTH: usize = 200;
const POOL_HEIGHT: usize = 44;
/// Number of characters that fit into a pool of this width, the maximum shown, and the width of a character.
const POOL_TEXT: usize = 28;
const LONGEST: usize = 60;
const LETTER: usize = 8;
/// Colours of the lines of pools.
const LINES: [&str; 6] = ["#1565c0", "#6a1b9a", "#00838f", "#ad1457", "#558b2f", "#5d4037"];

/// The drawing as SVG.
pub(crate) fn svg(status: &GroupsStatus, cluster: &Cluster) -> String {
    let (groups, pools) = (status.groups.len(), status.partitions.len());
    let column = |count: usize, height: usize| count * height + count.saturating_sub(1) * GAP;
    let (left, right) = (column(groups, BOX_HEIGHT), column(pools, POOL_HEIGHT));
    let inner = left.max(right);
    let names: Vec<String> =
        status.partitions.iter().map(|p| plain(&status.storage.pool(p.pool).to_string())).collect();
    // Volumes on the same server differ at the end of their names.
    let longest = names.iter().map(|name| name.chars().count()).max().unwrap_or_default();
    let letters = longest.clamp(POOL_TEXT, LONGEST);
    let pool_width = POOL_WIDTH + (letters - POOL_TEXT) * LETTER;
    let (width, height) = (2 * MARGIN + BOX_WIDTH + CHANNEL + pool_width, 2 * MARGIN + inner);
    let group_y = |at: usize| MARGIN + (inner - left) / 2 + at * (BOX_HEIGHT + GAP);
    let pool_y = |at: usize| MARGIN + (inner - right) / 2 + at * (POOL_HEIGHT + GAP);
    let pool_x = MARGIN + BOX_WIDTH + CHANNEL;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\n"
    );
    for (at, partition) in status.partitions.iter().enumerate() {
        let (colour, to) = (LINES[at % LINES.len()], pool_y(at) + POOL_HEIGHT / 2);
        for group in &partition.groups {
            let (x, from) = (MARGIN + BOX_WIDTH, group_y(group.get()) + BOX_HEIGHT / 2);
            let middle = x + CHANNEL / 2;
            let _ = writeln!(
                out,
                "<path d=\"M{x} {from} C{middle} {from} {middle} {to} {pool_x} {to}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>"
            );
        }
    }
    for (at, group) in status.groups.iter().enumerate() {
        let ((line, ground), y) = (colours(group.health()), group_y(at));
        let _ = writeln!(
            out,
            "<rect x=\"{MARGIN}\" y=\"{y}\" width=\"{BOX_WIDTH}\" height=\"{BOX_HEIGHT}\" rx=\"8\" fill=\"{ground}\" stroke=\"{line}\" stroke-width=\"2\"/>"
        );
        for (row, text) in label(group, cluster).iter().enumerate() {
            let weight = if row == 0 { " font-weight=\"bold\"" } else { "" };
            let (x, y) = (MARGIN + 12, y + 18 + 16 * row);
            let _ = writeln!(out, "<text x=\"{x}\" y=\"{y}\"{weight}>{}</text>", fitting(text, 38));
        }
    }
    for (at, partition) in status.partitions.iter().enumerate() {
        let (y, colour) = (pool_y(at), LINES[at % LINES.len()]);
        let _ = writeln!(
            out,
            "<rect x=\"{pool_x}\" y=\"{y}\" width=\"{pool_width}\" height=\"{POOL_HEIGHT}\" rx=\"22\" fill=\"#fafafa\" stroke=\"{colour}\" stroke-width=\"2\"/>"
        );
        let texts = [names[at].clone(), counted(partition.instances, "instance")];
        for (row, text) in texts.iter().enumerate() {
            let weight = if row == 0 { " font-weight=\"bold\"" } else { "" };
            let (x, y) = (pool_x + pool_width / 2, y + 19 + 16 * row);
            let text = fitting(text, letters);
            let _ = writeln!(out, "<text x=\"{x}\" y=\"{y}\" text-anchor=\"middle\"{weight}>{text}</text>");
        }
    }
    out.push_str("</svg>\n");
    out
}

/// A text cut to fit its box, and escaped for XML.
fn fitting(text: &str, most: usize) -> String {
    let mut short: String = text.chars().take(most).collect();
    if text.chars().count() > most {
        short.pop();
        short.push('…');
    }
    escaped(&short)
}

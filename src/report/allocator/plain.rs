//! Obstacles to the placement of an instance, and moves that make room for it, for people.

use super::text::{metric_text, name, nodes};
use crate::model::shown::printable;
use crate::model::{Cluster, Obstacle};
use crate::plan::command::commands;
use crate::report::why::words::{obstacle_text, untried_words};
use crate::search::requests::RoomFound;
use crate::search::requests::why::PlacementObstacles;
use crate::search::why::{GroupWhy, Nearest, RefusedPlace};

/// Maximum length of a line, in characters.
const LINE: usize = 400;

/// The obstacles to the placement of an instance, line by line.
pub fn why_lines(cluster: &Cluster, why: &PlacementObstacles) -> Vec<String> {
    let mut lines = vec![format!("In the way of {}:", why.instance)];
    lines.extend(why.groups.iter().flat_map(|group| group_lines(cluster, group)));
    if let Some(moves) = &why.moves {
        lines.extend(places(cluster, "moves", moves));
    }
    lines.iter().map(|line| printable(line, LINE)).collect()
}

fn group_lines(cluster: &Cluster, why: &GroupWhy) -> Vec<String> {
    let group = cluster.group(why.group);
    let title = format!("group {} ({})", group.name, group.alloc_policy);
    match &why.obstacle {
        None => places(cluster, &format!("{title}, places"), &why.places),
        Some(obstacle) => vec![format!("  {title}: {}", untried_words(obstacle, cluster).text)],
    }
}

fn places(cluster: &Cluster, title: &str, nearest: &Nearest) -> Vec<String> {
    let shown = nearest.kept.len();
    let title = match nearest.refused {
        0 => return vec![format!("  {title} refused: none that were tried")],
        refused if refused == shown => format!("  {title} refused: {refused}"),
        refused => format!("  {title} refused: {refused}, of which the nearest {shown}"),
    };
    let refused_places =
        nearest.kept.iter().map(|refused_place| format!("    {}", place_text(cluster, refused_place)));
    std::iter::once(title).chain(refused_places).collect()
}

fn place_text(cluster: &Cluster, refused_place: &RefusedPlace) -> String {
    let nodes = nodes(cluster, refused_place.place);
    let at = name(cluster, refused_place.node);
    let problem = obstacle_text(refused_place, "offline");
    // Global N+1 may be broken by any node.
    match nodes == at || refused_place.obstacle == Obstacle::Expendability {
        true => format!("{nodes}: {problem}"),
        false => format!("{nodes}: {at}: {problem}"),
    }
}

/// The moves that make room, line by line, if they were looked for.
pub fn plan_lines(cluster: &Cluster, room: &RoomFound) -> Vec<String> {
    let plan = match room {
        RoomFound::NotSearched => return Vec::new(),
        RoomFound::NotFound => return vec!["No moves were found that would make room.".to_owned()],
        RoomFound::Found(plan) => plan,
    };
    let (count, nodes) = (plan.steps.len(), nodes(cluster, plan.place));
    let moves = if count == 1 { "1 move makes".to_owned() } else { format!("{count} moves make") };
    let group = &cluster.group(plan.group).name;
    let score = metric_text(&plan.metric);
    let title = format!("{moves} room on node(s) {nodes} of group {group}, score {score}:");
    let commands: Result<Vec<_>, _> = plan.steps.iter().map(|step| commands(cluster, step)).collect();
    let mut lines = vec![printable(&title, LINE)];
    match commands {
        // Commands are not shortened, since a shortened one would be another command.
        Ok(commands) => lines.extend(commands.iter().flatten().map(|command| format!("  {command}"))),
        Err(refused) => lines.push(format!("  {refused}")),
    }
    lines
}

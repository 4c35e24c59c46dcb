//! Damaged requests, most of which are refused: a value of another type, a missing key, an unknown name, or half of
//! the file.

use htools::generate::random::Random;
use serde_json::{Value, json};

/// The text of the message after damage.
pub fn damaged(message: &mut Value, random: &mut Random) -> String {
    if random.chance(0.12) {
        return cut(&message.to_string(), random);
    }
    // The request is the smaller part but deserves the same attention.
    let inner = random.chance(0.5);
    let target = if inner { &mut message["request"] } else { &mut *message };
    let mut places = Vec::new();
    collect(target, inner, &mut String::new(), &mut places);
    if !places.is_empty() {
        let place = random.pick(&places).clone();
        change(target, &place, random);
    }
    format!("{message}\n")
}

/// The text of any document after damage.
pub fn damaged_document(document: &mut Value, random: &mut Random) -> String {
    if random.chance(0.15) {
        return cut(&document.to_string(), random);
    }
    let mut places = Vec::new();
    collect(document, false, &mut String::new(), &mut places);
    if !places.is_empty() {
        let place = random.pick(&places).clone();
        change(document, &place, random);
    }
    format!("{document}\n")
}

fn cut(text: &str, random: &mut Random) -> String {
    match random.below(5) {
        0 => String::new(),
        1 => format!("{text} x"),
        2 => format!("[{text}]"),
        _ => {
            let mut end = random.below(text.len());
            while !text.is_char_boundary(end) {
                end -= 1;
            }
            text[..end].to_owned()
        }
    }
}

/// Keys that the reference ignores, but that we check.
const UNUSED: [&str; 2] = ["restrict-to-nodes", "nics"];

/// Keys whose change would give another cluster instead of a mistake.
const MEANT: [&str; 3] = ["vm_capable", "admin_state", "forthcoming"];

/// The places in a document, as JSON pointers.
fn collect(value: &Value, question: bool, path: &mut String, places: &mut Vec<String>) {
    let mut visit = |key: &str, inner: &Value| {
        // The reference reads the name of one of several new instances only if it reports something about it.
        let named = question && key == "name" && path.starts_with("/instances/");
        if named || UNUSED.contains(&key) || !question && MEANT.contains(&key) {
            return;
        }
        let before = path.len();
        path.push('/');
        path.push_str(&key.replace('~', "~0").replace('/', "~1"));
        places.push(path.clone());
        collect(inner, question, path, places);
        path.truncate(before);
    };
    match value {
        Value::Object(map) => map.iter().for_each(|(key, inner)| visit(key, inner)),
        Value::Array(list) => {
            list.iter().enumerate().for_each(|(i, inner)| visit(&i.to_string(), inner));
        }
        _ => {}
    }
}

fn change(root: &mut Value, place: &str, random: &mut Random) {
    let (parent, key) = place.rsplit_once('/').unwrap_or(("", place));
    if random.chance(0.35) {
        match root.pointer_mut(parent) {
            Some(Value::Object(map)) => {
                map.shift_remove(key);
            }
            // An instance without a secondary is a different case.
            Some(Value::Array(list)) if !parent.ends_with("/nodes") => {
                list.pop();
            }
            _ => {}
        }
        return;
    }
    let Some(value) = root.pointer_mut(place) else { return };
    *value = match (&*value, random.below(8)) {
        // Rounded half to even.
        (Value::Number(number), 0..=3) if number.is_i64() => {
            json!(number.as_i64().unwrap_or(0) as f64 + *random.pick(&[0.25, -0.4]))
        }
        (Value::String(_), 0..=2) => json!("nosuch"),
        (_, 0 | 4) => Value::Null,
        (_, 1 | 5) => json!("x"),
        (_, 2) => json!(7),
        (value, 3) if !value.is_boolean() => json!(true),
        // The reference takes an empty list for the empty string.
        (value, 6) if !value.is_string() => json!([]),
        _ => json!({}),
    };
}

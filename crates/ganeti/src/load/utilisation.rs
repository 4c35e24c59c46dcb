//! The utilisation file (`-U`) with the load of each instance.

use super::number::parse_float;
use crate::input::encoding::decode;
use crate::input::error::{LoadError, Result};
use crate::input::json::Budget;
use htools_model::Utilisation;
use htools_model::shown::{shown_name, shown_source};

/// Reads a utilisation file. Each line has an instance's full name and its processor, memory, disk and network load,
/// separated by single blanks.
///
/// Names are not looked up here. The caller lets a later line about an instance replace an earlier one.
pub fn parse(bytes: &[u8], source: &str) -> Result<Vec<(String, Utilisation)>> {
    let text = decode(bytes, source)?;
    let budget = Budget::new(Budget::FILE);
    let one = |(i, line): (usize, &str)| {
        let weight = size_of::<(String, Utilisation)>() + 16 + line.len();
        budget.take(weight).map_err(|spent| {
            LoadError::one_line(&format!("{}, line {}", shown_source(source), i + 1), &spent.to_string())
        })?;
        parse_line(line, source, i + 1)
    };
    text.split_terminator('\n').enumerate().map(one).collect()
}

fn parse_line(line: &str, source: &str, number: usize) -> Result<(String, Utilisation)> {
    let mut parts = line.split(' ');
    let fields = [(); 5].map(|()| parts.next());
    let (&[Some(name), Some(cpu), Some(mem), Some(disk), Some(net)], None) = (&fields, parts.next()) else {
        return Err(LoadError::one_line(
            &format!("{}, line {number}", shown_source(source)),
            &format!(
                "Cannot parse line '{}': not 'NAME CPU MEM DISK NET' with single blanks",
                shown_name(line)
            ),
        ));
    };
    let load = |what: &str, text: &str| {
        parse_float(text).map_err(|error| {
            LoadError::one_line(
                &format!("{}, line {number}, instance '{}'", shown_source(source), shown_name(name)),
                &format!("{what} load: {error}"),
            )
        })
    };
    let loads = Utilisation {
        cpu: load("processor", cpu)?,
        mem: load("memory", mem)?,
        disk: load("disk", disk)?,
        net: load("network", net)?,
    };
    Ok((name.to_owned(), loads))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_is_an_instance() {
        let read = parse(b"new-0 1 2.5 -3 1e1\nnew-0 0 0 0 0", "u").unwrap();
        assert_eq!(
            read,
            [
                ("new-0".to_owned(), Utilisation { cpu: 1.0, mem: 2.5, disk: -3.0, net: 10.0 }),
                ("new-0".to_owned(), Utilisation::ZERO)
            ]
        );
        assert_eq!(parse(b"", "u"), Ok(vec![]));
    }

    #[test]
    fn refused_lines() {
        for line in ["new-0 1 2 3", "a 1 2 3 4 5", "a\t1\t2\t3\t4", "a  1 2 3 4", "", "a 1 2 3 4\r", "# x"] {
            let error = parse(format!("ok 1 1 1 1\n{line}\n").as_bytes(), "u").unwrap_err();
            assert!(error.place.starts_with("u, line 2"), "{line:?}: {error}");
        }
        assert_eq!(
            parse(b"new-0 x 1 1 1", "u").unwrap_err().to_string(),
            "u, line 1, instance 'new-0': processor load: cannot parse string 'x'"
        );
        assert!(parse(b"\xff 1 1 1 1", "u").is_err());
    }
}

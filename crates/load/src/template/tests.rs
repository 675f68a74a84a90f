//! Values cannot break out of their place, and are the same for the same seed.

use std::sync::Arc;

use proptest::prelude::*;
use tare_record::load::template::Delimiter;
use tare_record::load::{DataTable, Rows};

use super::*;

fn filler(seed: u64, part: (u32, u32), tables: Vec<DataTable>) -> Filler {
    Filler::new(seed, part, tables.into(), 8, Moment::of_unix(1_795_219_200))
}

fn template(text: &str, escaping: Escaping, variables: &mut Vec<String>) -> Template {
    let mut template = Template::default();
    let mut cycles = 0;
    let mut names = Names {
        tables: &[],
        variables: Some(variables),
        cycles: &mut cycles,
    };
    template
        .add(text, Delimiter::Double, escaping, &mut names)
        .unwrap();
    template
}

fn filled(text: &str, filler: &mut Filler) -> String {
    let template = template(text, Escaping::Text, &mut Vec::new());
    let mut out = Vec::new();
    let mut context = RenderContext {
        filler,
        rows: &[],
        variables: &[],
    };
    template.render(&mut context, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn every_random_part_has_its_form_and_the_seed_decides_it() {
    let mut one = filler(7, (0, 1), Vec::new());
    let text =
        "{{ uuid }} {{ int:0001..1000 }} {{ hex:16 }} {{ seq }} {{ choice:x,y }} {{ date:+1 }}";
    let first = filled(text, &mut one);
    let words: Vec<&str> = first.split(' ').collect();
    assert_eq!((words[0].len(), &words[0][14..15]), (36, "4"));
    assert_eq!((words[1].len(), words[2].len(), words[3]), (4, 16, "0"));
    assert!(words[4] == "x" || words[4] == "y");
    assert_eq!(words[5], "2026-11-22");
    assert_ne!(filled(text, &mut one), first);
    assert_eq!(filled(text, &mut filler(7, (0, 1), Vec::new())), first);
}

#[test]
fn two_workers_count_and_cycle_as_one_would() {
    let mut seen = Vec::new();
    for worker in 0..2 {
        let mut filler = filler(1, (worker, 2), Vec::new());
        let template = template(
            "{{ seq }}{{ cycle:a,b,c,d }}",
            Escaping::Text,
            &mut Vec::new(),
        );
        for _ in 0..2 {
            let mut out = Vec::new();
            let mut context = RenderContext {
                filler: &mut filler,
                rows: &[],
                variables: &[],
            };
            template.render(&mut context, &mut out).unwrap();
            seen.push(String::from_utf8(out).unwrap());
        }
    }
    seen.sort();
    assert_eq!(seen, ["0a", "1b", "2c", "3d"]);
}

#[test]
fn integers_of_a_range_reach_both_ends_and_nothing_else() {
    let mut filler = filler(3, (0, 1), Vec::new());
    let mut seen = [0; 5];
    for _ in 0..1000 {
        let number: i64 = filled("{{ int:-2..2 }}", &mut filler).parse().unwrap();
        seen[usize::try_from(number + 2).unwrap()] += 1;
    }
    assert!(
        seen.iter().all(|&count| (120..=280).contains(&count)),
        "{seen:?}"
    );
}

#[test]
fn dates_are_those_of_the_calendar() {
    for (days, expected) in [
        (0, "Thu 1970-01-01 Jan"),
        (days_from_civil(2000, 2, 29), "Tue 2000-02-29 Feb"),
        (days_from_civil(2026, 12, 31), "Thu 2026-12-31 Dec"),
    ] {
        let mut out = Vec::new();
        let moment = Moment {
            day: days,
            second: 3661,
        };
        assert!(write_date(
            moment,
            "%a %Y-%m-%d %b",
            Escaping::Text,
            &mut out
        ));
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
    let mut out = Vec::new();
    write_date(
        Moment::of_unix(3661),
        "%H:%M:%S%%",
        Escaping::Path,
        &mut out,
    );
    assert_eq!(out, b"01%3A01%3A01%25");
}

#[test]
fn a_row_with_a_line_break_is_refused_where_it_would_be_a_header() {
    let table = DataTable {
        name: "users".into(),
        columns: vec!["name".into()],
        rows: vec![vec!["ann".into()], vec!["b\r\nX: y".into()]],
        order: Rows::Sequential,
    };
    let mut cycles = 0;
    let tables = [table];
    let mut names = Names {
        tables: &tables,
        variables: None,
        cycles: &mut cycles,
    };
    let mut add =
        |escaping| Template::default().add("{users.name}", Delimiter::Single, escaping, &mut names);
    assert!(matches!(
        add(Escaping::Header),
        Err(CompileError::Unsendable(_))
    ));
    assert!(add(Escaping::Path).is_ok());
    let unknown =
        Template::default().add("{users.age}", Delimiter::Single, Escaping::Path, &mut names);
    assert!(matches!(unknown, Err(CompileError::Column { .. })));
}

fn value(bytes: &[u8]) -> Value {
    let mut value = Value::default();
    value.begin_text().extend_from_slice(bytes);
    value
}

fn render_one(text: &str, escaping: Escaping, bytes: &[u8]) -> Result<Vec<u8>, RenderError> {
    let mut filler = filler(1, (0, 1), Vec::new());
    let template = template(text, escaping, &mut Vec::new());
    let mut out = Vec::new();
    let variables = [value(bytes)];
    let mut context = RenderContext {
        filler: &mut filler,
        rows: &[],
        variables: &variables,
    };
    template.render(&mut context, &mut out).map(|()| out)
}

proptest! {
    #[test]
    fn no_value_whatever_breaks_out_of_where_it_stands(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
        let path = render_one("/{{ v }}", Escaping::Path, &bytes).unwrap();
        prop_assert!(path.iter().all(u8::is_ascii_graphic));
        prop_assert!(!path[1..].contains(&b'/') && !path.contains(&b'?') && !path.contains(&b'#'));
        if let Ok(raw) = render_one("/{{ raw:v }}", Escaping::Path, &bytes) {
            prop_assert!(raw.iter().all(u8::is_ascii_graphic));
        }
        if let Ok(header) = render_one("{{ raw:v }}", Escaping::Header, &bytes) {
            prop_assert!(!header.iter().any(|b| matches!(b, b'\r' | b'\n' | 0)));
        }
        let form = render_one("{{ v }}", Escaping::Form, &bytes).unwrap();
        prop_assert!(!form.iter().any(|b| matches!(b, b'&' | b'=' | b'\r' | b'\n' | b' ')));
    }

    #[test]
    fn any_text_comes_back_from_within_a_json_string(text in "\\PC*[\u{0}-\u{1f}\"\\\\]*") {
        let json = render_one(r#"{"a":"{{ v }}"}"#, Escaping::Json, text.as_bytes()).unwrap();
        let read: serde_json::Value = serde_json::from_slice(&json).unwrap();
        prop_assert_eq!(read["a"].as_str(), Some(text.as_str()));
    }
}

#[test]
fn a_variable_without_value_is_named() {
    let error = {
        let mut filler = filler(1, (0, 1), Vec::new());
        let template = template("{{ token }}", Escaping::Header, &mut Vec::new());
        let mut context = RenderContext {
            filler: &mut filler,
            rows: &[],
            variables: &[Value::default()],
        };
        template.render(&mut context, &mut Vec::new()).unwrap_err()
    };
    assert_eq!(error, RenderError::NoValue(Arc::from("token")));
}

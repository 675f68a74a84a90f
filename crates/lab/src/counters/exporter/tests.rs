//! Tests of finding attributes on pages of exporters with and without rules.

use super::*;

fn source(bean: &str, attribute: &str, multiply_by: Option<&str>) -> JmxSource {
    JmxSource {
        bean: bean.to_owned(),
        attribute: attribute.to_owned(),
        multiply_by: multiply_by.map(str::to_owned),
    }
}

fn rule(bean: &str, attribute: &str, metric: &str) -> ExportDef {
    ExportDef {
        bean: bean.to_owned(),
        attribute: attribute.to_owned(),
        metric: metric.to_owned(),
        only: BTreeMap::new(),
        labels: BTreeMap::new(),
        scale: 1.0,
    }
}

fn rules() -> Vec<ExportDef> {
    vec![
        rule(
            r"app\.(\w+):type=(\w+),name=(\w+)PerSec",
            "Count",
            "app_${1}_${2}_${3}_total",
        ),
        rule(
            r"app\.(\w+):type=(\w+),name=(\w+)",
            "Count",
            "app_${1}_${2}_${3}_count",
        ),
        ExportDef {
            only: BTreeMap::from([("area".to_owned(), "heap".to_owned())]),
            ..rule("java.lang:type=Memory", "HeapMemoryUsage/used", "jvm_used")
        },
        ExportDef {
            labels: BTreeMap::from([("name".to_owned(), "gc".to_owned())]),
            scale: 1000.0,
            ..rule(
                "java.lang:type=GarbageCollector",
                "CollectionTime",
                "jvm_gc_seconds_sum",
            )
        },
    ]
}

fn found(page: &str, from: &JmxSource) -> Vec<(Option<String>, f64)> {
    let page = ExporterPage::parse(page).unwrap();
    let found = page.find(from, &rules()).unwrap();
    found
        .into_iter()
        .map(|one| (one.label, one.value))
        .collect()
}

fn of(label: &str, value: f64) -> (Option<String>, f64) {
    (Some(label.to_owned()), value)
}

/// By its own names, as they are set by default.
const OWN: &str = r#"
# TYPE app_server_Traffic_Count untyped
app_server_Traffic_Count{name="InPerSec",} 7.0
app_server_Traffic_Count{name="InPerSec",topic="a.b",} 3.0
app_server_Traffic_Count{name="InPerSec",topic="c",_objectname="app.server:type=Traffic"} 4.0
app_server_Traffic_MeanRate{name="InPerSec",} 9.0
app_net_Requests_Count{name="TotalTimeMs",request="P",} 2.0
app_net_Requests_Count{name="LocalTimeMs",request="P",} 2.0
app_net_Requests_Count{name="TotalTimeMs",request="F",} 5.0
app_net_Requests_Mean{name="TotalTimeMs",request="P",} 1.5
app_net_Requests_Mean{name="LocalTimeMs",request="P",} NaN
app_net_Requests_Mean{name="OtherTimeMs",request="P",} 8.0
java_lang_Memory_HeapMemoryUsage_used 5.0
"#;

/// By rules, in small letters.
const RULES: &str = r#"
app_server_traffic_in_total 7.0
app_server_traffic_in_total{topic="a.b",} 3.0
app_server_traffic_in_total{topic="c",} 4.0
app_server_traffic_in_total{topic="c",partition="0",} 99.0
app_net_requests_totaltimems{quantile="0.50",request="P",} 1.0
app_net_requests_totaltimems_count{request="P",} 2.0
jvm_used{area="heap",} 5.0
jvm_used{area="nonheap",} 6.0
jvm_gc_seconds_sum{gc="G1 Old Generation",} 0.25
jvm_gc_seconds_sum{gc="G1 Young Generation",} 1.5
"#;

#[test]
fn both_namings_tell_the_same_and_samples_with_more_labels_are_others() {
    let all = source("app.server:type=Traffic,name=InPerSec", "Count", None);
    let topics = source(
        "app.server:type=Traffic,name=InPerSec,topic=<*>",
        "Count",
        None,
    );
    let heap = source("java.lang:type=Memory", "HeapMemoryUsage/used", None);
    let requests = source(
        "app.net:type=Requests,name=TotalTimeMs,request=P",
        "Count",
        None,
    );
    // Version 1 of the exporter takes the ending of counters off where a rule does not say that it is one, and adds it where one does.
    let untyped = RULES.replace("_in_total", "_in");
    let counters = RULES.replace("_count{", "_count_total{");
    for page in [OWN, RULES, &untyped, &counters] {
        assert_eq!(found(page, &all), [(None, 7.0)], "{page}");
        assert_eq!(
            found(page, &topics),
            [of("a.b", 3.0), of("c", 4.0)],
            "{page}"
        );
        assert_eq!(found(page, &heap), [(None, 5.0)], "{page}");
        assert_eq!(found(page, &requests), [(None, 2.0)], "{page}");
    }
    assert_eq!(found(&OWN.to_lowercase(), &heap), [(None, 5.0)]);
}

#[test]
fn a_mean_needs_its_count_and_what_rules_leave_out_is_unknown() {
    let bean = "app.net:type=Requests,name=<Total|Local>TimeMs,request=P";
    let phases = source(bean, "Mean", Some("Count"));
    assert_eq!(found(OWN, &phases), [of("Total", 3.0)], "NaN is no number");
    assert_eq!(found(RULES, &phases), []);
    let count = source(bean, "Count", None);
    assert_eq!(found(OWN, &count), [of("Total", 2.0), of("Local", 2.0)]);
}

#[test]
fn labels_of_other_names_and_units_are_told_as_the_attribute_is() {
    let gc = source(
        "java.lang:type=GarbageCollector,name=<*>",
        "CollectionTime",
        None,
    );
    let expected = [
        of("G1 Old Generation", 250.0),
        of("G1 Young Generation", 1500.0),
    ];
    assert_eq!(found(RULES, &gc), expected);
}

#[test]
fn a_rule_is_about_whole_properties_from_the_beginning() {
    let bean = |text: &str| Bean::parse(text).unwrap();
    let named = |text: &str, pattern: &str| {
        let rules = [rule(pattern, "Count", "m")];
        let all = metrics(&bean(text), "Count", &rules).unwrap();
        all.iter().any(|metric| metric.name == "m")
    };
    assert!(named("d:type=T,name=In", "d:type=T"));
    assert!(named("d:type=T,name=In", "d:type=T,name=In"));
    assert!(
        !named("d:type=T,name=In", "d:type=T,name=I"),
        "half a value"
    );
    assert!(
        !named("d:type=T,name=In", "type=T"),
        "not from the beginning"
    );
    assert!(!named("d:type=T,name=In", "d:"), "no property");
}

#[test]
fn a_page_without_samples_is_none() {
    for odd in ["", "<html>\n<body>", "# only a comment", "{\"a\": 1}"] {
        assert!(ExporterPage::parse(odd).is_err(), "{odd}");
    }
}

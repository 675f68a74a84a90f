"""Reads what Tare exports with the programs that it is for: `consumers.py WHAT FILE [MORE]`. An error ends it with a traceback."""

import json
import sys


def openmetrics(file):
    from prometheus_client.openmetrics.parser import text_string_to_metric_families

    with open(file, encoding="utf-8") as text:
        families = list(text_string_to_metric_families(text.read()))
    return {
        family.name: {
            "type": family.type,
            "unit": family.unit,
            "samples": [[one.name, one.labels, one.value] for one in family.samples],
        }
        for family in families
    }


def junit(file):
    from junitparser import Error, Failure, JUnitXml, Skipped

    kinds = {Failure: "failure", Error: "error", Skipped: "skipped"}
    found = []
    for suite in JUnitXml.fromfile(file):
        cases = [
            [case.name, case.classname, [[kinds[type(one)], one.message] for one in case.result]]
            for case in suite
        ]
        counted = sum(bool(case[2]) for case in cases)
        assert suite.tests == len(cases), suite.tests
        assert suite.failures + suite.errors + suite.skipped == counted, cases
        # What parsers of Jenkins, GitLab and GitHub take for granted: the declared attributes, and no others.
        assert set(suite._elem.attrib) <= {"name", "tests", "failures", "errors", "skipped", "time", "timestamp"}
        for element in suite._elem.iter("testcase"):
            assert set(element.attrib) == {"name", "classname", "time"}, element.attrib
            float(element.get("time"))
        found.append(
            {
                "name": suite.name,
                "time": suite.time,
                "timestamp": suite.timestamp,
                "properties": {one.name: one.value for one in suite.properties()},
                "cases": cases,
                "out": suite._elem.findtext("system-out"),
            }
        )
    return found


def otlp(file):
    """The request as the protocol's own messages; a field that they do not have is an error."""
    from google.protobuf.json_format import MessageToDict, Parse
    from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

    with open(file, encoding="utf-8") as text:
        request = Parse(text.read(), ExportMetricsServiceRequest())
    # As a collector gets it from a sender of Protocol Buffers.
    request = ExportMetricsServiceRequest.FromString(request.SerializeToString())
    return MessageToDict(request)


def bmf(file):
    """BMF as Bencher's adapter `json` reads it: benchmarks, their measures, their values (bencher.dev, adapters)."""
    with open(file, encoding="utf-8") as text:
        benchmarks = json.load(text)
    for name, measures in benchmarks.items():
        assert 0 < len(name.encode()) <= 1024, name
        assert measures, name
        for measure, metric in measures.items():
            assert 0 < len(measure) <= 64, measure
            assert "value" in metric and set(metric) <= {"value", "lower_value", "upper_value"}, metric
            assert all(isinstance(value, (int, float)) for value in metric.values()), metric
    return benchmarks


def github_action_benchmark(file):
    """The array of the action's custom tools, each entry with the fields of its type BenchmarkResult (its README)."""
    with open(file, encoding="utf-8") as text:
        results = json.load(text)
    assert isinstance(results, list) and results
    for result in results:
        assert {"name", "unit", "value"} <= set(result) <= {"name", "unit", "value", "range", "extra"}, result
        assert isinstance(result["value"], (int, float)), result
        assert all(isinstance(result[key], str) for key in set(result) - {"value"}), result
    assert len({result["name"] for result in results}) == len(results)
    return results


def otava(file, column):
    """The first change point that Otava's own program finds in a column."""
    import os
    import subprocess
    import tempfile

    config = {
        "tests": {
            "exported": {
                "type": "csv",
                "file": file,
                "time_column": "time",
                "attributes": ["run", "tare"],
                "metrics": {"value": {"column": column, "direction": -1}},
            }
        }
    }
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as place:
        json.dump(config, place)
        place.flush()
        command = [sys.executable, "-c", "from otava.main import main; main()", "analyze", "exported"]
        command += ["--config-file", place.name, "--output", "json", "--since", "2020-01-01"]
        done = subprocess.run(command, capture_output=True, text=True, env=os.environ, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.strip().splitlines()[-1])["exported"]


if __name__ == "__main__":
    what, *arguments = sys.argv[1:]
    print(json.dumps(globals()[what](*arguments)))

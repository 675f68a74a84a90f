//! JSON Schemas of all formats: definitions that are read, and what Tare writes.

use tare_record::schemas::{SHAPES, Shape};

use crate::benchmarks::BenchFileDef;
use crate::clusters::ClustersDef;
use crate::def::{ExperimentDef, MeshDef, WorkloadDef};
use crate::script::{RequestsDef, SessionDef};
use crate::sizing::TopologyDef;
use crate::suite::{AcknowledgedDef, SuiteDef};
use crate::target::TargetDef;

/// All formats of definitions.
const DEFINITIONS: &[Shape] = &[
    Shape::of::<ExperimentDef>(
        "experiment",
        "an experiment file, experiments/<study>/*.yaml",
    ),
    Shape::of::<WorkloadDef>("workload", "a workload folder's workload.yaml"),
    Shape::of::<TargetDef>("target", "a target folder's target.yaml"),
    Shape::of::<MeshDef>("mesh", "mesh.yaml of a folder of targets that form a mesh"),
    Shape::of::<RequestsDef>(
        "requests",
        "a file of plain requests, `tare load --requests`",
    ),
    Shape::of::<SessionDef>("session", "a scripted session, `tare load --session`"),
    Shape::of::<ClustersDef>(
        "clusters",
        "Kafka clusters by name, ~/.config/tare/clusters.yaml",
    ),
    Shape::of::<SuiteDef>("suite", "a suite, `tare suite`, suites/*.yaml"),
    Shape::of::<AcknowledgedDef>(
        "acknowledged",
        "changes that the readers of a suite know of, beside it",
    ),
    Shape::of::<TopologyDef>("topology", "services and their calls, `tare size --for`"),
    Shape::of::<BenchFileDef>(
        "bench",
        "benchmarks that are commands, bench.yaml of `tare perfcheck`",
    ),
];

/// All formats.
pub fn formats() -> impl Iterator<Item = &'static Shape> {
    DEFINITIONS.iter().chain(SHAPES)
}

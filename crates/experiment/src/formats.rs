//! JSON Schemas of all formats: definitions that are read, and what Tare writes.

use serde::de::DeserializeOwned;
use tare_record::schemas::{SHAPES, Shape};
use tare_record::shape;

use crate::benchmarks::BenchFileDef;
use crate::clusters::ClustersDef;
use crate::def::{ExperimentDef, MeshDef, WorkloadDef};
use crate::script::{RequestsDef, SessionDef};
use crate::sizing::TopologyDef;
use crate::suite::{AcknowledgedDef, SuiteDef};
use crate::target::{TargetDef, TargetVersions};

/// A type that is read from YAML.
pub trait Definition: DeserializeOwned {
    /// The schema that the YAML is checked against.
    const SHAPE: Shape;
}

macro_rules! definitions {
    ($($definition:ty: $name:literal, $about:literal;)*) => {
        $(impl Definition for $definition {
            const SHAPE: Shape = shape!($name, $about);
        })*

        /// All formats of definitions.
        const DEFINITIONS: &[Shape] = &[$(<$definition>::SHAPE),*];
    };
}

definitions! {
    ExperimentDef: "experiment", "an experiment file, experiments/<study>/*.yaml";
    WorkloadDef: "workload", "a workload folder's workload.yaml";
    TargetDef: "target", "a target folder's target.yaml";
    MeshDef: "mesh", "mesh.yaml of a folder of targets that form a mesh";
    RequestsDef: "requests", "a file of plain requests, `tare load --requests`";
    SessionDef: "session", "a scripted session, `tare load --session`";
    ClustersDef: "clusters", "Kafka clusters by name, ~/.config/tare/clusters.yaml";
    SuiteDef: "suite", "a suite, `tare suite`, suites/*.yaml";
    AcknowledgedDef: "acknowledged", "changes that the readers of a suite know of, beside it";
    TopologyDef: "topology", "services and their calls, `tare size --for`";
    BenchFileDef: "bench", "benchmarks that are commands, bench.yaml of `tare perfcheck`";
    TargetVersions: "versions", "versions of a target, versions.yaml beside its target.yaml";
}

/// All formats.
pub fn formats() -> impl Iterator<Item = &'static Shape> {
    DEFINITIONS.iter().chain(SHAPES)
}

//! The laboratory: targets, environments, the keeper, certificates and observation.

pub mod environment;

/// What can go wrong in the laboratory. (Variants grow with the modules.)
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// Placeholder until the modules define their own.
    #[error("{0}")]
    Other(String),
}

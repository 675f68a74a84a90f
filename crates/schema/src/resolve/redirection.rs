//! Whether traffic can be redirected to sidecars, and what that means for arms that need it.

use crate::def::{ArmDef, InterceptionDef, SidecarDef};
use crate::topology::Interception;

/// Whether the kernel can redirect a pod's traffic to its sidecar.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Redirection {
    /// It can, or was not checked.
    Possible,
    /// It cannot; the reason.
    Impossible(String),
}

impl Redirection {
    /// How traffic reaches a sidecar.
    pub(super) fn interception(&self, wanted: Option<InterceptionDef>) -> Interception {
        match (wanted, self) {
            (Some(InterceptionDef::Redirect), _)
            | (Some(InterceptionDef::RedirectIfPossible), Redirection::Possible) => {
                Interception::Redirect
            }
            _ => Interception::Explicit,
        }
    }

    /// What an arm needs and lacks: as written in the file, else redirection.
    pub(super) fn needs(&self, arm: &ArmDef) -> Option<String> {
        let redirects = |def: &SidecarDef| def.interception == Some(InterceptionDef::Redirect);
        let mut sidecars = arm.sidecars.iter().flat_map(|sidecars| sidecars.all());
        let lacking = match self {
            Redirection::Impossible(reason) if sidecars.any(redirects) => {
                Some(format!("redirected traffic ({reason})"))
            }
            _ => None,
        };
        arm.requires.clone().or(lacking)
    }
}

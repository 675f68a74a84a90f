//! Whether pods' traffic can be redirected to their sidecars, and what becomes of arms that want it.

use crate::def::{ArmDef, InterceptionDef, SidecarDef};
use crate::topology::Interception;

/// Whether the kernel can be told to redirect a pod's traffic to its sidecar.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Redirection {
    /// It can, or nobody has looked.
    Possible,
    /// It cannot, for this reason.
    Impossible(String),
}

impl Redirection {
    /// How traffic reaches a sidecar that wants it so.
    pub(super) fn interception(&self, wanted: Option<InterceptionDef>) -> Interception {
        match (wanted, self) {
            (Some(InterceptionDef::Redirect), _)
            | (Some(InterceptionDef::RedirectIfPossible), Redirection::Possible) => {
                Interception::Redirect
            }
            _ => Interception::Explicit,
        }
    }

    /// What an arm needs that is not there: what the file says, else what this machine lacks.
    pub(super) fn needs(&self, arm: &ArmDef) -> Option<String> {
        let redirects = |def: &SidecarDef| def.interception == Some(InterceptionDef::Redirect);
        let mut sidecars = arm.sidecars.iter().flat_map(|sidecars| sidecars.all());
        let lacking = match self {
            Redirection::Impossible(why) if sidecars.any(redirects) => {
                Some(format!("redirected traffic ({why})"))
            }
            _ => None,
        };
        arm.needs.clone().or(lacking)
    }
}

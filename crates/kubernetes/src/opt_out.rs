//! How namespaces and pods stay without the proxies of meshes that a cluster may have.

use std::collections::BTreeMap;

/// What a mesh reads where it must not inject its proxies.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OptOut {
    /// Name of the mesh in texts: `Istio`.
    pub title: String,
    /// Of namespaces that runs make, unless their arms use the mesh.
    pub namespaces: Marks,
    /// Of pods without its proxy.
    pub pods: Marks,
}

/// Labels and annotations.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Marks {
    pub labels: BTreeMap<String, String>,
    pub annotations: BTreeMap<String, String>,
}

/// What one of the objects has of all meshes but the one that is used, by its title.
pub(crate) fn of_all(all: &[OptOut], used: Option<&str>, of: impl Fn(&OptOut) -> &Marks) -> Marks {
    let mut marks = Marks::default();
    for one in all.iter().filter(|one| used != Some(&one.title)) {
        let Marks {
            labels,
            annotations,
        } = of(one).clone();
        marks.labels.extend(labels);
        marks.annotations.extend(annotations);
    }
    marks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mesh_that_is_used_may_inject() {
        let mesh = |title: &str| OptOut {
            title: title.to_owned(),
            namespaces: Marks::default(),
            pods: Marks {
                labels: BTreeMap::from([(format!("{title}/inject"), String::from("no"))]),
                annotations: BTreeMap::new(),
            },
        };
        let all = [mesh("a"), mesh("b")];
        let labels = |used| -> Vec<String> {
            let marks = of_all(&all, used, |one| &one.pods);
            marks.labels.into_keys().collect()
        };
        assert_eq!(labels(None), ["a/inject", "b/inject"]);
        assert_eq!(labels(Some("b")), ["a/inject"]);
    }
}

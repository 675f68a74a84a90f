//! Where the image has the software of the conductor's machine, which must be the same.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use tare_lab::LabError;
use tare_record::record::TargetVersion;

/// Programs of Tare in the image.
const PROGRAMS: &str = "/usr/lib/tare/bin";

/// Folders of this machine that are elsewhere in the image. `cluster` and `image` are for messages.
///
/// # Errors
/// Software that is not there, or is another.
pub(crate) fn find(
    here: &BTreeMap<String, TargetVersion>,
    there: &BTreeMap<String, TargetVersion>,
    (cluster, image): (String, &str),
    tare: &Path,
) -> Result<BTreeMap<PathBuf, PathBuf>, LabError> {
    let mut links = BTreeMap::new();
    for (name, local) in here {
        let refused = |why: String| {
            LabError::Cluster(format!(
                "{cluster}: the image {image} {why}: make it again with scripts/release --with {name}, from the same sources"
            ))
        };
        let Some(remote) = there.get(name) else {
            return Err(refused(format!("has no {name}")));
        };
        // Programs of Tare are stripped in the image.
        let is_own = Path::new(&local.path).parent() == tare.parent();
        let is_same = is_own || local.sha256 == remote.sha256;
        if local.version != remote.version || !is_same {
            let text = format!(
                "has another {name} ({}, here {})",
                remote.version, local.version
            );
            return Err(refused(text));
        }
        links.extend(folder_link(Path::new(&local.path), Path::new(&remote.path)));
    }
    let own = Path::new(PROGRAMS).join(tare.file_name().unwrap_or_default());
    links.extend(folder_link(tare, &own));
    Ok(links)
}

/// Where the folder of a file is, if it is elsewhere.
fn folder_link(here: &Path, there: &Path) -> Option<(PathBuf, PathBuf)> {
    if here == there {
        return None;
    }
    // A folder of software is linked itself.
    let (here, there) = match here.is_dir() {
        true => (here, there),
        false => (here.parent()?, there.parent()?),
    };
    Some((here.to_owned(), there.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_that_of_a_folder() {
        let link = folder_link(Path::new("/a/envoy.d/envoy"), Path::new("/b/envoy.d/envoy"));
        assert_eq!(
            link,
            Some((PathBuf::from("/a/envoy.d"), PathBuf::from("/b/envoy.d")))
        );
        assert_eq!(
            folder_link(Path::new("/usr/sbin/nginx"), Path::new("/usr/sbin/nginx")),
            None
        );
    }
}

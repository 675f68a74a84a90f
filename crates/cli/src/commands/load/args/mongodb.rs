//! Arguments of loads on MongoDB.

use tare_schema::units::Size;

/// Operations on documents over MongoDB's wire protocol.
#[derive(Debug, clap::Args)]
#[command(
    next_help_heading = "MongoDB (mongodb://host:port/database.collection, over TLS with ?tls=true)"
)]
pub struct MongodbArgs {
    /// Operation mix, by share: find, insert, update and delete, each of one document by _id [default: find=1].
    #[arg(long, value_name = "MIX", value_parser = parse_mix)]
    pub mongodb_mix: Option<MongodbMix>,
    /// Number of documents for find and update; missing ones are inserted before the load [default: 10000].
    #[arg(long, value_name = "N")]
    pub mongodb_documents: Option<u32>,
    /// Size of the text field of a document [default: 200B].
    #[arg(long, value_name = "SIZE")]
    pub mongodb_document_size: Option<Size>,
}

/// Operations and their shares.
#[derive(Debug, Clone, PartialEq)]
pub struct MongodbMix(pub Vec<(String, f64)>);

fn parse_mix(text: &str) -> Result<MongodbMix, String> {
    let known = tare_load::protocols::mongodb::OPERATIONS;
    let advice = || {
        format!(
            "write shares of {}, as in find=90,update=10",
            known.join(", ")
        )
    };
    let mut mix: Vec<(String, f64)> = Vec::new();
    for part in text.split(',') {
        let (name, share) = part.split_once('=').ok_or_else(advice)?;
        let share: f64 = share.trim().parse().map_err(|_| advice())?;
        let name = name.trim();
        let is_new = !mix.iter().any(|(given, _)| given == name);
        let is_share = share.is_finite() && share > 0.0;
        if known.contains(&name) && is_share && is_new {
            mix.push((name.to_owned(), share));
        } else {
            return Err(advice());
        }
    }
    Ok(MongodbMix(mix))
}

impl MongodbArgs {
    /// The first of these flags that was given.
    pub fn given(&self) -> Option<&'static str> {
        let flags = [
            (self.mongodb_mix.is_some(), "--mongodb-mix"),
            (self.mongodb_documents.is_some(), "--mongodb-documents"),
            (
                self.mongodb_document_size.is_some(),
                "--mongodb-document-size",
            ),
        ];
        let given = flags.into_iter().find(|(is_given, _)| *is_given);
        given.map(|(_, flag)| flag)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mix_names_operations_once_with_their_shares() {
        let mix = parse_mix("find=80, insert=0.5").unwrap();
        assert_eq!(
            mix.0,
            [("find".to_owned(), 80.0), ("insert".to_owned(), 0.5)]
        );
        for wrong in [
            "",
            "find",
            "find=x",
            "find=0",
            "drop=1",
            "find=1,find=2",
            "find=inf",
        ] {
            let error = parse_mix(wrong).unwrap_err();
            assert!(error.contains("find=90,update=10"), "{wrong}: {error}");
        }
    }
}

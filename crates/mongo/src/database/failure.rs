//! Why a command failed, with MongoDB's codes.

use crate::bson::{Doc, OwnedDoc, Writer};

macro_rules! codes {
    ($($name:ident = $number:literal,)*) => {
        /// Codes of MongoDB (src/mongo/base/error_codes.yml) that are answered here.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[expect(missing_docs, reason = "the names are MongoDB's")]
        pub enum Code { $($name,)* }

        impl Code {
            /// As drivers see it.
            #[must_use]
            pub fn number(self) -> i32 {
                match self { $(Self::$name => $number,)* }
            }

            /// As drivers see it.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$name => stringify!($name),)* }
            }
        }
    };
}

codes! {
    BadValue = 2,
    UnknownError = 8,
    FailedToParse = 9,
    TypeMismatch = 14,
    Overflow = 15,
    IllegalOperation = 20,
    NamespaceNotFound = 26,
    IndexNotFound = 27,
    PathNotViable = 28,
    ConflictingUpdateOperators = 40,
    CursorNotFound = 43,
    NamespaceExists = 48,
    DollarPrefixedFieldName = 52,
    InvalidIdField = 53,
    EmptyFieldName = 56,
    CommandNotFound = 59,
    ImmutableField = 66,
    CannotCreateIndex = 67,
    InvalidOptions = 72,
    InvalidNamespace = 73,
    IndexOptionsConflict = 85,
    IndexKeySpecsConflict = 86,
    InvalidPipelineOperator = 168,
    CannotIndexParallelArrays = 171,
    NotImplemented = 238,
    QueryExceededMemoryLimitNoDiskUseAllowed = 292,
    UnsupportedOpQueryCommand = 352,
    BSONObjectTooLarge = 10334,
    DuplicateKey = 11000,
    OutOfDiskSpace = 14031,
    IDLFailedToParse = 40414,
}

/// A command, or one write of it, that failed.
#[derive(Debug, Clone, PartialEq)]
pub struct Failure {
    /// MongoDB's code.
    pub code: Code,
    /// In words; drivers show it as it is.
    pub message: String,
    /// Fields beside it, such as the key that is there twice.
    pub details: Option<OwnedDoc>,
}

impl Failure {
    pub(crate) fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            details: None,
        }
    }

    pub(crate) fn bad(message: impl Into<String>) -> Self {
        Self::new(Code::BadValue, message)
    }

    /// What MongoDB has and this database does not.
    pub(crate) fn unserved(what: &str) -> Self {
        Self::new(
            Code::NotImplemented,
            format!("{what} is not served by this database in memory; use mongod for it"),
        )
    }

    /// As the answer to a command.
    pub(crate) fn write(&self, w: &mut Writer<'_>) {
        w.f64("ok", 0.0).str("errmsg", &self.message);
        w.i32("code", self.code.number())
            .str("codeName", self.code.name());
        self.write_details(w);
    }

    /// As one of the `writeErrors` of a write.
    pub(crate) fn write_as_write_error(&self, index: usize, w: &mut Writer<'_>) {
        w.count("index", index).i32("code", self.code.number());
        self.write_details(w);
        w.str("errmsg", &self.message);
    }

    fn write_details(&self, w: &mut Writer<'_>) {
        if let Some(details) = &self.details {
            w.all_of(Doc::trusted(details));
        }
    }
}

//! The derive `JsonSchema` of a build that makes no JSON Schemas: it adds nothing to a type.
//!
//! Tests make the schemas (`docs/schema`) by the derive of the crate `schemars`; the product reads what they wrote.

use proc_macro::TokenStream;

/// Takes the attributes `#[schemars(…)]` and returns no code.
#[proc_macro_derive(JsonSchema, attributes(schemars))]
pub fn json_schema(_: TokenStream) -> TokenStream {
    TokenStream::new()
}

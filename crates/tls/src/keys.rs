//! Files of keys and certificates in forms that rustls does not read, with the command that makes them readable.

use rustls::pki_types::PrivateKeyDer;

use crate::certificate;

/// First bytes of a Java keystore.
const JKS: &[u8] = b"\xfe\xed\xfe\xed";

/// What is in a PKCS#12 file near its beginning: the object identifier of PKCS#7.
const PKCS7: &[u8] = b"\x2a\x86\x48\x86\xf7\x0d\x01\x07";

/// Bytes of a file in which that identifier is looked for.
const BEGINNING: usize = 64;

/// What is to be done about a key on this curve.
pub(crate) const P521: &str = "its key is on the curve P-521, which is not supported: make one on P-256 with `openssl ecparam -name prime256v1 -genkey -noout -out client.key`, and a certificate for it";

/// Why a file is not PEM that can be used, and the command that makes such a file of it; `None` if it may be.
pub(crate) fn unusable(path: &str, bytes: &[u8]) -> Option<String> {
    let path = quoted(path);
    let has = |text: &[u8]| bytes.windows(text.len()).any(|part| part == text);
    if has(b"-----BEGIN ENCRYPTED PRIVATE KEY-----") || has(b"Proc-Type: 4,ENCRYPTED") {
        return Some(format!(
            "the key is encrypted: decrypt it with `openssl pkey -in {path} -out client.key`, and give client.key"
        ));
    }
    if bytes.starts_with(JKS) {
        return Some(format!(
            "it is a Java keystore: convert it with `keytool -importkeystore -srckeystore {path} -destkeystore client.p12 -deststoretype pkcs12` and `openssl pkcs12 -in client.p12 -nodes -out client.pem`, and give client.pem"
        ));
    }
    if bytes.first() != Some(&0x30) {
        return None;
    }
    let beginning = &bytes[..bytes.len().min(BEGINNING)];
    if beginning.windows(PKCS7.len()).any(|part| part == PKCS7) {
        return Some(format!(
            "it is a PKCS#12 keystore: convert it with `openssl pkcs12 -in {path} -nodes -out client.pem`, and give client.pem for certificate and key"
        ));
    }
    let command = match certificate::Certificate::read(bytes) {
        Some(_) => "x509",
        None => "pkey",
    };
    Some(format!(
        "it is DER, not PEM: convert it with `openssl {command} -inform der -in {path} -out client.pem`, and give client.pem"
    ))
}

/// Whether a key is on the curve P-521: the curve's identifier is in each form of such a key.
pub(crate) fn is_on_p521(key: &PrivateKeyDer<'_>) -> bool {
    let der = key.secret_der();
    let id = certificate::P521;
    let is_of_curves = !matches!(key, PrivateKeyDer::Pkcs1(_));
    is_of_curves && der.windows(id.len()).any(|part| part == id)
}

/// A path as a word of a shell.
fn quoted(path: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@".contains(c);
    match path.chars().all(is_plain) {
        true => path.to_owned(),
        false => format!("'{}'", path.replace('\'', "'\\''")),
    }
}

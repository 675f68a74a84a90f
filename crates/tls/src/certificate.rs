//! What a certificate is, as far as verification and messages need it, read without a library: webpki refuses to parse
//! certificates of X.509 version 1 (RFC 5280 §4.1).

use std::fmt;

/// A certificate; all parts are in DER, without their tags and lengths unless said otherwise.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Certificate<'a> {
    /// What is signed, with tag and length.
    pub signed: &'a [u8],
    /// 1 to 3.
    pub version: u8,
    pub issuer: &'a [u8],
    pub subject: &'a [u8],
    /// Validity, in seconds since the epoch.
    pub not_before_s: u64,
    pub not_after_s: u64,
    pub key: PublicKey<'a>,
    pub has_names: bool,
    pub signature_algorithm: &'a [u8],
    pub signature: &'a [u8],
}

/// A public key (`SubjectPublicKeyInfo`).
#[derive(Debug, Clone, Copy)]
pub(crate) struct PublicKey<'a> {
    pub algorithm: &'a [u8],
    pub bits: &'a [u8],
}

const SEQUENCE: u8 = 0x30;
const INTEGER: u8 = 0x02;
const BIT_STRING: u8 = 0x03;
const OBJECT_ID: u8 = 0x06;
const UTC_TIME: u8 = 0x17;
/// Context-specific tags of the version and the extensions.
const VERSION: u8 = 0xa0;
const EXTENSIONS: u8 = 0xa3;

/// Object identifiers.
const RSA: &[u8] = b"\x2a\x86\x48\x86\xf7\x0d\x01\x01\x01";
pub(crate) const P521: &[u8] = b"\x2b\x81\x04\x00\x23";
const COMMON_NAME: &[u8] = b"\x55\x04\x03";
const ALTERNATIVE_NAME: &[u8] = b"\x55\x1d\x11";

/// One element of DER.
struct Element<'a> {
    tag: u8,
    content: &'a [u8],
    /// With tag and length.
    whole: &'a [u8],
}

/// Takes the first element from the front of the input.
fn element<'a>(input: &mut &'a [u8]) -> Option<Element<'a>> {
    let all = *input;
    let (&[tag, first], mut rest) = all.split_first_chunk()?;
    let mut length = usize::from(first);
    if first & 0x80 != 0 {
        let (digits, behind) = rest.split_at_checked(usize::from(first & 0x7f))?;
        if digits.is_empty() || digits.len() > 4 {
            return None;
        }
        length = digits
            .iter()
            .fold(0, |sum, &digit| sum << 8 | usize::from(digit));
        rest = behind;
    }
    let (content, behind) = rest.split_at_checked(length)?;
    *input = behind;
    Some(Element {
        tag,
        content,
        whole: &all[..all.len() - behind.len()],
    })
}

/// Takes the first element, which must have this tag.
fn take<'a>(input: &mut &'a [u8], tag: u8) -> Option<&'a [u8]> {
    let found = element(input)?;
    (found.tag == tag).then_some(found.content)
}

impl<'a> Certificate<'a> {
    /// Reads a certificate; `None` if it is none.
    pub(crate) fn read(der: &'a [u8]) -> Option<Self> {
        let mut outer = take(&mut &*der, SEQUENCE)?;
        let tbs = element(&mut outer)?;
        let signature_algorithm = take(&mut outer, SEQUENCE)?;
        let signature = bits(take(&mut outer, BIT_STRING)?)?;
        let mut rest = tbs.content;
        let mut version = 1;
        if rest.first() == Some(&VERSION) {
            let mut stated = take(&mut rest, VERSION)?;
            version = take(&mut stated, INTEGER)?.last()?.checked_add(1)?;
        }
        take(&mut rest, INTEGER)?;
        take(&mut rest, SEQUENCE)?;
        let issuer = take(&mut rest, SEQUENCE)?;
        let mut validity = take(&mut rest, SEQUENCE)?;
        let (not_before_s, not_after_s) = (time(&mut validity)?, time(&mut validity)?);
        let subject = take(&mut rest, SEQUENCE)?;
        let mut key = take(&mut rest, SEQUENCE)?;
        Some(Self {
            signed: tbs.whole,
            version,
            issuer,
            subject,
            not_before_s,
            not_after_s,
            key: PublicKey {
                algorithm: take(&mut key, SEQUENCE)?,
                bits: bits(take(&mut key, BIT_STRING)?)?,
            },
            has_names: has_names(rest),
            signature_algorithm,
            signature,
        })
    }

    /// The common name of the subject.
    pub(crate) fn common_name(&self) -> Option<&'a str> {
        let mut rest = self.subject;
        while let Some(set) = element(&mut rest) {
            let mut set = set.content;
            while let Some(mut pair) = take(&mut set, SEQUENCE) {
                if take(&mut pair, OBJECT_ID) == Some(COMMON_NAME) {
                    return std::str::from_utf8(element(&mut pair)?.content).ok();
                }
            }
        }
        None
    }
}

impl PublicKey<'_> {
    /// Bits of the modulus of an RSA key.
    pub(crate) fn rsa_bits(&self) -> Option<u32> {
        let mut algorithm = self.algorithm;
        if take(&mut algorithm, OBJECT_ID)? != RSA {
            return None;
        }
        let modulus = take(&mut take(&mut &*self.bits, SEQUENCE)?, INTEGER)?;
        let zeros = modulus.iter().take_while(|&&byte| byte == 0).count();
        let digits = &modulus[zeros..];
        let first = digits.first()?;
        Some(digits.len() as u32 * 8 - first.leading_zeros())
    }

    /// Whether it is a key on the curve P-521.
    pub(crate) fn is_p521(&self) -> bool {
        let mut algorithm = self.algorithm;
        take(&mut algorithm, OBJECT_ID).is_some() && take(&mut algorithm, OBJECT_ID) == Some(P521)
    }
}

/// The bytes of a bit string.
fn bits(content: &[u8]) -> Option<&[u8]> {
    match content.split_first()? {
        (0, bytes) => Some(bytes),
        _ => None,
    }
}

/// Whether there are alternative names of the subject among the extensions.
fn has_names(mut rest: &[u8]) -> bool {
    while let Some(found) = element(&mut rest) {
        let mut content = found.content;
        let Some(mut all) = (found.tag == EXTENSIONS)
            .then(|| take(&mut content, SEQUENCE))
            .flatten()
        else {
            continue;
        };
        while let Some(mut extension) = take(&mut all, SEQUENCE) {
            if take(&mut extension, OBJECT_ID) == Some(ALTERNATIVE_NAME) {
                return true;
            }
        }
    }
    false
}

/// Takes a time: `YYMMDDhhmmssZ`, from 1950 on, or with four digits for the year.
fn time(input: &mut &[u8]) -> Option<u64> {
    let found = element(input)?;
    let text = std::str::from_utf8(found.content).ok()?;
    let (year, rest) = match found.tag {
        UTC_TIME => {
            let year: i64 = text.get(..2)?.parse().ok()?;
            (year + if year < 50 { 2000 } else { 1900 }, text.get(2..)?)
        }
        _ => (text.get(..4)?.parse().ok()?, text.get(4..)?),
    };
    let part = |at: usize| rest.get(at..at + 2)?.parse::<i64>().ok();
    let (month, day) = (part(0)?, part(2)?);
    let seconds = part(4)? * 3600 + part(6)? * 60 + part(8)?;
    // Days since the epoch, with years that begin in March (howardhinnant.github.io/date_algorithms.html, days_from_civil).
    let year = if month <= 2 { year - 1 } else { year };
    let shifted = (month + 9) % 12;
    let of_year = (153 * shifted + 2) / 5 + day - 1;
    let days = year * 365 + year / 4 - year / 100 + year / 400 + of_year - 719_468;
    u64::try_from(days * 86_400 + seconds).ok()
}

/// Why a client refuses a certificate, where rustls has no error of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CertificateFlaw {
    #[error(
        "the server's certificate is of X.509 version 1, and no authority given signed it: give the one that did with --cacert FILE, or accept it with --insecure"
    )]
    Version1,
    #[error(
        "the server's certificate has an RSA key of {0} bits, and at least 2048 are needed: issue it with a longer one (openssl req -newkey rsa:2048), or accept it with --insecure"
    )]
    RsaBits(u32),
    #[error(
        "the server's certificate has a key on the curve P-521, which is not supported: issue it with one on P-256 (openssl ecparam -name prime256v1 -genkey -noout), or accept it with --insecure"
    )]
    P521,
    #[error(
        "the server's certificate has no subject alternative name (SAN), and its common name does not count: issue it with one (openssl x509 -extfile with subjectAltName=DNS:NAME or IP:ADDRESS), or accept it with --insecure"
    )]
    NoNames,
    #[error(
        "the server's signature of the handshake does not fit its certificate: it has another key"
    )]
    Signature,
}

/// What is unusual about a certificate that was accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unusual {
    Version1,
    RsaBits(u32),
    P521,
}

impl fmt::Display for Unusual {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unusual::Version1 => f.write_str("X.509 version 1, which other clients refuse"),
            Unusual::RsaBits(bits) => write!(
                f,
                "RSA key of {bits} bits: its signature of the handshake was not verified"
            ),
            Unusual::P521 => {
                f.write_str("key on P-521: its signature of the handshake was not verified")
            }
        }
    }
}

/// What is unusual about an accepted certificate, in words; `None` for most.
#[must_use]
pub fn unusual(der: &[u8]) -> Option<String> {
    let certificate = Certificate::read(der)?;
    let mut all = Vec::new();
    if certificate.version == 1 {
        all.push(Unusual::Version1);
    }
    if let Some(bits) = certificate.key.unverifiable_rsa_bits() {
        all.push(Unusual::RsaBits(bits));
    }
    if certificate.key.is_p521() {
        all.push(Unusual::P521);
    }
    let words: Vec<String> = all.iter().map(ToString::to_string).collect();
    (!words.is_empty()).then(|| words.join("; "))
}

impl PublicKey<'_> {
    /// Bits of an RSA key that ring verifies no signature of.
    pub(crate) fn unverifiable_rsa_bits(&self) -> Option<u32> {
        self.rsa_bits().filter(|bits| !(2048..=8192).contains(bits))
    }

    /// Whether signatures of the key cannot be verified.
    pub(crate) fn is_unverifiable(&self) -> bool {
        self.is_p521() || self.unverifiable_rsa_bits().is_some()
    }
}

//! An RS256 provider for the crate `jsonwebtoken`, based on ring.

use jsonwebtoken::crypto::{CryptoProvider, JwtSigner, JwtVerifier, KeyUtils};
use jsonwebtoken::errors::{Error, ErrorKind};
use jsonwebtoken::signature::{self, Signer, Verifier};
use jsonwebtoken::{Algorithm, DecodingKey, DecodingKeyKind, EncodingKey};
use ring::rand::SystemRandom;
use ring::rsa::{KeyPair, PublicKeyComponents};
use ring::signature::{RSA_PKCS1_2048_8192_SHA256, RSA_PKCS1_SHA256};

static RING: CryptoProvider = CryptoProvider {
    signer_factory: signer,
    verifier_factory: verifier,
    // Keys are built from their components; nothing is derived from them.
    key_utils: KeyUtils::new_unimplemented(),
};

/// Installs the provider. Must be called before the first token is signed or checked; repeated calls have no effect.
pub fn install() {
    // An error means that it is installed already.
    let _ = RING.install_default();
}

struct Signs(KeyPair);

struct Verifies(DecodingKey);

fn signer(algorithm: &Algorithm, key: &EncodingKey) -> Result<Box<dyn JwtSigner>, Error> {
    only_rs256(algorithm)?;
    let pair = KeyPair::from_der(key.as_bytes())
        .map_err(|error| Error::from(ErrorKind::InvalidRsaKey(error.to_string())))?;
    Ok(Box::new(Signs(pair)))
}

fn verifier(algorithm: &Algorithm, key: &DecodingKey) -> Result<Box<dyn JwtVerifier>, Error> {
    only_rs256(algorithm)?;
    Ok(Box::new(Verifies(key.clone())))
}

fn only_rs256(algorithm: &Algorithm) -> Result<(), Error> {
    match algorithm {
        Algorithm::RS256 => Ok(()),
        _ => Err(ErrorKind::InvalidAlgorithm.into()),
    }
}

impl Signer<Vec<u8>> for Signs {
    fn try_sign(&self, message: &[u8]) -> Result<Vec<u8>, signature::Error> {
        let mut signed = vec![0; self.0.public().modulus_len()];
        self.0
            .sign(
                &RSA_PKCS1_SHA256,
                &SystemRandom::new(),
                message,
                &mut signed,
            )
            .map_err(|_| signature::Error::new())?;
        Ok(signed)
    }
}

impl JwtSigner for Signs {
    fn algorithm(&self) -> Algorithm {
        Algorithm::RS256
    }
}

impl Verifier<Vec<u8>> for Verifies {
    fn verify(&self, message: &[u8], signed: &Vec<u8>) -> Result<(), signature::Error> {
        let DecodingKeyKind::RsaModulusExponent { n, e } = self.0.kind() else {
            return Err(signature::Error::new());
        };
        PublicKeyComponents { n, e }
            .verify(&RSA_PKCS1_2048_8192_SHA256, message, signed)
            .map_err(|_| signature::Error::new())
    }
}

impl JwtVerifier for Verifies {
    fn algorithm(&self) -> Algorithm {
        Algorithm::RS256
    }
}

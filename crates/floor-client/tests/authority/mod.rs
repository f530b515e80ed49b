//! A certificate authority for one test.

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType, IsCa, KeyPair, date_time_ymd,
};

pub(crate) struct Authority(CertifiedIssuer<'static, KeyPair>);

/// A certificate and its key, as PEM text.
pub(crate) struct Certified {
    pub(crate) cert: String,
    pub(crate) key: String,
}

impl Authority {
    pub(crate) fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    /// Its own certificate, as PEM text.
    pub(crate) fn pem(&self) -> String {
        self.0.pem()
    }

    /// A certificate for a host's name or address.
    pub(crate) fn certify(&self, host: &str) -> Certified {
        self.sign(host, params(host))
    }

    /// A certificate that has expired.
    #[allow(dead_code, reason = "not every test needs one")]
    pub(crate) fn certify_expired(&self, host: &str) -> Certified {
        let mut params = params(host);
        params.not_after = date_time_ymd(2020, 1, 1);
        self.sign(host, params)
    }

    fn sign(&self, host: &str, mut params: CertificateParams) -> Certified {
        // With the default name, it would be mistaken for the authority's certificate.
        params.distinguished_name = DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, host);
        let key = KeyPair::generate().unwrap();
        Certified { cert: params.signed_by(&key, &self.0).unwrap().pem(), key: key.serialize_pem() }
    }
}

fn params(host: &str) -> CertificateParams {
    CertificateParams::new(vec![host.to_owned()]).unwrap()
}

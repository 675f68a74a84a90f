//! Identity: issues certificates to proxies that have the token of the identity they ask for.

use linkerd2_proxy_api::identity::identity_server::Identity;
use linkerd2_proxy_api::identity::{CertifyRequest, CertifyResponse};
use tonic::{Code, Request, Response, Status};

use crate::authority::IssueError;
use crate::events::{peer, quoted};
use crate::plane::Plane;

#[tonic::async_trait]
impl Identity for Plane {
    async fn certify(
        &self,
        request: Request<CertifyRequest>,
    ) -> Result<Response<CertifyResponse>, Status> {
        let from = request.remote_addr();
        let request = request.into_inner();
        let name = quoted(&request.identity);
        let refuse = |refusal, problem: &str| {
            let message = format!("no certificate for {name}: {problem}");
            self.events.refuse(refusal, from, &message)
        };
        let all = self.config.workloads.iter();
        let mut workloads = all
            .filter(|one| one.identity == request.identity)
            .peekable();
        if workloads.peek().is_none() {
            let problem = "no workload has this identity; add it to `workloads`, or correct the identity of the proxy";
            return Err(refuse(
                ("unknown-identity", Code::PermissionDenied),
                problem,
            ));
        }
        let token = request.token.trim_ascii();
        if !workloads.any(|one| one.token.trim().as_bytes() == token) {
            let problem =
                "the token is not that of the workload; give the proxy the token of its workload";
            return Err(refuse(("wrong-token", Code::PermissionDenied), problem));
        }
        let csr = request.certificate_signing_request;
        let lifetime = self.lifetime();
        let issued = self.authority.issue(csr, &request.identity, lifetime);
        let issued = issued.map_err(|error| {
            let refusal = match error {
                IssueError::Unreadable(_) => ("unreadable-signing-request", Code::InvalidArgument),
                IssueError::Names => ("other-names-in-signing-request", Code::InvalidArgument),
                IssueError::Signing(_) => ("signing-failed", Code::Internal),
            };
            refuse(refusal, &error.to_string())
        })?;
        self.events.certificates.count();
        self.events.log(&format!(
            "issued a certificate for {name} to {}, valid for {} s",
            peer(from),
            lifetime.as_secs()
        ));
        Ok(Response::new(CertifyResponse {
            leaf_certificate: issued.leaf,
            intermediate_certificates: issued.intermediates,
            valid_until: Some(issued.valid_until.into()),
        }))
    }
}

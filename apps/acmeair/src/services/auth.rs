//! The service auth: checks logins and issues tokens.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::{AppendHeaders, IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::Deserialize;
use serde_json::{Value, json};
use serving::metrics::{Counter, MetricsPage};

use crate::api_error::ApiError;
use crate::form::Form;
use crate::peer::Peer;
use crate::retry::{CallError, RetryPolicy, RetryingCall};
use crate::service::Service;
use crate::token::{self, COOKIE, Issuer, LIFE};

/// The service.
#[derive(Debug)]
pub struct Auth {
    issuer: Issuer,
    customer: Peer,
    validate: RetryingCall,
    logins: Counter,
    refused: Counter,
}

#[derive(Deserialize)]
struct Validated {
    #[serde(rename = "validCustomer")]
    valid: bool,
}

impl Auth {
    /// With this key, checking logins at this service within this time.
    pub fn new(issuer: Issuer, customer: Peer, timeout: Duration) -> Arc<Auth> {
        Arc::new(Auth {
            issuer,
            customer,
            validate: RetryingCall::new("validateid", timeout, RetryPolicy::Always),
            logins: Counter::default(),
            refused: Counter::default(),
        })
    }

    async fn valid(&self, login: &str, password: &str) -> Result<bool, ApiError> {
        let form = [("login", login), ("password", password)];
        let path = "/customer/internal/validateid";
        let answer = self.validate.post(&self.customer, path, &form).await;
        let answer = answer.map_err(|failed| {
            let why = format!("nobody can log in now: {failed}");
            match failed {
                CallError::Unanswered(crate::peer::Unanswered::Timeout(..)) => {
                    ApiError::Timeout(why)
                }
                _ => ApiError::Unavailable(why),
            }
        })?;
        if answer.status.is_client_error() {
            return Ok(false);
        }
        let read: Validated = serde_json::from_slice(&answer.body)
            .map_err(|error| ApiError::BadGateway(format!("customer's answer is none: {error}")))?;
        Ok(read.valid)
    }
}

async fn login(State(auth): State<Arc<Auth>>, body: Bytes) -> Result<Response, ApiError> {
    let form = Form::read(&body)?;
    let (login, password) = (form.need("login")?, form.need("password")?);
    if !auth.valid(login, password).await? {
        auth.refused.count();
        return Err(ApiError::Forbidden(
            "login and password do not belong together".to_owned(),
        ));
    }
    let token = auth.issuer.token(login, token::now_s())?;
    auth.logins.count();
    let age = LIFE.as_secs();
    // HttpOnly: a page's script need not read the token. SameSite: other sites cannot use it.
    cookies([
        format!("{COOKIE}={token}; Path=/; Max-Age={age}; HttpOnly; SameSite=Strict"),
        format!("loggedinuser={login}; Path=/; Max-Age={age}; SameSite=Strict"),
    ])
    .map(|cookies| (cookies, "logged in").into_response())
}

async fn logout() -> Result<Response, ApiError> {
    let ended = |name| format!("{name}=; Path=/; Max-Age=0; SameSite=Strict");
    cookies([ended(COOKIE), ended("loggedinuser")])
        .map(|cookies| (cookies, "logged out").into_response())
}

type Cookies = AppendHeaders<[(header::HeaderName, HeaderValue); 2]>;

fn cookies([first, second]: [String; 2]) -> Result<Cookies, ApiError> {
    let value = |text: String| {
        HeaderValue::try_from(text)
            .map(|value| (header::SET_COOKIE, value))
            .map_err(|_| ApiError::Malformed("this login cannot stand in a cookie".to_owned()))
    };
    Ok(AppendHeaders([value(first)?, value(second)?]))
}

async fn keys(State(auth): State<Arc<Auth>>) -> Json<Value> {
    Json(json!({ "keys": [auth.issuer.public] }))
}

impl Service for Auth {
    const NAME: &'static str = "auth";
    const ROOT: &'static str = "/auth";
    const ROUTES: &'static [&'static str] = &["/auth/login", "/auth/logout", "/auth/getJwk"];

    fn router(self: Arc<Self>) -> Router {
        Router::new()
            .route("/auth/login", post(login))
            .route("/auth/logout", post(logout))
            .route("/auth/getJwk", get(keys))
            .with_state(self)
    }

    fn write(&self, page: &mut MetricsPage) {
        self.customer.write(page);
        self.validate.write(page);
        let help = "Logins, by what came of them.";
        for (result, count) in [("right", &self.logins), ("wrong", &self.refused)] {
            let labels = format!("result=\"{result}\"");
            page.counter("acmeair_logins_total", help, &labels, count);
        }
    }

    fn status(&self) -> Value {
        json!({
            "key": self.issuer.public.kid,
            "logins": self.logins.get(),
            "refused": self.refused.get(),
            "calls": [self.validate.status()],
        })
    }

    /// Always ready: it needs no other service to answer, if only with an error.
    async fn ready(&self) -> Result<(), String> {
        Ok(())
    }
}

//! Cookie jar of one session (RFC 6265, for one host): path, expiry, `Secure`; cleared with the session.

use crate::protocols::ConnectionSecurity;
use crate::template::{Escaping, days_from_civil};

/// Cookies at most; a browser keeps at least 50 per host.
const COOKIES_MAX: usize = 64;
/// Bytes of a cookie's name and value together (RFC 6265 §6.1).
const COOKIE_BYTES_MAX: usize = 4096;

const NEVER: u64 = u64::MAX;

/// The cookies of a session, in slots that later sessions reuse.
#[derive(Debug, Default)]
pub struct CookieJar {
    slots: Vec<Cookie>,
    live: usize,
}

#[derive(Debug, Default)]
struct Cookie {
    name: Vec<u8>,
    value: Vec<u8>,
    path: Vec<u8>,
    expires_ns: u64,
}

/// When and how a response arrived.
#[derive(Debug, Clone, Copy)]
pub struct CookieContext {
    /// Time on the engine's clock.
    pub now_ns: u64,
    /// The same time in Unix seconds.
    pub unix_s: i64,
    pub security: ConnectionSecurity,
}

/// A parsed `Set-Cookie` value.
#[derive(Debug, PartialEq, Eq)]
struct SetCookie<'a> {
    name: &'a [u8],
    value: &'a [u8],
    path: Option<&'a [u8]>,
    /// Lifetime in seconds.
    lifetime_s: Option<i64>,
    secure: bool,
}

impl CookieJar {
    /// Removes all cookies.
    pub fn clear(&mut self) {
        self.live = 0;
    }

    /// Applies one `Set-Cookie` value of the response to a request with this path.
    pub fn take(&mut self, line: &[u8], request_path: &[u8], now: CookieContext) {
        let Some(set) = parse(line, now.unix_s) else {
            return;
        };
        // A `Secure` cookie is sent over TLS only; browsers do not even store one that arrives in plaintext.
        if set.secure && now.security == ConnectionSecurity::Plain {
            return;
        }
        let path = set.path.unwrap_or_else(|| default_path(request_path));
        let known = self.slots[..self.live]
            .iter()
            .position(|cookie| cookie.name == set.name && cookie.path == path);
        if set.lifetime_s.is_some_and(|lifetime_s| lifetime_s <= 0) {
            if let Some(at) = known {
                self.live -= 1;
                // The others keep their order: cookies are sent in it.
                self.slots[at..=self.live].rotate_left(1);
            }
            return;
        }
        let at = known.unwrap_or_else(|| {
            if self.live == COOKIES_MAX {
                self.slots.rotate_left(1);
                self.live -= 1;
            }
            if self.live == self.slots.len() {
                self.slots.push(Cookie::default());
            }
            self.live += 1;
            self.live - 1
        });
        let cookie = &mut self.slots[at];
        cookie.expires_ns = set.lifetime_s.map_or(NEVER, |lifetime_s| {
            let lifetime_ns = lifetime_s.unsigned_abs().saturating_mul(1_000_000_000);
            now.now_ns.saturating_add(lifetime_ns)
        });
        for (kept, new) in [
            (&mut cookie.name, set.name),
            (&mut cookie.value, set.value),
            (&mut cookie.path, path),
        ] {
            kept.clear();
            kept.extend_from_slice(new);
        }
    }

    /// Appends the `Cookie` header line for a path, longer cookie paths first; nothing if no cookie matches.
    pub fn write(&self, request_path: &[u8], now_ns: u64, out: &mut Vec<u8>) {
        let path = path_of(request_path);
        let start = out.len();
        let mut longest = usize::MAX;
        // RFC 6265 §5.4: longer paths first, then older cookies. A jar is small: one pass per path length.
        loop {
            let fits = |cookie: &&Cookie| {
                cookie.expires_ns > now_ns
                    && cookie.path.len() < longest
                    && path_matches(path, &cookie.path)
            };
            let live = || self.slots[..self.live].iter();
            let Some(length) = live().filter(fits).map(|cookie| cookie.path.len()).max() else {
                break;
            };
            for cookie in live().filter(|cookie| fits(cookie) && cookie.path.len() == length) {
                let before: &[u8] = if out.len() == start {
                    b"Cookie: "
                } else {
                    b"; "
                };
                out.extend_from_slice(before);
                out.extend_from_slice(&cookie.name);
                out.push(b'=');
                out.extend_from_slice(&cookie.value);
            }
            longest = length;
        }
        if out.len() > start {
            out.extend_from_slice(b"\r\n");
        }
    }
}

/// Name and value of a `Set-Cookie` line.
#[must_use]
pub fn name_and_value(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let pair = line.split(|&byte| byte == b';').next()?;
    let at = pair.iter().position(|&byte| byte == b'=')?;
    let (name, value) = (pair[..at].trim_ascii(), pair[at + 1..].trim_ascii());
    let fits = !name.is_empty()
        && name.len() + value.len() <= COOKIE_BYTES_MAX
        && Escaping::Header.takes(name)
        && Escaping::Header.takes(value);
    fits.then_some((name, value))
}

/// Parses a `Set-Cookie` value (RFC 6265 §5.2); unknown attributes are ignored.
fn parse(line: &[u8], unix_s: i64) -> Option<SetCookie<'_>> {
    let (name, value) = name_and_value(line)?;
    let mut set = SetCookie {
        name,
        value,
        path: None,
        lifetime_s: None,
        secure: false,
    };
    let mut max_age = None;
    for attribute in line.split(|&byte| byte == b';').skip(1) {
        let at = attribute.iter().position(|&byte| byte == b'=');
        let (key, value) = match at {
            Some(at) => (&attribute[..at], attribute[at + 1..].trim_ascii()),
            None => (attribute, &b""[..]),
        };
        match key.trim_ascii() {
            key if key.eq_ignore_ascii_case(b"path") => {
                set.path = value.starts_with(b"/").then_some(value);
            }
            key if key.eq_ignore_ascii_case(b"secure") => set.secure = true,
            key if key.eq_ignore_ascii_case(b"max-age") => {
                let text = std::str::from_utf8(value).ok();
                max_age = text.and_then(|text| text.parse().ok()).or(max_age);
            }
            key if key.eq_ignore_ascii_case(b"expires") => {
                set.lifetime_s = date(value).map(|at_s| at_s - unix_s).or(set.lifetime_s);
            }
            _ => {}
        }
    }
    // §5.3: Max-Age has precedence over Expires.
    set.lifetime_s = max_age.or(set.lifetime_s);
    Some(set)
}

/// Parses `Wed, 21 Oct 2026 07:28:00 GMT`; hyphens and two-digit years are accepted too (RFC 6265 §5.1.1).
fn date(text: &[u8]) -> Option<i64> {
    let text = std::str::from_utf8(text).ok()?;
    let mut words = text.split([' ', '-', ',']).filter(|word| !word.is_empty());
    words.next()?;
    let day: u32 = words.next()?.parse().ok()?;
    let month = words.next()?.to_ascii_lowercase();
    let months = "janfebmaraprmayjunjulaugsepoctnovdec";
    let month = months.find(month.get(..3)?).filter(|at| at % 3 == 0)? as u32 / 3 + 1;
    let year: i64 = words.next()?.parse().ok()?;
    let year = match year {
        0..70 => year + 2000,
        70..100 => year + 1900,
        _ => year,
    };
    let mut time = words
        .next()?
        .split(':')
        .map(|part| part.parse::<i64>().ok());
    let (hour, minute, second) = (time.next()??, time.next()??, time.next()??);
    let sane = (1..=31).contains(&day) && (1601..10_000).contains(&year);
    sane.then(|| days_from_civil(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second)
}

fn path_of(target: &[u8]) -> &[u8] {
    target
        .split(|&byte| byte == b'?')
        .next()
        .unwrap_or_default()
}

/// The default path of a cookie (RFC 6265 §5.1.4).
fn default_path(request_path: &[u8]) -> &[u8] {
    let path = path_of(request_path);
    match path.iter().rposition(|&byte| byte == b'/') {
        None | Some(0) => b"/",
        Some(last) => &path[..last],
    }
}

/// RFC 6265 §5.1.4.
fn path_matches(path: &[u8], cookie: &[u8]) -> bool {
    path.strip_prefix(cookie)
        .is_some_and(|rest| rest.is_empty() || cookie.ends_with(b"/") || rest.starts_with(b"/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: CookieContext = CookieContext {
        now_ns: 5_000_000_000,
        unix_s: 1_795_219_200,
        security: ConnectionSecurity::Plain,
    };

    fn sent(jar: &CookieJar, path: &str, now_ns: u64) -> String {
        let mut out = Vec::new();
        jar.write(path.as_bytes(), now_ns, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn cookies_are_sent_to_their_path_and_below_the_longest_first() {
        let mut jar = CookieJar::default();
        jar.take(b"a=1", b"/shop/cart?x=/y/z", NOW);
        jar.take(b"b=2; Path=/", b"/shop/cart", NOW);
        jar.take(b"c=3; path=/shop/cart; HttpOnly", b"/", NOW);
        assert_eq!(sent(&jar, "/shop/cart/1", 0), "Cookie: c=3; a=1; b=2\r\n");
        assert_eq!(sent(&jar, "/shop?q=1", 0), "Cookie: a=1; b=2\r\n");
        assert_eq!(sent(&jar, "/shopping", 0), "Cookie: b=2\r\n");
        jar.take(b"b=4; Path=/", b"/", NOW);
        assert_eq!(
            sent(&jar, "/", 0),
            "Cookie: b=4\r\n",
            "a later one replaces"
        );
        jar.clear();
        assert_eq!(sent(&jar, "/shop", 0), "");
    }

    #[test]
    fn a_cookie_ends_by_age_by_date_and_by_order() {
        let mut jar = CookieJar::default();
        jar.take(b"a=1; Max-Age=10", b"/", NOW);
        jar.take(b"b=2; Expires=Sat, 21 Nov 2026 00:00:20 GMT", b"/", NOW);
        jar.take(
            b"c=3; Expires=Sat, 21-Nov-26 00:00:20 GMT; Max-Age=100",
            b"/",
            NOW,
        );
        jar.take(b"d=4; Expires=nonsense", b"/", NOW);
        let at = |s: u64| sent(&jar, "/", NOW.now_ns + s * 1_000_000_000);
        assert_eq!(at(9), "Cookie: a=1; b=2; c=3; d=4\r\n");
        assert_eq!(at(11), "Cookie: b=2; c=3; d=4\r\n");
        assert_eq!(at(21), "Cookie: c=3; d=4\r\n");
        jar.take(b"c=; Max-Age=0", b"/", NOW);
        jar.take(b"d=; Expires=Thu, 01 Jan 1970 00:00:00 GMT", b"/", NOW);
        assert_eq!(sent(&jar, "/", 0), "Cookie: a=1; b=2\r\n");
    }

    #[test]
    fn what_is_no_cookie_or_not_for_plain_tcp_is_not_kept() {
        let mut jar = CookieJar::default();
        for line in [&b"nothing"[..], b"=x", b"a=\x01", b"s=1; Secure"] {
            jar.take(line, b"/", NOW);
        }
        assert_eq!(sent(&jar, "/", 0), "");
    }

    #[test]
    fn a_cookie_that_is_too_long_is_ignored() {
        let mut jar = CookieJar::default();
        for (name, length) in [("a", COOKIE_BYTES_MAX - 1), ("b", COOKIE_BYTES_MAX)] {
            jar.take(
                format!("{name}={}", "v".repeat(length)).as_bytes(),
                b"/",
                NOW,
            );
        }
        let all = sent(&jar, "/", 0);
        assert!(all.contains("a=v") && !all.contains("b=v"), "{}", all.len());
    }

    #[test]
    fn a_server_cannot_fill_the_memory_with_cookies() {
        let mut jar = CookieJar::default();
        for number in 0..1000 {
            jar.take(format!("c{number}=1").as_bytes(), b"/", NOW);
        }
        let all = sent(&jar, "/", 0);
        assert_eq!(all.matches('=').count(), COOKIES_MAX);
        assert!(all.contains("c999=1") && !all.contains("c0=1"));
    }
}

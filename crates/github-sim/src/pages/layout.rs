//! What all pages share: head, style, the line on top, and small pieces.

use jiff::Timestamp;
use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::http::iso;
use crate::world::{Account, AccountKind};

/// A whole page.
pub fn page(title: &str, content: Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) " · GitHub simulator" }
                style { (PreEscaped(STYLE)) }
            }
            body {
                header { a href="/" { "GitHub simulator" } }
                main { (content) }
            }
        }
    }
}

/// A name with its round initial.
pub fn person(account: &Account) -> Markup {
    let initial: String = account.login.chars().take(1).flat_map(char::to_uppercase).collect();
    html! {
        span class="avatar" aria-hidden="true" style={ "--hue:" (account.id * 47 % 360) } { (initial) }
        strong { (account.login.strip_suffix("[bot]").unwrap_or(&account.login)) }
        @if account.kind == AccountKind::Bot { " " span class="tag" { "bot" } }
    }
}

pub fn time(at: Timestamp) -> Markup {
    let text = at.strftime("%e %b %Y, %H:%M:%S UTC").to_string();
    html! { time datetime=(iso(at)) { (text.trim()) } }
}

pub fn short(sha: &str) -> &str {
    sha.get(..7).unwrap_or(sha)
}

const STYLE: &str = "
:root{--bg:#fff;--fg:#1f2328;--muted:#59636e;--line:#d1d9e0;--soft:#f6f8fa;--link:#0969da;
--ok:#1a7f37;--bad:#cf222e;--wait:#9a6700;--done:#8250df;--code:#eff1f3}
@media (prefers-color-scheme:dark){:root{--bg:#0d1117;--fg:#e6edf3;--muted:#9198a1;--line:#3d444d;--soft:#151b23;
--link:#4493f8;--ok:#3fb950;--bad:#f85149;--wait:#d29922;--done:#ab7df8;--code:#212830}}
*{box-sizing:border-box}
body{margin:0;background:var(--bg);color:var(--fg);font:16px/1.5 system-ui,sans-serif;overflow-wrap:anywhere}
header{border-bottom:1px solid var(--line);background:var(--soft);padding:.6rem 1rem}
header a{color:inherit;font-weight:600;text-decoration:none}
main{max-width:60rem;margin:0 auto;padding:1rem}
a{color:var(--link)} h1{font-size:1.6rem;line-height:1.25;margin:.5rem 0} h2{font-size:1.1rem;margin:1.6rem 0 .5rem}
h1 small,.muted{color:var(--muted);font-weight:400}
code,pre{font-family:ui-monospace,monospace;font-size:.875em}
code{background:var(--code);border-radius:.3em;padding:.1em .35em} pre code{background:none;padding:0}
pre{background:var(--soft);border:1px solid var(--line);border-radius:.4rem;padding:.7rem;overflow:auto;margin:.5rem 0}
table{border-collapse:collapse} .md table td,.md table th{border:1px solid var(--line);padding:.25rem .6rem}
ul.rows{list-style:none;margin:.5rem 0;padding:0;border:1px solid var(--line);border-radius:.5rem}
ul.rows li{padding:.5rem .75rem;border-top:1px solid var(--line);display:flex;gap:.6rem;align-items:baseline;flex-wrap:wrap}
ul.rows li:first-child{border-top:0} ul.rows li .end{margin-left:auto} ul.rows li .end:not(.ok,.bad,.wait){color:var(--muted)}
.state{display:inline-block;border-radius:2rem;padding:.15rem .75rem;color:#fff;font-weight:600;font-size:.9rem;background:var(--muted)}
.state.open{background:var(--ok)} .state.merged{background:var(--done)} .state.closed{background:var(--bad)}
@media (prefers-color-scheme:dark){.state{color:#0d1117}}
.tag{border:1px solid var(--line);border-radius:2rem;padding:0 .5rem;font-size:.8rem;color:var(--muted)}
.ok{color:var(--ok)} .bad{color:var(--bad)} .wait{color:var(--wait)}
.avatar{display:inline-grid;place-items:center;width:1.5rem;height:1.5rem;border-radius:50%;margin-right:.4rem;font-size:.75rem;
font-weight:700;background:hsl(var(--hue) 60% 40%);color:#fff}
article{border:1px solid var(--line);border-radius:.5rem;margin:1rem 0}
article>h3{margin:0;padding:.5rem .75rem;background:var(--soft);border-bottom:1px solid var(--line);border-radius:.5rem .5rem 0 0;
font-size:.9rem;font-weight:400;color:var(--muted)} article>h3 strong{color:var(--fg)}
article>div{padding:.25rem .9rem} .md>:first-child{margin-top:.5rem} .md img{max-width:100%}
.md blockquote{margin:.5rem 0;padding:0 .9rem;border-left:.25rem solid var(--line);color:var(--muted)}
.event{margin:.8rem 0 .8rem 1rem;color:var(--muted)} .reactions span{margin-right:.4rem}
form{border:1px solid var(--line);border-radius:.5rem;padding:.75rem;margin:1.2rem 0}
form label{display:block;margin:.2rem 0} textarea,select,button{font:inherit;color:inherit}
textarea{width:100%;min-height:7rem;background:var(--bg);border:1px solid var(--line);border-radius:.4rem;padding:.5rem}
select{background:var(--bg);border:1px solid var(--line);border-radius:.4rem;padding:.25rem}
button{background:var(--ok);color:#fff;border:0;border-radius:.4rem;padding:.45rem 1rem;font-weight:600;cursor:pointer;margin-top:.4rem}
@media (prefers-color-scheme:dark){button{color:#0d1117}}
:focus-visible{outline:2px solid var(--link);outline-offset:2px}
.add{color:var(--ok)} .del{color:var(--bad)}
";

//! The JSON of files and folders.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::git::TreeEntry;
use crate::http::encode;
use crate::rest::encoding::wrapped_base64;
use crate::world::{Repo, World};

/// Larger files come without their content; ask for them raw.
const MOST_INLINE_BYTES: usize = 1024 * 1024;

/// What every entry has, whatever it is; `at` is the branch, tag or commit that was asked for.
pub fn entry(world: &World, repo: &Repo, at: &str, path: &str, entry: &TreeEntry) -> Value {
    let full_name = world.full_name(repo);
    let encoded = path.split('/').map(encode).collect::<Vec<_>>().join("/");
    let url = world.urls.api(format!("/repos/{full_name}/contents/{encoded}?ref={}", encode(at)));
    let api = |kind: &str| world.urls.api(format!("/repos/{full_name}/git/{kind}/{}", entry.sha));
    let (kind, git, html, download) = match (entry.kind.as_str(), entry.mode.as_str()) {
        ("tree", _) => ("dir", Some(api("trees")), Some("tree"), false),
        ("commit", _) => ("submodule", None, None, false),
        (_, "120000") => ("symlink", Some(api("blobs")), Some("blob"), true),
        _ => ("file", Some(api("blobs")), Some("blob"), true),
    };
    let html = html.map(|kind| world.urls.web(format!("/{full_name}/{kind}/{at}/{encoded}")));
    let download = download.then(|| world.urls.web(format!("/{full_name}/raw/{at}/{encoded}")));
    json!({
        "name": path.rsplit('/').next().unwrap_or(path),
        "path": path,
        "sha": entry.sha,
        "size": entry.size.unwrap_or(0),
        "url": url,
        "html_url": html,
        "git_url": git,
        "download_url": download,
        "type": kind,
        "_links": { "self": url, "git": git, "html": html },
    })
}

/// `content-file`: the entry with its content.
pub fn with_content(mut entry: Value, content: &[u8]) -> Value {
    let (text, encoding) = if content.len() > MOST_INLINE_BYTES {
        (String::new(), "none")
    } else {
        (wrapped_base64(&STANDARD.encode(content)), "base64")
    };
    entry["size"] = content.len().into();
    entry["content"] = text.into();
    entry["encoding"] = encoding.into();
    entry
}

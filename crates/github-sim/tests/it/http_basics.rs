//! What every endpoint has in common.

use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::{Answer, World};

const LIMIT_BYTES: usize = 25 * 1024 * 1024;

/// Sends a body as it is; the clients of the other tests only send JSON.
async fn send_raw(world: &World, method: &str, path: &str, body: impl Into<reqwest::Body>) -> Answer {
    let token = world.octocat.token.as_deref().expect("a token");
    let client = reqwest::Client::builder().no_proxy().timeout(Duration::from_secs(60)).build().expect("a client");
    let request = client
        .request(method.parse().expect("a method"), format!("{}{path}", world.octocat.base))
        .header("authorization", format!("Bearer {token}"))
        .header("content-type", "application/json")
        .body(body);
    let response = request.send().await.expect("an answer");
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    let text = response.text().await.expect("a body");
    Answer { status, headers, json: serde_json::from_str(&text).unwrap_or_default(), text }
}

/// Writes these bytes on a connection of its own and reads what comes back until it is closed.
async fn on_the_wire(world: &World, request: &[u8]) -> String {
    let mut stream = TcpStream::connect(world.running().address()).await.expect("a connection");
    stream.write_all(request).await.expect("written");
    let mut answer = Vec::new();
    let read = tokio::time::timeout(Duration::from_secs(20), stream.read_to_end(&mut answer)).await;
    // A server that has refused a request may reset the connection that still carries the rest of it.
    let _ = read.expect("the connection is closed in time");
    String::from_utf8_lossy(&answer).into_owned()
}

#[tokio::test]
async fn an_unknown_route_is_a_404_with_github_s_body() {
    let world = World::new().await;
    let answer = world.octocat.get("/no/such/thing").await.expect(404);
    assert_eq!(answer.json["message"], "Not Found");
    assert_eq!(answer.json["status"], "404");
    assert!(answer.json["documentation_url"].as_str().unwrap().starts_with("https://docs.github.com/"));
    assert!(!answer.header("x-github-request-id").is_empty());
    world.finish().await;
}

#[tokio::test]
async fn a_method_that_a_path_does_not_have_is_a_404() {
    let world = World::new().await;
    for (method, path) in [("DELETE", "/rate_limit"), ("PUT", "/user/repos"), ("POST", "/repos/octocat/none")] {
        let answer = world.octocat.send(method, path, None).await.expect(404);
        assert_eq!(answer.json["message"], "Not Found");
    }
    world.finish().await;
}

#[tokio::test]
async fn malformed_json_is_a_400_and_changes_nothing() {
    let world = World::new().await;
    let broken: [&[u8]; 5] =
        [b"{", b"{\"name\": }", b"{\"name\":\"x\"} trailing", b"\xff\xfe{}", b"{\"name\":\"\xff\"}"];
    for body in broken {
        let answer = send_raw(&world, "POST", "/user/repos", body.to_vec()).await.expect(400);
        assert_eq!(answer.json["message"], "Problems parsing JSON");
    }
    let repositories = world.octocat.get("/user/repos").await.expect(200);
    assert_eq!(repositories.json, json!([]));
    world.finish().await;
}

#[tokio::test]
async fn a_body_that_is_not_an_object_is_a_400() {
    let world = World::new().await;
    for body in ["\"name\"", "1", "true", "[\"name\"]", "[]"] {
        let answer = send_raw(&world, "POST", "/user/repos", body).await.expect(400);
        assert_eq!(answer.json["message"], "Body should be a JSON object");
    }
    world.finish().await;
}

#[tokio::test]
async fn a_body_nested_deeper_than_any_stack_is_a_400() {
    let world = World::new().await;
    let answer = send_raw(&world, "POST", "/user/repos", "[".repeat(1_000_000)).await.expect(400);
    assert_eq!(answer.json["message"], "Problems parsing JSON");
    world.finish().await;
}

#[tokio::test]
async fn a_wrong_token_is_a_401_everywhere() {
    let world = World::new().await;
    let stranger = world.with_token("octocat", "ghp_wrong");
    for path in ["/user", "/rate_limit", "/no/such/thing", "/repos/octocat/none"] {
        assert_eq!(stranger.get(path).await.expect(401).json["message"], "Bad credentials");
    }
    let header = [("authorization", "Nonsense")];
    let answer = world.anonymous().try_send("GET", "/user", None, &header).await.unwrap().expect(401);
    assert_eq!(answer.json["message"], "Bad credentials");
    assert_eq!(world.anonymous().get("/user").await.expect(401).json["message"], "Requires authentication");
    world.finish().await;
}

#[tokio::test]
async fn a_body_over_25_mb_is_a_413_however_it_is_sent() {
    let world = World::new().await;
    let token = world.octocat.token.clone().expect("a token");
    let head =
        format!("POST /user/repos HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\nconnection: close\r\n");

    let announced = format!("{head}content-length: {}\r\n\r\n", LIMIT_BYTES + 1);
    assert!(on_the_wire(&world, announced.as_bytes()).await.starts_with("HTTP/1.1 413"));

    let chunk = vec![b' '; 1024 * 1024];
    let chunks = futures_util::stream::iter((0..26).map(move |_| Ok::<_, std::io::Error>(chunk.clone())));
    let answer = send_raw(&world, "POST", "/user/repos", reqwest::Body::wrap_stream(chunks)).await.expect(413);
    assert!(answer.json["message"].as_str().unwrap().contains("too large"), "{}", answer.text);

    let mut most = br#"{"name":"large"}"#.to_vec();
    most.resize(LIMIT_BYTES, b' ');
    send_raw(&world, "POST", "/user/repos", most).await.expect(201);
    world.finish().await;
}

#[tokio::test]
async fn the_api_is_served_under_api_v3_and_at_the_root() {
    let world = World::new().await;
    world.repo("demo").await;
    let mut at_root = world.octocat.clone();
    at_root.base = world.url();
    assert!(world.octocat.base.ends_with("/api/v3"));
    for path in ["/repos/octocat/demo", "/user"] {
        assert_eq!(at_root.get(path).await.expect(200).json, world.octocat.get(path).await.expect(200).json);
    }
    world.finish().await;
}

#[tokio::test]
async fn every_answer_carries_github_s_headers() {
    let world = World::new().await;
    let first = world.octocat.get("/user").await.expect(200);
    let second = world.octocat.get("/user").await.expect(200);
    let number = |answer: &Answer, name: &str| answer.header(name).parse::<u64>().expect(name);
    let limit = number(&first, "x-ratelimit-limit");
    assert_eq!(number(&first, "x-ratelimit-remaining") + number(&first, "x-ratelimit-used"), limit);
    assert_eq!(number(&first, "x-ratelimit-remaining") - 1, number(&second, "x-ratelimit-remaining"));
    assert_eq!(number(&first, "x-ratelimit-used") + 1, number(&second, "x-ratelimit-used"));
    assert!(number(&first, "x-ratelimit-reset") > 1_700_000_000);
    assert_eq!(first.header("x-ratelimit-resource"), "core");
    assert_ne!(first.header("x-github-request-id"), second.header("x-github-request-id"));
    assert_eq!(first.header("x-github-media-type"), "github.v3; format=json");
    assert_eq!(first.header("content-type"), "application/json; charset=utf-8");
    world.finish().await;
}

#[tokio::test]
async fn an_unchanged_answer_is_a_304_that_costs_nothing() {
    let world = World::new().await;
    world.repo("demo").await;
    let path = "/repos/octocat/demo";
    let first = world.octocat.get(path).await.expect(200);
    let tag = first.header("etag").to_owned();
    let again = |tag: String| {
        let client = world.octocat.clone();
        async move { client.try_send("GET", path, None, &[("if-none-match", &tag)]).await.unwrap() }
    };
    let same = again(tag.clone()).await.expect(304);
    assert_eq!((same.text.as_str(), same.header("etag")), ("", tag.as_str()));
    let strong = again(tag.trim_start_matches("W/").to_owned()).await.expect(304);
    assert_eq!(strong.text, "");
    let used = |answer: &Answer| answer.header("x-ratelimit-used").parse::<u64>().unwrap();
    let after = world.octocat.get("/user").await.expect(200);
    assert_eq!(used(&first) + 1, used(&after), "two 304 were free");

    world.octocat.patch(path, json!({ "description": "new" })).await.expect(200);
    let changed = again(tag.clone()).await.expect(200);
    assert_ne!(changed.header("etag"), tag);
    world.finish().await;
}

#[tokio::test]
async fn head_answers_as_get_does_without_the_body() {
    let world = World::new().await;
    world.repo("demo").await;
    let got = world.octocat.get("/repos/octocat/demo").await.expect(200);
    let head = world.octocat.send("HEAD", "/repos/octocat/demo", None).await.expect(200);
    assert_eq!(head.text, "");
    assert_eq!(head.header("etag"), got.header("etag"));
    assert_eq!(head.header("content-length"), got.text.len().to_string());
    world.octocat.send("HEAD", "/repos/octocat/none", None).await.expect(404);
    world.finish().await;
}

/// `(rel, page, per_page)` of each link.
fn links(answer: &Answer) -> Vec<(String, u64, Option<u64>)> {
    let parse = |link: &str| {
        let (url, rel) = link.trim().split_once(">; rel=").expect("a link");
        let url = reqwest::Url::parse(url.trim_start_matches('<')).expect("an address");
        let number =
            |name: &str| url.query_pairs().find(|(key, _)| key == name).map(|(_, n)| n.parse().expect("a number"));
        (rel.trim_matches('"').to_owned(), number("page").expect("a page"), number("per_page"))
    };
    answer.header("link").split(',').filter(|link| !link.is_empty()).map(parse).collect()
}

#[tokio::test]
async fn lists_come_in_pages_with_links_to_the_others() {
    let world = World::new().await;
    world.repo("demo").await;
    let labels = "/repos/octocat/demo/labels";
    let there = world.octocat.get(labels).await.expect(200).json.as_array().unwrap().len();
    for n in there..101 {
        world.octocat.post(labels, json!({ "name": format!("label {n:03}"), "color": "ffffff" })).await.expect(201);
    }
    let get = |query: &str| {
        let (client, path) = (world.octocat.clone(), format!("{labels}?{query}"));
        async move { client.get(&path).await.expect(200) }
    };
    let count = |answer: &Answer| answer.json.as_array().unwrap().len();
    let link = |rel: &str, page, per_page| (rel.to_owned(), page, per_page);

    let first = get("").await;
    assert_eq!(count(&first), 30);
    assert_eq!(links(&first), [link("next", 2, None), link("last", 4, None)]);
    let middle = get("per_page=25&page=3").await;
    assert_eq!(count(&middle), 25);
    let per_page = Some(25);
    let expected =
        [link("prev", 2, per_page), link("next", 4, per_page), link("last", 5, per_page), link("first", 1, per_page)];
    assert_eq!(links(&middle), expected);
    let last = get("per_page=25&page=5").await;
    assert_eq!(count(&last), 1);
    assert_eq!(links(&last), [link("prev", 4, per_page), link("first", 1, per_page)]);

    assert_eq!(count(&get("per_page=1000").await), 100, "a hundred at most");
    assert_eq!(count(&get("per_page=0").await), 30);
    assert_eq!(get("page=0").await.json, first.json);
    assert_eq!(get("page=-1&per_page=x").await.json, first.json);
    for page in ["6000", "18446744073709551615", "99999999999999999999999999"] {
        assert_eq!(get(&format!("per_page=25&page={page}")).await.json, json!([]), "page {page}");
    }

    // Following the links meets every label once.
    let (mut names, mut next) = (Vec::new(), Some(1));
    while let Some(page) = next {
        let answer = get(&format!("per_page=40&page={page}")).await;
        names.extend(answer.json.as_array().unwrap().iter().map(|label| label["name"].to_string()));
        next = links(&answer).into_iter().find(|(rel, ..)| rel == "next").map(|(_, page, _)| page);
    }
    names.sort();
    names.dedup();
    assert_eq!(names.len(), 101);
    world.finish().await;
}

#[tokio::test]
async fn names_may_come_percent_encoded() {
    let world = World::new().await;
    world.repo("my-repo").await;
    let plain = world.octocat.get("/repos/octocat/my-repo").await.expect(200);
    let encoded = world.octocat.get("/repos/%6Fctocat/my%2Drepo").await.expect(200);
    assert_eq!(plain.json, encoded.json);
    world.octocat.get("/repos/octocat%2Fmy-repo").await.expect(404);
    world.octocat.get("/repos/octocat/%2e%2e%2f%2e%2e").await.expect(404);
    world.finish().await;
}

#[tokio::test]
async fn strange_requests_are_refused_and_the_next_one_is_answered() {
    let world = World::new().await;
    let path = |path: &str| format!("GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").into_bytes();
    let long = format!("/repos/octocat/{}", "x".repeat(50_000));
    assert!(on_the_wire(&world, &path(&long)).await.starts_with("HTTP/1.1 404"));
    let too_long = format!("/{}", "x".repeat(200_000));
    assert!(on_the_wire(&world, &path(&too_long)).await.starts_with("HTTP/1.1 4"));
    for strange in ["/repos/octocat/%ff%fe", "/repos/%00/x", "/repos//", "//", "/repos/octocat/x?page=%ff"] {
        assert!(on_the_wire(&world, &path(strange)).await.starts_with("HTTP/1.1 404"), "{strange}");
    }
    assert!(on_the_wire(&world, b"NONSENSE\r\n\r\n").await.starts_with("HTTP/1.1 400"));
    assert!(
        on_the_wire(&world, b"GET / HTTP/1.1\r\nauthorization: Bearer \xff\r\nhost: x\r\nconnection: close\r\n\r\n")
            .await
            .starts_with("HTTP/1.1")
    );
    world.octocat.get("/user").await.expect(200);
    world.finish().await;
}

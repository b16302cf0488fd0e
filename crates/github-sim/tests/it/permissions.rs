//! Who may do what: a row for each action, a column for each role.

use serde_json::{Value, json};

use crate::support::{Client, World};

const ROLES: [&str; 5] = ["read", "triage", "write", "maintain", "admin"];

/// An action, and what the stranger to a private repository, then each role, is answered.
struct Action {
    method: &'static str,
    path: &'static str,
    body: Value,
    answers: [u16; 6],
}

fn action(method: &'static str, path: &'static str, body: Value, answers: [u16; 6]) -> Action {
    Action { method, path, body, answers }
}

/// Each can be done any number of times.
fn actions() -> Vec<Action> {
    let protection = json!({ "required_status_checks": null, "enforce_admins": null, "required_pull_request_reviews": null, "restrictions": null });
    vec![
        action("GET", "", Value::Null, [404, 200, 200, 200, 200, 200]),
        action("GET", "/branches", Value::Null, [404, 200, 200, 200, 200, 200]),
        action("GET", "/commits", Value::Null, [404, 200, 200, 200, 200, 200]),
        action("GET", "/contents/README.md", Value::Null, [404, 200, 200, 200, 200, 200]),
        action("GET", "/pulls", Value::Null, [404, 200, 200, 200, 200, 200]),
        action("GET", "/rulesets", Value::Null, [404, 200, 200, 200, 200, 200]),
        action("GET", "/rules/branches/main", Value::Null, [404, 200, 200, 200, 200, 200]),
        action("GET", "/collaborators", Value::Null, [404, 403, 403, 200, 200, 200]),
        action("GET", "/collaborators/octocat/permission", Value::Null, [404, 403, 403, 200, 200, 200]),
        action("POST", "/issues", json!({ "title": "A question" }), [404, 201, 201, 201, 201, 201]),
        action("POST", "/issues/1/comments", json!({ "body": "Hello" }), [404, 201, 201, 201, 201, 201]),
        action("POST", "/issues/1/labels", json!({ "labels": ["bug"] }), [404, 403, 200, 200, 200, 200]),
        action("POST", "/git/blobs", json!({ "content": "x" }), [404, 403, 403, 201, 201, 201]),
        action("POST", "/merges", json!({ "base": "main", "head": "main" }), [404, 403, 403, 204, 204, 204]),
        action(
            "PATCH",
            "/git/refs/heads/loose",
            json!({ "sha": "main", "force": true }),
            [404, 403, 403, 422, 422, 422],
        ),
        action("POST", "/statuses/main", json!({ "state": "success" }), [404, 403, 403, 422, 422, 422]),
        action("GET", "/branches/main/protection", Value::Null, [404, 404, 404, 404, 404, 200]),
        action("PUT", "/branches/main/protection", protection, [404, 403, 403, 403, 403, 200]),
        action("PUT", "/collaborators/friend", json!({ "permission": "pull" }), [404, 403, 403, 403, 403, 204]),
        action("PATCH", "", json!({ "description": "Changed" }), [404, 403, 403, 403, 403, 200]),
        action("GET", "/hooks", Value::Null, [404, 404, 404, 404, 404, 200]),
    ]
}

#[tokio::test]
async fn each_role_may_do_what_github_lets_it_do() {
    let world = World::new().await;
    let new = json!({ "name": "closed", "private": true, "auto_init": true });
    world.octocat.post("/user/repos", new).await.expect(201);
    world.octocat.post("/repos/octocat/closed/issues", json!({ "title": "First" })).await.expect(201);
    world.octocat.post("/repos/octocat/closed/labels", json!({ "name": "bug", "color": "ff0000" })).await;
    let sha = world.octocat.get("/repos/octocat/closed/commits/main").await.expect(200).json["sha"].clone();
    let loose = json!({ "ref": "refs/heads/loose", "sha": sha });
    world.octocat.post("/repos/octocat/closed/git/refs", loose).await.expect(201);
    let protection = json!({ "required_status_checks": null, "enforce_admins": null, "required_pull_request_reviews": null, "restrictions": null });
    world.octocat.put("/repos/octocat/closed/branches/main/protection", protection).await.expect(200);
    world.user("friend").await;
    let mut people: Vec<Client> = vec![world.user("stranger").await];
    for role in ROLES {
        let person = world.user(&format!("the-{role}")).await;
        let path = format!("/repos/octocat/closed/collaborators/{}", person.login);
        world.octocat.put(&path, json!({ "permission": role })).await.expect(204);
        people.push(person);
    }
    let mut wrong = Vec::new();
    for action in actions() {
        for (person, expected) in people.iter().zip(action.answers) {
            let body = (!action.body.is_null()).then(|| action.body.clone());
            let path = format!("/repos/octocat/closed{}", action.path);
            let answer = person.send(action.method, &path, body).await;
            if answer.status != expected {
                wrong.push(format!(
                    "{} {} {}: {} instead of {expected}: {}",
                    person.login, action.method, action.path, answer.status, answer.text
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    world.finish().await;
}

#[tokio::test]
async fn without_a_token_a_public_repository_is_read_and_nothing_else() {
    let world = World::new().await;
    let clone = world.repo("open").await;
    world.octocat.post("/user/repos", json!({ "name": "closed", "private": true })).await.expect(201);
    clone.git(&["push", "-q", "origin", "main:other"]).await;
    let nobody = world.anonymous();
    for path in ["", "/branches", "/commits", "/contents/README.md", "/git/ref/heads/main", "/rulesets", "/forks"] {
        nobody.get(&format!("/repos/octocat/open{path}")).await.expect(200);
        nobody.get(&format!("/repos/octocat/closed{path}")).await.expect(404);
    }
    for (method, path) in [
        ("POST", "/git/blobs"),
        ("DELETE", "/git/refs/heads/other"),
        ("PATCH", ""),
        ("DELETE", ""),
        ("PUT", "/collaborators/octocat"),
        ("GET", "/collaborators"),
        ("GET", "/branches/main/protection"),
    ] {
        let body = json!({ "content": "x", "sha": "x" });
        let answer = nobody.send(method, &format!("/repos/octocat/open{path}"), Some(body)).await;
        assert_eq!(answer.status, 401, "{method} {path}: {}", answer.text);
    }
    world.octocat.get("/repos/octocat/open/branches/other").await.expect(200);
    world.finish().await;
}

#[tokio::test]
async fn roles_are_given_told_and_taken_away() {
    let world = World::new().await;
    world.octocat.post("/user/repos", json!({ "name": "team", "private": true, "auto_init": true })).await.expect(201);
    let mona = world.user("mona").await;
    let path = "/repos/octocat/team/collaborators/mona";
    let tell = async || world.octocat.get(&format!("{path}/permission")).await.expect(200).json;
    assert_eq!(tell().await["permission"], "none");
    world.octocat.get(path).await.expect(404);
    for (given, permission, role) in [
        ("pull", "read", "read"),
        ("triage", "read", "triage"),
        ("push", "write", "write"),
        ("maintain", "write", "maintain"),
        ("admin", "admin", "admin"),
    ] {
        world.octocat.put(path, json!({ "permission": given })).await.expect(204);
        let told = tell().await;
        assert_eq!((&told["permission"], &told["role_name"]), (&json!(permission), &json!(role)), "{given}");
        assert_eq!(told["user"]["login"], "mona");
    }
    world.octocat.get(path).await.expect(204);
    world.octocat.put(path, json!({ "permission": "king" })).await.expect(422);
    world.octocat.put("/repos/octocat/team/collaborators/nobody", json!({})).await.expect(404);
    let answer = world.octocat.get("/repos/octocat/team/collaborators/nobody/permission").await.expect(404);
    assert_eq!(answer.json["message"], "nobody is not a user");
    let list = world.octocat.get("/repos/octocat/team/collaborators").await.expect(200).json;
    assert_eq!(list.as_array().unwrap().len(), 2);
    let admins = world.octocat.get("/repos/octocat/team/collaborators?affiliation=direct&permission=admin").await;
    assert_eq!(admins.expect(200).json.as_array().unwrap().len(), 2);
    mona.delete(path).await.expect(204);
    mona.get("/repos/octocat/team").await.expect(404);
    world.finish().await;
}

#[tokio::test]
async fn members_of_an_organization_read_and_its_owners_administer() {
    let world = World::new().await;
    let (boss, member) = (world.user("boss").await, world.user("member").await);
    world.control("POST", "/orgs", json!({ "login": "acme", "admins": ["boss"], "members": ["member"] })).await;
    boss.post("/orgs/acme/repos", json!({ "name": "product", "private": true, "auto_init": true })).await.expect(201);
    let path = "/repos/acme/product";
    assert_eq!(member.get(path).await.expect(200).json["permissions"]["push"], false);
    member.patch(path, json!({ "description": "x" })).await.expect(403);
    boss.patch(path, json!({ "description": "x" })).await.expect(200);
    boss.put(&format!("{path}/collaborators/member"), json!({ "permission": "push" })).await.expect(204);
    assert_eq!(member.get(path).await.expect(200).json["permissions"]["push"], true);
    world.octocat.get(path).await.expect(404);
    world.finish().await;
}

#[tokio::test]
async fn an_installation_may_do_what_its_token_says_and_no_more() {
    let world = World::new().await;
    for name in ["first", "second"] {
        let new = json!({ "name": name, "private": true, "auto_init": true });
        world.octocat.post("/user/repos", new).await.expect(201);
    }
    let whole = world.installation("octocat/first").await;
    let reader = json!({ "permissions": { "contents": "read", "metadata": "read" } });
    let reader = world.narrowed_installation("octocat/first", reader).await;
    let pulls = json!({ "permissions": { "pull_requests": "write", "metadata": "read" } });
    let pulls = world.narrowed_installation("octocat/first", pulls).await;
    let one = world.narrowed_installation("octocat/first", json!({ "repositories": ["first"] })).await;
    let blob = json!({ "content": "x" });
    for (who, client, read, write, other) in [
        ("everything", &whole, 200, 201, 200),
        ("contents: read", &reader, 200, 403, 200),
        ("pull_requests: write", &pulls, 403, 403, 200),
        ("only the first", &one, 200, 201, 404),
    ] {
        assert_eq!(client.get("/repos/octocat/first/contents/README.md").await.status, read, "{who} reads");
        let answer = client.post("/repos/octocat/first/git/blobs", blob.clone()).await;
        assert_eq!(answer.status, write, "{who} writes");
        if write == 403 {
            assert_eq!(answer.json["message"], "Resource not accessible by integration");
        }
        assert_eq!(client.get("/repos/octocat/second").await.status, other, "{who} looks at the second");
        client.patch("/repos/octocat/first", json!({ "description": "x" })).await.expect(403);
        client.get("/user/repos").await.expect(403);
    }
    world.finish().await;
}

#[tokio::test]
async fn an_installation_pushes_with_its_token_as_git_s_password() {
    let world = World::new().await;
    let clone = world.repo("pushed").await;
    clone.commit_on("topic", "main", &[("a.txt", "a")], "A").await;
    let push = async |client: &Client, branch: &str| {
        let token = client.token.as_deref().unwrap();
        let url = format!("{}/octocat/pushed.git", world.url()).replace("://", &format!("://x-access-token:{token}@"));
        clone.try_git(&["push", "-q", &url, &format!("topic:{branch}")]).await
    };
    let reader = json!({ "permissions": { "contents": "read", "metadata": "read" } });
    let reader = world.narrowed_installation("octocat/pushed", reader).await;
    let refused = push(&reader, "one").await;
    assert!(String::from_utf8_lossy(&refused.stderr).contains("403"), "{refused:?}");
    let whole = world.installation("octocat/pushed").await;
    assert!(push(&whole, "two").await.status.success());
    world.octocat.get("/repos/octocat/pushed/branches/one").await.expect(404);
    world.octocat.get("/repos/octocat/pushed/branches/two").await.expect(200);
    world.finish().await;
}

"""A stack of three pull requests, from empty repository to landed, with the real PyGithub against the simulator.

The simulator's description (`sim.json`) comes in the environment variable SIM. Exits with 0 if all went as on GitHub.
"""

import hashlib
import hmac
import http.server
import json
import os
import subprocess
import tempfile
import threading
import time
import urllib.request
from pathlib import Path

from github import Auth, Github, GithubException, GithubIntegration

SIM = json.loads(os.environ["SIM"])
TOKENS = {user["login"]: user["token"] for user in SIM["users"]}
HOOK_SECRET = "a secret of the repository's hook"
PATIENCE_S = 30


class Receiver:
    """Takes webhooks in, and keeps those whose signature is right apart from those whose is not."""

    def __init__(self, secret):
        self.events, self.forged = [], []
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                wanted = "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
                payload = json.loads(body)
                name = self.headers["X-GitHub-Event"]
                if "action" in payload:
                    name += "." + payload["action"]
                is_genuine = hmac.compare_digest(wanted, self.headers["X-Hub-Signature-256"] or "")
                (receiver.events if is_genuine else receiver.forged).append((name, payload))
                assert self.headers["X-GitHub-Delivery"] and self.headers["User-Agent"].startswith("GitHub-Hookshot/")
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def names(self):
        return {name for name, _ in self.events}

    def expect(self, *names):
        eventually(f"webhooks {names}, got {self.names()}", lambda: set(names) <= self.names())
        assert not self.forged, f"webhooks with a wrong signature: {[name for name, _ in self.forged]}"


def eventually(what, check):
    deadline = time.monotonic() + PATIENCE_S
    while True:
        found = check()
        if found:
            return found
        assert time.monotonic() < deadline, f"never happened: {what}"
        time.sleep(0.05)


def equal(left, right):
    assert left == right, f"{left!r} is not {right!r}"


def refused(status, call):
    try:
        call()
    except GithubException as error:
        equal(error.status, status)
        return error.data
    raise AssertionError(f"it should have been refused with {status}")


def client(auth):
    return Github(base_url=SIM["api_url"], auth=auth, retry=None, seconds_between_requests=None, seconds_between_writes=None)


def control(method, path, body):
    request = urllib.request.Request(SIM["control_url"] + path, json.dumps(body).encode(), method=method)
    request.add_header("Content-Type", "application/json")
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(request) as answer:
        return json.loads(answer.read() or "null")


class Clone:
    def __init__(self, repo, login):
        self.folder = tempfile.TemporaryDirectory()
        url = repo.clone_url.replace("://", f"://{login}:{TOKENS[login]}@")
        self.git("clone", "--quiet", url, ".")
        self.git("config", "user.name", login)
        self.git("config", "user.email", f"{login}@example.com")

    def git(self, *args):
        env = {**os.environ, "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_TERMINAL_PROMPT": "0"}
        done = subprocess.run(["git", *args], cwd=self.folder.name, env=env, capture_output=True, text=True)
        assert done.returncode == 0, f"git {args}: {done.stderr}"
        return done.stdout.strip()

    def push_branch(self, branch, start, **files):
        self.git("checkout", "--quiet", "-b", branch, start)
        for name, content in files.items():
            Path(self.folder.name, f"{name}.txt").write_text(content)
        self.git("add", "--all")
        self.git("commit", "--quiet", "-m", f"Add {', '.join(files)}")
        self.git("push", "--quiet", "origin", branch)
        return self.git("rev-parse", "HEAD")


def create(octocat, receiver):
    """A repository with a hook and CI that runs a real command."""
    repo = octocat.get_user().create_repo(
        "pygithub-demo", description="made by PyGithub", auto_init=True, delete_branch_on_merge=True, allow_squash_merge=True
    )
    equal(repo.full_name, "octocat/pygithub-demo")
    equal((repo.default_branch, repo.delete_branch_on_merge, repo.private), ("main", True, False))
    config = {"url": receiver.url, "content_type": "json", "secret": HOOK_SECRET}
    hook = repo.create_hook("web", config, events=["*"], active=True)
    receiver.expect("ping")
    equal([found.id for found in repo.get_hooks()], [hook.id])
    checks = [{"name": "test", "command": "! grep -rn BROKEN --include=*.txt ."}]
    control("PUT", f"/repos/{repo.full_name}/ci", {"checks": checks})
    return repo, hook


def open_stack(repo):
    clone = Clone(repo, "octocat")
    heads = [
        clone.push_branch("one", "origin/main", one="1\n"),
        clone.push_branch("two", "one", two="2\n"),
        clone.push_branch("three", "two", three="3\n"),
    ]
    pulls = []
    for head, base in [("one", "main"), ("two", "one"), ("three", "two")]:
        pull = repo.create_pull(base=base, head=head, title=f"Add {head}", body=f"About {head}.")
        equal((pull.state, pull.base.ref, pull.head.ref, pull.head.sha), ("open", base, head, heads[len(pulls)]))
        equal((pull.commits, pull.changed_files, pull.additions, pull.user.login), (1, 1, 1, "octocat"))
        pulls.append(pull)
    again = refused(422, lambda: repo.create_pull(base="main", head="one", title="again"))
    assert "already exists" in again["errors"][0]["message"], again
    return clone, pulls


def protect(repo):
    main = repo.get_branch("main")
    main.edit_protection(strict=True, contexts=["test"], required_approving_review_count=1, enforce_admins=True)
    assert repo.get_branch("main").protected
    protection = main.get_protection()
    equal((protection.required_status_checks.strict, protection.required_status_checks.contexts), (True, ["test"]))
    equal(protection.required_pull_request_reviews.required_approving_review_count, 1)
    assert protection.enforce_admins


def converse(repo, pull, reviewer):
    """Comments, reactions, labels, review comments: by two people."""
    comment = pull.create_issue_comment("What do *you* think?")
    comment.edit("What do you think?")
    theirs = reviewer.get_repo(repo.full_name).get_pull(pull.number)
    theirs.create_issue_comment("Let me see.")
    theirs.get_issue_comment(comment.id).create_reaction("+1")
    equal([(r.content, r.user.login) for r in comment.get_reactions()], [("+1", "hubot")])
    theirs.as_issue().create_reaction("eyes")
    equal([r.content for r in pull.as_issue().get_reactions()], ["eyes"])

    repo.create_label("ready", "00ff00", "May land")
    pull.add_to_labels("ready", "new-label")
    pull.remove_from_labels("new-label")
    equal([label.name for label in pull.get_labels()], ["ready"])
    assert {"ready", "new-label"} <= {label.name for label in repo.get_labels()}

    commit = repo.get_commit(pull.head.sha)
    remark = theirs.create_review_comment("Why 1?", commit, "one.txt", line=1, side="RIGHT")
    pull.create_review_comment_reply(remark.id, "Because.")
    remarks = list(pull.get_review_comments())
    equal([(r.body, r.user.login, r.path) for r in remarks], [("Why 1?", "hubot", "one.txt"), ("Because.", "octocat", "one.txt")])
    equal(remarks[1].in_reply_to_id, remark.id)

    pull.create_review_request(reviewers=["hubot"])
    equal([user.login for user in pull.get_review_requests()[0]], ["hubot"])
    equal([comment.body for comment in pull.get_issue_comments()], ["What do you think?", "Let me see."])


def approve(repo, pull, reviewer):
    theirs = reviewer.get_repo(repo.full_name).get_pull(pull.number)
    review = theirs.create_review(body="Good.", event="APPROVE")
    equal((review.state, review.commit_id, review.user.login), ("APPROVED", pull.head.sha, "hubot"))


def wait_for(repo, pull, state):
    def look():
        now = repo.get_pull(pull.number)
        return now if now.mergeable_state == state else None

    return eventually(f"#{pull.number} is {state}, not {repo.get_pull(pull.number).mergeable_state}", look)


def land(repo, pull, base_before):
    """Squash-merges what is ready, and looks at the commit that landed."""
    ready = wait_for(repo, pull, "clean")
    assert ready.mergeable
    runs = repo.get_commit(ready.head.sha).get_check_runs()
    equal([(run.name, run.status, run.conclusion) for run in runs], [("test", "completed", "success")])
    stale = refused(409, lambda: ready.merge(merge_method="squash", sha="0" * 40))
    assert "Head branch was modified" in stale["message"], stale
    status = ready.merge(merge_method="squash", sha=ready.head.sha)
    assert status.merged, status.message
    refused(405, lambda: repo.get_pull(pull.number).merge(merge_method="squash"))

    merged = repo.get_pull(pull.number)
    equal((merged.state, merged.merged, merged.merge_commit_sha, merged.merged_by.login), ("closed", True, status.sha, "octocat"))
    commit = repo.get_commit(status.sha)
    equal([parent.sha for parent in commit.parents], [base_before])
    equal(commit.commit.message.splitlines()[0], f"{pull.title} (#{pull.number})")
    equal((commit.author.login, commit.commit.committer.name), ("octocat", "GitHub"))
    equal(repo.get_branch("main").commit.sha, status.sha)
    eventually(f"{pull.head.ref} is deleted", lambda: pull.head.ref not in [branch.name for branch in repo.get_branches()])
    return status.sha


def land_stack(repo, pulls, reviewer):
    main = repo.get_branch("main").commit.sha
    equal(wait_for(repo, pulls[0], "blocked").mergeable, True)
    blocked = refused(405, lambda: pulls[0].merge(merge_method="squash"))
    assert "approving review" in blocked["message"], blocked
    for position, pull in enumerate(pulls):
        pull = repo.get_pull(pull.number)
        equal(pull.base.ref, "main")
        if position > 0:
            # GitHub retargeted it when its base was deleted; now it lacks what landed.
            approve(repo, pull, reviewer)
            behind = wait_for(repo, pull, "behind")
            assert behind.update_branch(expected_head_sha=behind.head.sha)
            eventually("the branch is updated", lambda: repo.get_pull(pull.number).head.sha != behind.head.sha)
            updated = repo.get_pull(pull.number)
            parents = [parent.sha for parent in repo.get_commit(updated.head.sha).parents]
            equal(parents, [behind.head.sha, main])
        else:
            approve(repo, pull, reviewer)
        main = land(repo, pull, main)
    return main


def as_app(repo, pulls, receiver):
    """The same repository, seen and changed by a GitHub App."""
    key = Path(SIM["app"]["private_key_path"]).read_text()
    auth = Auth.AppAuth(SIM["app"]["id"], key)
    integration = GithubIntegration(base_url=SIM["api_url"], auth=auth, retry=None, seconds_between_requests=None, seconds_between_writes=None)
    equal(integration.get_app().slug, SIM["app"]["slug"])
    installation = integration.get_repo_installation("octocat", repo.name)
    assert installation.id in [found.id for found in integration.get_installations()]
    app = client(auth.get_installation_auth(installation.id))
    assert repo.full_name in [found.full_name for found in installation.get_repos()]

    theirs = app.get_repo(repo.full_name)
    pull = theirs.get_pull(pulls[2].number)
    comment = pull.create_issue_comment("Said by an app.")
    equal((comment.user.login, comment.user.type), (f"{SIM['app']['slug']}[bot]", "Bot"))
    comment.create_reaction("rocket")
    run = theirs.create_check_run("lint", pull.head.sha, status="in_progress")
    run.edit(
        status="completed",
        conclusion="failure",
        output={
            "title": "One complaint",
            "summary": "It is short.",
            "annotations": [
                {"path": "three.txt", "start_line": 1, "end_line": 1, "annotation_level": "warning", "message": "short"}
            ],
        },
    )
    run = theirs.get_check_run(run.id)
    equal((run.conclusion, run.output.title, run.app.id), ("failure", "One complaint", SIM["app"]["id"]))
    equal([note.message for note in run.get_annotations()], ["short"])
    theirs.get_commit(pull.head.sha).create_status("pending", context="deploy", description="soon")
    receiver.expect("issue_comment.created", "check_run.created", "check_run.completed", "status")
    refused(403, lambda: theirs.get_branch("main").edit_protection(strict=False))
    return run


def read_back(octocat, repo, pulls, main):
    equal([pull.number for pull in repo.get_pulls(state="closed", sort="created", direction="asc")], [1, 2, 3])
    equal(list(repo.get_pulls()), [])
    equal([pull.title for pull in repo.get_pulls(state="all", head="octocat:two")], ["Add two"])
    first = repo.get_pull(1)
    equal([(file.filename, file.status, file.additions) for file in first.get_files()], [("one.txt", "added", 1)])
    equal([commit.commit.message for commit in first.get_commits()], ["Add one"])
    equal([(review.user.login, review.state) for review in first.get_reviews() if review.state == "APPROVED"], [("hubot", "APPROVED")])
    assert first.is_merged()
    equal([branch.name for branch in repo.get_branches()], ["main"])
    equal(sorted(file.path for file in repo.get_contents("", ref=main)), ["README.md", "one.txt", "three.txt", "two.txt"])
    equal(repo.get_contents("two.txt").decoded_content, b"2\n")
    comparison = repo.compare(repo.get_commit(main).parents[0].sha, "main")
    equal((comparison.status, comparison.ahead_by, [file.filename for file in comparison.files]), ("ahead", 1, ["three.txt"]))
    titles = [commit.commit.message.splitlines()[0] for commit in repo.get_commits()]
    equal(titles[:3], ["Add three (#3)", "Add two (#2)", "Add one (#1)"])
    head = repo.get_commit(repo.get_pull(3).head.sha)
    combined = head.get_combined_status()
    equal((combined.state, [status.context for status in combined.statuses]), ("pending", ["deploy"]))
    equal(sorted(run.name for run in head.get_check_runs()), ["lint", "test"])
    assert head.get_check_suites().totalCount >= 1
    equal(repo.get_git_ref("heads/main").object.sha, main)
    equal(repo.get_git_tree(main).sha, repo.get_git_commit(main).tree.sha)
    equal(repo.get_collaborator_permission("hubot"), "write")
    assert octocat.get_rate_limit().resources.core.remaining > 0
    refused(404, lambda: repo.get_pull(99))


def read_deliveries(repo, hook, receiver):
    def all_delivered():
        deliveries = list(repo.get_hook_deliveries(hook.id))
        return deliveries if all(delivery.status == "OK" for delivery in deliveries) else None

    deliveries = eventually("every delivery succeeded", all_delivered)
    assert len(deliveries) > 20, len(deliveries)
    detail = repo.get_hook_delivery(hook.id, deliveries[0].id)
    equal((detail.guid, detail.event, detail.response.headers is not None), (deliveries[0].guid, deliveries[0].event, True))
    receiver.expect(
        "push", "create", "delete", "pull_request.opened", "pull_request.synchronize", "pull_request.edited",
        "pull_request.closed", "pull_request.labeled", "pull_request.unlabeled", "pull_request.review_requested",
        "pull_request_review.submitted", "pull_request_review_comment.created", "issue_comment.created",
        "issue_comment.edited", "check_run.created", "check_run.completed", "check_suite.completed", "status",
    )  # fmt: skip
    retargeted = [
        payload for name, payload in receiver.events if name == "pull_request.edited" and "base" in payload["changes"]
    ]
    equal({payload["number"] for payload in retargeted}, {2, 3})


def main():
    octocat, reviewer = client(Auth.Token(TOKENS["octocat"])), client(Auth.Token(TOKENS["hubot"]))
    equal(octocat.get_user().login, "octocat")
    refused(401, lambda: client(Auth.Token("ghp_wrong")).get_user().login)
    hook_receiver, app_receiver = Receiver(HOOK_SECRET), Receiver(SIM["app"]["webhook_secret"])
    control("PATCH", "/app", {"webhook_url": app_receiver.url})

    repo, hook = create(octocat, hook_receiver)
    repo.add_to_collaborators("hubot", "push")
    clone, pulls = open_stack(repo)
    protect(repo)
    converse(repo, pulls[0], reviewer)
    landed = land_stack(repo, pulls, reviewer)
    clone.git("fetch", "--quiet", "origin")
    equal(clone.git("rev-parse", "origin/main"), landed)
    as_app(repo, pulls, app_receiver)
    read_back(octocat, repo, pulls, landed)
    read_deliveries(repo, hook, hook_receiver)
    app_receiver.expect("pull_request.opened", "push", "check_suite.requested")
    print(f"{len(hook_receiver.events)} + {len(app_receiver.events)} webhooks, all signed")


main()

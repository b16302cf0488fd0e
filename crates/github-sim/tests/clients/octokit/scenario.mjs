// A stack of three pull requests, from empty repository to landed, with the real octokit against the simulator.
//
// The simulator's description (`sim.json`) comes in the environment variable SIM. Exits with 0 if all went as on GitHub.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { webcrypto } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";

// Node 18 has it, but not by this name.
globalThis.crypto ??= webcrypto;
const { Webhooks } = await import("@octokit/webhooks");
const { App, Octokit } = await import("octokit");

const SIM = JSON.parse(process.env.SIM);
const TOKENS = Object.fromEntries(SIM.users.map((user) => [user.login, user.token]));
const HOOK_SECRET = "a secret of the repository's hook";
const PATIENCE_MS = 30_000;
const at = { owner: "octocat", repo: "octokit-demo" };

// A mistake of ours must fail the test at once, not after octokit's retries.
const settings = { baseUrl: SIM.api_url, retry: { enabled: false }, throttle: { enabled: false } };
const client = (auth) => new Octokit({ ...settings, auth });

/** Takes webhooks in; `@octokit/webhooks` verifies each. */
class Receiver {
  events = [];
  errors = [];

  static async start(secret) {
    const receiver = new Receiver();
    const webhooks = new Webhooks({ secret });
    webhooks.onAny(({ name, payload }) => {
      receiver.events.push({ name: payload.action ? `${name}.${payload.action}` : name, payload });
    });
    receiver.server = createServer((request, response) => {
      const chunks = [];
      request.on("data", (chunk) => chunks.push(chunk));
      request.on("end", async () => {
        const payload = Buffer.concat(chunks).toString();
        const { headers } = request;
        try {
          await webhooks.verifyAndReceive({
            id: headers["x-github-delivery"],
            name: headers["x-github-event"],
            signature: headers["x-hub-signature-256"],
            payload,
          });
        } catch (error) {
          receiver.errors.push(error);
        }
        response.end("ok");
      });
    });
    await new Promise((resolve) => receiver.server.listen(0, "127.0.0.1", resolve));
    receiver.url = `http://127.0.0.1:${receiver.server.address().port}/`;
    return receiver;
  }

  names() {
    return [...new Set(this.events.map(({ name }) => name))];
  }

  async expect(...names) {
    await eventually(
      () => names.every((name) => this.names().includes(name)),
      () => `webhooks ${names}; got ${this.names()}`,
    );
    assert.deepEqual(this.errors, []);
  }
}

async function eventually(check, what) {
  const deadline = Date.now() + PATIENCE_MS;
  for (;;) {
    const found = await check();
    if (found) return found;
    assert(Date.now() < deadline, `never happened: ${typeof what === "function" ? what() : what}`);
    await pause(50);
  }
}

async function refused(status, call) {
  try {
    await call();
  } catch (error) {
    assert.equal(error.status, status, error.message);
    return error.response.data;
  }
  assert.fail(`it should have been refused with ${status}`);
}

async function control(method, path, body) {
  const response = await fetch(SIM.control_url + path, {
    method,
    body: JSON.stringify(body),
    headers: { "content-type": "application/json" },
  });
  assert(response.ok, `${path}: ${await response.text()}`);
}

class Clone {
  constructor(url) {
    this.folder = mkdtempSync(join(tmpdir(), "octokit-"));
    this.git("clone", "--quiet", url.replace("://", `://octocat:${TOKENS.octocat}@`), ".");
    this.git("config", "user.name", "octocat");
    this.git("config", "user.email", "octocat@example.com");
  }

  git(...args) {
    const env = { ...process.env, GIT_CONFIG_GLOBAL: "/dev/null", GIT_TERMINAL_PROMPT: "0" };
    return execFileSync("git", args, { cwd: this.folder, env, encoding: "utf8" }).trim();
  }

  pushBranch(branch, start, content) {
    this.git("checkout", "--quiet", "-b", branch, start);
    writeFileSync(join(this.folder, `${branch}.txt`), content);
    this.git("add", "--all");
    this.git("commit", "--quiet", "-m", `Add ${branch}`);
    this.git("push", "--quiet", "origin", branch);
    return this.git("rev-parse", "HEAD");
  }

  remove() {
    rmSync(this.folder, { recursive: true });
  }
}

async function create(octokit, receiver) {
  const { status, data: repo } = await octokit.rest.repos.createForAuthenticatedUser({
    name: at.repo,
    auto_init: true,
    delete_branch_on_merge: true,
  });
  assert.equal(status, 201);
  assert.equal(repo.full_name, "octocat/octokit-demo");
  const config = { url: receiver.url, content_type: "json", secret: HOOK_SECRET };
  const { data: hook } = await octokit.rest.repos.createWebhook({ ...at, config, events: ["*"] });
  await receiver.expect("ping");
  const checks = [{ name: "test", command: "! grep -rn BROKEN --include=*.txt ." }];
  await control("PUT", `/repos/${at.owner}/${at.repo}/ci`, { checks });
  return { repo, hook };
}

async function openStack(octokit, clone) {
  const pulls = [];
  for (const [head, base] of [["one", "main"], ["two", "one"], ["three", "two"]]) {
    const sha = clone.pushBranch(head, base === "main" ? "origin/main" : base, `${head}\n`);
    const { data: pull } = await octokit.rest.pulls.create({ ...at, head, base, title: `Add ${head}`, body: "" });
    assert.deepEqual([pull.state, pull.head.sha, pull.base.ref], ["open", sha, base]);
    pulls.push(pull);
  }
  const invalid = await refused(422, () => octokit.rest.pulls.create({ ...at, head: "nowhere", base: "main", title: "x" }));
  assert.equal(invalid.message, "Validation Failed");
  assert.equal(invalid.errors[0].field, "head");
  return pulls;
}

async function protect(octokit) {
  await octokit.rest.repos.updateBranchProtection({
    ...at,
    branch: "main",
    required_status_checks: { strict: true, contexts: ["test"] },
    required_pull_request_reviews: { required_approving_review_count: 1, dismiss_stale_reviews: false },
    enforce_admins: true,
    restrictions: null,
  });
  const { data } = await octokit.rest.repos.getBranchProtection({ ...at, branch: "main" });
  assert.equal(data.required_status_checks.strict, true);
  assert.equal(data.required_pull_request_reviews.required_approving_review_count, 1);
}

async function converse(octokit, reviewer, pull) {
  const issue = { ...at, issue_number: pull.number };
  const { data: comment } = await octokit.rest.issues.createComment({ ...issue, body: "Please look." });
  await octokit.rest.issues.updateComment({ ...at, comment_id: comment.id, body: "Please look @hubot." });
  await reviewer.rest.reactions.createForIssueComment({ ...at, comment_id: comment.id, content: "+1" });
  const { data: reactions } = await octokit.rest.reactions.listForIssueComment({ ...at, comment_id: comment.id });
  assert.deepEqual(reactions.map((one) => [one.content, one.user.login]), [["+1", "hubot"]]);
  await octokit.rest.issues.addLabels({ ...issue, labels: ["ready"] });
  const { data: labels } = await octokit.rest.issues.listLabelsOnIssue(issue);
  assert.deepEqual(labels.map((label) => label.name), ["ready"]);
  const { data: extra } = await octokit.rest.issues.createComment({ ...issue, body: "Never mind." });
  assert.equal((await octokit.rest.issues.deleteComment({ ...at, comment_id: extra.id })).status, 204);
  await refused(404, () => octokit.rest.issues.getComment({ ...at, comment_id: extra.id }));

  const onFile = { ...at, pull_number: pull.number, commit_id: pull.head.sha, path: "one.txt", line: 1, side: "RIGHT" };
  const { data: remark } = await reviewer.rest.pulls.createReviewComment({ ...onFile, body: "Why?" });
  await octokit.rest.pulls.createReplyForReviewComment({ ...at, pull_number: pull.number, comment_id: remark.id, body: "So." });
}

async function approve(reviewer, number) {
  const { data } = await reviewer.rest.pulls.createReview({ ...at, pull_number: number, event: "APPROVE", body: "Good." });
  assert.equal(data.state, "APPROVED");
}

async function pullIn(octokit, number, state) {
  let pull;
  return eventually(
    async () => {
      pull = (await octokit.rest.pulls.get({ ...at, pull_number: number })).data;
      return pull.mergeable_state === state && pull;
    },
    () => `#${number} is ${state}; it is ${pull.mergeable_state}`,
  );
}

async function land(octokit, number) {
  const ready = await pullIn(octokit, number, "clean");
  const { data: merge } = await octokit.rest.pulls.merge({
    ...at,
    pull_number: number,
    merge_method: "squash",
    sha: ready.head.sha,
  });
  assert.equal(merge.merged, true);
  assert.equal((await octokit.rest.pulls.checkIfMerged({ ...at, pull_number: number })).status, 204);
  const { data: commit } = await octokit.rest.repos.getCommit({ ...at, ref: merge.sha });
  assert.equal(commit.commit.message.split("\n")[0], `${ready.title} (#${number})`);
  assert.equal(commit.parents.length, 1);
  await refused(404, () => octokit.rest.repos.getBranch({ ...at, branch: ready.head.ref }));
  return merge.sha;
}

async function landStack(octokit, reviewer, pulls) {
  const refusal = await refused(405, () =>
    octokit.rest.pulls.merge({ ...at, pull_number: pulls[0].number, merge_method: "squash" }),
  );
  assert.match(refusal.message, /approving review/);
  let landed;
  for (const { number } of pulls) {
    await approve(reviewer, number);
    const { data: pull } = await octokit.rest.pulls.get({ ...at, pull_number: number });
    assert.equal(pull.base.ref, "main", "retargeted when its base was deleted");
    if (landed) {
      const { head } = await pullIn(octokit, number, "behind");
      const update = { ...at, pull_number: number, expected_head_sha: head.sha };
      assert.equal((await octokit.rest.pulls.updateBranch(update)).status, 202);
      await refused(422, () => octokit.rest.pulls.updateBranch({ ...update, expected_head_sha: "0".repeat(40) }));
    }
    landed = await land(octokit, number);
  }
  return landed;
}

async function asApp(pulls, receiver) {
  const privateKey = readFileSync(SIM.app.private_key_path, "utf8");
  const app = new App({ appId: SIM.app.id, privateKey, Octokit: Octokit.defaults(settings) });
  const { data: self } = await app.octokit.rest.apps.getAuthenticated();
  assert.equal(self.slug, SIM.app.slug);
  const { data: installation } = await app.octokit.rest.apps.getRepoInstallation(at);
  const octokit = await app.getInstallationOctokit(installation.id);
  const repositories = await octokit.paginate(octokit.rest.apps.listReposAccessibleToInstallation);
  assert(repositories.some((repository) => repository.full_name === "octocat/octokit-demo"));
  let found = 0;
  for await (const { repository } of app.eachRepository.iterator()) found += repository.name === at.repo;
  assert.equal(found, 1);

  const { data: comment } = await octokit.rest.issues.createComment({ ...at, issue_number: pulls[0].number, body: "By an app." });
  assert.deepEqual([comment.user.type, comment.user.login], ["Bot", `${SIM.app.slug}[bot]`]);
  const head_sha = pulls[2].head.sha;
  const { data: run } = await octokit.rest.checks.create({ ...at, name: "lint", head_sha, status: "queued" });
  const output = { title: "Fine", summary: "All fine" };
  await octokit.rest.checks.update({ ...at, check_run_id: run.id, status: "completed", conclusion: "neutral", output });
  await octokit.rest.repos.createCommitStatus({ ...at, sha: head_sha, state: "success", context: "deploy" });
  const { data: status } = await octokit.rest.repos.getCombinedStatusForRef({ ...at, ref: head_sha });
  assert.deepEqual([status.state, status.total_count], ["success", 1]);
  const checks = await octokit.paginate(octokit.rest.checks.listForRef, { ...at, ref: head_sha });
  assert.deepEqual(checks.map((check) => [check.name, check.conclusion]).sort(), [["lint", "neutral"], ["test", "success"]]);
  await refused(403, () => octokit.rest.repos.deleteBranchProtection({ ...at, branch: "main" }));
  await receiver.expect("issue_comment.created", "check_run.completed", "status");
}

async function throughGraphql(octokit, landed) {
  const query = `
    query ($owner: String!, $repo: String!, $cursor: String) {
      viewer { login }
      repository(owner: $owner, name: $repo) {
        defaultBranchRef { name target { oid } }
        pullRequests(first: 2, after: $cursor, states: [MERGED]) {
          totalCount
          pageInfo { hasNextPage endCursor }
          nodes {
            number title state isDraft mergeStateStatus reviewDecision baseRefName headRefName headRefOid
            mergeCommit { oid }
            author { __typename login }
            labels(first: 5) { nodes { name } }
            reviews(first: 5) { nodes { state author { login } } }
            commits(last: 1) { nodes { commit { oid statusCheckRollup { state contexts(first: 5) { nodes {
              __typename ... on CheckRun { name conclusion } ... on StatusContext { context state } } } } } } }
          }
        }
      }
    }`;
  const { viewer, repository } = await octokit.graphql.paginate(query, at);
  assert.equal(viewer.login, "octocat");
  assert.equal(repository.defaultBranchRef.target.oid, landed);
  const { nodes, totalCount } = repository.pullRequests;
  assert.equal(totalCount, 3);
  assert.deepEqual(nodes.map(({ number, state }) => [number, state]), [[1, "MERGED"], [2, "MERGED"], [3, "MERGED"]]);
  assert.deepEqual(nodes[0].labels.nodes, [{ name: "ready" }]);
  assert(nodes[0].reviews.nodes.some((review) => review.state === "APPROVED" && review.author.login === "hubot"));
  assert.equal(nodes[2].mergeCommit.oid, landed);
  const missing = octokit.graphql("query { repository(owner: \"octocat\", name: \"none\") { id } }");
  await assert.rejects(missing, (error) => error.errors[0].type === "NOT_FOUND");
}

async function readBack(octokit, pulls, landed, hook) {
  const all = await octokit.paginate(octokit.rest.pulls.list, { ...at, state: "all", per_page: 1, direction: "asc" });
  assert.deepEqual(all.map((pull) => [pull.number, pull.state]), [[1, "closed"], [2, "closed"], [3, "closed"]]);
  const number = { ...at, pull_number: pulls[0].number };
  const { data: files } = await octokit.rest.pulls.listFiles(number);
  assert.deepEqual(files.map((file) => [file.filename, file.status]), [["one.txt", "added"]]);
  const { data: diff } = await octokit.rest.pulls.get({ ...number, mediaType: { format: "diff" } });
  assert.match(diff, /^diff --git a\/one.txt/);
  const { data: commits } = await octokit.rest.pulls.listCommits(number);
  assert.deepEqual(commits.map(({ commit }) => commit.message), ["Add one"]);
  const { data: reviews } = await octokit.rest.pulls.listReviews(number);
  assert(reviews.some((review) => review.state === "APPROVED"));
  const { data: remarks } = await octokit.rest.pulls.listReviewComments(number);
  assert.deepEqual(remarks.map((remark) => remark.body), ["Why?", "So."]);
  const comments = await octokit.paginate(octokit.rest.issues.listComments, { ...at, issue_number: 1 });
  assert.deepEqual(comments.map((comment) => comment.body), ["Please look @hubot.", "By an app."]);
  const branches = await octokit.paginate(octokit.rest.repos.listBranches, at);
  assert.deepEqual(branches.map((branch) => branch.name), ["main"]);
  const { data: last } = await octokit.rest.repos.getCommit({ ...at, ref: "main" });
  const basehead = `${last.parents[0].sha}...main`;
  const { data: comparison } = await octokit.rest.repos.compareCommitsWithBasehead({ ...at, basehead });
  assert.deepEqual([comparison.status, comparison.ahead_by], ["ahead", 1]);
  const { data: file } = await octokit.rest.repos.getContent({ ...at, path: "three.txt" });
  assert.equal(Buffer.from(file.content, "base64").toString(), "three\n");
  const { data: raw } = await octokit.rest.repos.getContent({ ...at, path: "three.txt", mediaType: { format: "raw" } });
  assert.equal(raw, "three\n");
  const { data: ref } = await octokit.rest.git.getRef({ ...at, ref: "heads/main" });
  assert.equal(ref.object.sha, landed);

  const deliveries = await octokit.paginate(octokit.rest.repos.listWebhookDeliveries, { ...at, hook_id: hook.id });
  assert(deliveries.length > 20, `${deliveries.length} deliveries`);
  const [delivery] = deliveries;
  const asked = { ...at, hook_id: hook.id, delivery_id: delivery.id };
  assert.equal((await octokit.rest.repos.getWebhookDelivery(asked)).data.guid, delivery.guid);
  assert.equal((await octokit.rest.repos.redeliverWebhookDelivery(asked)).status, 202);
}

async function conditionally(octokit) {
  const first = await octokit.rest.repos.get(at);
  await refused(304, () => octokit.rest.repos.get({ ...at, headers: { "if-none-match": first.headers.etag } }));
}

const octokit = client(TOKENS.octocat);
const reviewer = client(TOKENS.hubot);
assert.equal((await octokit.rest.users.getAuthenticated()).data.login, "octocat");
const hookReceiver = await Receiver.start(HOOK_SECRET);
const appReceiver = await Receiver.start(SIM.app.webhook_secret);
await control("PATCH", "/app", { webhook_url: appReceiver.url });

const { repo, hook } = await create(octokit, hookReceiver);
await octokit.rest.repos.addCollaborator({ ...at, username: "hubot", permission: "push" });
const clone = new Clone(repo.clone_url);
const pulls = await openStack(octokit, clone);
await protect(octokit);
await converse(octokit, reviewer, pulls[0]);
const landed = await landStack(octokit, reviewer, pulls);
clone.git("fetch", "--quiet", "origin");
assert.equal(clone.git("rev-parse", "origin/main"), landed);
clone.remove();
pulls[2] = (await octokit.rest.pulls.get({ ...at, pull_number: pulls[2].number })).data;
await asApp(pulls, appReceiver);
await throughGraphql(octokit, landed);
await readBack(octokit, pulls, landed, hook);
await conditionally(octokit);
await hookReceiver.expect(
  "push", "create", "delete", "pull_request.opened", "pull_request.synchronize", "pull_request.edited",
  "pull_request.closed", "pull_request.labeled", "pull_request_review.submitted", "pull_request_review_comment.created",
  "issue_comment.created", "issue_comment.edited", "issue_comment.deleted", "check_run.created", "check_run.completed",
  "check_suite.completed",
);
await appReceiver.expect("pull_request.opened", "push", "check_suite.requested");
console.log(`${hookReceiver.events.length} + ${appReceiver.events.length} webhooks, all signed`);
process.exit(0);

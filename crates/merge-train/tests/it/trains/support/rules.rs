//! What must hold before something may land, and the CI that says so.

use reqwest::Method;
use serde_json::{Value, json};

use super::{ADMIN, REPO, Trains};

/// The protection of a branch. Administrators pass, apps do not.
#[derive(Default)]
pub struct Rules {
    pub checks: &'static [&'static str],
    /// The head must contain the base.
    pub strict: bool,
    pub approvals: u32,
    pub dismiss_stale: bool,
}

impl Trains {
    /// A stack whose train was started at its first pull request, and waits for the check `ci`.
    pub async fn waiting<const N: usize>(&self, shape: [(&str, &str); N]) -> [u64; N] {
        self.protect(Rules { checks: &["ci"], ..Rules::default() }).await;
        self.ci_waits("ci").await;
        let all = self.stack(shape).await;
        self.start(all[0]).await;
        self.waits_because(all[0], &format!("The check `ci` has not finished on PR #{} at `SHA`.", all[0])).await;
        all
    }

    /// Protects the default branch.
    pub async fn protect(&self, rules: Rules) {
        self.protect_branch(&self.default_branch, rules).await;
    }

    pub async fn protect_branch(&self, branch: &str, rules: Rules) {
        let checks = match rules.checks {
            [] if !rules.strict => Value::Null,
            contexts => json!({ "strict": rules.strict, "contexts": contexts }),
        };
        let reviews = match rules.approvals {
            0 => Value::Null,
            count => {
                json!({ "required_approving_review_count": count, "dismiss_stale_reviews": rules.dismiss_stale })
            }
        };
        let body = json!({
            "required_status_checks": checks, "required_pull_request_reviews": reviews,
            "enforce_admins": false, "restrictions": null,
        });
        self.call(ADMIN, Method::PUT, &format!("/branches/{branch}/protection"), body).await;
    }

    /// A ruleset for the default branch.
    pub async fn ruleset(&self, rules: Value) {
        let body = json!({
            "name": "rules", "target": "branch", "enforcement": "active",
            "conditions": { "ref_name": { "include": ["~DEFAULT_BRANCH"], "exclude": [] } }, "rules": rules,
        });
        self.call(ADMIN, Method::POST, "/rulesets", body).await;
    }

    /// Nobody but administrators may push to a branch.
    pub async fn lock_branch(&self, branch: &str) {
        let body = json!({
            "required_status_checks": null, "required_pull_request_reviews": null, "enforce_admins": false,
            "restrictions": null, "lock_branch": true,
        });
        self.call(ADMIN, Method::PUT, &format!("/branches/{branch}/protection"), body).await;
    }

    pub async fn set_repository(&self, settings: Value) {
        self.call(ADMIN, Method::PATCH, &format!("/repos/{REPO}"), settings).await;
    }

    /// A check runs for every commit that is pushed from now on, and for all heads there are: this command decides.
    pub async fn ci_runs(&self, name: &str, command: &str) {
        self.define_ci(json!([{ "name": name, "command": command }])).await;
    }

    /// A check is pending for every commit that is pushed from now on, and for all heads there are, until `ci` ends it.
    pub async fn ci_waits(&self, name: &str) {
        self.define_ci(json!([{ "name": name }])).await;
        *self.waiting_check.lock() = Some(name.to_owned());
    }

    async fn define_ci(&self, checks: Value) {
        let body = json!({ "checks": checks, "ignore_branches": [self.default_branch] });
        self.control(Method::PUT, &format!("/repos/{REPO}/ci?run=heads"), body).await;
    }

    /// The check that waited passes on every head there is, and on all that are pushed from now on.
    pub async fn ci_passes(&self, name: &str) {
        let body = json!({ "checks": [{ "name": name, "command": "true" }], "ignore_branches": [self.default_branch] });
        self.control(Method::PUT, &format!("/repos/{REPO}/ci"), body).await;
        let pulls = self.get("/pulls?state=open&per_page=100").await;
        // Those that are pushed in this very moment get either.
        self.waiting_check.lock().take();
        for pull in pulls.as_array().expect("a list") {
            self.ci(pull["head"]["ref"].as_str().expect("a branch"), name, "success").await;
        }
    }

    /// A check run on the head of a branch ends so.
    pub async fn ci(&self, branch: &str, name: &str, conclusion: &str) {
        let is_waiting = self.waiting_check.lock().as_deref() == Some(name);
        if is_waiting {
            // The simulator is a moment behind the push; what is set before would be followed by the check that waits.
            let path = format!("/commits/{branch}/check-runs?check_name={name}");
            self.until("the check is there", async || (self.get(&path).await["total_count"] != 0).then_some(())).await;
        }
        let body = json!({ "branch": branch, "name": name, "conclusion": conclusion });
        self.control(Method::POST, &format!("/repos/{REPO}/checks"), body).await;
    }

    /// A commit status on a commit: `pending`, `success`, `failure` or `error`.
    pub async fn commit_status(&self, sha: &str, context: &str, state: &str) {
        let body = json!({ "state": state, "context": context });
        self.call(ADMIN, Method::POST, &format!("/statuses/{sha}"), body).await;
    }
}

//! What an operator gets wrong, and what is said about it.

use std::collections::BTreeMap;

use super::*;

#[test]
fn each_mistake_is_told_with_its_place_and_what_is_allowed() {
    let digest = "ab".repeat(32);
    let key = |name: &str| format!("[[api_keys]]\nname='{name}'\ntenant='*'\nrole='viewer'\nsha256='{digest}'\n");
    let table = [
        (
            "[server]\nbind_adress = 'x'",
            "merge-train.toml:2:1: unknown key \"bind_adress\" in [server]; did you mean \"bind_address\"? allowed: \
             bind_address, webhook_secret, public_url, anonymous, max_body_mb, body_budget_mb, shutdown_deadline_secs",
        ),
        ("[sever]\n", "merge-train.toml:1:2: unknown section \"sever\"; did you mean \"server\"?"),
        ("[ratchet.fixr]\n", "unknown key \"fixr\" in [ratchet]"),
        ("port = 1", "merge-train.toml:1:1: \"port\" is outside every section"),
        ("[api_keys]\nname = 'x'", "\"api_keys\" is a separate section; write [[api_keys]]"),
        ("[[server]]\n", "\"server\" is a separate section; write [server]"),
        ("api_keys = [1]", "\"api_keys\" takes tables; write [[api_keys]]"),
        (
            "[server]\nbind_address = 8080",
            "2:16: server.bind_address is 8080; it must be an IP address and a port, such as 0.0.0.0:8080",
        ),
        ("[server]\nbind_address = 'localhost'", "server.bind_address is \"localhost\"; it must be an IP address"),
        ("[server]\nmax_body_mb = '25'", "server.max_body_mb is \"25\"; it must be a whole number, 1–1024"),
        ("[server]\nmax_body_mb = 0", "server.max_body_mb is 0; it must be a whole number, 1–1024"),
        ("[server]\nmax_body_mb = -1", "server.max_body_mb is -1; it must be"),
        ("[server]\nmax_body_mb = 2.5", "server.max_body_mb is 2.5; it must be a whole number, 1–1024"),
        ("[server]\nmax_body_mb = 99999999999999999999", "server.max_body_mb is 99999999999999999999; it must be"),
        (
            "[housekeeping]\npoll_interval_mins = 0.001",
            "housekeeping.poll_interval_mins is 0.001; it must be a number of minutes, 0.01–1440",
        ),
        ("[housekeeping]\npoll_interval_mins = 1441", "housekeeping.poll_interval_mins is 1441; it must be"),
        ("[housekeeping]\npoll_interval_mins = -1", "housekeeping.poll_interval_mins is -1; it must be"),
        ("[housekeeping]\npoll_interval_mins = inf", "housekeeping.poll_interval_mins is inf; it must be"),
        ("[housekeeping]\npoll_interval_mins = nan", "housekeeping.poll_interval_mins is nan; it must be"),
        ("[housekeeping]\npoll_interval_mins = '5'", "housekeeping.poll_interval_mins is \"5\"; it must be"),
        ("[server]\npublic_url = 'ftp://x'", "server.public_url is \"ftp://x\"; it must be a URL"),
        ("[server]\npublic_url = 'not a url'", "server.public_url is \"not a url\"; it must be a URL"),
        ("[server]\nwebhook_secret = ''", "server.webhook_secret is empty; it must be a secret that is not empty"),
        ("[server]\nwebhook_secret = []", "server.webhook_secret is empty; it must be"),
        (
            "[server]\nwebhook_secret = ['a', '']",
            "server.webhook_secret is a list; it must be a secret that is not empty",
        ),
        ("[server]\nmax_body_mb = 1\nmax_body_mb = 2", "merge-train.toml:3:1: duplicate key"),
        (
            "[merge]\ntitle = '{titel} (#{number})'",
            "merge-train.toml:2:9: merge.title is not a valid template: there is no placeholder {titel}; use {title}, {number}, \
             {body}, {author}, {branch}, {co_authors}, {reviewers}, {commits}",
        ),
        ("[merge]\nbody = ''", "merge.body is empty; it must be a text, with placeholders such as {title}"),
        ("[merge]\nbody = 5", "merge.body is 5; it must be a text"),
        ("[git]\nsigning = 'pgp'", "git.signing is \"pgp\"; it must be one of gpg, ssh, off"),
        ("[git]\nsigning = 'gpg'", "git.signing is \"gpg\" and needs git.signing_key_id"),
        ("[log]\nfilter = 'info,=,'", "log.filter is \"info,=,\"; it must be a level"),
        ("[ratchet]\nenabled = 'yes'", "ratchet.enabled is \"yes\"; it must be true or false"),
        ("[github]\napp_id = 1", "merge-train.toml:2:10: github.app_id needs github.private_key_path"),
        ("[github]\nprivate_key_path = 'x'", "github.private_key_path needs github.app_id"),
        ("[github]\ninstallation_id = 5", "github.installation_id needs github.app_id"),
        (
            "[github]\napp_id = 1\nprivate_key_path = 'x'\ntoken = 't'",
            "4:9: github.token and github.app_id are both set",
        ),
        (
            "[github]\napi_url = 'https://example.com'",
            "so github.git_url does not follow from it; set github.git_url too",
        ),
        ("[[api_keys]]\nname = 'x'\ntenant = '*'\nrole = 'viewer'", "1:1: [[api_keys]] lacks \"sha256\""),
        (&(key("a") + &key("a")), "6:1: [[api_keys]] \"a\" already exists, at merge-train.toml:1:1"),
        ("[server]\nbody_budget_mb = 24", "2:18: server.body_budget_mb is 24 and server.max_body_mb 25: the largest"),
        ("[server]\nmax_body_mb = 300", "2:15: server.body_budget_mb is 256 and server.max_body_mb 300: the largest"),
        (
            "[server]\nanonymous = 'operator'",
            "2:13: server.anonymous is \"operator\", and server.bind_address is reachable from other machines",
        ),
        (
            "[server]\nanonymous = 'operator_and_fixers'",
            "2:13: server.anonymous is \"operator_and_fixers\", and server.bind_address is reachable from other \
             machines",
        ),
        (
            "[server]\nbind_address = '127.0.0.1:1'\nanonymous = 'operator'\n[ratchet.fixer]\nagent = 'claude'",
            "3:13: server.anonymous is \"operator\", and [ratchet.fixer] names a fixer, which runs on this machine and could approve",
        ),
        (
            "[ratchet.fixer]\nenvironment = ['KEY', 'GITHUB_TOKEN']",
            "2:15: ratchet.fixer.environment names GITHUB_TOKEN, which no fixer may have: it gives access to GitHub",
        ),
        (
            "[ratchet.fixer]\nenvironment = ['MERGE_TRAIN_GITHUB_TOKEN']",
            "2:15: ratchet.fixer.environment names MERGE_TRAIN_GITHUB_TOKEN, which no fixer may have: it is the daemon's own",
        ),
        ("[[workflows]]\nname = 'w'", "1:1: [[workflows]] \"w\": it has no steps"),
        (
            "[[workflows]]\nname = 'train'\n[[workflows.steps]]\nid = 'a'\ncommand = 'x'",
            "1:1: [[workflows]] \"train\": trains are called that; give it another name",
        ),
        (
            "[[workflows]]\nname = 'w'\non = ['push']\ninputs = { pr = { type = 'integer', required = true } }\n\
             [[workflows.steps]]\nid = 'a'\ncommand = 'x'",
            "1:1: [[workflows]] \"w\": a run started by `on` gets no inputs: \"pr\" is a required property; add a \
             default",
        ),
        ("[[workflows]]\nname = 'w'\nsteps = 'none'", "\"workflows.steps\" takes tables; write [[workflows.steps]]"),
        (
            "[[workflows]]\nname = 'w'\n[[workflows.steps]]\nid = 'a'\ncomand = 'x'",
            "5:1: unknown key \"comand\" in [[workflows.steps]]; did you mean \"command\"?",
        ),
        (
            "[[workflows]]\nname = 'w'\n[[workflows.steps]]\nid = 'a'\nkind = 'wait'\nevent = 'e'\ncommand = 'x'",
            "[[workflows]] \"w\": step \"a\": \"command\" does not apply to this kind of step",
        ),
        (
            "[[workflows]]\nname = 'w'\ninputs = { pr = { type = 'whole' } }\n[[workflows.steps]]\nid = 'a'\ncommand = 'x'",
            "the input \"pr\" must be described by a JSON Schema",
        ),
        (
            "[slack]\nresponse_url_prefix = 'http://hooks.slack.com'",
            "2:23: slack.response_url_prefix is \"http://hooks.slack.com\": Slack messages would cross the network \
             unencrypted",
        ),
        (
            "[[slack_workspaces]]\nteam_id = 'T1'\ntenant = 'octo'",
            "1:1: [[slack_workspaces]] needs slack.signing_secret",
        ),
        (
            "[slack]\nsigning_secret = 's'\n[[slack_workspaces]]\nteam_id = 'T1'\ntenant = 'a'\n[[slack_workspaces]]\nteam_id = 'T1'\ntenant = 'b'",
            "6:1: [[slack_workspaces]] \"T1\" already exists, at merge-train.toml:3:1; choose another team_id",
        ),
        (
            "[slack]\nnotify_url = 'http://hooks.slack.com/services/hush'",
            "2:14: slack.notify_url is ***; it must be a URL that begins with https://, or with http:// on this machine",
        ),
        (
            "[[slack_channels]]\ntenant = 'octo'\nnotify_url = 'hush'",
            "3:14: slack_channels.notify_url is ***; it must be a URL that begins with https://",
        ),
        (
            "[slack]\nnotify = ['blocked', 'landet']",
            "2:10: slack.notify is a list; it must be one of blocked, needs_approval, landed, or a list of them",
        ),
        ("[runs]\nheartbeat_secs = 200", "2:18: runs.orphaned_after_secs is 300 and runs.heartbeat_secs 200"),
        (
            "[server]\npublic_url = 'a ${NOPE}'",
            "merge-train.toml:2:17: server.public_url: the environment variable NOPE",
        ),
    ];
    for (text, expected) in table {
        let told = refused(text);
        assert!(told.contains(expected), "for\n{text}\nexpected\n{expected}\ngot\n{told}");
    }
}

#[test]
fn a_fixer_gets_no_variable_that_a_secret_is_taken_from() {
    let environment = Environment::from([("HOOK", "h"), ("DB", "d"), ("NEWS", "n"), ("SITE", "example.com")]);
    let text = "[server]\nwebhook_secret = ['a', '${HOOK}']\npublic_url = 'https://${SITE}'\n\
                [state]\ndatabase_url = 'postgres://u:${DB}@db/x'\n\
                [[slack_channels]]\ntenant = 'octo'\nnotify_url = 'https://hooks.slack.com/${NEWS}'\n\
                [ratchet.fixer]\nenvironment = ['SITE', 'HOOK', 'DB', 'NEWS', 'ANTHROPIC_API_KEY']";
    let told = parse(text, &environment).expect_err("it has mistakes");
    let expected = ["HOOK", "DB", "NEWS"].map(|name| {
        format!(
            "merge-train.toml:10:15: ratchet.fixer.environment names {name}, which no fixer may have: it holds a \
             secret of this configuration; leave it out"
        )
    });
    let mut lines: Vec<&str> = told.lines().collect();
    lines.sort_unstable();
    let mut expected = expected.to_vec();
    expected.sort_unstable();
    assert_eq!(lines, expected);
}

#[test]
fn visitors_may_operate_where_there_is_no_fixer_or_it_does_no_harm() {
    for (role, fixer) in [("operator", ""), ("operator_and_fixers", "[ratchet.fixer]\nagent = 'claude'")] {
        let text = format!("[server]\nbind_address = '127.0.0.1:1'\nanonymous = '{role}'\n{fixer}");
        assert!(accepted(&text).server.anonymous.role().is_some(), "{text}");
    }
}

#[test]
fn each_mistake_in_a_schedule_is_told_with_its_place() {
    let workflow = "[[workflows]]\nname = 'w'\ninputs = { pr = { type = 'integer', required = true } }\n\
                    [[workflows.steps]]\nid = 'a'\ncommand = 'x'\n";
    // The keys stand in the order of their names, the first in line 8.
    let with = |changed: &[(&str, &str)]| {
        let mut keys = BTreeMap::from([
            ("name", "'s'"),
            ("workflow", "'w'"),
            ("tenant", "'octo'"),
            ("cron", "'@daily'"),
            ("inputs", "{ pr = 7 }"),
        ]);
        keys.extend(changed.iter().copied());
        let written = keys.iter().filter(|(_, value)| !value.is_empty());
        let keys: String = written.map(|(key, value)| format!("{key} = {value}\n")).collect();
        format!("{workflow}[[schedules]]\n{keys}")
    };
    let config = accepted(&with(&[]));
    assert_eq!((config.schedules[0].missed, config.schedules[0].repo.as_ref()), (MissedSlotPolicy::Latest, None));
    let table: [(&str, &str, &str); 14] = [
        ("cron", "''", "8:8: schedules.cron is empty; it must be five fields (minute, hour,"),
        ("cron", "5", "8:8: schedules.cron is 5; it must be five fields"),
        (
            "cron",
            "'0 3 * *'",
            "8:8: schedules.cron is \"0 3 * *\", which is not a cron pattern: it has 4 fields, not five: minute,",
        ),
        ("cron", "'0 25 * * *'", "8:8: schedules.cron is \"0 25 * * *\", which is not a cron pattern: "),
        ("cron", "'0 0 31 4 *'", "which is not a cron pattern: there is no such day"),
        ("cron", "", "7:1: [[schedules]] lacks \"cron\": When: minute, hour"),
        (
            "time_zone",
            "'Europe/Atlantis'",
            "12:13: schedules.time_zone is \"Europe/Atlantis\"; it must be the name of a time zone, such as Europe/Berlin",
        ),
        ("missed", "'none'", "schedules.missed is \"none\"; it must be one of skip, latest, all"),
        ("workflow", "'v'", "7:1: no [[workflows]] is named \"v\"; configured: w"),
        (
            "inputs",
            "{ pr = 'x' }",
            "7:1: [[schedules]] \"s\": its inputs do not fit the workflow \"w\": pr: \"x\" is not",
        ),
        ("inputs", "", "7:1: [[schedules]] \"s\": its inputs do not fit the workflow \"w\": \"pr\" is a required"),
        ("repo", "'widgets'", "schedules.repo is \"widgets\"; it must be a repository, such as octocat/hello-world"),
        (
            "repo",
            "'acme/widgets'",
            "7:1: [[schedules]] \"s\": the repository acme/widgets does not belong to its \
             tenant octo",
        ),
        ("name", "'every night'", "7:1: [[schedules]] \"every night\": the schedule must be 1 to 255 printable"),
    ];
    for (key, value, expected) in table {
        let told = refused(&with(&[(key, value)]));
        assert!(told.contains(expected), "for {key} = {value}\nexpected\n{expected}\ngot\n{told}");
        assert_eq!(told.lines().count(), 1, "{told}");
    }
    accepted(&with(&[("repo", "'Octo/Widgets'"), ("tenant", "'OCTO'")]));
    let told = refused("[[schedules]]\nname = 's'\nworkflow = 'w'\ntenant = 'o'\ncron = '@daily'");
    assert_eq!(told, "merge-train.toml:1:1: no [[workflows]] is named \"w\"; none is configured");
}

#[test]
fn all_mistakes_are_told_at_once_in_the_order_of_the_file() {
    let environment = Environment::from([("MERGE_TRAIN_MAX_STACK_SIZE", "many")]);
    let text = "[github]\napp_id = 1\n[server]\nmax_body_mb = 0\nbind_adress = 1\nmax_body_mb = 1\n[zoo]\na = 1";
    let told = parse(text, &environment).expect_err("it has mistakes");
    let places: Vec<&str> = told.lines().filter_map(|line| line.split(": ").next()).collect();
    let expected = [
        "merge-train.toml:2:10",
        "merge-train.toml:4:15",
        "merge-train.toml:5:1",
        "merge-train.toml:6:1",
        "merge-train.toml:7:2",
        "MERGE_TRAIN_MAX_STACK_SIZE",
    ];
    assert_eq!(places, expected, "{told}");
}

#[test]
fn a_broken_line_is_told_once_and_the_rest_is_still_read() {
    let told = refused("[server]\nbind_address = = '1.2.3.4:5'\nmax_body_mb = 0\n");
    let lines: Vec<&str> = told.lines().collect();
    assert!(lines.iter().any(|line| line.starts_with("merge-train.toml:2:")), "{told}");
    assert!(lines.iter().any(|line| line.starts_with("merge-train.toml:3:15: server.max_body_mb is 0")), "{told}");
    assert!(!told.contains("bind_address is"), "{told}");
}

#[test]
fn columns_count_characters_and_lines_of_either_kind() {
    let told = refused("[git]\r\nuser_name = \"Zoë\" # ü\r\n[ server ]\r\n  max_body_mb = 0");
    assert!(told.starts_with("merge-train.toml:4:17: "), "{told}");
    let told = refused("server = { public_url = \"ü ${NOPE}\" }");
    assert!(told.starts_with("merge-train.toml:1:28: "), "{told}");
}

#[test]
fn no_mistake_shows_a_secret() {
    let hush = "hush-hush";
    for text in [
        format!("[[api_keys]]\nname='a'\ntenant='*'\nrole='viewer'\nsha256='{hush}'"),
        format!("[state]\ndatabase_url = 'mysql://u:{hush}@db/x'"),
        format!("[server]\nwebhook_secret = ['{hush}', 1]"),
        format!("[github]\ntoken = ['{hush}']"),
        format!("[github]\ntoken = '{hush} ${{'"),
        format!("[github]\ntoken = {hush}"),
        format!("[github]\ntoken = '{hush}"),
        format!("[github]\ntoken = '{hush}'\ntoken = '{hush}'"),
        format!("[github]\napi_url = 'https://x:{hush}@github.com'"),
    ] {
        let told = refused(&text);
        assert!(!told.contains(hush), "for\n{text}\ngot\n{told}");
    }
    let told = refused("[state]\ndatabase_url = 'mysql://u:hush@db/x'");
    assert_eq!(
        told,
        "merge-train.toml:2:16: state.database_url is ***; it must be a URL that begins with postgres:// or postgresql://"
    );
}

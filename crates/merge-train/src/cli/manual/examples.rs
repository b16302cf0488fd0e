//! Examples for every command. Each is a line that can be typed as it stands.

/// The commands, by what stands behind the program's name, each with its examples.
#[rustfmt::skip]
pub const EXAMPLES: &[(&str, &[&str])] = &[
    ("", &[
        "merge-train demo",
        "merge-train app create --url https://merge-train.example.com",
        "merge-train serve --config /etc/merge-train/merge-train.toml",
    ]),
    ("app", &["merge-train app create --org acme --url https://merge-train.example.com"]),
    ("app create", &[
        "merge-train app create --url https://merge-train.example.com",
        "merge-train app create --org acme --url https://merge-train.example.com --dir /etc/merge-train",
        "merge-train app create --github https://ghes.example.com --url https://merge-train.example.com --no-browser",
    ]),
    ("completion", &[
        "merge-train completion bash > /etc/bash_completion.d/merge-train",
        "merge-train completion zsh > ~/.zfunc/_merge-train",
        "merge-train completion fish > ~/.config/fish/completions/merge-train.fish",
    ]),
    ("demo", &["merge-train demo", "merge-train demo --once", "merge-train demo --listen 127.0.0.1:0"]),
    ("doctor", &[
        "merge-train doctor",
        "merge-train doctor octocat/hello",
        "merge-train doctor --config /etc/merge-train/merge-train.toml --json",
    ]),
    ("init", &["merge-train init", "merge-train init --config /etc/merge-train/merge-train.toml"]),
    ("man", &["merge-train man", "merge-train man /usr/local/share/man/man1"]),
    ("plan", &["merge-train plan 'octocat/hello#12'", "merge-train plan 'octocat/hello#12' --json"]),
    ("ratchet", &["merge-train ratchet on 'octocat/hello#12'", "merge-train ratchet status octocat/hello"]),
    ("ratchet on", &["merge-train ratchet on 'octocat/hello#12' --note 'flaky today'", "merge-train ratchet on octocat/hello"]),
    ("ratchet off", &["merge-train ratchet off 'octocat/hello#12'", "merge-train ratchet off octocat/hello"]),
    ("ratchet status", &["merge-train ratchet status", "merge-train ratchet status octocat/hello --attention"]),
    ("ratchet log", &["merge-train ratchet log 'octocat/hello#12' --limit 10"]),
    ("runs", &["merge-train runs list", "merge-train runs watch run-1"]),
    ("runs list", &["merge-train runs list --status running --status failed", "merge-train runs list --repo octocat/hello --all --json"]),
    ("runs show", &["merge-train runs show run-1"]),
    ("runs watch", &["merge-train runs watch run-1", "merge-train runs watch run-1 --json"]),
    ("runs logs", &["merge-train runs logs run-1 --follow", "merge-train runs logs run-1 --step build"]),
    ("runs approve", &["merge-train runs approve run-1 --reason 'looks fine'"]),
    ("runs reject", &["merge-train runs reject run-1 --reason 'not on a Friday'"]),
    ("runs cancel", &["merge-train runs cancel run-1 --reason enough"]),
    ("runs resume", &["merge-train runs resume run-1"]),
    ("runs start", &[
        "merge-train runs start deploy --repo octocat/hello --pr 12 -i dry_run=true --watch",
        "merge-train runs start deploy --inputs @inputs.json",
    ]),
    ("serve", &["merge-train serve", "merge-train serve --config /etc/merge-train/merge-train.toml"]),
    ("session", &["merge-train session 'octocat/hello#12' -- claude", "merge-train session 'octocat/hello#12' --idle-after 30 -- vim"]),
    ("sim", &["merge-train sim", "merge-train sim --listen 127.0.0.1:0 --data /tmp/github --seed 7"]),
    ("state", &["merge-train state export backup", "merge-train state verify"]),
    ("state export", &["merge-train state export backup --config /etc/merge-train/merge-train.toml"]),
    ("state import", &["merge-train state import backup"]),
    ("state inspect", &["merge-train state inspect", "merge-train state inspect backup --repo octocat/hello"]),
    ("state verify", &["merge-train state verify --json"]),
    ("status", &["merge-train status", "merge-train status 'octocat/hello#12' --watch", "merge-train status octocat/hello --json"]),
    ("train", &["merge-train train start 'octocat/hello#12'", "merge-train train stop 'octocat/hello#12'"]),
    ("train start", &["merge-train train start 'octocat/hello#12'"]),
    ("train stop", &["merge-train train stop 'octocat/hello#12' --json"]),
];

/// The end of a command's help.
pub fn of(path: &str) -> Option<String> {
    let (_, examples) = EXAMPLES.iter().find(|(known, _)| *known == path)?;
    let lines: Vec<String> = examples.iter().map(|example| format!("  {example}")).collect();
    Some(format!("Examples:\n{}", lines.join("\n")))
}

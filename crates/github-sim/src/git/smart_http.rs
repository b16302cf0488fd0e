//! git's own smart-HTTP back end, spoken to as a CGI program.

use std::path::Path;
use std::process::Stdio;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::{Child, ChildStdout};

use super::GitRepo;
use super::command::{Error, base_command};

pub struct SmartHttpRequest<'a> {
    pub method: &'a str,
    /// `info/refs`, `git-upload-pack` or `git-receive-pack`.
    pub service_path: &'a str,
    pub query: &'a str,
    pub content_type: &'a str,
    pub content_encoding: &'a str,
    /// The `Git-Protocol` header.
    pub protocol: &'a str,
    pub user: &'a str,
    /// The request's body, spooled.
    pub body: Option<&'a Path>,
    /// Lines for the repository's update hook.
    pub push_rules: Option<&'a Path>,
}

/// An answer under way: the head is read, the body still comes out of the process.
pub struct SmartHttpAnswer {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: BufReader<ChildStdout>,
    pub child: Child,
}

impl SmartHttpAnswer {
    /// Reads the body to its end and waits for git to finish.
    pub async fn finish(mut self) -> Result<(u16, Vec<(String, String)>, Vec<u8>), Error> {
        let mut body = Vec::new();
        self.body.read_to_end(&mut body).await?;
        self.child.wait().await?;
        Ok((self.status, self.headers, body))
    }
}

impl GitRepo {
    pub async fn smart_http(&self, request: SmartHttpRequest<'_>) -> Result<SmartHttpAnswer, Error> {
        let mut command = base_command();
        command
            .arg("http-backend")
            .env("GIT_PROJECT_ROOT", &self.root)
            .env("GIT_HTTP_EXPORT_ALL", "1")
            .env("PATH_INFO", format!("/{}.git/{}", self.id, request.service_path))
            .env("REQUEST_METHOD", request.method)
            .env("QUERY_STRING", request.query)
            .env("CONTENT_TYPE", request.content_type)
            .env("HTTP_CONTENT_ENCODING", request.content_encoding)
            .env("REMOTE_USER", request.user)
            .env("REMOTE_ADDR", "127.0.0.1")
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        if !request.protocol.is_empty() {
            command.env("GIT_PROTOCOL", request.protocol);
        }
        if let Some(rules) = request.push_rules {
            command.env("SIM_PUSH_RULES", rules);
        }
        match request.body {
            Some(path) => {
                let file = std::fs::File::open(path)?;
                command.env("CONTENT_LENGTH", file.metadata()?.len().to_string()).stdin(file)
            }
            None => command.stdin(Stdio::null()),
        };
        let mut child = command.spawn()?;
        let mut body = BufReader::new(child.stdout.take().expect("stdout is piped"));
        let (mut status, mut headers) = (200, Vec::new());
        loop {
            let mut line = String::new();
            if body.read_line(&mut line).await? == 0 {
                return Err(Error::Unexpected { command: "http-backend", output: "no answer".into() });
            }
            let line = line.trim_end();
            if line.is_empty() {
                break;
            }
            let Some((name, value)) = line.split_once(": ") else { continue };
            if name.eq_ignore_ascii_case("status") {
                status = value.split(' ').next().and_then(|code| code.parse().ok()).unwrap_or(500);
            } else {
                headers.push((name.to_owned(), value.to_owned()));
            }
        }
        Ok(SmartHttpAnswer { status, headers, body, child })
    }
}

/// A line of a push: this ref from that commit to this one (forty zeros for none).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReceiveCommand {
    pub old: String,
    pub new: String,
    pub name: String,
}

/// The ref updates at the head of a `git-receive-pack` body, before the pack.
pub fn parse_receive_commands(mut body: &[u8]) -> Vec<ReceiveCommand> {
    let mut commands = Vec::new();
    while let Some(length) =
        body.get(..4).and_then(|hex| std::str::from_utf8(hex).ok()).and_then(|hex| usize::from_str_radix(hex, 16).ok())
    {
        if length < 4 {
            break;
        }
        let Some(line) = body.get(4..length) else { break };
        body = &body[length..];
        let line = line.split(|byte| *byte == 0).next().unwrap_or_default();
        let line = String::from_utf8_lossy(line);
        let mut fields = line.trim_end().splitn(3, ' ');
        if let (Some(old), Some(new), Some(name)) = (fields.next(), fields.next(), fields.next()) {
            commands.push(ReceiveCommand { old: old.to_owned(), new: new.to_owned(), name: name.to_owned() });
        }
    }
    commands
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_commands_of_a_push_stand_before_its_pack() {
        let (a, b) = ("a".repeat(40), "b".repeat(40));
        let first = format!("{a} {b} refs/heads/x\0report-status side-band-64k");
        let second = format!("{b} {a} refs/heads/y\n");
        let body = format!("{:04x}{first}{:04x}{second}0000PACK…", first.len() + 4, second.len() + 4);
        let commands = parse_receive_commands(body.as_bytes());
        assert_eq!(commands.len(), 2);
        assert_eq!((commands[0].name.as_str(), commands[0].new.as_str()), ("refs/heads/x", b.as_str()));
        assert_eq!(commands[1].name, "refs/heads/y");
        assert!(parse_receive_commands(b"zzzz").is_empty());
        assert!(parse_receive_commands(b"00ffshort").is_empty());
    }
}

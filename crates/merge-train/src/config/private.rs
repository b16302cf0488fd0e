//! What nobody but the daemon has any business with: its own files, and what else of its user opens doors.

use std::path::{Path, PathBuf};

use git::Signing;

use super::{Config, DEFAULT_FILE};

/// Where programs keep what they sign in with, as seen from a home. A fixer has a home of its own, and what it needs is named in
/// `ratchet.fixer.environment`: none of these was put there for it.
const CREDENTIALS: &[&str] = &[
    // git and the forges.
    ".git-credentials",
    ".config/git/credentials",
    ".netrc",
    ".config/gh",
    ".config/hub",
    ".config/glab-cli",
    // Keys, and what they sign and open.
    ".ssh",
    ".gnupg",
    ".password-store",
    ".local/share/keyrings",
    ".config/sops",
    ".vault-token",
    // Clouds and clusters.
    ".aws",
    ".azure",
    ".config/gcloud",
    ".config/doctl",
    ".kube",
    ".docker/config.json",
    ".config/containers/auth.json",
    ".terraform.d/credentials.tfrc.json",
    ".terraformrc",
    // Registries of packages.
    ".npmrc",
    ".yarnrc.yml",
    ".pypirc",
    ".config/pip/pip.conf",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".gem/credentials",
    ".m2/settings.xml",
    ".gradle/gradle.properties",
    // Databases.
    ".pgpass",
    ".my.cnf",
    ".mylogin.cnf",
];

/// Beside the configuration: what a service manager gives the daemon as its environment, as `deploy/merge-train.service` has it.
const ENVIRONMENT_FILE: &str = "environment";

/// Where the daemon's user is at home, as far as that is known.
#[derive(Debug, Clone, Default)]
pub struct HomeFolder {
    pub folder: Option<PathBuf>,
    /// Where GnuPG keeps its keys, if not there.
    pub gnupg: Option<PathBuf>,
}

impl HomeFolder {
    pub fn of_process() -> Self {
        Self { folder: std::env::home_dir(), gnupg: std::env::var_os("GNUPGHOME").map(PathBuf::from) }
    }

    /// What there is now that opens doors. What is not there is not named: a folder above it would be closed for nothing.
    pub fn credentials(&self) -> Vec<PathBuf> {
        let in_folder = self.folder.iter().flat_map(|folder| CREDENTIALS.iter().map(|place| folder.join(place)));
        in_folder.chain(self.gnupg.clone()).filter(|path| path.symlink_metadata().is_ok()).collect()
    }
}

impl Config {
    /// The files and folders of the daemon itself, whether they are there yet or not.
    pub fn private_paths(&self, file: Option<&Path>, home: &HomeFolder) -> Vec<PathBuf> {
        let keys = [&self.github.private_key_path, &self.git.gpg_home, &self.git.ssh_key_path];
        let folders = [&self.state.state_dir, &self.git.clone_base_dir, &self.runs.work_dir];
        let file = file.unwrap_or(Path::new(DEFAULT_FILE)).to_owned();
        let environment = file.with_file_name(ENVIRONMENT_FILE);
        let environment = Some(environment).filter(|path| path.symlink_metadata().is_ok());
        let keys = keys.into_iter().flatten().cloned().chain(self.own_keyring(home));
        keys.chain(folders.into_iter().cloned()).chain([file]).chain(environment).collect()
    }

    /// Where GnuPG looks for the key that signs, if nothing says where.
    fn own_keyring(&self, home: &HomeFolder) -> Option<PathBuf> {
        match self.git.signing()? {
            Signing::Gpg { home: None, .. } => {
                home.gnupg.clone().or_else(|| Some(home.folder.as_ref()?.join(".gnupg")))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Environment;
    use super::*;

    fn config(text: &str) -> Config {
        Config::parse(Path::new("/etc/merge-train/merge-train.toml"), text, &Environment::default()).expect("right")
    }

    #[test]
    fn the_keyring_that_signs_is_private_wherever_it_is() {
        let (folder, elsewhere) = (Some(PathBuf::from("/home/m")), Some(PathBuf::from("/keys")));
        let at_home = HomeFolder { folder: folder.clone(), gnupg: None };
        let elsewhere = HomeFolder { folder, gnupg: elsewhere };
        let gpg = config("[git]\nsigning = 'gpg'\nsigning_key_id = 'A'\n");
        let named = config("[git]\nsigning = 'gpg'\nsigning_key_id = 'A'\ngpg_home = '/ring'\n");
        for (config, home, expected) in
            [(&gpg, &at_home, "/home/m/.gnupg"), (&gpg, &elsewhere, "/keys"), (&named, &elsewhere, "/ring")]
        {
            let private = config.private_paths(None, home);
            assert!(private.contains(&PathBuf::from(expected)), "{expected}: {private:?}");
        }
        let unsigned = config("[git]\nsigning = 'off'\n").private_paths(None, &elsewhere);
        assert!(!unsigned.contains(&PathBuf::from("/keys")), "{unsigned:?}");
    }

    #[test]
    fn what_there_is_of_credentials_is_named_and_nothing_else() {
        let folder = tempfile::tempdir().expect("a folder");
        let gnupg = tempfile::tempdir().expect("a folder");
        let at = |place: &str| folder.path().join(place);
        std::fs::create_dir_all(at(".config/gh")).expect("made");
        std::fs::create_dir_all(at(".cargo/bin")).expect("made");
        for file in [".netrc", ".cargo/credentials.toml"] {
            std::fs::write(at(file), "hush").expect("written");
        }
        std::os::unix::fs::symlink("/nowhere", at(".ssh")).expect("a link");
        let home = HomeFolder { folder: Some(folder.path().to_owned()), gnupg: Some(gnupg.path().to_owned()) };
        let mut found = home.credentials();
        found.sort();
        let mut expected = [".cargo/credentials.toml", ".config/gh", ".netrc", ".ssh"].map(at).to_vec();
        expected.push(gnupg.path().to_owned());
        expected.sort();
        assert_eq!(found, expected);
    }

    #[test]
    fn the_file_with_the_daemons_environment_is_private_where_there_is_one() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("merge-train.toml");
        let private = || config("").private_paths(Some(&file), &HomeFolder::default());
        let environment = folder.path().join("environment");
        assert!(!private().contains(&environment));
        std::fs::write(&environment, "GITHUB_TOKEN=hush").expect("written");
        assert!(private().contains(&environment));
    }
}

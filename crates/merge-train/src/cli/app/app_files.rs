//! Where what GitHub shows only once is kept.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use github::NewApp;

use crate::cli::init;
use crate::cli::private_file::{self, ExistingFile};
use crate::config::{Config, Environment, NewFileValues};

/// The settings that say who the daemon is on GitHub. Where one of them is set, somebody has decided that already.
const IDENTITY: [(&str, &str); 4] =
    [("github", "app_id"), ("github", "private_key_path"), ("github", "token"), ("server", "webhook_secret")];

/// The folder and the file that are written to.
pub struct AppFiles {
    dir: PathBuf,
    config: PathBuf,
    /// What the file says, if it is there.
    text: Option<String>,
}

/// What was written.
pub struct SavedAppFiles {
    pub key: PathBuf,
    pub config: PathBuf,
    /// The key for the API, where the file is new.
    pub api_key: Option<String>,
}

impl AppFiles {
    /// Makes sure, before there is anything to lose, that it can be kept.
    pub fn find(dir: &Path, config: &Path) -> anyhow::Result<Self> {
        let unwritable = |folder: &Path| {
            format!(
                "{} cannot be written: name another folder with --dir, or another file with --config",
                folder.display()
            )
        };
        fs::create_dir_all(dir).with_context(|| unwritable(dir))?;
        for folder in [Some(dir), config.parent()].into_iter().flatten() {
            let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
            tempfile::tempfile_in(folder).with_context(|| unwritable(folder))?;
        }
        let text = match fs::read_to_string(config) {
            Ok(text) => Some(text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error).with_context(|| format!("{} cannot be read", config.display())),
        };
        let mut identity = NewFileValues::default();
        IDENTITY.iter().for_each(|(section, key)| identity.text(section, key, ""));
        let known = identity.set_in(config, text.as_deref().unwrap_or_default());
        if !known.is_empty() {
            bail!(
                "{} already has GitHub credentials ({}); remove these lines, or name another file with --config",
                config.display(),
                known.join(", ")
            );
        }
        Ok(Self { dir: dir.to_owned(), config: config.to_owned(), text })
    }

    /// What the file says, if it is there.
    pub fn settings(&self) -> anyhow::Result<Option<Config>> {
        let Some(text) = &self.text else { return Ok(None) };
        Ok(Some(Config::parse(&self.config, text, &Environment::of_process())?))
    }

    /// Makes sure, before there is anything to lose, that what is going to be written can be read.
    pub fn rehearse(&self, mut values: NewFileValues) -> anyhow::Result<()> {
        values.number("github", "app_id", 1);
        values.text("github", "private_key_path", "key");
        values.text("server", "webhook_secret", "secret");
        let text = self.text.as_ref().map_or_else(|| values.as_new_file(), |text| values.added_to(text));
        let read = Config::parse(&self.config, &text, &Environment::of_process());
        read.map(drop)
            .with_context(|| format!("{} would not be a valid configuration with the app added", self.config.display()))
    }

    /// Writes the key, and then the configuration with it.
    pub fn save(&self, new: &NewApp, mut values: NewFileValues) -> anyhow::Result<SavedAppFiles> {
        let key = self.save_key(new)?;
        let is_beside = key.parent() == self.config.parent();
        let path =
            if is_beside { PathBuf::from(key.file_name().unwrap_or_default()) } else { std::path::absolute(&key)? };
        values.number("github", "app_id", new.app.id);
        values.text("github", "private_key_path", &path.to_string_lossy());
        if let Some(secret) = &new.webhook_secret {
            values.text("server", "webhook_secret", secret.expose());
        }
        let (text, existing, api_key) = match &self.text {
            Some(text) => (values.added_to(text), ExistingFile::Replace, None),
            None => {
                let api_key = init::begin(&mut values);
                (values.as_new_file(), ExistingFile::Keep, Some(api_key))
            }
        };
        let readable = Config::parse(&self.config, &text, &Environment::of_process());
        let is_unchanged = fs::read_to_string(&self.config).ok() == self.text;
        let written = match readable {
            Ok(_) if is_unchanged => private_file::write(&self.config, &text, existing).map_err(anyhow::Error::from),
            Ok(_) => Err(anyhow::anyhow!("it was changed in the meantime")),
            Err(error) => Err(error.into()),
        };
        if let Err(error) = written {
            let aside = free(&self.dir, &new.app.slug, "toml");
            private_file::write(&aside, &values.added_to(""), ExistingFile::Keep)?;
            return Err(error).with_context(|| {
                format!("{} was left as it is; add the contents of {} to it", self.config.display(), aside.display())
            });
        }
        Ok(SavedAppFiles { key, config: self.config.clone(), api_key })
    }

    fn save_key(&self, new: &NewApp) -> anyhow::Result<PathBuf> {
        let key = free(&self.dir, &new.app.slug, "private-key.pem");
        private_file::write(&key, new.pem.expose(), ExistingFile::Keep).with_context(|| {
            format!(
                "the app {} is created, but its key could not be saved in {}; generate another in the app's settings \
                 on GitHub",
                new.app.slug,
                key.display()
            )
        })?;
        Ok(key)
    }
}

/// A name that no file has yet.
fn free(dir: &Path, slug: &str, ending: &str) -> PathBuf {
    // Whatever it is called, it is a name in this folder.
    let slug: String = slug.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let names =
        std::iter::once(format!("{slug}.{ending}")).chain((2..).map(|number| format!("{slug}-{number}.{ending}")));
    names.map(|name| dir.join(name)).find(|path| !path.exists()).expect("there is always another number")
}

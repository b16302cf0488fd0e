mod examples;
mod payloads;
mod published;

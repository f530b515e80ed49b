//! The flags that commands share: the ports of the server to call, with the clients of them, and the options of a floor.

use std::{future::pending, path::PathBuf};

use anyhow::Context as _;
use backon::Retryable as _;
use clap::Args;
use floor_client::{CallOptions, ClientError, FloorClient, check_url};
use floor_proto::url::redacted;
use tokio::{
    sync::watch,
    time::{sleep, timeout},
};

use crate::{
    credentials::Credentials,
    failure::UsageError,
    operations::{ANSWER, CallLimits, Operations, SILENCE, SILENT},
};

/// The ids of the flags that name the ports of the server.
pub(crate) const SERVER: &str = "server";
pub(crate) const OPS: &str = "ops";
/// The id of the flag that names the file of the operators' token.
pub(crate) const OPS_TOKEN_FILE: &str = "ops-token-file";

/// The ports of the server to call, and the limits of calls.
#[derive(Debug, Args)]
#[command(next_help_heading = "Server")]
pub(crate) struct Server {
    /// The address of the server
    #[arg(
        id = SERVER,
        long,
        global = true,
        env = "FLOORCTL_SERVER",
        hide_env_values = true,
        default_value = "http://127.0.0.1:50051",
        value_name = "URL"
    )]
    url: String,
    /// The address of the server's operations port; of several servers, with commas between them, for `purge`
    #[arg(
        id = OPS,
        long,
        global = true,
        env = "FLOORCTL_OPS",
        hide_env_values = true,
        default_value = "http://127.0.0.1:50052",
        value_name = "URL",
        value_delimiter = ','
    )]
    operations_urls: Vec<String>,
    /// A file whose first line is the token that the operations port asks for
    #[arg(id = OPS_TOKEN_FILE, long, global = true, env = "FLOORCTL_OPS_TOKEN_FILE", value_name = "FILE")]
    operations_token_file: Option<PathBuf>,
    #[command(flatten)]
    credentials: Credentials,
    #[command(flatten)]
    limits: CallLimits,
    /// A client of the first connection.
    #[arg(skip)]
    first: watch::Sender<Option<FloorClient>>,
}

impl Server {
    /// Refuses an address with more than a host and a port, such as a password: it has no meaning here.
    pub(crate) fn check_urls(&self) -> anyhow::Result<()> {
        let mut urls = self.operations_urls.iter().map(|url| (OPS, url)).chain([(SERVER, &self.url)]);
        urls.try_for_each(|(flag, url)| check_url(url).with_context(|| format!("--{flag}")))
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// The client of the operations port, for a command that asks one server.
    pub(crate) fn operations(&self) -> anyhow::Result<Operations<'_>> {
        let mut servers = self.each_operations();
        match (servers.next(), servers.next()) {
            (Some(server), None) => Ok(server),
            _ => Err(UsageError("this command asks one server: name one address with --ops".to_owned()).into()),
        }
    }

    /// The clients of the operations ports of all servers that are named.
    pub(crate) fn each_operations(&self) -> impl Iterator<Item = Operations<'_>> {
        let token_file = self.operations_token_file.as_deref();
        self.operations_urls.iter().map(move |url| Operations {
            url,
            token_file,
            credentials: &self.credentials,
            limits: self.limits,
        })
    }

    /// Connects immediately, so that an unreachable server is reported before anything is printed. `--retries` holds for
    /// the connection as for a call: a server that starts is unreachable at first.
    pub(crate) async fn connect(&self) -> anyhow::Result<FloorClient> {
        let options = self.credentials.connect_options()?;
        let connect = || self.attempt(FloorClient::connect_with(&self.url, &options));
        let connecting = connect.retry(self.limits.backoff()).when(ClientError::is_transient);
        let client = self.in_time(connecting.into_future()).await?;
        self.first.send_if_modified(|first| {
            let is_first = first.is_none();
            first.get_or_insert_with(|| client.clone());
            is_first
        });
        Ok(client.with_options(self.options()))
    }

    /// Returns if the server does not answer after the first connection: one whose process is stopped accepts it. With a
    /// deadline that limits each call, and later HTTP/2's own pings find it.
    pub(crate) async fn silent(&self) -> ClientError {
        let mut first = self.first.subscribe();
        let client = first.wait_for(Option::is_some).await.ok().and_then(|client| client.clone());
        let Some(client) = client.filter(|_| self.limits.deadline.is_none()) else { return pending().await };
        sleep(SILENCE).await;
        match timeout(ANSWER, client.server_info()).await {
            // A refusal is an answer too.
            Ok(_) => pending().await,
            Err(_) => self.unreachable(SILENT.to_owned()),
        }
    }

    /// Limits the time of an attempt to connect.
    async fn attempt(
        &self,
        connecting: impl Future<Output = Result<FloorClient, ClientError>>,
    ) -> Result<FloorClient, ClientError> {
        timeout(SILENCE + ANSWER, connecting).await.unwrap_or_else(|_| {
            let limit = humantime::format_duration(SILENCE + ANSWER);
            Err(self.unreachable(format!("it does not answer within {limit}")))
        })
    }

    fn unreachable(&self, reason: String) -> ClientError {
        ClientError::Unreachable { server: redacted(&self.url), reason, source: None }
    }

    /// Opens `count` connections. Returns a client for each, at least one.
    pub(crate) async fn connect_many(&self, count: u16) -> anyhow::Result<Vec<FloorClient>> {
        let first = self.connect().await?;
        let mut clients = vec![first.clone()];
        for _ in 1..count {
            clients.push(self.in_time(first.connect_again()).await?);
        }
        Ok(clients)
    }

    /// Limits the time of `connecting` to the deadline.
    async fn in_time(
        &self,
        connecting: impl Future<Output = Result<FloorClient, ClientError>>,
    ) -> Result<FloorClient, ClientError> {
        let Some(deadline) = self.limits.deadline else { return connecting.await };
        timeout(deadline, connecting).await.unwrap_or_else(|_| {
            Err(self.unreachable(format!("it does not answer within {}", humantime::format_duration(deadline))))
        })
    }

    /// The call options that follow from the flags.
    pub(crate) fn options(&self) -> CallOptions {
        let CallLimits { deadline, retries } = self.limits;
        CallOptions::default().retries(retries).deadline(deadline.unwrap_or(std::time::Duration::MAX))
    }
}

/// The options for fetching a floor.
#[derive(Debug, Args)]
#[command(next_help_heading = "Server")]
pub(crate) struct FetchOptions {
    /// Skip the cache: the server generates the floor again and stores it in every tier
    #[arg(long)]
    no_cache: bool,
    /// Request the result and the time of each tier
    #[arg(long)]
    trace: bool,
    /// Accept floors of this generator version only
    #[arg(long, value_name = "N")]
    generator_version: Option<u32>,
}

impl FetchOptions {
    pub(crate) async fn connect(&self, server: &Server) -> anyhow::Result<FloorClient> {
        let options = server.options().no_cache(self.no_cache).trace(self.trace);
        let options = self.generator_version.map_or(options, |version| options.generator_version(version));
        Ok(server.connect().await?.with_options(options))
    }
}

//! The listening side. Written out because a fault may have to cut a connection without an answer, which
//! `axum::serve` cannot.

use std::convert::Infallible;
use std::future::Future;

use axum::Router;
use axum::extract::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::TcpListener;
use tower::ServiceExt;

/// In a response's extensions: close the connection instead of sending it.
#[derive(Clone, Copy, Debug)]
pub struct Abort;

#[derive(Debug, thiserror::Error)]
#[error("the connection was cut by a fault")]
struct Cut;

/// Serves until `stop` resolves, then lets running requests finish for a moment.
pub async fn serve(listener: TcpListener, router: Router, stop: impl Future<Output = ()>) {
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new());
    let graceful = GracefulShutdown::new();
    tokio::pin!(stop);
    loop {
        let (stream, _) = tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    // Out of file descriptors, most likely: wait for some to come free.
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(std::time::Duration::from_millis(50)).await;
                    continue;
                }
            },
            () = &mut stop => break,
        };
        let _ = stream.set_nodelay(true);
        let router = router.clone();
        let service = hyper::service::service_fn(move |mut request: hyper::Request<Incoming>| {
            if let Some(uri) = super::paths::with_encoded_names(request.uri()) {
                *request.uri_mut() = uri;
            }
            let router = router.clone();
            async move {
                let response = router
                    .oneshot(request.map(axum::body::Body::new) as Request)
                    .await
                    .unwrap_or_else(|never: Infallible| match never {});
                if response.extensions().get::<Abort>().is_some() { Err(Cut) } else { Ok(response) }
            }
        });
        let connection = builder.serve_connection(TokioIo::new(stream), service);
        let connection = graceful.watch(connection);
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a connection ended early");
            }
        });
    }
    drop(listener);
    let _ = tokio::time::timeout(std::time::Duration::from_secs(2), graceful.shutdown()).await;
}
